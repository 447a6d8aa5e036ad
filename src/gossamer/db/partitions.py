"""Monthly partitions on Postgres: made before their month begins, dropped when its jobs are gone.

All of it is done by functions of the database's owner (`migrations/partitioning.py`); a file has no partitions.
"""

from sqlalchemy import text

from gossamer.db.transactions import Tx

PARTITIONED = ("pages", "records", "events", "charges")
"""Tables in monthly partitions: every question about them must say which job it is about."""

AHEAD = 2  # months that are made before they begin

_MAKE = text("SELECT gossamer_make_partition(:ahead)")
_DROP = text("SELECT gossamer_drop_partition()")
_STRAYS = text("SELECT gossamer_strays()")


def make_next(tx: Tx) -> str | None:
    """Create one missing partition and return its name.

    None if none is missing, "" if another transaction blocks it at the moment.
    """
    return tx.run(_MAKE, {"ahead": AHEAD}).scalar() if tx.dialect.row_locks else None


def make_all(tx: Tx) -> None:
    """Create all missing partitions, for a process with exclusive use of the database."""
    while make_next(tx):
        continue


def drop_next(tx: Tx) -> str | None:
    """Drop one whose month is over and has no job left with rows in it; answers as `make_next` does."""
    return tx.run(_DROP).scalar() if tx.dialect.row_locks else None


def strays(tx: Tx) -> list[str]:
    """Tables with rows that belong to no month there is a partition for."""
    return list(tx.run(_STRAYS).scalars()) if tx.dialect.row_locks else []
