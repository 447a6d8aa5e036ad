"""Bringing a database to this program's schema."""

from pathlib import Path
from typing import Any

from sqlalchemy import Connection, inspect, text

from gossamer.clock import Clock
from gossamer.errors import UserError
from gossamer.store.database import PostgresDatabase, SqliteDatabase, open_database
from gossamer.store.tables import metadata
from gossamer.store.tx import Tx

# Known without reading the migrations, so that a command on an up-to-date database does not load Alembic.
HEAD = "0003"


def revision(tx: Tx) -> str | None:
    """The revision a database is at; None if it has never been set up."""
    if not inspect(tx.conn).has_table("alembic_version"):
        return None
    return tx.run(text("SELECT version_num FROM alembic_version")).scalar()


def upgrade(tx: Tx) -> None:
    """Apply what is missing, in this transaction."""
    from alembic import command

    command.upgrade(_config(tx.conn), "head")


def _config(connection: Connection | None = None) -> Any:
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    config.attributes["connection"] = connection
    return config


def known_revisions() -> list[str]:
    """All revisions this program has, oldest first."""
    from alembic.script import ScriptDirectory

    scripts = ScriptDirectory.from_config(_config())
    return [script.revision for script in reversed(list(scripts.walk_revisions()))]


async def ready_database(url: str, clock: Clock, *, checkpoints: bool = True) -> SqliteDatabase | PostgresDatabase:
    """An open database at the right revision. SQLite is upgraded by itself; a server is its operator's to upgrade."""
    database = open_database(url, clock, checkpoints=checkpoints)
    try:
        found = await database.read(revision)
        if found == HEAD:
            return database
        if isinstance(database, PostgresDatabase):
            raise UserError(
                "database.revision",
                f"The database is at revision {found or 'none'}, this program needs {HEAD}.",
                hint="Run 'gossamer db upgrade'." if found is None or found < HEAD else "Update gossamer.",
            )
        if found is not None and found > HEAD:
            raise UserError(
                "database.newer",
                f"{database.path} was written by a newer gossamer (revision {found}, this program knows {HEAD}).",
                hint="Update gossamer, or point GOSSAMER_HOME at another folder.",
            )
        await database.write(_upgrade_once)
    except BaseException:
        await database.close()
        raise
    return database


def _upgrade_once(tx: Tx) -> None:
    # Another process may have been faster while we waited for the write lock.
    found = revision(tx)
    if found is None:
        set_up(tx)
    elif found != HEAD:
        upgrade(tx)


def set_up(tx: Tx) -> None:
    """All tables at once, for a database that has none: as all revisions together, without loading Alembic."""
    metadata.create_all(tx.conn)
    tx.run(text("CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL PRIMARY KEY)"))
    tx.run(text("INSERT INTO alembic_version VALUES (:head)"), {"head": HEAD})
