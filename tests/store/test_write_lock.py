"""Writers of one SQLite file come one after the other, however busy one of them is."""

import asyncio
import subprocess
import sys
import time
from pathlib import Path

from sqlalchemy import text

from gossamer.clock import SystemClock
from gossamer.db.database import SqliteDatabase
from gossamer.db.transactions import Tx

BUSY = """
import asyncio, sys, time
from pathlib import Path
from sqlalchemy import text
from gossamer.clock import SystemClock
from gossamer.db.database import SqliteDatabase

def batch(tx):
    tx.run(text("UPDATE numbers SET n = n + 1"))
    time.sleep(0.2)

async def main():
    database = SqliteDatabase(Path(sys.argv[1]), SystemClock())
    print("ready", flush=True)
    while True:
        await database.write(batch)

asyncio.run(main())
"""


def _make(tx: Tx) -> None:
    tx.run(text("CREATE TABLE numbers (n INTEGER)"))
    tx.run(text("INSERT INTO numbers VALUES (0)"))


def _add(tx: Tx) -> int:
    tx.run(text("UPDATE numbers SET n = n + 1"))
    return int(tx.run(text("SELECT n FROM numbers")).scalar_one())


async def test_a_writer_gets_its_turn_beside_one_that_never_rests(tmp_path: Path) -> None:
    database = SqliteDatabase(tmp_path / "x.db", SystemClock())
    await database.write(_make)
    others = [
        subprocess.Popen([sys.executable, "-c", BUSY, str(tmp_path / "x.db")], stdout=subprocess.PIPE) for _ in range(2)
    ]
    try:
        for other in others:
            assert other.stdout
            await asyncio.to_thread(other.stdout.readline)
        waits = []
        for _ in range(5):
            began = time.monotonic()
            await database.write(_add)
            waits.append(time.monotonic() - began)
        # Two others hold the file nearly all the time: about one turn of each is waited for, not the driver's luck.
        assert max(waits) < 5
        others[0].kill()  # whoever holds the turn and dies gives it back
        assert await asyncio.wait_for(database.write(_add), 5) > 5
    finally:
        for other in others:
            other.kill()
            other.wait()
            assert other.stdout
            other.stdout.close()
        await database.close()
