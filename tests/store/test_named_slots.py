"""Places kept in rows keep the Gate's contract on both databases."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest

from gossamer.store.named_slots import StoredSlots
from tests.conftest import AnyDatabase
from tests.contracts.places import PlacesContract


class TestStoredPlaces(PlacesContract):
    ttl = timedelta(seconds=2)  # the database's clock is real, and a busy machine may lose a second

    @pytest.fixture
    def places(self, database: AnyDatabase) -> StoredSlots:
        return StoredSlots(database)

    @pytest.fixture
    def let_pass(self) -> Callable[[timedelta], Awaitable[None]]:
        async def sleep(time: timedelta) -> None:
            await asyncio.sleep(time.total_seconds())

        return sleep
