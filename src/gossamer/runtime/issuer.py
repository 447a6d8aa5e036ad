"""The issuer of a cluster: one at a time over all machines, it keeps as many nudges out as there are free slots.

The process that holds the place `issuer` in the database issues. The place is renewed inside every
transaction that issues, so two processes that both believe they hold it take turns, and the cap on
rows always holds.
"""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from uuid import UUID, uuid4

from gossamer.clock import Clock
from gossamer.db.database import Database
from gossamer.db.transactions import Tx
from gossamer.dispatch import Dispatcher, Nudge
from gossamer.logging import get_logger
from gossamer.model.alert import ALERTS, AlertKind
from gossamer.model.rungs import HOME_LANE
from gossamer.model.worker import SILENT_AFTER
from gossamer.runtime.deal import SPARE, Share, deal
from gossamer.store import alerts, jobs, queue, reclaim, visits, workers
from gossamer.store import slots as slot_store
from gossamer.store.jobs import Claim

PLACE = "issuer"
LEASE = timedelta(seconds=10)
NUDGED_BY = "nudge/"  # what issued visits are marked with, before the mark of the round they were issued in
PER_DOMAIN = 1  # over all workers: requests of two processes to one domain could overtake each other
KEPT_FOR_NEW = 0.05  # of the slots, for jobs that have none
_EVERY_MINUTE = 60.0
_ONE_JOB = "issuer/job"
_MUTE = 5.0  # seconds in which nothing could be sent, before somebody is told

log = get_logger(__name__)


class LostPlace(Exception):
    """Another process is the issuer now."""


@dataclass(frozen=True, slots=True)
class Room:
    """Number of visits allowed at a time, and their current number."""

    lanes: dict[str, int]  # of all workers that live
    busy: dict[tuple[str, UUID], int]  # in hand, by lane and job
    workers: int
    cap: int
    left: Mapping[str, int] = field(default_factory=dict)  # of `busy`, what dead workers have, by lane
    silent: bool = False  # whether some workers have not been heard of for a while

    @property
    def in_hand(self) -> int:
        """The number of visits that counts for the cap: all until they are taken back, so the rows never exceed it."""
        return sum(self.busy.values())

    @property
    def in_largest_job(self) -> int:
        counts: Counter[UUID] = Counter()
        for (_, job), count in self.busy.items():
            counts[job] += count
        return max(counts.values(), default=0)

    def share(self, lane: str, job: UUID, claim: Claim) -> Share:
        has = self.busy.get((lane, job), 0)
        everywhere = sum(count for (_, of), count in self.busy.items() if of == job)
        return Share(claim.weight, has, everywhere - has, claim.account, claim.most)

    def slots(self, lane: str) -> int:
        """All there are of a lane, as far as the cap allows."""
        return min(self.lanes.get(lane, 0), self.cap)

    def free(self, lane: str) -> int:
        """The slots are those of workers that live, and what dead ones have takes none of them."""
        of_lane = sum(count for (in_lane, _), count in self.busy.items() if in_lane == lane)
        of_lane -= self.left.get(lane, 0)
        return max(0, min(self.slots(lane) - of_lane, self.cap - self.in_hand))


def look_around(tx: Tx, cap: int) -> Room:
    rooms = workers.rooms(tx)
    lanes: dict[str, int] = {}
    for room in rooms.values():
        for lane, slots in room.items():
            lanes[lane] = lanes.get(lane, 0) + slots
    return Room(lanes, queue.in_hand(tx), len(rooms), cap, queue.left_behind(tx), workers.any_silent(tx))


def issue(tx: Tx, holder: str, lane: str, cap: int, mark: str, per_job: int | None = None) -> list[UUID]:
    """Choose visits for the free slots of a lane and mark them issued.

    A repeated call returns the first choice.
    """
    if not slot_store.enter(tx, PLACE, holder, 1, LEASE):
        raise LostPlace
    ids = visits.forgotten(tx, mark, ())
    room = look_around(tx, cap)
    free = room.free(lane)
    if not free or ids:
        return ids
    suspects, most_suspects = visits.suspects_in_hand(tx), max(1, room.workers)
    may = suspects < most_suspects
    ready = visits.ready(tx, lane, 0, 1, free + SPARE, per_domain=PER_DOMAIN, suspects=may)
    if not ready:
        return ids
    domains = {waiting.domain for row in ready.values() for waiting in row}
    shares = {job: room.share(lane, job, claim) for job, claim in jobs.claims(tx).items()}
    dealt = deal(
        ready,
        visits.busy_domains(tx, sorted(domains)),
        free,
        shares=shares,
        kept=int(room.slots(lane) * KEPT_FOR_NEW),
        per_domain=PER_DOMAIN,
        suspects=suspects,
        most_suspects=most_suspects,
        per_job=per_job,
    )
    fresh = [waiting.id for waiting in dealt]
    visits.issue(tx, fresh, mark)
    return fresh


