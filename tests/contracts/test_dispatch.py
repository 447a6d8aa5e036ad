"""The embedded dispatcher keeps the contract, in order and within bounds."""

from uuid import uuid4

import pytest

from gossamer.dispatch import Dispatcher, Nudge
from gossamer.dispatch.local import LocalDispatcher
from tests.contracts.dispatch import DispatcherContract


class TestLocalDispatcher(DispatcherContract):
    @pytest.fixture
    def dispatcher(self) -> Dispatcher:
        return LocalDispatcher()


async def test_first_come_first_served() -> None:
    dispatcher = LocalDispatcher()
    nudges = [Nudge(uuid4(), "http") for _ in range(5)]
    for nudge in nudges:
        await dispatcher.send(nudge)
    assert await dispatcher.receive(3) == nudges[:3]
    assert await dispatcher.receive(3) == nudges[3:]


async def test_a_visit_waits_once_however_often_it_is_nudged() -> None:
    dispatcher = LocalDispatcher()
    nudge = Nudge(uuid4(), "http")
    for _ in range(3):
        await dispatcher.send(nudge)
    assert await dispatcher.receive(10) == [nudge]


async def test_a_full_queue_loses_the_newest() -> None:
    dispatcher = LocalDispatcher(waiting=2)
    nudges = [Nudge(uuid4(), "http") for _ in range(4)]
    for nudge in nudges:
        await dispatcher.send(nudge)
    assert await dispatcher.receive(10) == nudges[:2]
