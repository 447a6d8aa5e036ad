"""What exactly one instance of a cluster does at a time: gives out work, sweeps, guards, ends jobs, tells of alerts.

Who does is a row in the database, held for ten seconds at a time. Whoever dies with it is followed by another within
that time; and should two ever do it at once, each thing they do is one conditional statement.
"""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from gossamer.clock import Clock
from gossamer.db import health
from gossamer.db.database import Database
from gossamer.db.transactions import Tx
from gossamer.deliver.alerts import Post
from gossamer.issuing.issuer import LEASE, PLACE, Issuer, LostPlace
from gossamer.logging import get_logger
from gossamer.model.alert import AlertKind
from gossamer.model.desk import DeskKind
from gossamer.model.sentences import ALERTS
from gossamer.recipes.base import Recipe
from gossamer.retain.retainer import Retainer
from gossamer.store import alerts, robots, slots, workers
from gossamer.work.anomalies import AnomalyGuard
from gossamer.work.closing import Closer
from gossamer.work.desk import Desk
from gossamer.work.guards import DeadlineGuard, LaneGuard, TrafficGuard
from gossamer.work.member import CLUSTER
from gossamer.work.sweep import Sweeper

RUNNER, RUNNER_KEPT = (
    "runner",
    timedelta(seconds=30),
)  # the place of whoever works a database, be it a home or a cluster
NEARLY_ALL = 0.8  # of the database's connections

_RENEW = LEASE.total_seconds() / 4
_ISSUE, _ISSUE_MORE = 0.25, 0.1  # seconds between looks; slots become free one by one, and are dealt some at a time
_LOOK, _CLOSE = 1.0, 0.5
_SELDOM = 5.0  # seconds between looks at what takes minutes or hours to come about
_MUTE = 15.0  # seconds in which nothing could be sent, before somebody else is let try
_FORGET = timedelta(minutes=10)  # of silence
_LOST = timedelta(days=1)  # for which somebody is told of a machine that does not come back

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Duties:
    """What is to be done by the one who holds the place, besides issuing."""

    post: Post
    retainer: Retainer
    recipes: Mapping[str, Recipe]
    files_of: str
    lease: timedelta
    job_time: timedelta
    desk: Desk
    ending: Desk  # for ends of jobs alone: a file that waits for a storage elsewhere keeps none of them waiting


def enter(tx: Tx, holder: str) -> bool:
    """Hold the place, unless another instance does, or a home works this database."""
    return slots.enter(tx, RUNNER, CLUSTER, 1, RUNNER_KEPT) and slots.enter(tx, PLACE, holder, 1, LEASE)


def leave(tx: Tx, holder: str) -> None:
    slots.leave(tx, PLACE, holder)
    if not workers.any_alive(tx):
        slots.leave(tx, RUNNER, CLUSTER)


class Keeper:
    """One per instance. `closing` is a database connection of its own: auditing takes its time."""

    def __init__(
        self, database: Database, closing: Database, clock: Clock, holder: str, issuer: Issuer, duties: Duties
    ) -> None:
        self._database = database
        self._clock = clock
        self._holder = holder
        self._issuer = issuer
        self._post = duties.post
        self._retainer = duties.retainer
        self._cleanup = partial(duties.desk.turn, DeskKind.CLEANUP)
        self._closer = Closer(closing, duties.recipes, duties.files_of, duties.ending)
        self._sweeper = Sweeper(database, clock, duties.lease)
        deadline = DeadlineGuard(database, clock, duties.job_time)
        self._guards = (deadline, TrafficGuard(database), LaneGuard(database, clock), AnomalyGuard(database, clock))
        self._counts_at = clock.monotonic()
        self._waits = False

    async def run(self) -> None:
        """For ever: hold the place if it is free, and do what comes with it for as long as it is ours."""
        try:
            while True:
                if await self._database.write(enter, self._holder):
                    log.info("issuer.took_over", holder=self._holder)
                    await self._hold()
                    log.info("issuer.left", holder=self._holder)
                    if self._issuer.mute_for():
                        await self._give_way()
                else:
                    await self._tell_of_a_home()
                await asyncio.sleep(_RENEW)
        finally:
            await asyncio.shield(self._database.write(leave, self._holder))

    async def _give_way(self) -> None:
        """Our messages do not arrive; those of another instance may. If there is none, we shall try again."""
        await self._database.write(slots.leave, PLACE, self._holder)
        self._issuer.forget_mute()
        await asyncio.sleep(LEASE.total_seconds())

    async def _tell_of_a_home(self) -> None:
        home = await self._database.read(health.working_home)
        waits = home not in (None, CLUSTER)
        if waits and not self._waits:
            log.warning("cluster.waits", home=home)
        self._waits = waits

    async def _hold(self) -> None:
        """Until somebody else has the place. What fails here ends the instance, which is started anew."""
        await self._database.write(robots.forget_old)
        retaining = self._retainer.run(self._clock.now, self._cleanup)
        duties = (self._renew(), self._issue(), self._look(), self._close(), retaining)
        loops = [asyncio.create_task(duty) for duty in duties]
        try:
            done, _ = await asyncio.wait(loops, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for loop in loops:
                loop.cancel()
            await asyncio.wait(loops)
        with suppress(LostPlace):
            for loop in done:
                loop.result()

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

    async def _close(self) -> None:
        while True:
            await self._closer.look()
            await asyncio.sleep(_CLOSE)

    async def _look(self) -> None:
        while True:
            await self._sweeper.sweep()
            await self._post.deliver()
            if self._clock.monotonic() >= self._counts_at:
                self._counts_at = self._clock.monotonic() + _SELDOM
                for guard in self._guards:
                    await guard.look()
                await self._database.write(tell_of_lost)
                await self._database.write(workers.forget_silent, _FORGET)
                await self._database.write(count_connections)
            await asyncio.sleep(_LOOK)


def tell_of_lost(tx: Tx, forget: timedelta = _LOST) -> None:
    """Machines that vanished. What is said of one holds until it is back, or for a day: it may be gone for good."""
    lost, living = workers.hosts(tx)
    told = {one.subject: one.fired_at for one in alerts.held_of_kind(tx, AlertKind.INSTANCE)}
    for host, since in told.items():
        if host in living or since < tx.now - forget:
            alerts.clear(tx, AlertKind.INSTANCE, host)
    for one in lost:
        if one.host in told:
            continue
        had = "1 working process" if one.workers == 1 else f"{one.workers} working processes"
        why = ALERTS[AlertKind.INSTANCE].format(host=one.host, since=f"{one.heard:%Y-%m-%d %H:%M:%S}", workers=had)
        if alerts.fire(tx, AlertKind.INSTANCE, one.host, why, lasted=tx.now - one.heard):
            log.error("instance.lost", host=one.host, workers=one.workers)


def count_connections(tx: Tx, nearly_all: float = NEARLY_ALL) -> None:
    """Say it while there still are some left."""
    server = health.server(tx)
    if server is None:
        return
    if server.connections > server.most_connections * nearly_all:
        figures: dict[str, int] = {"open": server.connections, "most": server.most_connections}
        if alerts.fire(tx, AlertKind.CONNECTIONS, CLUSTER, ALERTS[AlertKind.CONNECTIONS].format(**figures)):
            log.error("connections.nearly_all", **figures)
    else:
        alerts.clear(tx, AlertKind.CONNECTIONS, CLUSTER)
