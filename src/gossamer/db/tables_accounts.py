"""The tables of accounts: their users, keys and usage."""

from sqlalchemy import BigInteger, Column, ForeignKey, Index, Integer, SmallInteger, String, Table, Text

from gossamer.db.tables_money import metadata
from gossamer.db.types import Blob, Id, Instant

__all__ = ["accounts", "api_keys", "job_keys", "metadata", "month_credits", "sessions", "usage", "users"]

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

# The key itself is shown once and kept nowhere.
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

# Logins. The token that renews one is changed at each use; an older one that comes again ends the login.
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

# One row per request that led to a job: what it was expected to cost until the job is over, then what it did.
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

# The sum of those of a month, changed in the transaction that changes one of them.
month_credits = Table(
    "month_credits",
    metadata,
    Column("account_id", String(40), primary_key=True),
    Column("month", String(7), primary_key=True),
    Column("credits", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)

# To providers, as they came with a job; sealed, so that whoever reads or copies the database has nothing.
job_keys = Table(
    "job_keys",
    metadata,
    Column("job_id", Id, ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True),
    Column("provider", String(24), primary_key=True),
    Column("sealed", Blob, nullable=False),
)
