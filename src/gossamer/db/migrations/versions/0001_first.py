"""Jobs, sites, visits, pages, records and what is counted about them."""

import sqlalchemy as sa
from alembic import op

from gossamer.db.types import Id, Instant, Json

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
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
    )
    op.create_index("ix_jobs_state", "jobs", ["state"])
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
        sa.Column("notes", sa.LargeBinary, nullable=False),
        sa.Column("last_attempt_at", Instant),
        sa.Column("finished_at", Instant),
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
        sa.UniqueConstraint("site_id", "lane"),
    )
    op.create_index("ix_visits_queue", "visits", ["job_id", "lane", "state", "due_at", "id"])
    op.create_index("ix_visits_state_domain", "visits", ["state", "domain"])
    op.create_table(
        "pages",
        sa.Column("job_id", Id, primary_key=True),
        sa.Column("key", sa.LargeBinary(12), primary_key=True),
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
        sa.Column("identity", sa.LargeBinary(12)),
        sa.Column("bytes_in", sa.Integer, nullable=False),
        sa.Column("settled_at", Instant),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "records",
        sa.Column("job_id", Id, primary_key=True),
        sa.Column("kind", sa.String(24), primary_key=True),
        sa.Column("key", sa.LargeBinary(16), primary_key=True),
        sa.Column("site_id", Id, nullable=False),
        sa.Column("page_key", sa.LargeBinary(12), nullable=False),
        sa.Column("data", Json, nullable=False),
        sa.Column("created_at", Instant, nullable=False),
        sqlite_with_rowid=False,
    )
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
        sqlite_with_rowid=False,
    )
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
    )
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
