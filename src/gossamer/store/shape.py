"""What a database of each revision looks like, to tell ours from those that only resemble it."""

import sqlite3
from typing import Any

from sqlalchemy import create_engine

from gossamer.clock import SystemClock
from gossamer.store.access_tables import metadata  # all tables: each module hangs its own on it
from gossamer.store.dialect import SQLITE
from gossamer.store.schema import HEAD, known_revisions, set_up, upgrade
from gossamer.store.tx import Tx

# The columns of each table: their place in its primary key, and whether they are computed.
Shape = dict[str, dict[str, tuple[int, int]]]

# As SQLite itself begins what it keeps of a table or an index, however it was typed.
_PLAIN = ("CREATE TABLE ", "CREATE INDEX ", "CREATE UNIQUE INDEX ")


def stranger(found: sqlite3.Connection) -> str:
    """What is in a file beside tables and indexes, none of which is ours and some of which would act; "" for nothing.

    By their words and not by their kind: SQLite believes the words.
    """
    for kind, name, words in found.execute("SELECT type, name, sql FROM sqlite_schema"):
        if kind not in ("table", "index"):
            return f"it has the {kind} {name!r}"
        if words is not None and not str(words).startswith(_PLAIN):
            return f"it has {name!r}, which is no plain {kind}"
    return ""


def difference(found: sqlite3.Connection, revision: str | None) -> str:
    """The first thing in which our tables are not those of their revision; "" for nothing.

    Tables of other names are nobody's concern. What a newer program has made is not for us to judge.
    """
    if revision is None:
        return "it has no revision"
    if revision > HEAD:
        return ""
    if revision != HEAD and revision not in known_revisions():
        return f"there is no revision {revision!r}"
    seen = {name: columns for name, columns in _shape(found).items() if name in metadata.tables}
    return _first_difference(seen, expected(revision), f"of revision {revision}")


def _first_difference(seen: Shape, wanted: Shape, whose: str) -> str:
    for name in sorted(wanted.keys() | seen.keys()):
        if name not in seen:
            return f"it has no table {name!r}"
        if name not in wanted:
            return f"the table {name!r} is not {whose}"
        if seen[name] != wanted[name]:
            return f"the table {name!r} has not the columns {whose}"
    return ""


def expected(revision: str) -> Shape:
    """Our tables as a revision has them: read off a new database in memory."""
    engine = create_engine("sqlite://")
    try:
        with engine.begin() as conn:
            tx = Tx(conn, SQLITE, SystemClock())
            if revision == HEAD:
                set_up(tx)
            else:
                upgrade(tx, revision)
            driver: Any = conn.connection.driver_connection
            return {name: columns for name, columns in _shape(driver).items() if name in metadata.tables}
    finally:
        engine.dispose()


def _shape(found: sqlite3.Connection) -> Shape:
    tables = [name for (name,) in found.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
    columns = "SELECT name, pk, hidden FROM pragma_table_xinfo(?)"
    return {table: {name: (key, made) for name, key, made in found.execute(columns, (table,))} for table in tables}
