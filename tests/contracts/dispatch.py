"""The contract of the Dispatcher: hints that usually arrive."""

import asyncio
from contextlib import suppress
from uuid import UUID, uuid4

from gossamer.dispatch.seam import Dispatcher, Nudge

HANGING = 20.0


async def _received(dispatcher: Dispatcher, wanted: set[UUID], most: int = 10) -> list[Nudge]:
    """Receive until every wanted visit was named; there may be repetitions."""
    got: list[Nudge] = []
    async with asyncio.timeout(HANGING):
        while not wanted <= {nudge.visit for nudge in got}:
            batch = await dispatcher.receive(most)
            got += batch
            for nudge in batch:
                dispatcher.done(nudge)
    return got


class DispatcherContract:
    """Fixture: `dispatcher`, open and empty. `lane` is one it carries."""

    lane = "http"

    async def test_what_is_sent_arrives_unchanged(self, dispatcher: Dispatcher) -> None:
        nudge = Nudge(uuid4(), self.lane)
        assert await dispatcher.send(nudge)
        assert set(await _received(dispatcher, {nudge.visit})) == {nudge}

    async def test_never_more_than_asked_for_and_never_none(self, dispatcher: Dispatcher) -> None:
        visits = [uuid4() for _ in range(7)]
        for visit in visits:
            await dispatcher.send(Nudge(visit, self.lane))
        missing = set(visits)
        async with asyncio.timeout(HANGING):
            while missing:
                got = await dispatcher.receive(3)
                assert 1 <= len(got) <= 3
                missing -= {nudge.visit for nudge in got}
                for nudge in got:
                    dispatcher.done(nudge)

    async def test_a_waiting_receiver_is_woken(self, dispatcher: Dispatcher) -> None:
        visit = uuid4()
        waiting = asyncio.create_task(_received(dispatcher, {visit}))
        await asyncio.sleep(0.01)
        await dispatcher.send(Nudge(visit, self.lane))
        assert visit in {nudge.visit for nudge in await waiting}

    async def test_receivers_share_the_work(self, dispatcher: Dispatcher) -> None:
        visits = {uuid4() for _ in range(50)}
        got: set[UUID] = set()
        complete = asyncio.Event()

        async def receiver() -> None:
            while batch := await dispatcher.receive(3):
                got.update(nudge.visit for nudge in batch)
                for nudge in batch:
                    dispatcher.done(nudge)
                if visits <= got:
                    complete.set()
                await asyncio.sleep(0)

        async with asyncio.timeout(HANGING), asyncio.TaskGroup() as group:
            for _ in range(4):
                group.create_task(receiver())
            for visit in visits:
                await dispatcher.send(Nudge(visit, self.lane))
            await complete.wait()
            await dispatcher.close()
        assert got == visits

    async def test_a_cancelled_receiver_loses_nothing(self, dispatcher: Dispatcher) -> None:
        waiting = asyncio.create_task(dispatcher.receive(1))
        await asyncio.sleep(0.01)
        waiting.cancel()
        with suppress(asyncio.CancelledError):
            await waiting
        visit = uuid4()
        await dispatcher.send(Nudge(visit, self.lane))
        await _received(dispatcher, {visit})

    async def test_what_was_done_does_not_come_again_and_may_be_said_twice(self, dispatcher: Dispatcher) -> None:
        first, second = Nudge(uuid4(), self.lane), Nudge(uuid4(), self.lane)
        await dispatcher.send(first)
        async with asyncio.timeout(HANGING):
            assert await dispatcher.receive(5) == [first]
        dispatcher.done(first)
        dispatcher.done(first)
        dispatcher.done(second)  # of which nobody has heard
        await dispatcher.send(second)
        assert {nudge.visit for nudge in await _received(dispatcher, {second.visit})} == {second.visit}

    async def test_closing_ends_all_receiving(self, dispatcher: Dispatcher) -> None:
        waiting = [asyncio.create_task(dispatcher.receive(1)) for _ in range(3)]
        await asyncio.sleep(0.01)
        await dispatcher.close()
        await dispatcher.close()
        async with asyncio.timeout(HANGING):
            assert await asyncio.gather(*waiting) == [[], [], []]
            assert not await dispatcher.send(Nudge(uuid4(), self.lane))
            assert await dispatcher.receive(1) == []
