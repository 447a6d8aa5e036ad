"""Nudges over brokers other than Redis keep the contract too, on a real RabbitMQ and on something that speaks SQS."""

from collections.abc import AsyncIterator
from itertools import count
from uuid import uuid4

import pytest

from gossamer.dispatch import Dispatcher, Nudge
from gossamer.dispatch.celery import CeleryDispatcher
from tests.contracts.dispatch import DispatcherContract

pytestmark = [
    pytest.mark.xdist_group("brokers"),  # one process starts these servers: they take their time
    pytest.mark.parametrize("broker", ["rabbitmq", "sqs"]),
    # How kombu speaks to pycurl for SQS.
    pytest.mark.filterwarnings("ignore:IOCTLFUNCTION is deprecated:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:socket_all is deprecated:DeprecationWarning"),
]

_numbers = count(1)


@pytest.fixture
def address(broker: str, request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue(f"{broker}_server"))


@pytest.fixture
async def dispatcher(address: str) -> AsyncIterator[Dispatcher]:
    dispatcher = CeleryDispatcher(address, f"nudges{next(_numbers)}", ("http", "desk"))
    await dispatcher.listen(100)
    yield dispatcher
    await dispatcher.close()


class TestOtherBrokers(DispatcherContract):
    pass


async def test_what_was_not_received_goes_back_to_its_queue(address: str) -> None:
    prefix = f"nudges{next(_numbers)}"
    first = CeleryDispatcher(address, prefix, ("http",))
    await first.listen(100)
    received, waiting = Nudge(uuid4(), "http"), Nudge(uuid4(), "http")
    await first.send(received)
    assert await first.receive(1) == [received]
    await first.send(waiting)
    await first.close()
    second = CeleryDispatcher(address, prefix, ("http",))
    await second.listen(100)
    assert await second.receive(5) == [waiting]
    second.done(waiting)
    await second.close()
