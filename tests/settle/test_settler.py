"""The settler's places: never more results wait than there are of them, however many visits bring them."""

import asyncio
import threading
from pathlib import Path
from uuid import uuid4

from gossamer.clock import SystemClock
from gossamer.db.database import SqliteDatabase
from gossamer.db.schema import upgrade
from gossamer.db.transactions import Tx
from gossamer.settle.settler import MOST_WAITED_FOR, MOST_WAITING, Settler
from gossamer.store import counters
from tests.jobs import claim_all, done, make_job

PAGES = 2 * MOST_WAITING + 50


def _hold_until(_: Tx, go: threading.Event) -> None:
    """The database is busy with something else."""
    go.wait(30)


async def test_while_the_database_is_slow_visits_wait_for_a_place(tmp_path: Path) -> None:
    database = SqliteDatabase(tmp_path / "a.db", SystemClock())
    await database.write(upgrade)
    job = await database.write(make_job, "a.test")
    (visit,) = await database.write(claim_all)
    settler = Settler(database, SystemClock(), 0, lambda _: None)
    settling = asyncio.create_task(settler.run())
    go = threading.Event()
    slow = asyncio.create_task(database.write(_hold_until, go))
    put = 0

    async def bring(number: int) -> None:
        nonlocal put
        await settler.room()
        put += 1
        settler.put_result(done(visit, f"http://a.test/{number}"))

    bringing = [asyncio.create_task(bring(number)) for number in range(PAGES)]
    async with asyncio.timeout(30):
        while put < 2 * MOST_WAITING:
            await asyncio.sleep(0.01)
    await asyncio.sleep(0.5)
    # So many are in the batch that waits for the database, as many more have a place; nobody else has got one.
    assert put == 2 * MOST_WAITING
    assert not settler.has_room
    assert settler.lag() >= 0.4
    go.set()
    await asyncio.gather(slow, *bringing)
    settler.close()
    await settling
    assert settler.lag() == 0
    assert (await database.read(counters.progress, job.id)).pages_done == PAGES
    await database.close()


async def test_a_place_that_is_given_back_can_be_had_again(tmp_path: Path) -> None:
    database = SqliteDatabase(tmp_path / "a.db", SystemClock())
    settler = Settler(database, SystemClock(), 0, lambda _: None)
    for _ in range(MOST_WAITING):
        await settler.room()
    assert settler.has_room is False
    waiting = asyncio.create_task(settler.relief())
    await asyncio.sleep(0.05)
    assert not waiting.done()
    settler.give_back()
    await asyncio.wait_for(waiting, 5)
    await asyncio.wait_for(settler.room(), 5)
    await database.close()


async def test_visits_that_never_end_are_not_waited_for_without_limit(tmp_path: Path) -> None:
    database = SqliteDatabase(tmp_path / "a.db", SystemClock())
    settler = Settler(database, SystemClock(), 0, lambda _: None)
    leases = [uuid4() for _ in range(MOST_WAITED_FOR + 5)]
    for lease in leases:
        settler.hurry(lease)
    assert settler.waited_for == frozenset(leases[5:])
    await database.close()
