"""The state of a database: its server, its clock, its file."""

import time
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import select, text
from sqlalchemy.exc import OperationalError

from gossamer.db.tables import places
from gossamer.db.transactions import Tx

_LOOK_AT_THE_TIME = 10_000  # SQLite instructions between two checks of the time


@dataclass(frozen=True, slots=True)
class DatabaseServer:
    """The present state of a Postgres server."""

    version: str
    connections: int
    most_connections: int


def database_time(tx: Tx) -> datetime:
    """Return the current time of the clock that rows are written by."""
    return tx.now


def working_home(tx: Tx) -> str | None:
    """Return the data folder whose runner uses this database now."""
    query = select(places.c.holder).where(places.c.place == "runner", places.c.until > tx.now)
    home: str | None = tx.run(query).scalar()
    return home


def server(tx: Tx) -> DatabaseServer | None:
    """Return the state of the server; None for a file database."""
    if not tx.dialect.row_locks:
        return None
    version, most = (tx.run(text(f"SHOW {name}")).scalar_one() for name in ("server_version", "max_connections"))
    return DatabaseServer(
        version.split()[0], tx.run(text("SELECT count(*) FROM pg_stat_activity")).scalar_one(), int(most)
    )


def flaw(tx: Tx, patience: timedelta) -> str | None:
    """Return the first flaw that SQLite finds in its file; "" for none, None if it ran out of time."""
    driver: Any = tx.conn.connection.driver_connection
    until = time.monotonic() + patience.total_seconds()
    driver.set_progress_handler(lambda: time.monotonic() > until, _LOOK_AT_THE_TIME)
    try:
        said = str(tx.run(text("PRAGMA quick_check(1)")).scalar_one())
    except OperationalError as error:
        if "interrupted" not in str(error.orig):
            raise
        return None
    finally:
        driver.set_progress_handler(None, 0)
    return "" if said == "ok" else " ".join(said.split())


def clock_ahead(tx: Tx, now: datetime) -> timedelta:
    """Return how far the clock that rows are written by is ahead of `now`."""
    return tx.now - now
