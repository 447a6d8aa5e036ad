"""A worker process: issues visits of its shard, claims them and crawls them until it is stopped."""

import asyncio
import os
import socket
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from functools import partial
from typing import Any
from uuid import UUID, uuid4

from gossamer import __version__
from gossamer.crawl.completion import Closer, close_at_once
from gossamer.crawl.crawl_setup import Claimed, Crawler, claim_and_load
from gossamer.crawl.domain_pacing import DomainPacing
from gossamer.crawl.express import ExpressVisits
from gossamer.crawl.extraction import Extraction
from gossamer.crawl.ip_block import IpBlockDetector, IpBlockGuard
from gossamer.crawl.job_guards import ProviderGuard, RecipeFailures
from gossamer.crawl.leases import HeldLeases, Renewer
from gossamer.crawl.worker_deps import WorkerDeps
from gossamer.dispatch import Nudge
from gossamer.errors import StorageAway
from gossamer.logging import get_logger
from gossamer.model.rungs import HOME_LANE
from gossamer.model.states import JobState
from gossamer.model.worker import DeskKind, Worker
from gossamer.runtime.auto_pause import BackpressureGuard, ProxyGuard
from gossamer.runtime.background_slots import BackgroundSlots
from gossamer.runtime.issuing import issue_in_shard
from gossamer.runtime.outage_alerts import NetworkWatch, OutageWatch
from gossamer.runtime.services import Where, run_services
from gossamer.settle.commit import Committed
from gossamer.settle.settler import Settler
from gossamer.settle.step import HandBack, Step
from gossamer.store import jobs, sites, visits, workers

log = get_logger(__name__)

_ASKED_ABOUT = 6  # jobs; a waiting site of each is used for network checks
_LOOK_AROUND = 0.2  # seconds between checks for ready visits
_GATHERED = 0.02  # seconds during which ended visits are collected, to be replaced together
_BEAT = 5.0  # seconds between heartbeats in the database
_STEER = 1.0  # seconds between checks of the states of jobs
_CLAIM_MOST = 50
GRACE = 3.0  # seconds for requests in flight when a crawl is stopped