class Issuer:
    """Of one process; it does something only while that process holds the place."""

    def __init__(
        self,
        database: Database,
        dispatcher: Dispatcher,
        clock: Clock,
        holder: str,
        cap: int,
        per_job: int | None = None,
    ) -> None:
        self._database = database
        self._dispatcher = dispatcher
        self._clock = clock
        self._holder = holder
        self._cap = cap
        self._per_job = per_job
        self._logs_at = clock.monotonic()
        self._mute_since: float | None = None
        self._mute_told: bool | None = None  # whoever issued before us may have left an alert
        self._passed: dict[str, bool] = {}  # what is not known may be: whoever issued before us may have left an alert

    async def look(self) -> int:
        """Fill the free slots of every lane; how many nudges went out."""
        room, wanted = await self._database.read(_survey, self._cap)
        await self._watch(room)
        if room.busy and not room.workers:
            # Nobody is left to answer: what was on its way to those who are gone must not keep the slots of the next.
            await self._database.write(reclaim.lost_nudges, timedelta())
        elif room.silent and await self._database.read(reclaim.any_lost, SILENT_AFTER):
            # A machine that vanished had messages that nobody will answer: they need not wait for two leases.
            lost = await self._database.write(reclaim.lost_nudges, SILENT_AFTER)
            log.warning("nudges.lost", visits=lost)
        return sum([await self._issue(lane) for lane in wanted])

    async def _issue(self, lane: str) -> int:
        mark = f"{NUDGED_BY}{uuid4().hex[:12]}"  # made here and not in the transaction, which may have to be made twice
        ids = await self._database.write(issue, self._holder, lane, self._cap, mark, self._per_job)
        lost = await self._send(ids, lane)
        if lost:
            await self._database.write(visits.take_back_issued, lost, mark)
            if self._mute_since is None:
                self._mute_since = self._clock.monotonic()
        if len(lost) < len(ids):
            self._mute_since = None
        await self._tell_of_silence(sent=len(lost) < len(ids))
        return len(ids) - len(lost)

    async def _tell_of_silence(self, *, sent: bool) -> None:
        if self.mute_for() >= _MUTE and not self._mute_told:
            self._mute_told = True
            sentence = ALERTS[AlertKind.BROKER].format(seconds=round(self.mute_for()))
            lasted = timedelta(seconds=self.mute_for())
            await self._database.write(alerts.fire, AlertKind.BROKER, PLACE, sentence, lasted=lasted)
        elif sent and self._mute_told is not False:
            self._mute_told = False
            await self._database.write(alerts.clear, AlertKind.BROKER, PLACE)

    async def _send(self, ids: Sequence[UUID], lane: str) -> Sequence[UUID]:
        """Those that did not go out."""
        if ids and not await self._dispatcher.send(Nudge(ids[0], lane)):
            return ids  # nor would the next one arrive, and each may take seconds to fail
        sent = await asyncio.gather(*(self._dispatcher.send(Nudge(identifier, lane)) for identifier in ids[1:]))
        return [identifier for identifier, arrived in zip(ids[1:], sent, strict=True) if not arrived]

    def mute_for(self) -> float:
        """Seconds for which there was something to send and none of it went out."""
        return 0.0 if self._mute_since is None else self._clock.monotonic() - self._mute_since

    def forget_mute(self) -> None:
        self._mute_since = None

    async def _watch(self, room: Room) -> None:
        """Check that no cap is exceeded. No step should lead to that; if it happens anyway, it is reported."""
        await self._hold_against(PLACE, room.in_hand, self._cap, "GOSSAMER_MAX_CONCURRENCY")
        await self._hold_against(_ONE_JOB, room.in_largest_job, self._per_job, "GOSSAMER_JOB_CONCURRENCY")
        if self._clock.monotonic() >= self._logs_at:
            self._logs_at = self._clock.monotonic() + _EVERY_MINUTE
            log.info("issuer.concurrency", visits=room.in_hand, cap=self._cap, workers=room.workers, **room.lanes)

    async def _hold_against(self, subject: str, visits: int, cap: int | None, setting: str) -> None:
        passed, before = cap is not None and visits > cap, self._passed.get(subject)
        self._passed[subject] = passed
        if passed:
            if not before:
                log.error("issuer.cap_passed", visits=visits, cap=cap, setting=setting)
            of = " of one job" if subject == _ONE_JOB else ""
            why = ALERTS[AlertKind.CONCURRENCY].format(visits=visits, of=of, cap=cap, setting=setting)
            await self._database.write(alerts.fire, AlertKind.CONCURRENCY, subject, why)
        elif before is not False:
            await self._database.write(alerts.clear, AlertKind.CONCURRENCY, subject)


def _survey(tx: Tx, cap: int) -> tuple[Room, list[str]]:
    """The room there is, and the lanes in which something waits for it; a look that takes no lock."""
    room = look_around(tx, cap)
    # What a page has climbed to comes first: a site is walked in one lane at a time, and its own visit can wait.
    lanes = sorted(room.lanes, key=lambda lane: (lane == HOME_LANE, lane))
    free = (lane for lane in lanes if room.free(lane))
    return room, [lane for lane in free if visits.any_ready(tx, lane, 0, 1, per_domain=PER_DOMAIN)]
