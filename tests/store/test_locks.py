"""A process may open a database twice without giving up its hold on it."""

import subprocess
import sys
from pathlib import Path

from gossamer.clock import SystemClock
from gossamer.db.database import SqliteDatabase
from gossamer.db.schema import revision, upgrade

PASSER_BY = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
connection.execute("CREATE TABLE passed_by (id)")
connection.commit()
connection.close()
"""


async def test_who_opens_a_database_again_does_not_let_it_go(tmp_path: Path) -> None:
    """The last one to leave removes the log. Somebody who only passes by must not be taken for the last."""
    path = tmp_path / "gossamer.db"
    database = SqliteDatabase(path, SystemClock())
    await database.write(upgrade)
    again = SqliteDatabase(path, SystemClock())
    subprocess.run([sys.executable, "-c", PASSER_BY, str(path)], check=True)
    assert (tmp_path / "gossamer.db-wal").exists()
    assert await database.read(revision) == await again.read(revision)
    await again.close()
    await database.close()
