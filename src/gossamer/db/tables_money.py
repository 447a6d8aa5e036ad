"""The tables of money. The database itself refuses to pass a cap."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Index,
    Integer,
    SmallInteger,
    String,
    Table,
    Text,
)

from gossamer.db.tables import metadata
from gossamer.db.types import Blob, Id, Instant

__all__ = ["PARTS", "budgets", "charges", "closed_rungs", "estimates", "expenses", "metadata", "reservations"]

PARTS = ("credits", "micros", "bytes")
"""The currencies of the ledger, as its columns end."""


def _amounts(of: str, *, zero: str | None = None) -> tuple[Column[int], ...]:
    """One column per currency: `spent_credits`, `spent_micros`, `spent_bytes`."""
    return tuple(Column(f"{of}{part}", BigInteger, nullable=False, server_default=zero) for part in PARTS)


def _within(part: str) -> CheckConstraint:
    """Whatever the program does: no cap is passed, but by what a provider took above its own price."""
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

# Requests that may be under way: a few at a time, however large the jobs are.
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
    Column("assumed", Boolean, nullable=False),  # nobody said what it cost: the worst price
    Column("day", String(10), nullable=False),
    Column("at", Instant, nullable=False),
    sqlite_with_rowid=False,
)

# What jobs have spent, kept: the charges themselves go with the other rows of a job.
expenses = Table(
    "expenses",
    metadata,
    Column("job_id", Id, primary_key=True),
    Column("day", String(10), primary_key=True),
    Column("rung", String(24), primary_key=True),
    Column("provider", String(24), nullable=False),
    Column("requests", BigInteger, nullable=False),
    *_amounts(""),
    Column("assumed", BigInteger, nullable=False),  # requests whose price nobody said
    Index(None, "day"),
    sqlite_with_rowid=False,
)

# Rungs that took more than their price. All processes look here before they reserve.
closed_rungs = Table(
    "closed_rungs",
    metadata,
    Column("rung", String(24), primary_key=True),
    Column("charged", BigInteger, nullable=False),  # the most credits it took for one request
    Column("at", Instant, nullable=False),
)

# What jobs were said to cost before they started. Stays as long as the job's own row, as what it has spent does.
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
