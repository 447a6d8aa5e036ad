"""The contract of the Gate: spacing by key. Its places are those of `PlacesContract`."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from datetime import timedelta
from itertools import pairwise

from gossamer.gate.seam import NOW, Gate, pass_gate

LetPass = Callable[[timedelta], Awaitable[None]]

AGES = timedelta(hours=1)


class GateContract:
    """Fixtures: `gate`, new, and `let_pass`, which lets time pass for it (by sleeping, if it must)."""

    spacing = timedelta(seconds=1)  # set it lower where time is real

    async def test_a_new_gate_takes_every_key_for_just_used(self, gate: Gate) -> None:
        wait = await gate.turn("a.example", self.spacing, AGES)
        assert NOW < wait <= self.spacing

    async def test_after_one_spacing_an_unknown_key_may_go_at_once(self, gate: Gate, let_pass: LetPass) -> None:
        await gate.turn("a.example", self.spacing, NOW)
        await let_pass(self.spacing * 1.1)
        assert await gate.turn("a.example", self.spacing, AGES) == NOW

    async def test_slots_are_one_spacing_apart_however_many_ask_at_once(self, gate: Gate) -> None:
        async def slot() -> tuple[float, float]:
            """The earliest and the latest moment the slot can mean, since asking takes time itself."""
            before = time.monotonic()
            wait = (await gate.turn("a.example", self.spacing, AGES)).total_seconds()
            return before + wait, time.monotonic() + wait

        slots = sorted(await asyncio.gather(*(slot() for _ in range(20))))
        gaps = [later[1] - earlier[0] for earlier, later in pairwise(slots)]
        # Servers count in whole milliseconds.
        assert min(gaps) >= self.spacing.total_seconds() - 0.002

    async def test_keys_do_not_wait_for_each_other(self, gate: Gate, let_pass: LetPass) -> None:
        await gate.turn("a.example", self.spacing, NOW)
        await gate.turn("b.example", self.spacing, NOW)
        await let_pass(self.spacing * 1.1)
        assert await gate.turn("a.example", self.spacing, NOW) == NOW
        assert await gate.turn("b.example", self.spacing, NOW) == NOW

    async def test_a_wait_beyond_patience_takes_nothing(self, gate: Gate) -> None:
        refused = [await gate.turn("a.example", self.spacing * 3, self.spacing) for _ in range(5)]
        assert all(wait > self.spacing for wait in refused)
        assert await gate.turn("a.example", self.spacing * 3, AGES) <= self.spacing * 3

    async def test_a_slot_taken_ahead_pushes_the_next_one_back(self, gate: Gate) -> None:
        first = await gate.turn("a.example", self.spacing, AGES)
        second = await gate.turn("a.example", self.spacing, AGES)
        assert first < second <= first + self.spacing

    async def test_asking_with_a_larger_spacing_waits_that_long(self, gate: Gate, let_pass: LetPass) -> None:
        await gate.turn("a.example", self.spacing, NOW)
        await let_pass(self.spacing * 1.1)
        assert await gate.turn("a.example", self.spacing, NOW) == NOW
        assert await gate.turn("a.example", self.spacing * 4, AGES) > self.spacing * 2

    async def test_asking_with_a_smaller_spacing_still_pays_what_is_owed(self, gate: Gate) -> None:
        first = await gate.turn("a.example", self.spacing * 4, AGES)
        second = await gate.turn("a.example", self.spacing / 10, AGES)
        assert second - first > self.spacing * 2

    async def test_nobody_passes_while_a_key_is_held_off(self, gate: Gate, let_pass: LetPass) -> None:
        await gate.hold_off("a.example", self.spacing * 4)
        assert await gate.turn("a.example", self.spacing, NOW) > self.spacing * 2
        await let_pass(self.spacing * 4.2)
        assert await gate.turn("a.example", self.spacing, NOW) == NOW

    async def test_holding_off_never_shortens(self, gate: Gate) -> None:
        await gate.hold_off("a.example", self.spacing * 4)
        await gate.hold_off("a.example", self.spacing / 10)
        assert await gate.turn("a.example", self.spacing, NOW) > self.spacing * 2

    async def test_holding_off_concerns_one_key(self, gate: Gate) -> None:
        await gate.hold_off("a.example", self.spacing * 4)
        assert await gate.turn("b.example", self.spacing, NOW) <= self.spacing

    async def test_passing_waits_and_then_takes_the_slot(self, gate: Gate, let_pass: LetPass) -> None:
        async def sleep(seconds: float) -> None:
            await let_pass(timedelta(seconds=seconds))

        assert await pass_gate(gate, "a.example", self.spacing, AGES, sleep) == NOW
        assert await gate.turn("a.example", self.spacing, NOW) > NOW

    async def test_passing_gives_up_beyond_patience_and_takes_nothing(self, gate: Gate, let_pass: LetPass) -> None:
        async def sleep(seconds: float) -> None:
            raise AssertionError(f"slept {seconds} s although the wait was known to be too long")

        await gate.hold_off("a.example", self.spacing * 4)
        assert await pass_gate(gate, "a.example", self.spacing, self.spacing, sleep) > self.spacing
        await let_pass(self.spacing * 4.2)
        assert await gate.turn("a.example", self.spacing, NOW) == NOW
