"""A database that is away is waited for, as long as somebody has the patience."""

from datetime import timedelta

import pytest

from gossamer.clock import SystemClock
from gossamer.db.retry import Patience
from gossamer.errors import StorageAway


class _Away:
    """Answers after so many tries."""

    def __init__(self, failures: int) -> None:
        self.failures = failures
        self.tries = 0

    async def __call__(self) -> str:
        self.tries += 1
        if self.tries <= self.failures:
            raise StorageAway("gone")
        return "here"


async def test_without_patience_the_first_failure_is_the_answer() -> None:
    patience, away = Patience(SystemClock()), _Away(1)
    with pytest.raises(StorageAway):
        await patience.lend(away)
    assert away.tries == 1


async def test_with_patience_it_is_tried_again_until_it_answers() -> None:
    patience, away = Patience(SystemClock()), _Away(3)
    patience.lasts = timedelta(seconds=30)
    assert await patience.lend(away) == "here"
    assert away.tries == 4
    assert not patience.is_away
    assert patience.reachable_for() < 5


async def test_patience_ends() -> None:
    patience, away = Patience(SystemClock()), _Away(10**9)
    patience.lasts = timedelta(seconds=0.5)
    with pytest.raises(StorageAway, match="gone"):
        await patience.lend(away)
    assert away.tries > 1
    assert patience.is_away
    assert patience.reachable_for() == 0


async def test_other_errors_are_nobodys_to_wait_for() -> None:
    patience = Patience(SystemClock())
    patience.lasts = timedelta(seconds=30)

    async def broken() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await patience.lend(broken)