class ShardWorker:
    """A worker of a data folder: crawls all visits of its share of the domains."""

    def __init__(
        self,
        deps: WorkerDeps,
        number: int,
        of: int,
        worker: str,
        detector: IpBlockDetector | None = None,
        beat: Callable[[], None] = lambda: None,
        home: str = "",
        line: socket.socket | None = None,
    ) -> None:
        """`beat` is called about once a second while the event loop runs.

        `home` is the name under which this process reports the outage of a server; default: the data folder in
        `worker`. `line` is the socket to a server with express visits (crawl/express.py).
        """
        self._deps = deps
        self._number = number
        self._of = of
        self._worker = worker
        self._beat = beat
        self._leases = HeldLeases(deps.clock, deps.limits.lease)
        at_once = partial(close_at_once, recipes=deps.recipes, files_of=deps.files_of, credits=deps.credits)
        self._settler = Settler(
            deps.database, deps.clock, number, self._on_commit, deps.limits.checkpoint_visits, at_once
        )
        self._renewer = Renewer(deps.reopen_database, self._leases, worker, deps.limits.lease, deps.clock)
        pacing = DomainPacing(deps.limits.spacing_of)
        self._ip_block = IpBlockGuard(deps.database, pacing, detector or IpBlockDetector(deps.clock))
        self._recipe_failures = RecipeFailures(deps.database)
        self._backpressure = BackpressureGuard(deps.database, self._settler, deps.limits.settle_patience)
        self._proxy_guard = ProxyGuard(deps.database, deps.outage, deps.limits.proxy_patience)
        self._provider_guard = ProviderGuard(deps.database, deps.clock, deps.breakers, deps.limits.provider_patience)
        self._gate_alerts = OutageWatch(deps.database, deps.clock, deps.gate_outage, home or home_of(worker))
        self._own_network = deps.own_network
        machine, host = home_of(worker), socket.gethostname()
        self._network_alerts = NetworkWatch(deps.database, deps.own_network, machine, host, self._others_can)
        deps.own_network.others_can = self._others_can
        deps.own_network.waiting = self._sites_that_wait
        self._extraction = Extraction()
        self._crawler = Crawler(
            deps,
            self._settler,
            self._leases,
            pacing,
            self._ip_block,
            self._recipe_failures,
            self._provider_guard,
            self._extraction,
        )
        self._running: dict[asyncio.Task[None], str] = {}  # crawls, and their lanes
        self._nudged: dict[UUID, str] = {}  # visits whose nudges are not yet claimed, and their lanes
        self._waiting: set[str] = set()  # lanes with more ready visits than free slots
        self._room = asyncio.Event()
        self._stop = asyncio.Event()
        self._express = (
            ExpressVisits(line, deps.database, self._begin_express, self._room_for_express) if line else None
        )

    def stop(self) -> None:
        """Take no more visits; current crawls end soon."""
        self._stop.set()

    async def run(self) -> None:
        """Work until `stop`; all results are in the database when this returns."""
        await self._ip_block.begin()
        await self._network_alerts.begin()
        self._renewer.start()
        settling = asyncio.create_task(self._settler.run())
        loops = [asyncio.create_task(duty) for duty in self._duties()]
        stopped = asyncio.create_task(self._stop.wait())
        try:
            done, _ = await asyncio.wait({settling, stopped, *loops}, return_when=asyncio.FIRST_COMPLETED)
            await cancel_all(loops)  # first: this process must not take its own visits again
            await self._end_crawls()
            if not settling.done():
                self._settler.close()
                await settling
            for task in done - {stopped}:
                task.result()  # a loop that ended before `stop` has failed: raise its error
        finally:
            await cancel_all([stopped, *loops])
            await self._renewer.stop()
            await self._extraction.close()
            if self._express:
                self._express.close()

    def _duties(self) -> Sequence[Coroutine[Any, Any, None]]:
        duties = (self._issue(), self._take(), self._steer(), self._live(), self._show_life(), self._close())
        return (*duties, self._express.run()) if self._express else duties

    def _on_commit(self, done: Committed) -> None:
        """Process the results of a commit."""
        if done.lost:
            log.warning("leases.lost", visits=len(done.lost))
        for lease in done.lost:
            self._leases.lose(lease)
        for lease in done.proven:
            self._leases.trust(lease)
        self._room.set()  # for the visits that have ended, and for the next suspect
        if self._express:
            self._express.over(done.ended | done.lost)

    async def _issue(self) -> None:
        # Stronger lanes first: a site is crawled in one lane at a time, so its visit in the home lane can wait.
        lanes = sorted(self._deps.lanes, key=lambda lane: (lane == HOME_LANE, lane))
        while True:
            issued = [await self._issue_lane(lane) for lane in lanes]
            if any(issued):
                continue
            self._room.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(_LOOK_AROUND):
                    await self._room.wait()
                    # The end of a visit is reported twice, and other visits end at the same time: one check serves all.
                    await asyncio.sleep(_GATHERED)

    async def _issue_lane(self, lane: str) -> int:
        """Fill the free slots of a lane; return how many were filled."""
        slots = self._free(lane)
        shard = (lane, self._number, self._of)
        if slots > 0:
            self._waiting.discard(lane)
        if slots <= 0 or not await self._deps.database.read(visits.any_ready, *shard):
            return 0
        nudged = frozenset(self._nudged)
        ids = await self._deps.database.write(
            issue_in_shard,
            *shard,
            slots,
            self._worker,
            nudged,
            suspects=self._leases.suspects(),
            per_job=self._deps.limits.per_job,
        )
        self._nudged.update((identifier, lane) for identifier in ids)
        if len(ids) == slots:
            self._waiting.add(lane)
        for identifier in ids:
            await self._deps.dispatcher.send(Nudge(identifier, lane))
        return len(ids)

    def _free(self, lane: str) -> int:
        if self._own_network.is_away:
            return 0
        # Includes ended visits whose end is not written yet: the limit holds for the rows.
        busy = sum(one == lane for some in (self._running, self._nudged) for one in some.values())
        return self._ip_block.room(self._deps.lanes[lane]) - busy - self._settler.endings[lane]

    def _room_for_express(self, here: int) -> int:
        return 0 if self._own_network.is_away else self._free(HOME_LANE) + here

    def _begin_express(self, claimed: Claimed, since: float) -> "asyncio.Task[None]":
        """Start an express visit at once; if there is no room, return it to the queue."""
        self._settler.hurry(claimed.visit.lease)
        if self._free(HOME_LANE) > 0:
            return self._begin(claimed, since)
        self._settler.put(Step(claimed.visit, ending=HandBack(self._deps.clock.now())))
        return asyncio.create_task(asyncio.sleep(0))

    async def _take(self) -> None:
        while True:
            nudges = await self._deps.dispatcher.receive(_CLAIM_MOST)
            since = self._deps.clock.monotonic()
            # Made here, because the transaction may be repeated.
            tokens = {nudge.visit: uuid4() for nudge in nudges}
            claimed = await self._deps.database.write(claim_and_load, tokens, self._worker, self._deps.limits.lease)
            for identifier in tokens:
                self._nudged.pop(identifier, None)
            for one in claimed:
                self._begin(one, since)

    def _begin(self, claimed: Claimed, since: float) -> "asyncio.Task[None]":
        lease = self._leases.take(claimed.visit, since)
        lane = claimed.visit.lane
        lease.task = asyncio.create_task(self._crawler.crawl(lease, claimed, lambda: lane in self._waiting))
        self._running[lease.task] = lane
        lease.task.add_done_callback(self._ended)
        return lease.task

    def _ended(self, task: "asyncio.Task[None]") -> None:
        del self._running[task]
        self._room.set()

    async def _live(self) -> None:
        """Renew our leases and report to the parent process, whatever the state of the database."""
        while True:
            self._renewer.tick()
            self._beat()
            await asyncio.sleep(min(_STEER, self._deps.limits.lease.total_seconds() / 12))

    def _present(self) -> Worker:
        """Return our current row; a process that slows down has less room."""
        room = {lane: self._ip_block.room(slots) for lane, slots in self._deps.lanes.items()}
        now = self._deps.clock.now()
        return Worker(self._worker, socket.gethostname(), os.getpid(), room, __version__, now, now)

    async def _show_life(self) -> None:
        """Update the row of this process regularly; the runner removes it when the process has ended."""
        while True:
            await self._deps.database.write(workers.beat, self._present())
            await asyncio.sleep(_BEAT)

    async def _steer(self) -> None:
        """Once a second: stop crawls of jobs that do not run, and let all guards check."""
        while True:
            held = self._leases.jobs()
            watched = held | self._ip_block.jobs() | self._provider_guard.jobs()
            if watched:
                states = await self._deps.database.read(jobs.states, sorted(watched))
                running = {job for job, state in states.items() if state is JobState.RUNNING}
                self._leases.stop(held - running)
                self._leases.stop(await self._ip_block.look(running))
                self._leases.stop(await self._recipe_failures.look())
                self._leases.stop(await self._provider_guard.look(running))
                self._leases.stop(await self._backpressure.look(held & running))
            if await self._network_alerts.look():
                self._leases.stop()  # all visits are handed back, so that machines with a network can take them
            # All jobs are checked: if their visits wait for the proxy, none of them is held.
            self._leases.stop(await self._look_at_proxy())
            await self._gate_alerts.look()
            self._leases.cut_off(GRACE)
            self._crawler.forget(self._leases.jobs())
            await asyncio.sleep(_STEER)

    async def _others_can(self) -> bool:
        """Return True if other machines can work while we have no network; a data folder has none."""
        return False

    async def _sites_that_wait(self) -> list[str]:
        try:
            return await self._deps.database.read(sites.that_wait, _ASKED_ABOUT)
        except StorageAway:
            return []

    async def _look_at_proxy(self) -> set[UUID]:
        if not self._deps.outage.lasts():
            return set()
        running = await self._deps.database.read(jobs.in_states, JobState.RUNNING)
        return await self._proxy_guard.look({job.id for job in running})

    async def _close(self) -> None:
        """Complete jobs, in the first process only; on its own database connection, since audits take long."""
        if self._number:
            await asyncio.Event().wait()
        database = self._deps.reopen_database()
        database.retries.limit = self._deps.database.retries.limit
        background_slots = BackgroundSlots(database, self._worker, self._deps.desk_rules)
        slot = partial(background_slots.hold, DeskKind.FINISH)
        closer = Closer(database, self._deps.recipes, self._deps.files_of, slot)
        try:
            await run_services(Where.FIRST_WORKER, [closer])
        finally:
            await database.close()

    async def _end_crawls(self) -> None:
        """Stop all crawls. Requests in flight get a moment; pages without an answer by then count as not tried."""
        self._leases.stop()
        if self._running:
            await asyncio.wait(self._running, timeout=GRACE)
        while self._running:
            # Repeated: a crawl that waits for a paid request can only be cut off after it.
            self._leases.cut_off(0)
            await asyncio.wait(self._running, timeout=1)


async def cancel_all(tasks: Sequence["asyncio.Task[Any]"]) -> None:
    """Cancel tasks and wait for their end."""
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)


def home_of(worker: str) -> str:
    return worker.rpartition("/")[0]
