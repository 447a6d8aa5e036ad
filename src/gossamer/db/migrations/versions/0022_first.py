"""All tables as they were when revisions began to be kept.

The numbers before this one belong to states of the schema that were never released: see
docs/decisions/0027-revisions-are-kept.md.
"""

import sqlalchemy as sa
from alembic import op

from gossamer.db.migrations.partitioning import add_functions, add_partitions
from gossamer.db.types import Blob, Id, Instant, Json

revision = "0022"
down_revision = None
branch_labels = None
depends_on = None

_PARTS = ("credits", "micros", "bytes")
_BY_MONTH = "RANGE (job_id)"


def upgrade() -> None:
    _crawl()
    _progress()
    _operation()
    _webhooks()
    _money()
    _accounts()
    bind = op.get_bind()
    if bind.dialect.name == "postgresql":  # a file has no partitions
        add_functions(bind)
        add_partitions(bind, "pages", "records", "events", "charges")


def _amounts(of: str, *, zero: str | None = None) -> list[sa.Column[int]]:
    return [sa.Column(f"{of}{part}", sa.BigInteger, nullable=False, server_default=zero) for part in _PARTS]


def _limits() -> list[sa.CheckConstraint]:
    within = "reserved_{0} + spent_{0} - excess_{0} <= cap_{0}"
    positive = "reserved_{0} >= 0 AND spent_{0} >= 0"
    return [
        sa.CheckConstraint(rule.format(part), name=f"{name}_{part}")
        for name, rule in (("cap", within), ("signs", positive))
        for part in _PARTS
    ]


