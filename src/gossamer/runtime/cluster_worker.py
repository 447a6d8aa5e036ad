"""A worker process of a cluster: crawls the visits named by nudges, until told to stop.

It has the same parts as a shard of a data folder, with three differences: nudges come from the issuer
of the cluster instead of the process itself, its row shows that it is alive and how much room it has,
and the issuer brings jobs to their end.
"""

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from datetime import timedelta
from functools import partial
from typing import Any
from uuid import uuid4
from zlib import crc32

from gossamer.crawl.crawl_setup import Claimed, claim_and_load
from gossamer.crawl.worker_deps import WorkerDeps
from gossamer.db.transactions import Tx
from gossamer.dispatch import Nudge
from gossamer.model.rungs import Lane
from gossamer.model.worker import Worker
from gossamer.runtime.issuer import NUDGED_BY
from gossamer.runtime.worker import Shard
from gossamer.settle.step import HandBack, Step
from gossamer.store import visits, workers

CLUSTER = "cluster"
"""Whose a database is that a cluster works, as a home's name is where a home does."""

_LOOK = 1.0  # seconds between looks whether others wait
_NETWORK = 0.2  # and whether there is a network
_CLAIM_MOST = 50
_NEXT_SUSPECT = timedelta(seconds=2)


class ClusterWorker(Shard):
    def __init__(
        self,
        deps: WorkerDeps,
        row: Worker,
        beat: Callable[[], None] = lambda: None,
        listening: Callable[[bool], None] = lambda _: None,
    ) -> None:
        """`listening` says whether nudges are wanted from now on."""
        super().__init__(deps, crc32(row.id.encode()), 1, row.id, beat=beat, home=CLUSTER)
        self._row = row
        self._listening = listening
        self._listens = True

    def _duties(self) -> Sequence[Coroutine[Any, Any, None]]:
        loops = (self._take(), self._steer(), self._live(), self._show_life(), self._look_who_waits())
        return (*loops, self._listen_while_there_is_a_network())

    async def run(self) -> None:
        await self._deps.database.write(workers.beat, self._present())
        try:
            await super().run()
        finally:
            await self._deps.dispatcher.close()

    async def _end_walks(self) -> None:
        # First of all: what is given out now is for others. Of one that dies its instance removes the row.
        if not self._deps.database.retries.is_away:
            await self._deps.database.write(workers.leave, self._row.id)
        await super()._end_walks()

    def _present(self) -> Worker:
        """Our row as it should be now: a process that slows down has less room, one without a network none."""
        row, none = self._row, self._own_network.is_away
        room: Mapping[str, int] = {
            lane: 0 if none and lane != Lane.DESK else self._ip_block_guard.room(slots)
            for lane, slots in row.lanes.items()
        }
        return Worker(row.id, row.host, row.pid, room, row.version, row.started_at, row.beat_at)

    async def _listen_while_there_is_a_network(self) -> None:
        while True:
            if self._listens is self._own_network.is_away:
                self._listens = not self._listens
                self._listening(self._listens)
                await self._deps.database.write(workers.beat, self._present())
            await asyncio.sleep(_NETWORK)

    async def _others_can(self) -> bool:
        return await self._deps.database.read(_any_room, self._row.id)

    async def _look_who_waits(self) -> None:
        while True:
            for lane in self._deps.lanes:
                waits = await self._deps.database.read(visits.any_ready, lane, 0, 1)
                (self._waiting.add if waits else self._waiting.discard)(lane)
            await asyncio.sleep(_LOOK)

    async def _take(self) -> None:
        while True:
            nudges = await self._deps.dispatcher.receive(_CLAIM_MOST)
            since = self._deps.clock.monotonic()
            # Made here and not in the transaction, which may have to be made twice.
            tokens = {nudge.visit: uuid4() for nudge in nudges}
            claimed = await self._deps.database.write(
                claim_and_load, tokens, self._worker, self._deps.limits.lease, nudged_by=NUDGED_BY
            )
            found = {one.visit.id: one for one in claimed}
            for nudge in nudges:
                self._give_slice(nudge, found.get(nudge.visit), since)

    def _give_slice(self, nudge: Nudge, claimed: Claimed | None, since: float) -> None:
        if claimed is None:
            # Not to be had: taken by somebody else, done, or its job does not run. The row knows.
            self._deps.dispatcher.done(nudge)
        elif self._own_network.is_away:
            self._settler.put(Step(claimed.visit, ending=HandBack(self._deps.clock.now())))
            self._deps.dispatcher.done(nudge)
        elif claimed.visit.deaths and self._holds.suspects():
            # Suspects run alone of their kind in a process, or the guilty one would never be found.
            later = self._deps.clock.now() + _NEXT_SUSPECT
            self._settler.put(Step(claimed.visit, ending=HandBack(later)))
            self._deps.dispatcher.done(nudge)
        else:
            walk = self._begin(claimed, since)
            walk.add_done_callback(partial(self._slice_is_over, nudge))

    def _slice_is_over(self, nudge: Nudge, _: "asyncio.Task[None]") -> None:
        self._deps.dispatcher.done(nudge)


def _any_room(tx: Tx, but: str) -> bool:
    """Return True if any other live worker crawls visits."""
    others = (room for worker, room in workers.rooms(tx).items() if worker != but)
    return any(slots for room in others for lane, slots in room.items() if lane != Lane.DESK)
