"""One working process: issues visits of its shard, claims them, walks them, until told to stop."""

import asyncio
import os
import random
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from gossamer.dispatch import Nudge
from gossamer.frontier.frontier import Frontier
from gossamer.issuing.deal import anything_ready, issue
from gossamer.model.ids import short
from gossamer.model.job import CrawlPolicy
from gossamer.model.page import Page, Visit
from gossamer.model.states import JobState
from gossamer.model.url import origin_of, url_key
from gossamer.recipe import Bound
from gossamer.settle.settler import Settler
from gossamer.settle.step import HandBack, Step
from gossamer.store import jobs, pages, reclaim, robots, visits
from gossamer.store.pages import Known
from gossamer.store.robots import RobotsAnswer
from gossamer.store.tx import Tx
from gossamer.telemetry import bound, get_logger
from gossamer.work.address import AddressWatch
from gossamer.work.brake import Brake
from gossamer.work.courier import Courier, Turnstile
from gossamer.work.governor import Governor
from gossamer.work.hold import Hold, Holds, Renewer
from gossamer.work.kit import Kit
from gossamer.work.redirects import Redirects
from gossamer.work.robots import RobotsDesk, RobotsMemory
from gossamer.work.visit import Walk

LANE = "http"
_LOOK_AROUND = 0.2  # seconds between looks for new rows
_STEER = 1.0  # seconds between looks at the states of jobs
_CLAIM_MOST = 50
GRACE = 3.0  # seconds that requests in flight get when a walk is stopped

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Claimed:
    """A visit in our hands and what it has so far."""

    visit: Visit
    waiting: list[Page]
    ended: list[Known]
    shared: dict[str, RobotsAnswer | None]  # other jobs' robots.txt answers for its ways in


def claim_and_load(tx: Tx, ids: list[UUID], worker: str, lease: timedelta) -> list[Claimed]:
    """Lease visits and read all they need to begin, in one hop."""
    leased = visits.claim(tx, ids, worker, lease)
    origins = {origin_of(url) for visit in leased if not visit.robots for url in visit.entries}
    shared = robots.fresh(tx, sorted(origins)) if origins else {}
    return [
        Claimed(
            visit,
            *pages.of_visit(tx, visit.job_id, visit.id, url_key(visit.entries[0])[:4]),
            {origin: shared.get(origin) for url in visit.entries if (origin := origin_of(url)) in origins},
        )
        for visit in leased
    ]


