"""The tables of jobs and their results.

`open_pages` is kept in the transaction that adds, moves or ends a page; nothing is counted by COUNT.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
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
    Column("ran_ms", BigInteger, nullable=False, server_default="0"),  # at work since it was last started by hand
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

# Written one after the other, and found by the index of the key: their rows are large, and as a tree of rows, four to a
# page of the file, they cost twice as much to write.
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

# Of jobs whose recipe has something to say when the walk is over. A job without a row is walking, or has nothing.
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

# Answers shared by all jobs for a day; each site keeps the one it was walked by.
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

# What the counters said at certain moments, for the audit to hold against the rows.
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

# Files made of a job's rows, asked for by a person or made by themselves. One row is one file.
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

# Processes that walk visits. What they hold is in the visits.
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

# What all machines of a cluster must have set alike, as the first one had it. Of a secret it is a digest.
cluster_settings = Table(
    "cluster_settings",
    metadata,
    Column("name", String(40), primary_key=True),
    Column("value", Text, nullable=False),
    Column("host", Text, nullable=False),
    Column("at", Instant, nullable=False),
)

# What worked on a domain, whichever job has tried it.
memory = Table(
    "memory",
    metadata,
    Column("domain", Text, primary_key=True),
    Column("rung", String(24), primary_key=True),
    Column("tries", Integer, nullable=False),  # of late
    Column("wins", Integer, nullable=False),
    Column("tried_at", Instant, nullable=False),
)


# Whoever sends to an endpoint holds its lease: two never send the same message at the same moment.
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

# Apart from the endpoints, so that whoever reads or shows those never has them in hand.
endpoint_keys = Table(
    "webhook_keys",
    metadata,
    Column("id", Id, primary_key=True),
    Column("endpoint_id", Id, ForeignKey("webhook_endpoints.id", ondelete="CASCADE"), nullable=False),
    Column("key", Blob, nullable=False),
    Column("until", Instant),  # of one that was replaced
    Index(None, "endpoint_id"),
)

# Written in the transaction of what they tell.
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

# How many pages of a job an endpoint was told of.
endpoint_pages = Table(
    "webhook_pages",
    metadata,
    Column("endpoint_id", Id, ForeignKey("webhook_endpoints.id", ondelete="CASCADE"), primary_key=True),
    Column("job_id", Id, primary_key=True),
    Column("pages", BigInteger, nullable=False),
    Column("at", Instant, nullable=False),
)
