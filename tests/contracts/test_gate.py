"""The embedded Gate keeps the contract, forgets only what it may, and lets nobody through too close behind another."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from datetime import timedelta
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.clock import FrozenClock, SystemClock
from gossamer.gate import NOW, Gate, Places, pass_gate
from gossamer.gate.local import LocalGate, MemoryPlaces
from tests.contracts.gate import GateContract
from tests.contracts.places import PlacesContract

SECOND = timedelta(seconds=1)
AGES = timedelta(hours=10)

LetPass = Callable[[timedelta], Awaitable[None]]


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock()


@pytest.fixture
def let_pass(clock: FrozenClock) -> LetPass:
    async def advance(time: timedelta) -> None:
        clock.advance(time.total_seconds())

    return advance


def local(clock: FrozenClock, remembered: int = 50_000) -> LocalGate:
    return LocalGate(clock, MemoryPlaces(clock), remembered=remembered)


class TestLocalGate(GateContract):
    @pytest.fixture
    def gate(self, clock: FrozenClock) -> Gate:
        return local(clock)


class TestPlacesOfTheLocalGate(PlacesContract):
    @pytest.fixture
    def places(self, clock: FrozenClock) -> Places:
        return local(clock)


class TestMemoryPlaces(PlacesContract):
    @pytest.fixture
    def places(self, clock: FrozenClock) -> Places:
        return MemoryPlaces(clock)


async def test_a_restart_is_never_less_polite(clock: FrozenClock) -> None:
    before = local(clock)
    clock.advance(100)
    assert await before.turn("a.example", SECOND, NOW) == NOW
    after = local(clock)
    assert await after.turn("a.example", SECOND, AGES) == SECOND


async def test_spacing_is_exact(clock: FrozenClock) -> None:
    gate = local(clock)
    spacing = timedelta(seconds=1.02)
    assert [await gate.turn("a.example", spacing, AGES) for _ in range(1_000)] == [
        spacing * number for number in range(1, 1_001)
    ]


async def test_a_slot_taken_ahead_waits_for_a_hold_off_that_comes_later_only_for_the_next(clock: FrozenClock) -> None:
    gate = local(clock)
    assert await gate.turn("a.example", SECOND, AGES) == SECOND
    await gate.hold_off("a.example", SECOND * 30)
    assert await gate.turn("a.example", SECOND, AGES) == SECOND * 30
    assert await gate.turn("a.example", SECOND, AGES) == SECOND * 31


async def test_a_hold_off_in_the_past_changes_nothing(clock: FrozenClock) -> None:
    gate = local(clock)
    await gate.hold_off("a.example", -SECOND)
    assert await gate.turn("a.example", SECOND, AGES) == SECOND


async def test_many_keys_do_not_pile_up(clock: FrozenClock) -> None:
    gate = local(clock, remembered=100)
    for number in range(5_000):
        await gate.turn(f"{number}.example", SECOND, AGES)
        clock.advance(0.1)
    assert len(gate._gates) <= 101


async def test_busy_keys_are_never_forgotten(clock: FrozenClock) -> None:
    gate = local(clock, remembered=10)
    await gate.hold_off("held.example", AGES)
    for number in range(500):
        await gate.turn(f"{number}.example", timedelta(hours=1), AGES)
    assert await gate.turn("held.example", SECOND, NOW) == AGES
    waits = [await gate.turn(f"{number}.example", SECOND, NOW) for number in range(500)]
    assert min(waits) >= timedelta(hours=1)


@given(
    steps=st.lists(
        st.tuples(st.integers(0, 7), st.floats(0, 3), st.floats(0, 2), st.booleans()), min_size=20, max_size=120
    )
)
@settings(max_examples=60, deadline=None)
def test_forgetting_never_brings_two_slots_closer_than_the_larger_spacing(
    steps: list[tuple[int, float, float, bool]],
) -> None:
    async def run() -> None:
        clock = FrozenClock()
        gate = local(clock, remembered=3)
        used: dict[int, tuple[float, float]] = {}
        for key, spacing, passes, patient in steps:
            asked = timedelta(seconds=round(spacing, 3))
            patience = AGES if patient else NOW
            wait = await gate.turn(str(key), asked, patience)
            if wait <= patience:
                slot = clock.monotonic() + wait.total_seconds()
                last, owed = used.get(key, (0.0, 0.0))
                assert slot - last >= max(asked.total_seconds(), owed) - 1e-6
                used[key] = slot, asked.total_seconds()
            clock.advance(round(passes, 3))

    asyncio.run(run())


@pytest.mark.parametrize("wakes", [0.5, 0.98, 1.0, 1.3])
async def test_however_a_sleeper_wakes_the_gap_is_kept(clock: FrozenClock, wakes: float) -> None:
    gate = local(clock)
    passed = []

    async def sleep(seconds: float) -> None:
        clock.advance(seconds * wakes)

    for _ in range(50):
        assert await pass_gate(gate, "a.example", SECOND, AGES, sleep) == NOW
        passed.append(clock.monotonic())
    assert min(later - earlier for earlier, later in pairwise([0.0, *passed])) >= 1.0 - 1e-6


class WitnessedGate(LocalGate):
    """Notes between which two moments each caller was let through."""

    def __init__(self) -> None:
        super().__init__(SystemClock(), MemoryPlaces(SystemClock()))
        self.passed: list[tuple[float, float]] = []

    async def turn(self, key: str, spacing: timedelta, patience: timedelta) -> timedelta:
        before = time.monotonic()
        wait = await super().turn(key, spacing, patience)
        if wait == NOW:
            self.passed.append((before, time.monotonic()))
        return wait


async def test_a_crowd_passes_one_by_one_in_real_time() -> None:
    gate = WitnessedGate()
    spacing = timedelta(milliseconds=10)

    async def visitor() -> None:
        for _ in range(5):
            assert await pass_gate(gate, "a.example", spacing, AGES) == NOW

    async with asyncio.timeout(30):
        await asyncio.gather(*(visitor() for _ in range(8)))
    assert len(gate.passed) == 40
    assert min(later[1] - earlier[0] for earlier, later in pairwise(gate.passed)) >= 0.010


async def test_who_loses_every_race_is_told_how_long_the_key_needs(clock: FrozenClock) -> None:
    gate = local(clock)

    async def sleep(seconds: float) -> None:
        clock.advance(seconds)
        assert await gate.turn("a.example", SECOND, NOW) == NOW  # somebody else was faster

    assert await pass_gate(gate, "a.example", SECOND, SECOND * 3, sleep) == SECOND
    assert clock.monotonic() == 3
