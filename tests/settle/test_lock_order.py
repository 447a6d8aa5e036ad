"""Whoever settles takes its locks in one order: sites, then visits by id, those that pages are handed to as well."""

import asyncio
from collections.abc import AsyncIterator, Callable
from uuid import UUID

import pytest
from sqlalchemy import select, text

from gossamer.clock import SystemClock
from gossamer.db.database import PostgresDatabase
from gossamer.db.tables import visits
from gossamer.model.page import Page, Visit
from gossamer.model.states import PageState, SiteState
from gossamer.model.trouble import Reason, Trouble
from gossamer.settle.step import Finished, HandOver, PageStep, Step
from gossamer.store import counters
from tests.jobs import claim_all, done, make_job, settle

WAITING = text("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()")


@pytest.fixture
async def server(new_postgres: Callable[[], str]) -> AsyncIterator[PostgresDatabase]:
    opened = PostgresDatabase(new_postgres(), SystemClock())
    yield opened
    await opened.close()


def handing_over(giver: Visit, taker: Visit) -> Step:
    handed = HandOver(f"http://{taker.host}/landing", 1, entry=False, found_on=f"http://{giver.host}/go")
    moved = PageStep(Page.at(f"http://{giver.host}/go", 1), PageState.SKIPPED, Trouble(Reason.MOVED, taker.host))
    return Step(giver, moved, handed=(handed,))


async def test_a_visit_that_gets_a_page_is_locked_in_its_turn(server: PostgresDatabase) -> None:
    """Somebody holds the taker and wants the giver next, as their ids are ordered: nobody may hold it and wait."""
    job = await server.write(make_job, "a.test", "b.test")
    taker, giver = sorted(await server.write(claim_all), key=lambda visit: visit.id)
    await settle(server, done(taker, f"http://{taker.host}/"), Step(taker, ending=Finished(SiteState.DONE)))
    async with server._engine.begin() as conn:

        async def lock(visit_id: UUID) -> None:
            await conn.execute(select(visits.c.id).where(visits.c.id == visit_id).with_for_update(nowait=True))

        await lock(taker.id)
        settling = asyncio.create_task(settle(server, handing_over(giver, taker)))
        async with asyncio.timeout(20):
            while not await server.read(lambda tx: tx.run(WAITING).scalar_one()):
                await asyncio.sleep(0.005)
        await lock(giver.id)  # raises where the settling one has it
    await settling
    assert (await server.read(counters.progress, job.id)).pages_open == 1
