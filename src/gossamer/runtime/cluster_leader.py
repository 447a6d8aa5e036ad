"""Leader of a cluster: one instance at a time distributes work, cleans up, guards, ends jobs and sends alerts.

The leader is a row in the database, held for ten seconds at a time. If it dies, another instance
follows within that time; if two ever lead at once, each of their actions is still one conditional
statement.
"""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta

from gossamer.clock import Clock
from gossamer.crawl.sweep import Sweeper
from gossamer.db import health
from gossamer.db.database import Database
from gossamer.db.transactions import Tx
from gossamer.logging import get_logger
from gossamer.recipes.base import Recipe
from gossamer.runtime.alerts import Post
from gossamer.runtime.anomalies import AnomalyGuard
from gossamer.runtime.auto_pause import DeadlineGuard, LaneGuard, TrafficGuard
from gossamer.runtime.background_slots import BackgroundSlots
from gossamer.runtime.cluster_worker import CLUSTER
from gossamer.runtime.issuer import LEASE, PLACE, Issuer, LostPlace
from gossamer.runtime.job_completion import Closer
from gossamer.runtime.services import Cleanup, MachineWatch, Where, run_services
from gossamer.store import robots, slots, workers

RUNNER, RUNNER_KEPT = (
    "runner",
    timedelta(seconds=30),
)  # the place of whoever works a database, be it a home or a cluster

_RENEW = LEASE.total_seconds() / 4
_ISSUE, _ISSUE_MORE = 0.25, 0.1  # seconds between looks; slots become free one by one, and are dealt some at a time
_MUTE = 15.0  # seconds in which nothing could be sent, before somebody else is let try

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Duties:
    """Tasks of the leader besides issuing."""

    post: Post
    cleanup: Cleanup
    recipes: Mapping[str, Recipe]
    files_of: str
    lease: timedelta
    job_time: timedelta
    # For ends of jobs alone: a file that waits for a storage elsewhere keeps none of them waiting.
    ending: BackgroundSlots


def enter(tx: Tx, holder: str) -> bool:
    """Hold the place, unless another instance does, or a home works this database."""
    return slots.enter(tx, RUNNER, CLUSTER, 1, RUNNER_KEPT) and slots.enter(tx, PLACE, holder, 1, LEASE)


def leave(tx: Tx, holder: str) -> None:
    slots.leave(tx, PLACE, holder)
    if not workers.any_alive(tx):
        slots.leave(tx, RUNNER, CLUSTER)


class ClusterLeader:
    """One per instance. `closing` is a database connection of its own: auditing takes its time."""

    def __init__(
        self, database: Database, closing: Database, clock: Clock, holder: str, issuer: Issuer, duties: Duties
    ) -> None:
        self._database = database
        self._holder = holder
        self._issuer = issuer
        self._owners = (
            Sweeper(database, clock, duties.lease),
            Closer(closing, duties.recipes, duties.files_of, duties.ending),
            DeadlineGuard(database, clock, duties.job_time),
            TrafficGuard(database),
            LaneGuard(database, clock),
            AnomalyGuard(database, clock),
            MachineWatch(database, CLUSTER),
            duties.post,
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
        """Lead until another instance takes over. A failure here ends the instance, which is restarted."""
        await self._database.write(robots.forget_old)
        with suppress(LostPlace):
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
