"""The contract of places: so many holders at a time, and the dead drop out."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta

from gossamer.gate.seam import Places

LetPass = Callable[[timedelta], Awaitable[None]]


class PlacesContract:
    """Fixtures: `places`, empty, and `let_pass`, which lets time pass for them (by sleeping, if it must)."""

    ttl = timedelta(seconds=60)  # set it lower where time is real

    async def test_a_place_has_room_for_so_many_and_no_more(self, places: Places) -> None:
        entered = [await places.enter("cap", holder, 2, self.ttl) for holder in ("a", "b", "c")]
        assert entered == [True, True, False]

    async def test_no_room_at_all(self, places: Places) -> None:
        assert not await places.enter("cap", "a", 0, self.ttl)

    async def test_leaving_makes_room(self, places: Places) -> None:
        assert await places.enter("cap", "a", 1, self.ttl)
        await places.leave("cap", "a")
        assert await places.enter("cap", "b", 1, self.ttl)

    async def test_a_holder_counts_once_however_often_it_enters(self, places: Places) -> None:
        assert [await places.enter("cap", "a", 2, self.ttl) for _ in range(3)] == [True, True, True]
        assert await places.enter("cap", "b", 2, self.ttl)

    async def test_a_dead_holder_frees_its_place(self, places: Places, let_pass: LetPass) -> None:
        assert await places.enter("cap", "dead", 1, self.ttl)
        assert not await places.enter("cap", "alive", 1, self.ttl)
        await let_pass(self.ttl * 1.1)
        assert await places.enter("cap", "alive", 1, self.ttl)

    async def test_entering_again_renews(self, places: Places, let_pass: LetPass) -> None:
        assert await places.enter("cap", "a", 1, self.ttl)
        await let_pass(self.ttl * 0.6)
        assert await places.enter("cap", "a", 1, self.ttl)
        await let_pass(self.ttl * 0.6)
        assert not await places.enter("cap", "b", 1, self.ttl)

    async def test_who_is_late_to_renew_has_no_claim(self, places: Places, let_pass: LetPass) -> None:
        assert await places.enter("cap", "late", 1, self.ttl)
        await let_pass(self.ttl * 1.1)
        assert await places.enter("cap", "new", 1, self.ttl)
        assert not await places.enter("cap", "late", 1, self.ttl)

    async def test_holders_that_never_leave_are_a_count_over_a_window(self, places: Places, let_pass: LetPass) -> None:
        assert [await places.enter("asked", str(number), 2, self.ttl) for number in range(3)] == [True, True, False]
        await let_pass(self.ttl * 1.1)
        assert [await places.enter("asked", str(number), 2, self.ttl) for number in range(3, 6)] == [True, True, False]

    async def test_leaving_without_holding_takes_nothing_from_others(self, places: Places) -> None:
        assert await places.enter("cap", "a", 1, self.ttl)
        await places.leave("cap", "b")
        await places.leave("elsewhere", "a")
        assert not await places.enter("cap", "b", 1, self.ttl)

    async def test_places_are_separate(self, places: Places) -> None:
        assert await places.enter("one", "a", 1, self.ttl)
        assert await places.enter("two", "a", 1, self.ttl)
        await places.leave("one", "a")
        assert not await places.enter("two", "b", 1, self.ttl)

    async def test_a_rush_fills_it_exactly(self, places: Places) -> None:
        entered = await asyncio.gather(*(places.enter("cap", f"holder-{n}", 5, self.ttl) for n in range(40)))
        assert sum(entered) == 5
