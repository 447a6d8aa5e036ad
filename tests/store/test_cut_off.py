"""A machine that is cut off in the middle of something harms neither itself for ever nor the others for long."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from datetime import timedelta

import pytest
from sqlalchemy import select, text

from gossamer.clock import SystemClock
from gossamer.db import tables
from gossamer.db.database import PostgresDatabase
from gossamer.db.transactions import Tx
from gossamer.settle.commit import Committed, commit
from gossamer.store import named_slots, reclaim, visits
from tests.chaos.zombies import Happened, Settled, lost_leases, written_unheld
from tests.jobs import LEASE, claim_all, done, make_job


@pytest.fixture
async def server(new_postgres: Callable[[], str]) -> AsyncIterator[PostgresDatabase]:
    database = PostgresDatabase(new_postgres(), SystemClock())
    yield database
    await database.close()


async def test_who_falls_silent_while_entering_a_place_keeps_the_others_out_for_seconds_only(
    server: PostgresDatabase,
) -> None:
    def patience(tx: Tx) -> str:
        return str(tx.run(text("SHOW idle_in_transaction_session_timeout")).scalar())

    def entering(tx: Tx) -> str:
        assert named_slots.enter(tx, "issuer", "a", 1, timedelta(seconds=10))
        return patience(tx)

    assert await server.write(entering) == "10s"
    assert await server.read(patience) == "0", "only while the others wait for it"


async def test_what_was_written_before_a_visit_was_taken_back_is_not_younger_than_that(
    server: PostgresDatabase,
) -> None:
    """Somebody falls silent with a visit locked, and goes on: the sweep has come meanwhile, and waited."""
    await server.write(make_job, "a.test")
    (visit,) = await server.write(claim_all, lease=-LEASE)

    locked = asyncio.Event()

    def settle_slowly(tx: Tx) -> Committed:
        visits.leases(tx, [visit.id], held=True)
        locked.set()
        tx.run(text("SELECT pg_sleep(1)"))
        return commit(tx, [done(visit, "http://a.test/")], 0)

    settling = asyncio.create_task(server.write(settle_slowly))
    await locked.wait()
    assert await server.write(reclaim.take_back, {visit.id: visit.lease}, expired=True) == 1
    assert not (await settling).lost

    def story(tx: Tx) -> tuple[list[Happened], list[Settled]]:
        told, read = tables.events.c, tables.pages.c
        happened = tx.run(select(told.visit_id, told.at, told.kind, told.why).where(told.visit_id == visit.id))
        settled = tx.run(select(read.visit_id, read.settled_at, read.url).where(read.job_id == visit.job_id))
        return (
            [Happened(row.visit_id, row.at, row.kind, row.why) for row in happened],
            [Settled(row.visit_id, row.settled_at, row.url) for row in settled],
        )

    happened, settled = await server.read(story)
    assert len(settled) == 1
    assert lost_leases(happened) == 1
    assert written_unheld(happened, settled) == []


async def test_a_connection_whose_other_end_is_gone_is_found_out(server: PostgresDatabase) -> None:
    async with server._engine.connect() as connection:
        raw = await connection.get_raw_connection()
        assert raw.driver_connection
        found = raw.driver_connection._transport.get_extra_info("socket")
        assert found.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        if hasattr(socket, "TCP_USER_TIMEOUT"):
            assert found.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 25_000
            assert found.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) == 10
