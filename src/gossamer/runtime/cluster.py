"""Processes of a cluster: its instances, their leader, and the workers.

An instance (`ClusterHost`), usually one per machine, starts worker processes and looks after them. It crawls nothing
itself, so that its other tasks do not wait for pages.

One instance at a time is the leader: it distributes work, cleans up, guards, ends jobs and sends alerts. The leader is
a row in the database, held for ten seconds at a time. If it dies, another instance follows within that time; if two
ever lead at once, each of their actions is still one conditional statement.

A worker (`ClusterWorker`) crawls the visits named by nudges. It differs from a worker of a data folder in three ways:
nudges come from the leader and not from the process itself, its row shows that it is alive and how much room it has,
and the leader completes jobs.
"""

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any
from uuid import uuid4
from zlib import crc32

from gossamer.clock import Clock
from gossamer.crawl.completion import Closer
from gossamer.crawl.crawl_setup import Claimed, claim_and_load
from gossamer.crawl.sweep import Sweeper
from gossamer.crawl.worker_deps import WorkerDeps
from gossamer.db import health
from gossamer.db.database import Database
from gossamer.db.transactions import Tx
from gossamer.dispatch import Dispatcher, Nudge
from gossamer.logging import get_logger
from gossamer.model.rungs import Lane
from gossamer.model.worker import DeskKind, Worker
from gossamer.recipes.base import Recipe
from gossamer.runtime.alerts import AlertSender
from gossamer.runtime.anomalies import AnomalyGuard
from gossamer.runtime.auto_pause import DeadlineGuard, LaneGuard, TrafficGuard
from gossamer.runtime.background_slots import BackgroundSlots
from gossamer.runtime.conclusion import Concluder
from gossamer.runtime.home_lock import CLUSTER, RUNNER, RUNNER_KEPT
from gossamer.runtime.issuing import ISSUER, LEASE, NUDGED_BY, Issuer, IssuerReplaced
from gossamer.runtime.outage_alerts import DatabaseWatch, StorageWatch
from gossamer.runtime.process_pool import ProcessPool
from gossamer.runtime.services import Cleanup, ExportService, MachineWatch, WebhookService, Where, run_services
from gossamer.runtime.worker import ShardWorker, cancel_all
from gossamer.settle.step import HandBack, Step
from gossamer.store import counters, named_slots, robots, visits, workers

_RENEW = LEASE.total_seconds() / 4
_ISSUE, _ISSUE_MORE = 0.25, 0.1  # seconds between rounds; after one that issued visits, soon again
_MUTE = 15.0  # seconds in which nothing could be sent, until another instance may lead
_LOOK = 1.0  # seconds between checks for waiting visits
_NETWORK = 0.2  # seconds between checks of our own network
_CLAIM_MOST = 50
_NEXT_SUSPECT = timedelta(seconds=2)

ENDLESS = timedelta(days=3650)  # patience with a database: an instance is not restarted by hand

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Duties:
    """Tasks of the leader besides issuing."""

    alert_sender: AlertSender
    cleanup: Cleanup
    recipes: Mapping[str, Recipe]
    files_of: str
    lease: timedelta
    job_time: timedelta
    # Only for completing jobs: a file that waits for remote storage delays no job.
    background_slots: BackgroundSlots


def enter(tx: Tx, holder: str) -> bool:
    """Become or stay the leader; False if another instance leads, or a data folder uses this database."""
    return named_slots.enter(tx, RUNNER, CLUSTER, 1, RUNNER_KEPT) and named_slots.enter(tx, ISSUER, holder, 1, LEASE)


def leave(tx: Tx, holder: str) -> None:
    """Give up leadership of the cluster. If no worker is alive any more, a data folder may use the database again."""
    named_slots.leave(tx, ISSUER, holder)
    if not workers.any_alive(tx):
        named_slots.leave(tx, RUNNER, CLUSTER)


