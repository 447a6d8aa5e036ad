"""Bring a database to this program's schema, all of it or nothing, and recognise the schema of each revision."""

import sqlite3
from datetime import timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, create_engine, inspect, text
from sqlalchemy.engine import make_url

from gossamer.clock import Clock, SystemClock
from gossamer.db.database import PostgresDatabase, SqliteDatabase, open_database
from gossamer.db.health import working_home
from gossamer.db.postgres import make_all_partitions
from gossamer.db.tables import metadata
from gossamer.db.transactions import SQLITE, Tx
from gossamer.errors import UserError

# Known without reading the migrations, so that a command on an up-to-date database does not load Alembic.
HEAD = "0022"
SCRIPTS = Path(__file__).parent / "migrations"


def revision(tx: Tx) -> str | None:
    """The revision a database is at; None if it has never been set up."""
    if not inspect(tx.conn).has_table("alembic_version"):
        return None
    found: str | None = tx.run(text("SELECT version_num FROM alembic_version")).scalar()
    return found


def upgrade(tx: Tx, target: str = "head") -> None:
    """Apply the missing revisions in this transaction."""
    from alembic import command  # loaded for upgrades only: it takes long

    if not tx.conn.in_transaction():
        # Otherwise Alembic would begin a transaction, and commit it.
        tx.conn.begin()
    command.upgrade(_config(tx.conn), target)


def _config(connection: Connection | None = None) -> Any:
    from alembic.config import Config  # for the same reason

    config = Config()
    config.set_main_option("script_location", str(SCRIPTS).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config


def known_revisions() -> list[str]:
    """All revisions this program has, oldest first."""
    from alembic.script import ScriptDirectory  # for the same reason

    scripts = ScriptDirectory.from_config(_config())
    return [script.revision for script in reversed(list(scripts.walk_revisions()))]


async def ready_database(
    url: str,
    clock: Clock,
    *,
    checkpoints: bool = True,
    longest: timedelta | None = None,
    pool: int = 4,
    pooled: bool = False,
    patience: timedelta = timedelta(),
    may_be_older: bool = False,
) -> SqliteDatabase | PostgresDatabase:
    """Open a database at the right revision. SQLite is upgraded automatically, a server by its operator.

    `may_be_older`: a database that still has to be upgraded is accepted, to find out which processes use it.
    """
    database = open_database(url, clock, checkpoints=checkpoints, pool=pool, longest=longest, pooled=pooled)
    database.retries.limit = patience
    try:
        found = await database.read(revision)
        if found == HEAD:
            return database
        if isinstance(database, PostgresDatabase):
            refuse_unknown(found, shown(url))
            if may_be_older and found is not None:
                return database
            raise UserError(
                "database.revision",
                f"{shown(url)} is at revision {found or 'none'}, and this program needs {HEAD}.",
                hint="Run 'gossamer db upgrade'.",
            )
        await database.write(_bring_up, shown(url))
    except BaseException:
        await database.close()
        raise
    return database


async def upgrade_database(url: str, clock: Clock, *, pooled: bool = False) -> str | None:
    """Bring a database of either kind to the present schema; returns the revision it had before."""
    database = open_database(url, clock, pooled=pooled)
    try:
        return await database.write(_bring_up, shown(url))
    finally:
        await database.close()


def _bring_up(tx: Tx, where: str) -> str | None:
    if tx.dialect.row_locks:
        # Where a runner enters, and where a second upgrade comes by: both wait until this one is over.
        tx.run(text("SELECT pg_advisory_xact_lock(hashtext('runner'))"))
    # Read again: another process may have been faster while we waited.
    found = revision(tx)
    if found == HEAD:
        make_all_partitions(tx)
        return found
    refuse_unknown(found, where)
    if found is None and not tx.dialect.row_locks:
        set_up(tx)
        return found
    if found is not None and (home := working_home(tx)):
        raise UserError(
            "database.in_use",
            f"{where} is at revision {found} and in use by {home}: it cannot be upgraded to {HEAD} meanwhile.",
            hint="Stop the gossamer process that uses this database (Ctrl-C, or kill it), wait 30 seconds, and try "
            "again. 'gossamer system workers' lists the running workers.",
        )
    upgrade(tx)
    return found


def refuse_unknown(found: str | None, where: str) -> None:
    """Refuse a database of a revision that this program does not have: of a newer one, or of one never released."""
    if found is None or found == HEAD:
        return
    if found > HEAD:
        raise UserError(
            "database.newer",
            f"{where} was written by a newer gossamer (revision {found}, this program knows {HEAD}).",
            hint="Update gossamer, or use another database: see GOSSAMER_HOME and GOSSAMER_DATABASE_URL.",
        )
    if found not in (known := known_revisions()):
        raise UserError(
            "database.unknown_revision",
            f"{where} is at revision {found}, which this program does not know. It can use and upgrade databases of "
            f"revision {known[0]} and later.",
            hint="Export what you need with the gossamer that wrote it, and use a new database: see GOSSAMER_HOME and "
            "GOSSAMER_DATABASE_URL.",
        )


def shown(url: str) -> str:
    """Return the display name of a database: its file, or its URL without the password."""
    if url.startswith("sqlite:///"):
        return url.removeprefix("sqlite:///")
    return make_url(url).set(drivername="postgresql", password=None).render_as_string()


def set_up(tx: Tx) -> None:
    """Create all tables in an empty database: the same as all revisions make, without loading Alembic."""
    metadata.create_all(tx.conn)
    tx.run(text("CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL PRIMARY KEY)"))
    tx.run(text("INSERT INTO alembic_version VALUES (:head)"), {"head": HEAD})


# The columns of each table: their place in its primary key, and whether they are computed.
Shape = dict[str, dict[str, tuple[int, int]]]

# As SQLite itself begins what it keeps of a table or an index, however it was typed.
_PLAIN = ("CREATE TABLE ", "CREATE INDEX ", "CREATE UNIQUE INDEX ")


def stranger(found: sqlite3.Connection) -> str:
    """Describe an object in a file that is neither a plain table nor a plain index; "" if there is none.

    Gossamer makes no others, and some of them execute code. The check reads their SQL instead of their
    type, because SQLite acts on the SQL.
    """
    for kind, name, words in found.execute("SELECT type, name, sql FROM sqlite_schema"):
        if kind not in ("table", "index"):
            return f"it has the {kind} {name!r}"
        if words is not None and not str(words).startswith(_PLAIN):
            return f"it has {name!r}, which is no plain {kind}"
    return ""


def difference(found: sqlite3.Connection, revision: str | None) -> str:
    """Describe the first difference between our tables and those of their revision; "" if there is none.

    Tables with other names are ignored, and so are databases of revisions that `refuse_unknown` refuses.
    """
    if revision is None:
        return "it has no revision"
    if revision != HEAD and revision not in known_revisions():
        return ""
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
