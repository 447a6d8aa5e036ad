"""A database that is away is waited for, as long as the retries last."""

from datetime import timedelta

import pytest

from gossamer.clock import SystemClock
from gossamer.db.retry import Retries
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
    retries, away = Retries(SystemClock()), _Away(1)
    with pytest.raises(StorageAway):
        await retries.run(away)
    assert away.tries == 1


async def test_with_patience_it_is_tried_again_until_it_answers() -> None:
    retries, away = Retries(SystemClock()), _Away(3)
    retries.limit = timedelta(seconds=30)
    assert await retries.run(away) == "here"
    assert away.tries == 4
    assert not retries.is_away
    assert retries.reachable_for() < 5


async def test_patience_ends() -> None:
    retries, away = Retries(SystemClock()), _Away(10**9)
    retries.limit = timedelta(seconds=0.5)
    with pytest.raises(StorageAway, match="gone"):
        await retries.run(away)
    assert away.tries > 1
    assert retries.is_away
    assert retries.reachable_for() == 0


async def test_other_errors_are_nobodys_to_wait_for() -> None:
    retries = Retries(SystemClock())
    retries.limit = timedelta(seconds=30)

    async def broken() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await retries.run(broken)
