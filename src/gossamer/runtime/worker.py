"""One worker process: issues visits of its shard, claims them and walks them until it is stopped."""

import asyncio
import os
import socket
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from functools import partial
from typing import Any
from uuid import UUID, uuid4

from gossamer import __version__
from gossamer.crawl.crawl_setup import Claimed, Walks, claim_and_load
from gossamer.crawl.domain_pacing import DomainPacing
from gossamer.crawl.express import Guests
from gossamer.crawl.extraction import Extraction
from gossamer.crawl.ip_block import AddressWatch, IpBlockGuard
from gossamer.crawl.leases import HeldLeases, Renewer
from gossamer.crawl.provider_guard import ProviderGuard
from gossamer.crawl.recipe_failures import RecipeFailures
from gossamer.crawl.worker_deps import WorkerDeps
from gossamer.dispatch import Nudge
from gossamer.errors import StorageAway
from gossamer.logging import get_logger
from gossamer.model.rungs import HOME_LANE
from gossamer.model.states import JobState
from gossamer.model.worker import Worker
from gossamer.runtime.auto_pause import BackpressureGuard, ProxyGuard
from gossamer.runtime.background_slots import BackgroundSlots
from gossamer.runtime.deal import issue
from gossamer.runtime.job_completion import Closer, close_at_once
from gossamer.runtime.outage_alerts import NetworkWatch, OutageWatch
from gossamer.runtime.services import Where, run_services
from gossamer.settle.commit import Committed
from gossamer.settle.settler import Settler
from gossamer.settle.step import HandBack, Step
from gossamer.store import jobs, sites, visits, workers

log = get_logger(__name__)

_ASKED_ABOUT = 6  # jobs, of each of which a site is named that waits
_LOOK_AROUND = 0.2  # seconds between looks for new rows
_GATHERED = 0.02  # seconds in which visits that end are looked at together
_BEAT = 5.0  # seconds between signs of life in the rows
_STEER = 1.0  # seconds between looks at the states of jobs
_CLAIM_MOST = 50
GRACE = 3.0  # seconds that requests in flight get when a walk is stopped