class ClusterLeader:
    """The leader's tasks in one instance. `closing` is a database connection for audits, which take long."""

    def __init__(
        self, database: Database, closing: Database, clock: Clock, holder: str, issuer: Issuer, duties: Duties
    ) -> None:
        self._database = database
        self._holder = holder
        self._issuer = issuer
        self._owners = (
            Sweeper(database, clock, duties.lease),
            Closer(closing, duties.recipes, duties.files_of, partial(duties.background_slots.hold, DeskKind.FINISH)),
            DeadlineGuard(database, clock, duties.job_time),
            TrafficGuard(database),
            LaneGuard(database, clock),
            AnomalyGuard(database, clock),
            MachineWatch(database, CLUSTER),
            duties.alert_sender,
            duties.cleanup,
        )
        self._waits = False

    async def run(self) -> None:
        """Run for ever: take the leader's place if it is free, and do its work for as long as it is held."""
        try:
            while True:
                if await self._database.write(enter, self._holder):
                    log.info("issuer.took_over", holder=self._holder)
                    await self._hold()
                    log.info("issuer.left", holder=self._holder)
                    if self._issuer.mute_for():
                        await self._step_down()
                else:
                    await self._warn_of_home()
                await asyncio.sleep(_RENEW)
        finally:
            await asyncio.shield(self._database.write(leave, self._holder))

    async def _step_down(self) -> None:
        """Let another instance lead, whose messages may arrive when ours do not; then try again."""
        await self._database.write(named_slots.leave, ISSUER, self._holder)
        self._issuer.forget_mute()
        await asyncio.sleep(LEASE.total_seconds())

    async def _warn_of_home(self) -> None:
        home = await self._database.read(health.working_home)
        waits = home not in (None, CLUSTER)
        if waits and not self._waits:
            log.warning("cluster.waits", home=home)
        self._waits = waits

    async def _hold(self) -> None:
        """Lead until another instance takes over. A failure here ends the instance, which is restarted."""
        await self._database.write(robots.forget_old)
        with suppress(IssuerReplaced):
            await run_services(Where.LEADER, self._owners, self._renew(), self._issue())

    async def _renew(self) -> None:
        while True:
            if not await self._database.write(enter, self._holder):
                return
            await asyncio.sleep(_RENEW)

    async def _issue(self) -> None:
        while self._issuer.mute_for() < _MUTE:
            sent = await self._issuer.look()
            await asyncio.sleep(_ISSUE_MORE if sent else _ISSUE)
        log.warning("issuer.mute", holder=self._holder)


class ClusterHost:
    """One instance. `optional` are services that not every instance has: without the desk lane it makes no files."""

    def __init__(
        self,
        database: Database,
        host: str,
        process_pool: ProcessPool,
        leader: ClusterLeader,
        dispatcher: Dispatcher,
        cleanup: Cleanup,
        *optional: ExportService | WebhookService | Concluder | DatabaseWatch | StorageWatch,
    ) -> None:
        self._database = database
        self._host = host
        self._process_pool = process_pool
        self._leader = leader
        self._dispatcher = dispatcher
        self._owners = (process_pool, cleanup, *optional)

    async def run(self, stop: asyncio.Event) -> None:
        """Run until `stop` is set, or a failure that a restart may solve."""
        self._database.retries.limit = ENDLESS
        self._process_pool.start()
        stopped = asyncio.create_task(stop.wait())
        leading = asyncio.create_task(self._leader.run())
        services = asyncio.create_task(run_services(Where.INSTANCE, self._owners))
        try:
            done, _ = await asyncio.wait([stopped, leading, services], return_when=asyncio.FIRST_COMPLETED)
        finally:
            await cancel_all([stopped, services])
            self._database.retries.limit = timedelta()  # a shutdown does not wait long
            # The leader goes on until our own processes have handed their visits back.
            await self._process_pool.stop()
            await cancel_all([leading])
            await self._dispatcher.close()
        for task in done - {stopped}:
            task.result()
        await self._database.write(counters.take_running)
        log.info("cluster.stopped", host=self._host)


