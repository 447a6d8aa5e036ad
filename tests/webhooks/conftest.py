"""A receiver, and whoever sends to it, on both databases."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest

from gossamer.accounts.sealing import Sealer
from gossamer.clock import SystemClock
from gossamer.fetch.guard import Guard, parse_connect_to
from gossamer.fetch.post import Poster
from gossamer.fetch.resolve import Resolver
from gossamer.webhooks.sender import Sender
from gossamer.webhooks.signing import KeySeals
from tests.conftest import AnyDatabase
from tests.webhooks.listener import Listener

SEALS = KeySeals(Sealer(b"a secret of the operator"))


@pytest.fixture
def listener() -> Iterator[Listener]:
    with Listener() as running:
        yield running


@pytest.fixture
async def poster(listener: Listener) -> AsyncIterator[Poster]:
    resolver = Resolver(SystemClock(), servers=["127.0.0.1:9"], patience=timedelta(seconds=0.2))
    yield Poster(Guard(resolver, rules=parse_connect_to(listener.rule)), SystemClock(), timeout=timedelta(seconds=1))
    await resolver.close()


@asynccontextmanager
async def at_once() -> AsyncIterator[None]:
    """Nobody else has a turn."""
    yield


MakeSender = Callable[..., Sender]


@pytest.fixture
def make_sender(database: AnyDatabase, poster: Poster) -> MakeSender:
    def make(worker: str = "test/1", lease: timedelta = timedelta(seconds=20), seals: KeySeals = SEALS) -> Sender:
        async def carrier() -> Poster:
            return poster

        opened: Callable[[], Awaitable[Poster]] = carrier
        return Sender(database, SystemClock(), opened, seals, worker, at_once, lease=lease)

    return make


@pytest.fixture
def sender(make_sender: MakeSender) -> Sender:
    return make_sender()
