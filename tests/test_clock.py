"""The same moment, as people read it and as rows keep it."""

from datetime import UTC, datetime, timedelta

import pytest

from gossamer.clock import Clock, FrozenClock, SteadyClock, SystemClock, milliseconds


@pytest.mark.parametrize("clock", [SystemClock(), SteadyClock(), SteadyClock(offset=1_000_000_000.25)])
def test_both_ways_to_ask_for_the_time_name_the_same_moment(clock: Clock) -> None:
    before, asked, after = milliseconds(clock.now()), clock.milliseconds(), milliseconds(clock.now())
    assert before <= asked <= after


def test_a_clock_that_stands_still_names_one_moment() -> None:
    clock = FrozenClock(datetime(2026, 1, 1, tzinfo=UTC))
    clock.advance(0.25)
    assert clock.milliseconds() == milliseconds(clock.now())
    assert clock.now() - datetime(2026, 1, 1, tzinfo=UTC) == timedelta(seconds=0.25)
