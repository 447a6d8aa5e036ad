"""The meter of single functions: what they take is in it, what others do meanwhile is not, and nothing counts twice."""

import asyncio
import threading
from time import thread_time_ns

import pytest

from bench.free_only import PARTS
from bench.meter import cost_of_a_look, metered

MILLISECOND = 1_000_000


def burn(milliseconds: int) -> None:
    until = thread_time_ns() + milliseconds * MILLISECOND
    while thread_time_ns() < until:
        continue


class Work:
    def outer(self) -> str:
        self.inner()
        burn(2)
        return "done"

    def inner(self) -> None:
        burn(3)

    @classmethod
    def of_class(cls) -> type:
        burn(1)
        return cls

    async def waiting(self, other: asyncio.Event) -> int:
        burn(2)
        await other.wait()
        burn(2)
        return 7

    async def failing(self) -> None:
        burn(1)
        await asyncio.sleep(60)


def test_what_a_function_takes_is_measured_once_in_whatever_thread() -> None:
    with metered(((Work, "outer"), (Work, "inner"), (Work, "of_class"))) as meter:
        assert Work().outer() == "done"
        assert meter.calls == 1  # the inner one is part of it
        assert meter.taken >= 5 * MILLISECOND
        assert Work.of_class() is Work
        thread = threading.Thread(target=Work().inner)
        thread.start()
        thread.join()
    assert meter.calls == 3
    assert meter.taken >= 9 * MILLISECOND
    Work().inner()
    assert meter.calls == 3  # the block is over


async def test_what_others_do_while_it_waits_is_not_its_doing() -> None:
    came = asyncio.Event()
    with metered(((Work, "waiting"),)) as meter:
        task = asyncio.create_task(Work().waiting(came))
        await asyncio.sleep(0)
        own = meter.taken
        burn(200)
        came.set()
        assert await task == 7
    assert own >= 2 * MILLISECOND
    assert 4 * MILLISECOND <= meter.taken < own + 100 * MILLISECOND


async def test_one_that_is_cancelled_while_it_waits_hears_of_it() -> None:
    with metered(((Work, "failing"),)) as meter:
        task = asyncio.create_task(Work().failing())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert meter.calls == 2


def test_a_look_costs_something_and_is_taken_off() -> None:
    look = cost_of_a_look()
    assert look > 0
    with metered(((Work, "inner"),)) as meter:
        Work().inner()
    assert meter.cost(look) == meter.taken - look


def test_every_part_of_ladder_memory_and_ledger_is_still_there() -> None:
    with metered(PARTS) as meter:
        assert meter.calls == 0
