"""The tables: jobs and their results, money, accounts and webhooks.

`open_pages` is kept in the transaction that adds, moves or ends a page; nothing is counted by COUNT.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    SmallInteger,
    String,
    Table,
    Text,
    UniqueConstraint,
    false,
)

from gossamer.db.types import Blob, Id, Instant, Json

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
    }
)

jobs = Table(
    "jobs",
    metadata,
    Column("id", Id, primary_key=True),
    Column("name", Text, nullable=False),
    Column("recipe", String(40), nullable=False),
    Column("params", Json, nullable=False),
    Column("state", String(12), nullable=False),
    Column("reason", Text, nullable=False),
    Column("sites_total", Integer, nullable=False),
    Column("created_at", Instant, nullable=False),
    Column("started_at", Instant),
    Column("finished_at", Instant),
    Column("ran_ms", BigInteger, nullable=False, server_default="0"),  # working time since the last manual start
    Column("submit_key", Text),  # the submitter's own: the same request twice is one job
    Column("submit_digest", Blob),  # of what was asked for under that key
    Column("hidden_at", Instant),  # since when its results are not shown any more; they are purged after a grace time
    Column("priority", String(8), nullable=False, server_default="normal"),
    Column("account_id", String(40), nullable=False, server_default="default"),  # whose it is
    Column("at_once", Integer),  # visits walked at a time, at most
    Column("names_pages", Boolean, nullable=False, server_default=false()),  # its pages were given, not its sites
    Column("in_pages", Boolean, nullable=False, server_default=false()),  # how its progress is counted
    Column("whole_up_to", Integer, nullable=False, server_default="500"),  # pages of a site that is read whole
    Column("top_pages", Integer, nullable=False, server_default="50"),  # pages read of a larger one
    Index(None, "state"),
    Index("ix_jobs_account_id_id", "account_id", "id"),
    Index("uq_jobs_submit_key", "account_id", "submit_key", unique=True),
)

sites = Table(
    "sites",
    metadata,
    Column("id", Id, primary_key=True),
    Column("job_id", Id, ForeignKey("jobs.id", ondelete="CASCADE"), nullable=False),
    Column("host", Text, nullable=False),
    Column("domain", Text, nullable=False),
    Column("given", Text, nullable=False),
    Column("entries", Json, nullable=False),
    Column("listed", Boolean, nullable=False),  # False: met through a redirect
    Column("whole", Boolean, nullable=False),  # False: only pages handed over, no links followed
    Column("state", String(8), nullable=False),
    Column("reason", String(24), nullable=False),
    Column("detail", Text, nullable=False),
    Column("http_status", SmallInteger),
    Column("open_pages", Integer, nullable=False),
    Column("pages_done", Integer, nullable=False),
    Column("size", Integer, nullable=False),  # pages known to exist
    Column("retries", Integer, nullable=False),  # of the page that decided the site's fate
    Column("not_before", Instant),
    Column("robots", Json, nullable=False),
    Column("notes", Blob, nullable=False),
    Column("last_attempt_at", Instant),
    Column("finished_at", Instant),
    Column("size_source", String(8), nullable=False, server_default=""),  # what says how large it is: sitemap or links
    Column("errands", Json, nullable=False, server_default="[]"),  # requests for robots.txt and sitemaps
    Column("step", String(24)),  # of the follow that opened it; nothing where it was given, or met by a redirect
    Column("before", String(8)),  # how it had ended, while it is open only for what is asked for last
    UniqueConstraint("job_id", "host"),
    Index(None, "job_id", "state"),
)

visits = Table(
    "visits",
    metadata,
    Column("id", Id, primary_key=True),
    Column("job_id", Id, ForeignKey("jobs.id", ondelete="CASCADE"), nullable=False),
    Column("site_id", Id, ForeignKey("sites.id", ondelete="CASCADE"), nullable=False),
    Column("lane", String(8), nullable=False),
    Column("domain", Text, nullable=False),
    Column("shard", Integer, nullable=False),
    Column("state", String(8), nullable=False),
    Column("lease", Id),
    Column("lease_until", Instant),
    Column("worker", Text),
    Column("due_at", Instant, nullable=False),
    Column("deaths", SmallInteger, nullable=False),
    Column("open_pages", Integer, nullable=False),
    Column("walked_ms", BigInteger, nullable=False),
    Column("last_error", Text, nullable=False),
    Column("slices", Integer, nullable=False, server_default="0"),  # handed back in order since a claim was last told
    UniqueConstraint("site_id", "lane"),
    Index("ix_visits_queue", "job_id", "lane", "state", "due_at", "id"),
    Index(None, "worker"),
    Index(None, "state", "domain"),
)

# The key begins with the site, so a site's pages lie together and are read by a range of the primary key.
pages = Table(
    "pages",
    metadata,
    Column("job_id", Id, primary_key=True),
    Column("key", Blob, primary_key=True),
    Column("site_id", Id, nullable=False),
    Column("visit_id", Id, nullable=False),
    Column("url", Text, nullable=False),
    Column("depth", Integer, nullable=False),
    Column("rank", Integer, nullable=False),
    Column("handed", SmallInteger, nullable=False),  # hand-overs between sites that led here
    Column("state", String(8), nullable=False),
    Column("rung", String(24), nullable=False),
    Column("due_at", Instant),
    Column("reason", String(24), nullable=False),
    Column("detail", Text, nullable=False),
    Column("http_status", SmallInteger),
    Column("attempts", Json, nullable=False),
    Column("found_on", Text, nullable=False),
    Column("identity", Blob),
    Column("bytes_in", Integer, nullable=False),
    Column("settled_at", Instant),
    Column("links", Blob),  # where it leads on its site: what the next level is chosen from
    # Only of pages that a recipe has asked for; nothing in all others.
    Column("step", String(24)),
    Column("request", Blob),  # how it is asked for, and by what it differs from others at its address
    Column("carry", Json),  # facts from the page that led here
    sqlite_with_rowid=False,
)

# With a rowid and a separate key index: rows are large, and storing them in the tree of the key (four per page) would
# take twice as long to write.
records = Table(
    "records",
    metadata,
    Column("job_id", Id, primary_key=True),
    Column("kind", String(24), primary_key=True),
    Column("key", Blob, primary_key=True),
    Column("site_id", Id, nullable=False),
    Column("page_key", Blob, nullable=False),
    Column("data", Json, nullable=False),
    Column("created_at", Instant, nullable=False),
    Column("generation", SmallInteger),  # of the conclusion that wrote it; nothing for what a page has yielded
)

# Jobs whose recipe concludes, after their first crawl.
conclusions = Table(
    "conclusions",
    metadata,
    Column("job_id", Id, ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True),
    Column("phase", String(12), nullable=False),
    Column("generation", SmallInteger, nullable=False),  # raised whenever something is tried again
    Column("baseline_id", Id),  # the job it is compared with
    Column("comparable", Boolean, nullable=False),  # whether later jobs may be compared with it
    Column("cursor", Text, nullable=False),  # how far it is, as its recipe says
    Column("note", Text, nullable=False),  # what it does, for people
    Column("done", BigInteger, nullable=False),
    Column("total", BigInteger, nullable=False),
    Column("tries", SmallInteger, nullable=False),  # that ended without a step forward
    Column("lease", Id),
    Column("lease_until", Instant),
    Column("worker", Text),
    Index(None, "phase"),
)

# Sixteen rows per job, so that many processes can add at the same time.
counters = Table(
    "counters",
    metadata,
    Column("job_id", Id, primary_key=True),
    Column("shard", SmallInteger, primary_key=True),
    Column("sites_done", BigInteger, nullable=False),
    Column("sites_failed", BigInteger, nullable=False),
    Column("sites_partial", BigInteger, nullable=False),
    Column("pages_done", BigInteger, nullable=False),
    Column("pages_failed", BigInteger, nullable=False),
    Column("pages_skipped", BigInteger, nullable=False),
    Column("pages_open", BigInteger, nullable=False),
    Column("records", BigInteger, nullable=False),
    Column("bytes_in", BigInteger, nullable=False),
    Column("last_at", Instant),
    sqlite_with_rowid=False,
)

minutes = Table(
    "minutes",
    metadata,
    Column("job_id", Id, primary_key=True),
    Column("minute", Instant, primary_key=True),
    Column("sites", Integer, nullable=False),
    Column("pages", Integer, nullable=False),
    Column("records", Integer, nullable=False),
    Column("requests", Integer, nullable=False, server_default="0"),  # for pages
    Column("failed", Integer, nullable=False, server_default="0"),  # of those requests
    Column("writes", Integer, nullable=False, server_default="0"),  # batches of results
    Column("write_ms", BigInteger, nullable=False, server_default="0"),  # time these writes have taken together
    Index(None, "minute"),
    sqlite_with_rowid=False,
)

events = Table(
    "events",
    metadata,
    Column("job_id", Id, primary_key=True),
    Column("id", Id, primary_key=True),
    Column("site_id", Id),
    Column("visit_id", Id),
    Column("at", Instant, nullable=False),
    Column("kind", String(40), nullable=False),
    Column("who", Text, nullable=False),
    Column("why", Text, nullable=False),
    sqlite_with_rowid=False,
)

# Shared by all jobs for a day; each site keeps the answer it was crawled by.
robots = Table(
    "robots",
    metadata,
    Column("origin", Text, primary_key=True),
    Column("status", SmallInteger, nullable=False),
    Column("body", Text, nullable=False),
    Column("fetched_at", Instant, nullable=False),
)

places = Table(
    "places",
    metadata,
    Column("place", Text, primary_key=True),
    Column("holder", Text, primary_key=True),
    Column("until", Instant, nullable=False),
)

# Copies of the counters at certain times, which the audit compares with the rows.
checkpoints = Table(
    "checkpoints",
    metadata,
    Column("job_id", Id, primary_key=True),
    Column("id", Id, primary_key=True),
    Column("at", Instant, nullable=False),
    Column("cause", String(12), nullable=False),  # visits, pause, shutdown, end
    Column("state", String(12), nullable=False),  # of the job
    Column("sites_total", Integer, nullable=False),
    Column("sites_done", Integer, nullable=False),
    Column("sites_failed", Integer, nullable=False),
    Column("sites_partial", Integer, nullable=False),
    Column("pages_done", BigInteger, nullable=False),
    Column("pages_failed", BigInteger, nullable=False),
    Column("pages_skipped", BigInteger, nullable=False),
    Column("records", BigInteger, nullable=False),
    Column("last_at", Instant),
    sqlite_with_rowid=False,
)

# An alert fires once: one open row per kind and subject.
alerts = Table(
    "alerts",
    metadata,
    Column("id", Id, primary_key=True),
    Column("kind", String(24), nullable=False),
    Column("subject", Text, nullable=False),  # a job, a visit, or what of the system it is about
    Column("job_id", Id),
    Column("sentence", Text, nullable=False),
    Column("fired_at", Instant, nullable=False),
    Column("cleared_at", Instant),
    Column("delivered_at", Instant),
    Column("holds", Boolean),  # nothing once it is cleared: of those there may be many
    UniqueConstraint("kind", "subject", "holds"),
)

# Files made from a job's rows, on request or automatically. One row is one file.
exports = Table(
    "exports",
    metadata,
    Column("id", Id, primary_key=True),
    Column("job_id", Id, ForeignKey("jobs.id", ondelete="CASCADE"), nullable=False),
    Column("type", String(24), nullable=False),
    Column("format", String(8), nullable=False),
    Column("options", Json, nullable=False),  # columns, filter, looks
    Column("name", Text, nullable=False),  # of the file
    Column("partial", Boolean, nullable=False),  # the job was not over
    Column("state", String(12), nullable=False),
    Column("reason", Text, nullable=False),
    Column("home", Text, nullable=False),  # on whose disk the file lies or shall lie; empty: in object storage
    Column("spooled", Boolean, nullable=False),  # lies there only until object storage is back
    Column("lease", Id),
    Column("lease_until", Instant),
    Column("worker", Text),
    Column("tries", SmallInteger, nullable=False),  # that ended with the death of whoever worked it
    Column("rows_done", BigInteger, nullable=False),
    Column("rows_total", BigInteger, nullable=False),
    Column("blob_key", Text),  # nothing once the file is gone
    Column("size", BigInteger),
    Column("sha256", String(64)),
    Column("created_at", Instant, nullable=False),
    Column("finished_at", Instant),
    Column("expires_at", Instant),
    Index(None, "job_id"),
    Index(None, "state"),
)

# Worker processes. Their leases are in the visits.
workers = Table(
    "workers",
    metadata,
    Column("id", Text, primary_key=True),  # the name that leases carry
    Column("host", Text, nullable=False),
    Column("pid", Integer, nullable=False),
    Column("lanes", Json, nullable=False),  # visits at a time, per lane
    Column("version", Text, nullable=False),
    Column("started_at", Instant, nullable=False),
    Column("beat_at", Instant, nullable=False),
)

# Settings that must be equal on all machines of a cluster, as set on the first one; of a secret a digest.
cluster_settings = Table(
    "cluster_settings",
    metadata,
    Column("name", String(40), primary_key=True),
    Column("value", Text, nullable=False),
    Column("host", Text, nullable=False),
    Column("at", Instant, nullable=False),
)

# Success of rungs by domain, over all jobs.
memory = Table(
    "memory",
    metadata,
    Column("domain", Text, primary_key=True),
    Column("rung", String(24), primary_key=True),
    Column("tries", Integer, nullable=False),  # of late
    Column("wins", Integer, nullable=False),
    Column("tried_at", Instant, nullable=False),
)


# A sender holds the lease of an endpoint, so that no message is sent twice at the same time.
endpoints = Table(
    "webhook_endpoints",
    metadata,
    Column("id", Id, primary_key=True),
    Column("account", Text, nullable=False),
    Column("url", Text, nullable=False),
    Column("events", Json, nullable=False),  # none: the usual
    Column("pages", Boolean, nullable=False),  # whether batches of pages are among them
    Column("state", String(8), nullable=False),
    Column("reason", Text, nullable=False),
    Column("created_at", Instant, nullable=False),
    Column("failing_since", Instant),
    Column("failures", Integer, nullable=False),
    Column("not_before", Instant),
    Column("lease", Id),
    Column("lease_until", Instant),
    Column("worker", Text),
    Index(None, "account"),
)

# Separate from the endpoints, so that code which reads or shows those never has the keys.
endpoint_keys = Table(
    "webhook_keys",
    metadata,
    Column("id", Id, primary_key=True),
    Column("endpoint_id", Id, ForeignKey("webhook_endpoints.id", ondelete="CASCADE"), nullable=False),
    Column("key", Blob, nullable=False),
    Column("until", Instant),  # of one that was replaced
    Index(None, "endpoint_id"),
)

# Written in the transaction of their event.
deliveries = Table(
    "webhook_deliveries",
    metadata,
    Column("id", Id, primary_key=True),
    Column("endpoint_id", Id, ForeignKey("webhook_endpoints.id", ondelete="CASCADE"), nullable=False),
    Column("type", String(24), nullable=False),
    Column("job_id", Id),
    Column("body", Text, nullable=False),  # the bytes that are signed and sent, the same on every try
    Column("state", String(12), nullable=False),
    Column("created_at", Instant, nullable=False),
    Column("queued_at", Instant, nullable=False),
    Column("due_at", Instant, nullable=False),
    Column("tries", SmallInteger, nullable=False),
    Column("attempts", Json, nullable=False),
    Column("delivered_at", Instant),
    Index(None, "state", "due_at"),
    Index(None, "endpoint_id", "id"),
    Index(None, "job_id"),
)

# Number of pages of a job that were reported to an endpoint.
endpoint_pages = Table(
    "webhook_pages",
    metadata,
    Column("endpoint_id", Id, ForeignKey("webhook_endpoints.id", ondelete="CASCADE"), primary_key=True),
    Column("job_id", Id, primary_key=True),
    Column("pages", BigInteger, nullable=False),
    Column("at", Instant, nullable=False),
)


PARTS = ("credits", "micros", "bytes")
"""The currencies of the ledger, as its columns end."""


def _amounts(of: str, *, zero: str | None = None) -> tuple[Column[int], ...]:
    """One column per currency: `spent_credits`, `spent_micros`, `spent_bytes`."""
    return tuple(Column(f"{of}{part}", BigInteger, nullable=False, server_default=zero) for part in PARTS)


def _within(part: str) -> CheckConstraint:
    """Return the constraint that a cap is never exceeded, except by charges above the known price."""
    return CheckConstraint(f"reserved_{part} + spent_{part} - excess_{part} <= cap_{part}", name=f"cap_{part}")


# One row per budget: the system's of each day, each account's of each month, each job's.
budgets = Table(
    "budgets",
    metadata,
    Column("scope", String(8), primary_key=True),
    Column("subject", String(40), primary_key=True),  # the account, or the job's id in hexadecimal
    Column("period", String(10), primary_key=True),  # the day or the month
    *(Column(f"cap_{part}", BigInteger) for part in PARTS),  # nothing: no limit
    Column("job_id", Id),
    Column("cap_traffic", BigInteger),  # of all bytes that come in, which the counters know
    *_amounts("reserved_", zero="0"),
    *_amounts("spent_", zero="0"),
    *_amounts("excess_", zero="0"),
    Column("told", SmallInteger, nullable=False, server_default="0"),  # per cent of the cap that people were told of
    *(_within(part) for part in PARTS),
    *(CheckConstraint(f"reserved_{part} >= 0 AND spent_{part} >= 0", name=f"signs_{part}") for part in PARTS),
)

# Paid requests that may be in flight: few at a time, however large the jobs are.
reservations = Table(
    "reservations",
    metadata,
    Column("id", Id, primary_key=True),
    Column("job_id", Id, nullable=False),
    Column("site_id", Id, nullable=False),
    Column("visit_id", Id, nullable=False),
    Column("lease", Id, nullable=False),
    Column("page_key", Blob),
    Column("rung", String(24), nullable=False),
    Column("provider", String(24), nullable=False),
    *_amounts(""),  # the worst price
    Column("day", String(10), nullable=False),  # whose budget it is taken from
    Column("at", Instant, nullable=False),
    Index(None, "job_id"),
)

charges = Table(
    "charges",
    metadata,
    Column("job_id", Id, primary_key=True),
    Column("id", Id, primary_key=True),
    Column("site_id", Id, nullable=False),
    Column("page_key", Blob),
    Column("rung", String(24), nullable=False),
    Column("provider", String(24), nullable=False),
    *_amounts(""),
    Column("assumed", Boolean, nullable=False),  # the cost is unknown: booked at the worst price
    Column("day", String(10), nullable=False),
    Column("at", Instant, nullable=False),
    sqlite_with_rowid=False,
)

# Spending of jobs, which is kept: the charges are deleted with the other rows of a job.
expenses = Table(
    "expenses",
    metadata,
    Column("job_id", Id, primary_key=True),
    Column("day", String(10), primary_key=True),
    Column("rung", String(24), primary_key=True),
    Column("provider", String(24), nullable=False),
    Column("requests", BigInteger, nullable=False),
    *_amounts(""),
    Column("assumed", BigInteger, nullable=False),  # requests whose price is unknown
    Index(None, "day"),
    sqlite_with_rowid=False,
)

# Rungs that charged more than their price. All processes check this before they reserve.
closed_rungs = Table(
    "closed_rungs",
    metadata,
    Column("rung", String(24), primary_key=True),
    Column("charged", BigInteger, nullable=False),  # the most credits it took for one request
    Column("at", Instant, nullable=False),
)

# Estimates of jobs as shown before they started. Kept as long as the job's own row, like its expenses.
estimates = Table(
    "estimates",
    metadata,
    Column("job_id", Id, primary_key=True),
    Column("recipe", String(40), nullable=False),
    Column("ladder", Text, nullable=False),  # names of rungs, comma-separated
    Column("pages_per_site", Integer, nullable=False),
    Column("top_pages", Integer, nullable=False),
    Column("sites", Integer, nullable=False),
    Column("known", Integer, nullable=False),  # of the sites, those that earlier jobs had met
    Column("similar", Integer, nullable=False),  # jobs it went by
    Column("probed", Integer, nullable=False),  # homepages that were looked at first
    *(Column(name, BigInteger, nullable=False) for name in ("expected", "low", "high")),  # credits
    *(Column(name, BigInteger, nullable=False) for name in ("low_micros", "high_micros")),
    Column("at", Instant, nullable=False),
    Index(None, "recipe", "ladder", "job_id"),
)


accounts = Table(
    "accounts",
    metadata,
    Column("id", String(40), primary_key=True),  # what people type: `acme`
    Column("name", Text, nullable=False),
    Column("credits", BigInteger),  # of a month; nothing: no limit
    Column("running_jobs", Integer),  # at a time; nothing: what the settings say
    Column("queued_jobs", Integer),
    Column("created_at", Instant, nullable=False),
    Column("closed_at", Instant),
)

users = Table(
    "users",
    metadata,
    Column("id", Id, primary_key=True),
    Column("account_id", String(40), ForeignKey("accounts.id"), nullable=False),
    Column("email", Text, nullable=False),  # in small letters
    Column("password", Text, nullable=False),  # argon2
    Column("scope", String(8), nullable=False),
    Column("created_at", Instant, nullable=False),
    Column("closed_at", Instant),
    Index("uq_users_email", "email", unique=True),
)

# The key itself is shown once and not stored.
api_keys = Table(
    "api_keys",
    metadata,
    Column("id", Id, primary_key=True),
    Column("account_id", String(40), ForeignKey("accounts.id"), nullable=False),
    Column("name", Text, nullable=False),
    Column("start", String(16), nullable=False),  # of the key: people tell theirs apart by it
    Column("digest", Blob, nullable=False),
    Column("scope", String(8), nullable=False),
    Column("created_at", Instant, nullable=False),
    Column("used_at", Instant),
    Column("revoked_at", Instant),
    Index("uq_api_keys_digest", "digest", unique=True),
    Index(None, "account_id"),
)

# Logins. The refresh token changes at each use; using an older one again ends the login.
sessions = Table(
    "sessions",
    metadata,
    Column("id", Id, primary_key=True),
    Column("user_id", Id, ForeignKey("users.id", ondelete="CASCADE"), nullable=False),
    Column("digest", Blob, nullable=False),
    Column("turns", Integer, nullable=False),  # how often it was renewed
    Column("created_at", Instant, nullable=False),
    Column("expires_at", Instant, nullable=False),
    Column("revoked_at", Instant),
    Index(None, "user_id"),
)

# One row per request that led to a job, with its expected cost until the job is over, then the actual cost.
QUEUED = "queued"  # the outcome of a job that waits for another one of its account to end

usage = Table(
    "usage",
    metadata,
    Column("account_id", String(40), primary_key=True),
    Column("id", Id, primary_key=True),  # the job's
    Column("month", String(7), nullable=False),
    Column("day", String(10), nullable=False),
    Column("key_id", Id),
    Column("door", String(24), nullable=False),  # where it came in: jobs, scrape, batch
    Column("recipe", String(40), nullable=False),
    Column("urls", Integer, nullable=False),
    Column("credits", BigInteger, nullable=False),
    Column("micros", BigInteger, nullable=False),  # paid to providers
    Column("pages", BigInteger, nullable=False),
    Column("failed", BigInteger, nullable=False),
    Column("ms", BigInteger),
    Column("outcome", String(12), nullable=False),  # the job's state
    Column("is_open", SmallInteger, nullable=False),
    Column("at", Instant, nullable=False),
    Index("ix_usage_open", "is_open"),
    sqlite_with_rowid=False,
)

# Sum of the credits of a month, changed in the same transaction as the usage.
month_credits = Table(
    "month_credits",
    metadata,
    Column("account_id", String(40), primary_key=True),
    Column("month", String(7), primary_key=True),
    Column("credits", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)

# Provider keys that came with a job, encrypted.
job_keys = Table(
    "job_keys",
    metadata,
    Column("job_id", Id, ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True),
    Column("provider", String(24), primary_key=True),
    Column("sealed", Blob, nullable=False),
)