class Shard:
    """The visits of some domains, all of them walked by this process alone."""

    def __init__(self, kit: Kit, number: int, of: int, worker: str, watch: AddressWatch | None = None) -> None:
        self._kit = kit
        self._number = number
        self._of = of
        self._worker = worker
        self._holds = Holds(kit.clock, kit.limits.lease)
        self._settler = Settler(kit.database, kit.clock, number, self._holds.lose)
        self._renewer = Renewer(kit.reopen_database, self._holds, worker, kit.limits.lease, kit.clock)
        self._turnstile = Turnstile()
        self._governor = Governor(kit.limits.spacing_of)
        self._brake = Brake(kit.database, self._governor, watch or AddressWatch(kit.clock))
        self._robots = RobotsMemory()
        self._bound: dict[UUID, tuple[Bound, CrawlPolicy]] = {}
        self._walks: set[asyncio.Task[None]] = set()
        self._nudged = 0  # sent and not yet claimed
        self._waiting = False  # more visits are ready than there is room for
        self._room = asyncio.Event()
        self._stop = asyncio.Event()

    def stop(self) -> None:
        """Take no more work; walks in hand end soon."""
        self._stop.set()

    async def run(self) -> None:
        """Work until `stop`. Whatever was done is in the rows when this returns."""
        await self._brake.begin()
        self._renewer.start()
        settling = asyncio.create_task(self._settler.run())
        loops = [asyncio.create_task(loop) for loop in (self._issue(), self._take(), self._steer())]
        stopped = asyncio.create_task(self._stop.wait())
        try:
            done, _ = await asyncio.wait({settling, stopped, *loops}, return_when=asyncio.FIRST_COMPLETED)
            await _cancel(loops)  # first of all: visits handed back now must not be taken up again by ourselves
            await self._end_walks()
            if not settling.done():
                self._settler.close()
                await settling
            for task in done - {stopped}:
                task.result()  # a loop that ended before we were told to stop has failed: say why
        finally:
            await _cancel([stopped, *loops])
            await self._renewer.stop()

    async def _issue(self) -> None:
        while True:
            slots = self._brake.room(self._kit.limits.capacity) - len(self._walks) - self._nudged
            shard = (LANE, self._number, self._of)
            self._waiting = slots <= 0 and self._waiting
            if slots > 0 and await self._kit.database.read(anything_ready, *shard):
                ids = await self._kit.database.write(
                    issue, *shard, slots, self._worker, suspects=self._holds.suspects()
                )
                self._nudged += len(ids)
                self._waiting = len(ids) == slots
                for identifier in ids:
                    await self._kit.dispatcher.send(Nudge(identifier, LANE))
                if ids:
                    continue
            self._room.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(_LOOK_AROUND):
                    await self._room.wait()

    async def _take(self) -> None:
        while True:
            nudges = await self._kit.dispatcher.receive(_CLAIM_MOST)
            since = self._kit.clock.monotonic()
            ids = [nudge.visit for nudge in nudges]
            claimed = await self._kit.database.write(claim_and_load, ids, self._worker, self._kit.limits.lease)
            self._nudged -= len(nudges)
            for one in claimed:
                hold = self._holds.take(one.visit, since)
                hold.walk = asyncio.create_task(self._walk(hold, one))
                self._walks.add(hold.walk)
                hold.walk.add_done_callback(self._ended)

    def _ended(self, task: "asyncio.Task[None]") -> None:
        self._walks.discard(task)
        self._room.set()

    async def _walk(self, hold: Hold, claimed: Claimed) -> None:
        with bound(job=short(hold.visit.job_id), visit=short(hold.visit.id), lane=LANE):
            await self._walk_slice(hold, claimed)

    async def _walk_slice(self, hold: Hold, claimed: Claimed) -> None:
        visit = hold.visit
        session = self._kit.open_session(random.getrandbits(32))
        try:
            recipe, policy = await self._recipe(visit.job_id)
            frontier = Frontier(visit, policy, claimed.waiting, claimed.ended)
            limits = self._kit.limits
            courier = Courier(
                session,
                self._kit.gate,
                self._turnstile,
                self._governor,
                self._kit.clock,
                hold,
                limits.timeout,
            )
            desk = RobotsDesk(self._kit.database, courier, self._robots, visit.robots, claimed.shared)
            walk = Walk(
                hold,
                frontier,
                courier,
                desk,
                Redirects(visit.host, courier, desk),
                recipe,
                policy,
                self._settler,
                self._brake.sightings(visit.job_id),
                limits.max_page_bytes,
                random.random(),
            )
            await walk.slice(self._waiting)
        except asyncio.CancelledError:
            # Told to stop before the walk had begun.
            if not hold.lost:
                self._settler.put(Step(visit, ending=HandBack(self._kit.clock.now())))
        except Exception:
            # Our own mistake. It costs the visit a life, so that it is tried again but not for ever.
            log.exception("visit.crashed", host=visit.host)
            await self._kit.database.write(reclaim.take_back, {visit.id: visit.lease})
        finally:
            await session.close()
            self._holds.drop(hold)

    async def _recipe(self, job_id: UUID) -> tuple[Bound, CrawlPolicy]:
        """The job's recipe with its parameters, built once per process."""
        known = self._bound.get(job_id)
        if known is None:
            job = await self._kit.database.read(jobs.get, job_id)
            if job is None:
                raise LookupError(f"job {job_id} is gone")
            recipe = self._kit.recipes[job.recipe]
            ready = recipe.bind(recipe.params.model_validate(job.params))
            known = self._bound[job_id] = (ready, ready.policy())
        return known

    async def _steer(self) -> None:
        """Once a second: stop the walks of jobs that no longer run, and look whether others should go slower."""
        while True:
            self._renewer.tick()
            held = self._holds.jobs()
            watched = held | self._brake.jobs()
            if watched:
                states = await self._kit.database.read(jobs.states, sorted(watched))
                running = {job for job, state in states.items() if state is JobState.RUNNING}
                self._holds.stop(held - running)
                self._holds.stop(await self._brake.look(running))
            self._holds.cut_off(GRACE)
            for job_id in set(self._bound) - held:
                del self._bound[job_id]
            await asyncio.sleep(_STEER)

    async def _end_walks(self) -> None:
        """Requests in flight get a moment; what is not back by then stays pending and counts as not tried."""
        self._holds.stop()
        if self._walks:
            await asyncio.wait(self._walks, timeout=GRACE)
        self._holds.cut_off(0)
        if self._walks:
            await asyncio.wait(self._walks)


async def _cancel(tasks: Sequence["asyncio.Task[Any]"]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)


def worker_name(home: str, number: int) -> str:
    """Who holds a lease: the home it belongs to, then the process."""
    return f"{home}/{number}-{os.getpid()}"