class ClusterWorker(ShardWorker):
    """A worker process of a cluster."""

    def __init__(
        self,
        deps: WorkerDeps,
        row: Worker,
        beat: Callable[[], None] = lambda: None,
        listening: Callable[[bool], None] = lambda _: None,
    ) -> None:
        """`listening` is called with whether nudges are wanted from now on."""
        super().__init__(deps, crc32(row.id.encode()), 1, row.id, beat=beat, home=CLUSTER)
        self._row = row
        self._listening = listening
        self._listens = True

    def _duties(self) -> Sequence[Coroutine[Any, Any, None]]:
        loops = (self._take(), self._steer(), self._live(), self._show_life(), self._look_for_waiting())
        return (*loops, self._listen_while_online())

    async def run(self) -> None:
        await self._deps.database.write(workers.beat, self._present())
        try:
            await super().run()
        finally:
            await self._deps.dispatcher.close()

    async def _end_crawls(self) -> None:
        # First, so that no more visits are issued to us. If this process dies, its instance removes the row.
        if not self._deps.database.retries.is_away:
            await self._deps.database.write(workers.leave, self._row.id)
        await super()._end_crawls()

    def _present(self) -> Worker:
        """Return our current row: less room while the process slows down, none without a network."""
        row, none = self._row, self._own_network.is_away
        room: Mapping[str, int] = {
            lane: 0 if none and lane != Lane.DESK else self._ip_block.room(slots) for lane, slots in row.lanes.items()
        }
        return Worker(row.id, row.host, row.pid, room, row.version, row.started_at, row.beat_at)

    async def _listen_while_online(self) -> None:
        while True:
            if self._listens is self._own_network.is_away:
                self._listens = not self._listens
                self._listening(self._listens)
                await self._deps.database.write(workers.beat, self._present())
            await asyncio.sleep(_NETWORK)

    async def _others_can(self) -> bool:
        return await self._deps.database.read(_any_room, self._row.id)

    async def _look_for_waiting(self) -> None:
        while True:
            for lane in self._deps.lanes:
                waits = await self._deps.database.read(visits.any_ready, lane, 0, 1)
                (self._waiting.add if waits else self._waiting.discard)(lane)
            await asyncio.sleep(_LOOK)

    async def _take(self) -> None:
        while True:
            nudges = await self._deps.dispatcher.receive(_CLAIM_MOST)
            since = self._deps.clock.monotonic()
            # Made here, because the transaction may be repeated.
            tokens = {nudge.visit: uuid4() for nudge in nudges}
            claimed = await self._deps.database.write(
                claim_and_load, tokens, self._worker, self._deps.limits.lease, nudged_by=NUDGED_BY
            )
            found = {one.visit.id: one for one in claimed}
            for nudge in nudges:
                self._start(nudge, found.get(nudge.visit), since)

    def _start(self, nudge: Nudge, claimed: Claimed | None, since: float) -> None:
        if claimed is None:
            # Not available: another worker has it, it is done, or its job does not run. Its row is right.
            self._deps.dispatcher.done(nudge)
        elif self._own_network.is_away:
            self._settler.put(Step(claimed.visit, ending=HandBack(self._deps.clock.now())))
            self._deps.dispatcher.done(nudge)
        elif claimed.visit.deaths and self._leases.suspects():
            # Only one suspect at a time in a process, so that the one that kills workers is found.
            later = self._deps.clock.now() + _NEXT_SUSPECT
            self._settler.put(Step(claimed.visit, ending=HandBack(later)))
            self._deps.dispatcher.done(nudge)
        else:
            crawl = self._begin(claimed, since)
            crawl.add_done_callback(partial(self._slice_ended, nudge))

    def _slice_ended(self, nudge: Nudge, _: "asyncio.Task[None]") -> None:
        self._deps.dispatcher.done(nudge)


def _any_room(tx: Tx, but: str) -> bool:
    """Return True if any other live worker crawls visits."""
    others = (room for worker, room in workers.rooms(tx).items() if worker != but)
    return any(slots for room in others for lane, slots in room.items() if lane != Lane.DESK)
