"""Nudges over Celery keep the contract, on a real Redis; and what Celery itself promises is what we were told."""

import asyncio
import logging
from collections.abc import AsyncIterator
from itertools import count
from pathlib import Path
from uuid import uuid4

import pytest
from celery.worker import request
from kombu.message import Message

from gossamer.dispatch import Dispatcher, Nudge
from gossamer.dispatch.celery import CeleryDispatcher, OneLine, make_app
from tests.contracts.dispatch import DispatcherContract
from tests.servers import RedisServer, redis

_numbers = count(1)


async def opened(server: RedisServer, prefix: str, *lanes: str, most: int = 100) -> CeleryDispatcher:
    dispatcher = CeleryDispatcher(server.url, prefix, lanes or ("http", "desk"))
    await dispatcher.listen(most)
    return dispatcher


@pytest.fixture
def prefix() -> str:
    return f"nudges{next(_numbers)}"


@pytest.fixture
async def dispatcher(redis_server: RedisServer, prefix: str) -> AsyncIterator[Dispatcher]:
    dispatcher = await opened(redis_server, prefix)
    yield dispatcher
    await dispatcher.close()


def length(server: RedisServer, prefix: str, lane: str = "http") -> bytes:
    return server.ask("LLEN", f"{prefix}:{prefix}.{lane}")


class TestCeleryDispatcher(DispatcherContract):
    pass


async def test_what_was_not_received_goes_back_to_its_queue(redis_server: RedisServer, prefix: str) -> None:
    first = await opened(redis_server, prefix)
    received, waiting = Nudge(uuid4(), "http"), Nudge(uuid4(), "http")
    await first.send(received)
    assert await first.receive(1) == [received]
    await first.send(waiting)
    while length(redis_server, prefix) != b":0":
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.1)
    await first.close()
    assert length(redis_server, prefix) == b":1", "the one that nobody had received"
    assert redis_server.ask("HLEN", f"{prefix}:unacked") == b":0"
    second = await opened(redis_server, prefix)
    assert await second.receive(5) == [waiting]
    second.done(waiting)
    await second.close()


async def test_no_more_are_taken_than_there_is_room_for(redis_server: RedisServer, prefix: str) -> None:
    dispatcher = await opened(redis_server, prefix, most=3)
    sent = [Nudge(uuid4(), "http") for _ in range(7)]
    for nudge in sent:
        await dispatcher.send(nudge)
    got: list[Nudge] = []
    while len(got) < 3:
        got += await dispatcher.receive(10)
    await asyncio.sleep(0.3)
    assert length(redis_server, prefix) == b":4", "the others stay where any worker can take them"
    dispatcher.done(got[0])
    got += await dispatcher.receive(10)
    assert got == sent[:4]
    await dispatcher.close()


async def test_a_worker_takes_only_from_its_own_lanes(redis_server: RedisServer, prefix: str) -> None:
    desk = await opened(redis_server, prefix, "desk")
    await desk.send(Nudge(uuid4(), "http"))
    wanted = Nudge(uuid4(), "desk")
    await desk.send(wanted)
    assert await desk.receive(5) == [wanted]
    assert length(redis_server, prefix) == b":1"
    await desk.close()


async def test_a_broker_that_is_away_is_said_and_found_again(tmp_path: Path) -> None:
    with redis(tmp_path) as server:
        dispatcher = CeleryDispatcher(server.url, "away", ("http",))
        assert await dispatcher.send(Nudge(uuid4(), "http"))
        server.kill()
        assert not await dispatcher.send(Nudge(uuid4(), "http"))
        server.start()
        assert await dispatcher.send(Nudge(uuid4(), "http"))
        assert length(server, "away") == b":1"
        await dispatcher.close()


# Of tasks that go on after a connection is lost, which is as we want it; an error here, and there it ends the consumer.
@pytest.mark.filterwarnings("ignore::celery.exceptions.CPendingDeprecationWarning")
async def test_whoever_listens_says_once_that_the_broker_is_away(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def said(event: str) -> int:
        return sum(event in record.getMessage() for record in caplog.records)

    with redis(tmp_path) as server, caplog.at_level(logging.INFO, "gossamer.dispatch"):
        dispatcher = await opened(server, "heard")
        server.kill()
        while not said("broker.away"):
            await asyncio.sleep(0.05)
        await asyncio.sleep(3)  # the next tries, which Celery itself would write of
        server.start()
        while not said("broker.back"):
            await asyncio.sleep(0.05)
        await dispatcher.close()
    assert said("broker.away") == 1
    assert not said("Cannot connect")
    assert not said("broker lost")


class Gone:
    """A channel whose broker has been cut off."""

    no_ack_consumers = None

    def basic_ack(self, *_: object, **__: object) -> None:
        raise ConnectionError("Timeout writing to socket\nand more of it")

    basic_reject = basic_ack


def test_a_nudge_that_cannot_be_acknowledged_is_one_line(caplog: pytest.LogCaptureFixture) -> None:
    filters = OneLine()
    filters.install()
    try:
        with caplog.at_level(logging.INFO):
            Message(channel=Gone(), delivery_tag="1").ack_log_error(request.logger, (ConnectionError,))
            Message(channel=Gone(), delivery_tag="2").reject_log_error(request.logger, (ConnectionError,))
    finally:
        filters.remove()
    assert len(caplog.records) == 2
    for record in caplog.records:
        said = record.getMessage()
        assert "broker.not_acknowledged" in said
        assert "'why': 'Timeout writing to socket'" in said
        assert not record.exc_info


async def test_nudges_that_arrive_together_are_received_together(redis_server: RedisServer, prefix: str) -> None:
    dispatcher = await opened(redis_server, prefix)
    nudges = {Nudge(uuid4(), "http") for _ in range(8)}
    assert all(await asyncio.gather(*(dispatcher.send(nudge) for nudge in nudges)))
    rounds: list[list[Nudge]] = []
    while sum(map(len, rounds)) < 8:
        rounds.append(await dispatcher.receive(50))
        for nudge in rounds[-1]:
            dispatcher.done(nudge)
    assert {nudge for one in rounds for nudge in one} == nudges
    assert len(rounds) < 8
    await dispatcher.close()


async def test_all_threads_of_a_pool_share_what_keeps_no_results(redis_server: RedisServer, prefix: str) -> None:
    app = make_app(redis_server.url, prefix, ["http"])
    here = app.backend
    assert await asyncio.to_thread(lambda: app.backend) is here
