"""Breakers in rows keep the contract, on both databases, for all who share them."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest
from sqlalchemy import select

from gossamer.db.tables import places
from gossamer.gate import NOW, Breakers
from gossamer.model.breaker import News
from gossamer.store.named_slots import StoredBreakers, StoredSlots
from tests.conftest import AnyDatabase
from tests.contracts.breakers import BreakersContract

LetPass = Callable[[timedelta], Awaitable[None]]


class TestStoredBreakers(BreakersContract):
    rest = timedelta(milliseconds=500)

    @pytest.fixture
    def breakers(self, database: AnyDatabase) -> Breakers:
        return StoredBreakers(database)

    @pytest.fixture
    def let_pass(self) -> LetPass:
        async def sleep(time: timedelta) -> None:
            await asyncio.sleep(time.total_seconds())

        return sleep

    async def test_one_row_says_it_all_and_none_is_left_when_it_is_over(
        self, database: AnyDatabase, breakers: Breakers, let_pass: LetPass
    ) -> None:
        await self.open(breakers)
        assert await StoredSlots(database).enter("bee", "a", 1, self.rest), "no place is taken by it"
        kept = select(places.c.place)
        assert sorted(await database.read(lambda tx: tx.run(kept).scalars().all())) == ["bee", "breaker:bee"]
        await let_pass(self.rest * 1.1)
        for _ in range(2):
            assert await breakers.ask("bee", self.rule) == NOW
            await breakers.tell("bee", self.rule, News.GOOD)
        assert await database.read(lambda tx: tx.run(kept).scalars().all()) == ["bee"]