class Shard:
    """The visits of some domains, all of them walked by this process alone."""

    def __init__(
        self,
        deps: WorkerDeps,
        number: int,
        of: int,
        worker: str,
        watch: AddressWatch | None = None,
        beat: Callable[[], None] = lambda: None,
        home: str = "",
        line: socket.socket | None = None,
    ) -> None:
        """`beat` is called about once a second while the event loop runs.

        `home` is the name under which this process reports the outage of a server, if not the data folder in
        its own name. `line` is the connection to a server with express visits (crawl/express.py).
        """
        self._deps = deps
        self._number = number
        self._of = of
        self._worker = worker
        self._beat = beat
        self._holds = HeldLeases(deps.clock, deps.limits.lease)
        at_once = partial(close_at_once, recipes=deps.recipes, files_of=deps.files_of, credits=deps.credits)
        self._settler = Settler(deps.database, deps.clock, number, self._hear, deps.limits.checkpoint_visits, at_once)
        self._renewer = Renewer(deps.reopen_database, self._holds, worker, deps.limits.lease, deps.clock)
        pacing = DomainPacing(deps.limits.spacing_of)
        self._ip_block_guard = IpBlockGuard(deps.database, pacing, watch or AddressWatch(deps.clock))
        self._recipe_failures = RecipeFailures(deps.database)
        self._pressure = BackpressureGuard(deps.database, self._settler, deps.limits.settle_patience)
        self._proxy = ProxyGuard(deps.database, deps.outage, deps.limits.proxy_patience)
        self._providers = ProviderGuard(deps.database, deps.clock, deps.breakers, deps.limits.provider_patience)
        self._outage = OutageWatch(deps.database, deps.clock, deps.gate_outage, home or home_of(worker))
        self._own_network = deps.own_network
        machine, host = home_of(worker), socket.gethostname()
        self._network = NetworkWatch(deps.database, deps.own_network, machine, host, self._others_can)
        deps.own_network.others_can = self._others_can
        deps.own_network.waiting = self._sites_that_wait
        self._extraction = Extraction()
        self._walks = Walks(
            deps,
            self._settler,
            self._holds,
            pacing,
            self._ip_block_guard,
            self._recipe_failures,
            self._providers,
            self._extraction,
        )
        self._walking: dict[asyncio.Task[None], str] = {}  # in which lane
        self._nudged: dict[UUID, str] = {}  # sent and not yet claimed, and their lanes
        self._waiting: set[str] = set()  # lanes of which more visits are ready than there is room for
        self._room = asyncio.Event()
        self._stop = asyncio.Event()
        self._guests = Guests(line, deps.database, self._welcome, self._room_for_guests) if line else None

    def stop(self) -> None:
        """Take no more work; walks in hand end soon."""
        self._stop.set()

    async def run(self) -> None:
        """Work until `stop`. Whatever was done is in the rows when this returns."""
        await self._ip_block_guard.begin()
        await self._network.begin()
        self._renewer.start()
        settling = asyncio.create_task(self._settler.run())
        loops = [asyncio.create_task(duty) for duty in self._duties()]
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
            await self._extraction.close()
            if self._guests:
                self._guests.close()

    def _duties(self) -> Sequence[Coroutine[Any, Any, None]]:
        duties = (self._issue(), self._take(), self._steer(), self._live(), self._show_life(), self._close())
        return (*duties, self._guests.run()) if self._guests else duties

    def _hear(self, done: Committed) -> None:
        """Process the results of a commit."""
        if done.lost:
            log.warning("leases.lost", visits=len(done.lost))
        for lease in done.lost:
            self._holds.lose(lease)
        for lease in done.proven:
            self._holds.trust(lease)
        self._room.set()  # for the visits that have ended, and for the next suspect
        if self._guests:
            self._guests.over(done.ended | done.lost)

    async def _issue(self) -> None:
        # What a page has climbed to comes first: a site is walked in one lane at a time, and its own visit can wait.
        lanes = sorted(self._deps.lanes, key=lambda lane: (lane == HOME_LANE, lane))
        while True:
            issued = [await self._issue_lane(lane) for lane in lanes]
            if any(issued):
                continue
            self._room.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(_LOOK_AROUND):
                    await self._room.wait()
                    # A visit that ends is heard of twice, and others end beside it: one look is for all of them.
                    await asyncio.sleep(_GATHERED)

    async def _issue_lane(self, lane: str) -> int:
        """Fill the free slots of a lane; how many there were visits for."""
        slots = self._free(lane)
        shard = (lane, self._number, self._of)
        if slots > 0:
            self._waiting.discard(lane)
        if slots <= 0 or not await self._deps.database.read(visits.any_ready, *shard):
            return 0
        nudged = frozenset(self._nudged)
        ids = await self._deps.database.write(
            issue,
            *shard,
            slots,
            self._worker,
            nudged,
            suspects=self._holds.suspects(),
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
        # Also those that have ended and run in the rows until that is written: the cap holds for the rows.
        busy = sum(one == lane for some in (self._walking, self._nudged) for one in some.values())
        return self._ip_block_guard.room(self._deps.lanes[lane]) - busy - self._settler.endings[lane]

    def _room_for_guests(self, here: int) -> int:
        return 0 if self._own_network.is_away else self._free(HOME_LANE) + here

    def _welcome(self, claimed: Claimed, since: float) -> "asyncio.Task[None]":
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
            # Made here and not in the transaction, which may have to be made twice.
            tokens = {nudge.visit: uuid4() for nudge in nudges}
            claimed = await self._deps.database.write(claim_and_load, tokens, self._worker, self._deps.limits.lease)
            for identifier in tokens:
                self._nudged.pop(identifier, None)
            for one in claimed:
                self._begin(one, since)

    def _begin(self, claimed: Claimed, since: float) -> "asyncio.Task[None]":
        hold = self._holds.take(claimed.visit, since)
        lane = claimed.visit.lane
        hold.walk = asyncio.create_task(self._walks.walk(hold, claimed, lambda: lane in self._waiting))
        self._walking[hold.walk] = lane
        hold.walk.add_done_callback(self._ended)
        return hold.walk

    def _ended(self, task: "asyncio.Task[None]") -> None:
        del self._walking[task]
        self._room.set()

    async def _live(self) -> None:
        """Renew our leases and report to the parent process, whatever the state of the database."""
        while True:
            self._renewer.tick()
            self._beat()
            await asyncio.sleep(min(_STEER, self._deps.limits.lease.total_seconds() / 12))

    def _present(self) -> Worker:
        """This process as its row shows it: one that slows down has less room."""
        room = {lane: self._ip_block_guard.room(slots) for lane, slots in self._deps.lanes.items()}
        now = self._deps.clock.now()
        return Worker(self._worker, socket.gethostname(), os.getpid(), room, __version__, now, now)

    async def _show_life(self) -> None:
        """Keep the row of this process fresh; the runner removes it when the process has ended."""
        while True:
            await self._deps.database.write(workers.beat, self._present())
            await asyncio.sleep(_BEAT)

    async def _steer(self) -> None:
        """Once a second: stop the walks of jobs that no longer run or should not, and see how fast we may go."""
        while True:
            held = self._holds.jobs()
            watched = held | self._ip_block_guard.jobs() | self._providers.jobs()
            if watched:
                states = await self._deps.database.read(jobs.states, sorted(watched))
                running = {job for job, state in states.items() if state is JobState.RUNNING}
                self._holds.stop(held - running)
                self._holds.stop(await self._ip_block_guard.look(running))
                self._holds.stop(await self._recipe_failures.look())
                self._holds.stop(await self._providers.look(running))
                self._holds.stop(await self._pressure.look(held & running))
            if await self._network.look():
                self._holds.stop()  # all are handed back: whoever has a network may have them
            # Its visits may all be waiting for the proxy: then none of them is held.
            self._holds.stop(await self._look_for_the_proxy())
            await self._outage.look()
            self._holds.cut_off(GRACE)
            self._walks.forget(self._holds.jobs())
            await asyncio.sleep(_STEER)

    async def _others_can(self) -> bool:
        """Return True if another machine can work while we have no network: here there is none."""
        return False

    async def _sites_that_wait(self) -> list[str]:
        try:
            return await self._deps.database.read(sites.that_wait, _ASKED_ABOUT)
        except StorageAway:
            return []

    async def _look_for_the_proxy(self) -> set[UUID]:
        if not self._deps.outage.lasts():
            return set()
        running = await self._deps.database.read(jobs.in_states, JobState.RUNNING)
        return await self._proxy.look({job.id for job in running})

    async def _close(self) -> None:
        """One process of a home brings jobs to their end; on a connection of its own, since auditing takes its time."""
        if self._number:
            await asyncio.Event().wait()
        database = self._deps.reopen_database()
        database.retries.limit = self._deps.database.retries.limit
        desk = BackgroundSlots(database, self._worker, self._deps.desk_rules)
        closer = Closer(database, self._deps.recipes, self._deps.files_of, desk)
        try:
            await run_services(Where.FIRST_WORKER, [closer])
        finally:
            await database.close()

    async def _end_walks(self) -> None:
        """Requests in flight get a moment; what is not back by then stays pending and counts as not tried."""
        self._holds.stop()
        if self._walking:
            await asyncio.wait(self._walking, timeout=GRACE)
        while self._walking:
            # Again and again: one that waited for what it has paid for may have to be cut off later.
            self._holds.cut_off(0)
            await asyncio.wait(self._walking, timeout=1)


async def _cancel(tasks: Sequence["asyncio.Task[Any]"]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)


def worker_name(home: str, number: int) -> str:
    """Return the name of a lease's holder: its data folder, then its process."""
    return f"{home}/{number}-{os.getpid()}"


def home_of(worker: str) -> str:
    return worker.rpartition("/")[0]
