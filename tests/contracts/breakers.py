"""The contract of breakers: too many failures open them, probes close them, and all who share them see the same."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta

from gossamer.gate import NOW, Breakers
from gossamer.model.breaker import BreakerRule, News

LetPass = Callable[[timedelta], Awaitable[None]]


class BreakersContract:
    """Fixtures: `breakers`, new, and `let_pass`, which lets time pass for them (by sleeping, if it must)."""

    rest = timedelta(seconds=30)  # set it lower where time is real

    @property
    def rule(self) -> BreakerRule:
        return BreakerRule(failures=4, share=0.5, window=self.rest * 40, buckets=6, rest=self.rest, probes=2)

    async def tell(self, breakers: Breakers, *news: News, name: str = "bee") -> bool:
        """Whether it is open after all that."""
        is_open = False
        for one in news:
            is_open = (await breakers.tell(name, self.rule, one, f"why {one}")).open
        return is_open

    async def open(self, breakers: Breakers) -> None:
        assert await self.tell(breakers, *[News.BAD] * 4)

    async def test_one_nobody_told_of_is_closed(self, breakers: Breakers) -> None:
        assert await breakers.ask("bee", self.rule) == NOW
        standing = await breakers.look("bee")
        assert (standing.open, standing.wait, standing.down, standing.why) == (False, NOW, NOW, "")
        assert standing.failed == timedelta.max

    async def test_so_many_failures_in_a_row_open_it(self, breakers: Breakers) -> None:
        assert not await self.tell(breakers, News.BAD, News.BAD, News.BAD)
        assert (await breakers.look("bee")).in_a_row == 3
        assert await breakers.ask("bee", self.rule) == NOW
        assert await self.tell(breakers, News.BAD)
        assert NOW < await breakers.ask("bee", self.rule) <= self.rest
        standing = await breakers.look("bee")
        assert standing.why == "why bad"
        assert standing.failed < self.rest

    async def test_a_good_one_between_them_begins_the_row_anew(self, breakers: Breakers) -> None:
        news = [News.GOOD] * 9 + [News.BAD, News.BAD, News.BAD, News.GOOD] * 2
        assert not await self.tell(breakers, *news)
        assert (await breakers.look("bee")).in_a_row == 0

    async def test_too_large_a_share_opens_it(self, breakers: Breakers) -> None:
        assert not await self.tell(breakers, News.GOOD, News.GOOD, News.BAD)
        assert await self.tell(breakers, News.BAD)

    async def test_good_ones_may_be_told_together_with_the_next(self, breakers: Breakers) -> None:
        assert not await self.tell(breakers, News.BAD, News.BAD)
        assert not (await breakers.tell("bee", self.rule, News.BAD, goods=6)).open
        assert (await breakers.look("bee")).in_a_row == 1
        assert (await breakers.tell("bee", self.rule, News.NOTHING, goods=1)).in_a_row == 0

    async def test_what_is_only_poor_opens_it_in_a_row_and_never_by_its_share(self, breakers: Breakers) -> None:
        assert not await self.tell(breakers, News.GOOD, *[News.POOR] * 3, News.GOOD, *[News.POOR] * 3)
        assert await self.tell(breakers, News.POOR)

    async def test_one_grave_failure_is_enough(self, breakers: Breakers) -> None:
        assert await self.tell(breakers, News.GOOD, News.GOOD, News.GRAVE)
        assert (await breakers.look("bee")).why == "why grave"

    async def test_what_happened_long_ago_does_not_count(self, breakers: Breakers, let_pass: LetPass) -> None:
        brief = BreakerRule(failures=4, share=0.5, window=self.rest, buckets=6, rest=self.rest, probes=2)
        for _ in range(3):
            await breakers.tell("bee", brief, News.BAD)
        await let_pass(self.rest * 1.3)
        assert not (await breakers.tell("bee", brief, News.BAD)).open
        assert (await breakers.look("bee")).in_a_row == 1

    async def test_after_its_rest_a_few_may_probe(self, breakers: Breakers, let_pass: LetPass) -> None:
        await self.open(breakers)
        await let_pass(self.rest * 1.1)
        asked = await asyncio.gather(*(breakers.ask("bee", self.rule) for _ in range(6)))
        assert sorted(asked)[:3] == [NOW, NOW, self.rest / 2]
        assert (await breakers.look("bee")).open

    async def test_good_probes_close_it(self, breakers: Breakers, let_pass: LetPass) -> None:
        await self.open(breakers)
        await let_pass(self.rest * 1.1)
        assert await breakers.ask("bee", self.rule) == NOW
        assert await self.tell(breakers, News.GOOD)
        assert await breakers.ask("bee", self.rule) == NOW
        assert not await self.tell(breakers, News.GOOD)
        assert [await breakers.ask("bee", self.rule) for _ in range(5)] == [NOW] * 5
        # Forgiven and forgotten.
        assert not await self.tell(breakers, News.BAD, News.BAD, News.BAD)

    async def test_one_bad_probe_opens_it_again(self, breakers: Breakers, let_pass: LetPass) -> None:
        await self.open(breakers)
        await let_pass(self.rest * 1.1)
        assert await breakers.ask("bee", self.rule) == NOW
        assert await self.tell(breakers, News.GOOD, News.BAD)
        assert NOW < await breakers.ask("bee", self.rule) <= self.rest
        assert (await breakers.look("bee")).down > self.rest, "since it opened first"

    async def test_a_poor_probe_opens_it_again_unless_another_was_good(
        self, breakers: Breakers, let_pass: LetPass
    ) -> None:
        await self.open(breakers)
        await let_pass(self.rest * 1.1)
        assert await breakers.ask("bee", self.rule) == NOW
        await self.tell(breakers, News.POOR)
        assert await breakers.ask("bee", self.rule) > NOW
        await let_pass(self.rest * 1.1)
        assert await breakers.ask("bee", self.rule) == NOW
        await self.tell(breakers, News.GOOD, News.POOR)
        assert await breakers.ask("bee", self.rule) == NOW

    async def test_a_probe_that_came_to_nothing_makes_room_for_another(
        self, breakers: Breakers, let_pass: LetPass
    ) -> None:
        await self.open(breakers)
        await let_pass(self.rest * 1.1)
        assert [await breakers.ask("bee", self.rule) for _ in range(2)] == [NOW, NOW]
        assert await breakers.ask("bee", self.rule) > NOW
        await self.tell(breakers, News.NOTHING)
        assert await breakers.ask("bee", self.rule) == NOW

    async def test_what_went_before_it_opened_says_nothing_new(self, breakers: Breakers, let_pass: LetPass) -> None:
        await self.open(breakers)
        assert await self.tell(breakers, News.BAD, News.GOOD, News.GOOD, News.GOOD, News.POOR)
        await let_pass(self.rest * 1.1)
        assert await breakers.ask("bee", self.rule) == NOW
        assert await self.tell(breakers, News.GOOD), "and none of them was a probe"

    async def test_breakers_are_separate(self, breakers: Breakers) -> None:
        await self.open(breakers)
        assert await breakers.ask("ape", self.rule) == NOW
        assert not (await breakers.look("ape")).open

    async def test_all_who_fail_at_once_are_counted(self, breakers: Breakers) -> None:
        told = await asyncio.gather(*(breakers.tell("bee", self.rule, News.BAD) for _ in range(4)))
        assert [one.open for one in told].count(True) == 1