def _crawl() -> None:
    op.create_table(
        "jobs",
        sa.Column("id", Id, primary_key=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("recipe", sa.String(40), nullable=False),
        sa.Column("params", Json, nullable=False),
        sa.Column("state", sa.String(12), nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("sites_total", sa.Integer, nullable=False),
        sa.Column("created_at", Instant, nullable=False),
        sa.Column("started_at", Instant),
        sa.Column("finished_at", Instant),
        sa.Column("ran_ms", sa.BigInteger, nullable=False, server_default="0"),
        sa.Column("submit_key", sa.Text),
        sa.Column("submit_digest", Blob),
        sa.Column("hidden_at", Instant),
        sa.Column("priority", sa.String(8), nullable=False, server_default="normal"),
        sa.Column("account_id", sa.String(40), nullable=False, server_default="default"),
        sa.Column("at_once", sa.Integer),
        sa.Column("names_pages", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.Column("in_pages", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.Column("whole_up_to", sa.Integer, nullable=False, server_default="500"),
        sa.Column("top_pages", sa.Integer, nullable=False, server_default="50"),
    )
    op.create_index("ix_jobs_account_id_id", "jobs", ["account_id", "id"])
    op.create_index("ix_jobs_state", "jobs", ["state"])
    op.create_index("uq_jobs_submit_key", "jobs", ["account_id", "submit_key"], unique=True)
    op.create_table(
        "sites",
        sa.Column("id", Id, primary_key=True),
        sa.Column("job_id", Id, sa.ForeignKey("jobs.id", ondelete="CASCADE"), nullable=False),
        sa.Column("host", sa.Text, nullable=False),
        sa.Column("domain", sa.Text, nullable=False),
        sa.Column("given", sa.Text, nullable=False),
        sa.Column("entries", Json, nullable=False),
        sa.Column("listed", sa.Boolean, nullable=False),
        sa.Column("whole", sa.Boolean, nullable=False),
        sa.Column("state", sa.String(8), nullable=False),
        sa.Column("reason", sa.String(24), nullable=False),
        sa.Column("detail", sa.Text, nullable=False),
        sa.Column("http_status", sa.SmallInteger),
        sa.Column("open_pages", sa.Integer, nullable=False),
        sa.Column("pages_done", sa.Integer, nullable=False),
        sa.Column("size", sa.Integer, nullable=False),
        sa.Column("retries", sa.Integer, nullable=False),
        sa.Column("not_before", Instant),
        sa.Column("robots", Json, nullable=False),
        sa.Column("notes", Blob, nullable=False),
        sa.Column("last_attempt_at", Instant),
        sa.Column("finished_at", Instant),
        sa.Column("size_source", sa.String(8), nullable=False, server_default=""),
        sa.Column("errands", Json, nullable=False, server_default="[]"),
        sa.Column("step", sa.String(24)),
        sa.Column("before", sa.String(8)),
        sa.UniqueConstraint("job_id", "host"),
    )
    op.create_index("ix_sites_job_id_state", "sites", ["job_id", "state"])
    op.create_table(
        "visits",
        sa.Column("id", Id, primary_key=True),
        sa.Column("job_id", Id, sa.ForeignKey("jobs.id", ondelete="CASCADE"), nullable=False),
        sa.Column("site_id", Id, sa.ForeignKey("sites.id", ondelete="CASCADE"), nullable=False),
        sa.Column("lane", sa.String(8), nullable=False),
        sa.Column("domain", sa.Text, nullable=False),
        sa.Column("shard", sa.Integer, nullable=False),
        sa.Column("state", sa.String(8), nullable=False),
        sa.Column("lease", Id),
        sa.Column("lease_until", Instant),
        sa.Column("worker", sa.Text),
        sa.Column("due_at", Instant, nullable=False),
        sa.Column("deaths", sa.SmallInteger, nullable=False),
        sa.Column("open_pages", sa.Integer, nullable=False),
        sa.Column("walked_ms", sa.BigInteger, nullable=False),
        sa.Column("last_error", sa.Text, nullable=False),
        sa.Column("slices", sa.Integer, nullable=False, server_default="0"),
        sa.UniqueConstraint("site_id", "lane"),
    )
    op.create_index("ix_visits_queue", "visits", ["job_id", "lane", "state", "due_at", "id"])
    op.create_index("ix_visits_state_domain", "visits", ["state", "domain"])
    op.create_index("ix_visits_worker", "visits", ["worker"])
    op.create_table(
        "pages",
        sa.Column("job_id", Id, primary_key=True),
        sa.Column("key", Blob, primary_key=True),
        sa.Column("site_id", Id, nullable=False),
        sa.Column("visit_id", Id, nullable=False),
        sa.Column("url", sa.Text, nullable=False),
        sa.Column("depth", sa.Integer, nullable=False),
        sa.Column("rank", sa.Integer, nullable=False),
        sa.Column("handed", sa.SmallInteger, nullable=False),
        sa.Column("state", sa.String(8), nullable=False),
        sa.Column("rung", sa.String(24), nullable=False),
        sa.Column("due_at", Instant),
        sa.Column("reason", sa.String(24), nullable=False),
        sa.Column("detail", sa.Text, nullable=False),
        sa.Column("http_status", sa.SmallInteger),
        sa.Column("attempts", Json, nullable=False),
        sa.Column("found_on", sa.Text, nullable=False),
        sa.Column("identity", Blob),
        sa.Column("bytes_in", sa.Integer, nullable=False),
        sa.Column("settled_at", Instant),
        sa.Column("links", Blob),
        sa.Column("step", sa.String(24)),
        sa.Column("request", Blob),
        sa.Column("carry", Json),
        sqlite_with_rowid=False,
        postgresql_partition_by=_BY_MONTH,
    )
    op.create_table(
        "records",
        sa.Column("job_id", Id, primary_key=True),
        sa.Column("kind", sa.String(24), primary_key=True),
        sa.Column("key", Blob, primary_key=True),
        sa.Column("site_id", Id, nullable=False),
        sa.Column("page_key", Blob, nullable=False),
        sa.Column("data", Json, nullable=False),
        sa.Column("created_at", Instant, nullable=False),
        sa.Column("generation", sa.SmallInteger),
        postgresql_partition_by=_BY_MONTH,
    )
    op.create_table(
        "conclusions",
        sa.Column("job_id", Id, sa.ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("phase", sa.String(12), nullable=False),
        sa.Column("generation", sa.SmallInteger, nullable=False),
        sa.Column("baseline_id", Id),
        sa.Column("comparable", sa.Boolean, nullable=False),
        sa.Column("cursor", sa.Text, nullable=False),
        sa.Column("note", sa.Text, nullable=False),
        sa.Column("done", sa.BigInteger, nullable=False),
        sa.Column("total", sa.BigInteger, nullable=False),
        sa.Column("tries", sa.SmallInteger, nullable=False),
        sa.Column("lease", Id),
        sa.Column("lease_until", Instant),
        sa.Column("worker", sa.Text),
    )
    op.create_index("ix_conclusions_phase", "conclusions", ["phase"])


def _progress() -> None:
    op.create_table(
        "counters",
        sa.Column("job_id", Id, primary_key=True),
        sa.Column("shard", sa.SmallInteger, primary_key=True),
        sa.Column("sites_done", sa.BigInteger, nullable=False),
        sa.Column("sites_failed", sa.BigInteger, nullable=False),
        sa.Column("sites_partial", sa.BigInteger, nullable=False),
        sa.Column("pages_done", sa.BigInteger, nullable=False),
        sa.Column("pages_failed", sa.BigInteger, nullable=False),
        sa.Column("pages_skipped", sa.BigInteger, nullable=False),
        sa.Column("pages_open", sa.BigInteger, nullable=False),
        sa.Column("records", sa.BigInteger, nullable=False),
        sa.Column("bytes_in", sa.BigInteger, nullable=False),
        sa.Column("last_at", Instant),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "minutes",
        sa.Column("job_id", Id, primary_key=True),
        sa.Column("minute", Instant, primary_key=True),
        sa.Column("sites", sa.Integer, nullable=False),
        sa.Column("pages", sa.Integer, nullable=False),
        sa.Column("records", sa.Integer, nullable=False),
        sa.Column("requests", sa.Integer, nullable=False, server_default="0"),
        sa.Column("failed", sa.Integer, nullable=False, server_default="0"),
        sa.Column("writes", sa.Integer, nullable=False, server_default="0"),
        sa.Column("write_ms", sa.BigInteger, nullable=False, server_default="0"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_minutes_minute", "minutes", ["minute"])
    op.create_table(
        "events",
        sa.Column("job_id", Id, primary_key=True),
        sa.Column("id", Id, primary_key=True),
        sa.Column("site_id", Id),
        sa.Column("visit_id", Id),
        sa.Column("at", Instant, nullable=False),
        sa.Column("kind", sa.String(40), nullable=False),
        sa.Column("who", sa.Text, nullable=False),
        sa.Column("why", sa.Text, nullable=False),
        sqlite_with_rowid=False,
        postgresql_partition_by=_BY_MONTH,
    )
    op.create_table(
        "checkpoints",
        sa.Column("job_id", Id, primary_key=True),
        sa.Column("id", Id, primary_key=True),
        sa.Column("at", Instant, nullable=False),
        sa.Column("cause", sa.String(12), nullable=False),
        sa.Column("state", sa.String(12), nullable=False),
        sa.Column("sites_total", sa.Integer, nullable=False),
        sa.Column("sites_done", sa.Integer, nullable=False),
        sa.Column("sites_failed", sa.Integer, nullable=False),
        sa.Column("sites_partial", sa.Integer, nullable=False),
        sa.Column("pages_done", sa.BigInteger, nullable=False),
        sa.Column("pages_failed", sa.BigInteger, nullable=False),
        sa.Column("pages_skipped", sa.BigInteger, nullable=False),
        sa.Column("records", sa.BigInteger, nullable=False),
        sa.Column("last_at", Instant),
        sqlite_with_rowid=False,
    )


def _operation() -> None:
    op.create_table(
        "robots",
        sa.Column("origin", sa.Text, primary_key=True),
        sa.Column("status", sa.SmallInteger, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("fetched_at", Instant, nullable=False),
    )
    op.create_table(
        "places",
        sa.Column("place", sa.Text, primary_key=True),
        sa.Column("holder", sa.Text, primary_key=True),
        sa.Column("until", Instant, nullable=False),
    )
    op.create_table(
        "alerts",
        sa.Column("id", Id, primary_key=True),
        sa.Column("kind", sa.String(24), nullable=False),
        sa.Column("subject", sa.Text, nullable=False),
        sa.Column("job_id", Id),
        sa.Column("sentence", sa.Text, nullable=False),
        sa.Column("fired_at", Instant, nullable=False),
        sa.Column("cleared_at", Instant),
        sa.Column("delivered_at", Instant),
        sa.Column("holds", sa.Boolean),
        sa.UniqueConstraint("kind", "subject", "holds"),
    )
    op.create_table(
        "exports",
        sa.Column("id", Id, primary_key=True),
        sa.Column("job_id", Id, sa.ForeignKey("jobs.id", ondelete="CASCADE"), nullable=False),
        sa.Column("type", sa.String(24), nullable=False),
        sa.Column("format", sa.String(8), nullable=False),
        sa.Column("options", Json, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("partial", sa.Boolean, nullable=False),
        sa.Column("state", sa.String(12), nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("home", sa.Text, nullable=False),
        sa.Column("spooled", sa.Boolean, nullable=False),
        sa.Column("lease", Id),
        sa.Column("lease_until", Instant),
        sa.Column("worker", sa.Text),
        sa.Column("tries", sa.SmallInteger, nullable=False),
        sa.Column("rows_done", sa.BigInteger, nullable=False),
        sa.Column("rows_total", sa.BigInteger, nullable=False),
        sa.Column("blob_key", sa.Text),
        sa.Column("size", sa.BigInteger),
        sa.Column("sha256", sa.String(64)),
        sa.Column("created_at", Instant, nullable=False),
        sa.Column("finished_at", Instant),
        sa.Column("expires_at", Instant),
    )
    op.create_index("ix_exports_job_id", "exports", ["job_id"])
    op.create_index("ix_exports_state", "exports", ["state"])
    op.create_table(
        "workers",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("host", sa.Text, nullable=False),
        sa.Column("pid", sa.Integer, nullable=False),
        sa.Column("lanes", Json, nullable=False),
        sa.Column("version", sa.Text, nullable=False),
        sa.Column("started_at", Instant, nullable=False),
        sa.Column("beat_at", Instant, nullable=False),
    )
    op.create_table(
        "cluster_settings",
        sa.Column("name", sa.String(40), primary_key=True),
        sa.Column("value", sa.Text, nullable=False),
        sa.Column("host", sa.Text, nullable=False),
        sa.Column("at", Instant, nullable=False),
    )
    op.create_table(
        "memory",
        sa.Column("domain", sa.Text, primary_key=True),
        sa.Column("rung", sa.String(24), primary_key=True),
        sa.Column("tries", sa.Integer, nullable=False),
        sa.Column("wins", sa.Integer, nullable=False),
        sa.Column("tried_at", Instant, nullable=False),
    )


def _webhooks() -> None:
    op.create_table(
        "webhook_endpoints",
        sa.Column("id", Id, primary_key=True),
        sa.Column("account", sa.Text, nullable=False),
        sa.Column("url", sa.Text, nullable=False),
        sa.Column("events", Json, nullable=False),
        sa.Column("pages", sa.Boolean, nullable=False),
        sa.Column("state", sa.String(8), nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("created_at", Instant, nullable=False),
        sa.Column("failing_since", Instant),
        sa.Column("failures", sa.Integer, nullable=False),
        sa.Column("not_before", Instant),
        sa.Column("lease", Id),
        sa.Column("lease_until", Instant),
        sa.Column("worker", sa.Text),
    )
    op.create_index("ix_webhook_endpoints_account", "webhook_endpoints", ["account"])
    op.create_table(
        "webhook_keys",
        sa.Column("id", Id, primary_key=True),
        sa.Column("endpoint_id", Id, sa.ForeignKey("webhook_endpoints.id", ondelete="CASCADE"), nullable=False),
        sa.Column("key", Blob, nullable=False),
        sa.Column("until", Instant),
    )
    op.create_index("ix_webhook_keys_endpoint_id", "webhook_keys", ["endpoint_id"])
    op.create_table(
        "webhook_deliveries",
        sa.Column("id", Id, primary_key=True),
        sa.Column("endpoint_id", Id, sa.ForeignKey("webhook_endpoints.id", ondelete="CASCADE"), nullable=False),
        sa.Column("type", sa.String(24), nullable=False),
        sa.Column("job_id", Id),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("state", sa.String(12), nullable=False),
        sa.Column("created_at", Instant, nullable=False),
        sa.Column("queued_at", Instant, nullable=False),
        sa.Column("due_at", Instant, nullable=False),
        sa.Column("tries", sa.SmallInteger, nullable=False),
        sa.Column("attempts", Json, nullable=False),
        sa.Column("delivered_at", Instant),
    )
    op.create_index("ix_webhook_deliveries_endpoint_id_id", "webhook_deliveries", ["endpoint_id", "id"])
    op.create_index("ix_webhook_deliveries_job_id", "webhook_deliveries", ["job_id"])
    op.create_index("ix_webhook_deliveries_state_due_at", "webhook_deliveries", ["state", "due_at"])
    op.create_table(
        "webhook_pages",
        sa.Column("endpoint_id", Id, sa.ForeignKey("webhook_endpoints.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("job_id", Id, primary_key=True),
        sa.Column("pages", sa.BigInteger, nullable=False),
        sa.Column("at", Instant, nullable=False),
    )


def _money() -> None:
    op.create_table(
        "budgets",
        sa.Column("scope", sa.String(8), primary_key=True),
        sa.Column("subject", sa.String(40), primary_key=True),
        sa.Column("period", sa.String(10), primary_key=True),
        *(sa.Column(f"cap_{part}", sa.BigInteger) for part in _PARTS),
        sa.Column("job_id", Id),
        sa.Column("cap_traffic", sa.BigInteger),
        *_amounts("reserved_", zero="0"),
        *_amounts("spent_", zero="0"),
        *_amounts("excess_", zero="0"),
        sa.Column("told", sa.SmallInteger, nullable=False, server_default="0"),
        *_limits(),
    )
    op.create_table(
        "reservations",
        sa.Column("id", Id, primary_key=True),
        sa.Column("job_id", Id, nullable=False),
        sa.Column("site_id", Id, nullable=False),
        sa.Column("visit_id", Id, nullable=False),
        sa.Column("lease", Id, nullable=False),
        sa.Column("page_key", Blob),
        sa.Column("rung", sa.String(24), nullable=False),
        sa.Column("provider", sa.String(24), nullable=False),
        *_amounts(""),
        sa.Column("day", sa.String(10), nullable=False),
        sa.Column("at", Instant, nullable=False),
    )
    op.create_index("ix_reservations_job_id", "reservations", ["job_id"])
    op.create_table(
        "charges",
        sa.Column("job_id", Id, primary_key=True),
        sa.Column("id", Id, primary_key=True),
        sa.Column("site_id", Id, nullable=False),
        sa.Column("page_key", Blob),
        sa.Column("rung", sa.String(24), nullable=False),
        sa.Column("provider", sa.String(24), nullable=False),
        *_amounts(""),
        sa.Column("assumed", sa.Boolean, nullable=False),
        sa.Column("day", sa.String(10), nullable=False),
        sa.Column("at", Instant, nullable=False),
        sqlite_with_rowid=False,
        postgresql_partition_by=_BY_MONTH,
    )
    op.create_table(
        "expenses",
        sa.Column("job_id", Id, primary_key=True),
        sa.Column("day", sa.String(10), primary_key=True),
        sa.Column("rung", sa.String(24), primary_key=True),
        sa.Column("provider", sa.String(24), nullable=False),
        sa.Column("requests", sa.BigInteger, nullable=False),
        *_amounts(""),
        sa.Column("assumed", sa.BigInteger, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_expenses_day", "expenses", ["day"])
    op.create_table(
        "closed_rungs",
        sa.Column("rung", sa.String(24), primary_key=True),
        sa.Column("charged", sa.BigInteger, nullable=False),
        sa.Column("at", Instant, nullable=False),
    )
    op.create_table(
        "estimates",
        sa.Column("job_id", Id, primary_key=True),
        sa.Column("recipe", sa.String(40), nullable=False),
        sa.Column("ladder", sa.Text, nullable=False),
        sa.Column("pages_per_site", sa.Integer, nullable=False),
        sa.Column("top_pages", sa.Integer, nullable=False),
        sa.Column("sites", sa.Integer, nullable=False),
        sa.Column("known", sa.Integer, nullable=False),
        sa.Column("similar", sa.Integer, nullable=False),
        sa.Column("probed", sa.Integer, nullable=False),
        sa.Column("expected", sa.BigInteger, nullable=False),
        sa.Column("low", sa.BigInteger, nullable=False),
        sa.Column("high", sa.BigInteger, nullable=False),
        sa.Column("low_micros", sa.BigInteger, nullable=False),
        sa.Column("high_micros", sa.BigInteger, nullable=False),
        sa.Column("at", Instant, nullable=False),
    )
    op.create_index("ix_estimates_recipe_ladder_job_id", "estimates", ["recipe", "ladder", "job_id"])


def _accounts() -> None:
    op.create_table(
        "accounts",
        sa.Column("id", sa.String(40), primary_key=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("credits", sa.BigInteger),
        sa.Column("running_jobs", sa.Integer),
        sa.Column("queued_jobs", sa.Integer),
        sa.Column("created_at", Instant, nullable=False),
        sa.Column("closed_at", Instant),
    )
    op.create_table(
        "users",
        sa.Column("id", Id, primary_key=True),
        sa.Column("account_id", sa.String(40), sa.ForeignKey("accounts.id"), nullable=False),
        sa.Column("email", sa.Text, nullable=False),
        sa.Column("password", sa.Text, nullable=False),
        sa.Column("scope", sa.String(8), nullable=False),
        sa.Column("created_at", Instant, nullable=False),
        sa.Column("closed_at", Instant),
    )
    op.create_index("uq_users_email", "users", ["email"], unique=True)
    op.create_table(
        "api_keys",
        sa.Column("id", Id, primary_key=True),
        sa.Column("account_id", sa.String(40), sa.ForeignKey("accounts.id"), nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("start", sa.String(16), nullable=False),
        sa.Column("digest", Blob, nullable=False),
        sa.Column("scope", sa.String(8), nullable=False),
        sa.Column("created_at", Instant, nullable=False),
        sa.Column("used_at", Instant),
        sa.Column("revoked_at", Instant),
    )
    op.create_index("ix_api_keys_account_id", "api_keys", ["account_id"])
    op.create_index("uq_api_keys_digest", "api_keys", ["digest"], unique=True)
    op.create_table(
        "sessions",
        sa.Column("id", Id, primary_key=True),
        sa.Column("user_id", Id, sa.ForeignKey("users.id", ondelete="CASCADE"), nullable=False),
        sa.Column("digest", Blob, nullable=False),
        sa.Column("turns", sa.Integer, nullable=False),
        sa.Column("created_at", Instant, nullable=False),
        sa.Column("expires_at", Instant, nullable=False),
        sa.Column("revoked_at", Instant),
    )
    op.create_index("ix_sessions_user_id", "sessions", ["user_id"])
    op.create_table(
        "usage",
        sa.Column("account_id", sa.String(40), primary_key=True),
        sa.Column("id", Id, primary_key=True),
        sa.Column("month", sa.String(7), nullable=False),
        sa.Column("day", sa.String(10), nullable=False),
        sa.Column("key_id", Id),
        sa.Column("door", sa.String(24), nullable=False),
        sa.Column("recipe", sa.String(40), nullable=False),
        sa.Column("urls", sa.Integer, nullable=False),
        sa.Column("credits", sa.BigInteger, nullable=False),
        sa.Column("micros", sa.BigInteger, nullable=False),
        sa.Column("pages", sa.BigInteger, nullable=False),
        sa.Column("failed", sa.BigInteger, nullable=False),
        sa.Column("ms", sa.BigInteger),
        sa.Column("outcome", sa.String(12), nullable=False),
        sa.Column("is_open", sa.SmallInteger, nullable=False),
        sa.Column("at", Instant, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_usage_open", "usage", ["is_open"])
    op.create_table(
        "month_credits",
        sa.Column("account_id", sa.String(40), primary_key=True),
        sa.Column("month", sa.String(7), primary_key=True),
        sa.Column("credits", sa.BigInteger, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "job_keys",
        sa.Column("job_id", Id, sa.ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("provider", sa.String(24), primary_key=True),
        sa.Column("sealed", Blob, nullable=False),
    )
