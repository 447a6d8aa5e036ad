"""Issuing of visits: which visits of which account start next, and the nudges that tell workers to claim them.

`deal` divides free slots among accounts, and within an account among its jobs. A worker of a data folder issues the
visits of its own shard (`issue_in_shard`).

In a cluster one process issues for all machines: the one that holds the slot `issuer` in the database. It keeps as many
nudges on their way as there are free slots. The slot is renewed inside every transaction that issues, so two processes
that both believe they hold it take turns, and the cap on visits always holds.
"""

import asyncio
from collections import Counter, deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from heapq import heapify, heappop, heappush, heapreplace
from uuid import UUID, uuid4

from gossamer.clock import Clock
from gossamer.db.database import Database
from gossamer.db.transactions import Tx
from gossamer.dispatch import Dispatcher, Nudge
from gossamer.logging import get_logger
from gossamer.model.alert import ALERTS, AlertKind
from gossamer.model.rungs import HOME_LANE
from gossamer.model.worker import SILENT_AFTER
from gossamer.store import alerts, jobs, named_slots, queue_status, reclaim, visits, workers
from gossamer.store.jobs import Claim
from gossamer.store.visits import MOST_PER_DOMAIN, ReadyVisit

ISSUER = "issuer"  # name of the slot
LEASE = timedelta(seconds=10)
NUDGED_BY = "nudge/"  # begins the mark of issued visits; the rest of the mark is their round
PER_DOMAIN = 1  # over all workers: requests of two processes to one domain could overtake each other
KEPT_FOR_NEW = 0.05  # share of the slots, for jobs that have none
SPARE = 50  # visits read in addition to the free slots, since some cannot be issued
_EVERY_MINUTE = 60.0
_ONE_JOB = "issuer/job"
_MUTE = 5.0  # seconds in which nothing could be sent, until an alert is raised

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Share:
    """A job's current slots, and the weight of its share within its account."""

    weight: int = 1
    busy: int = 0
    elsewhere: int = 0  # slots in other lanes: only for the limits per job
    account: str = ""
    most: int | None = None  # limit that the job itself sets


class _Turns:
    """Turns of jobs: the account with the fewest slots is next, and its job with the fewest for its weight."""

    def __init__(self, ready: Iterable[UUID], shares: Mapping[UUID, Share]) -> None:
        self._shares = {job: shares.get(job, Share()) for job in ready}
        self.counts = {job: share.busy for job, share in self._shares.items()}
        # Includes jobs without ready visits: their slots count for their account.
        self._of_accounts = Counter[str]()
        for share in {**shares, **self._shares}.values():
            self._of_accounts[share.account] += share.busy
        self._order = {job: order for order, job in enumerate(self._shares)}
        self._jobs: dict[str, list[tuple[float, int, UUID]]] = {}
        for job, share in self._shares.items():
            self._jobs.setdefault(share.account, []).append(self._place(job))
        for waiting in self._jobs.values():
            heapify(waiting)
        self._accounts = [(self._of_accounts[account], order, account) for order, account in enumerate(self._jobs)]
        heapify(self._accounts)

    def _place(self, job: UUID) -> tuple[float, int, UUID]:
        return (self.counts[job] + 1) / self._shares[job].weight, self._order[job], job

    def next(self) -> UUID | None:
        """Take the next job from the queue; `give` puts it back. None if no job is left."""
        while self._accounts:
            waiting = self._jobs[self._accounts[0][2]]
            if waiting:
                return heappop(waiting)[2]
            heappop(self._accounts)
        return None

    def give(self, job: UUID) -> None:
        _, order, account = self._accounts[0]
        self.counts[job] += 1
        self._of_accounts[account] += 1
        heappush(self._jobs[account], self._place(job))
        heapreplace(self._accounts, (self._of_accounts[account], order, account))

    def has_enough(self, job: UUID, per_job: int | None) -> bool:
        """Return True if the job has reached a limit on visits, counted over all lanes."""
        share = self._shares[job]
        has = self.counts[job] + share.elsewhere
        return any(most is not None and has >= most for most in (per_job, share.most))


def deal(
    ready: Mapping[UUID, Sequence[ReadyVisit]],
    busy: Mapping[str, int],
    slots: int,
    *,
    shares: Mapping[UUID, Share] | None = None,
    kept: int = 0,
    per_domain: int = MOST_PER_DOMAIN,
    suspects: int = 0,
    most_suspects: int = 1,
    per_job: int | None = None,
) -> list[ReadyVisit]:
    """Choose visits for free slots. Each slot goes to the account with the fewest, there to the job with the fewest.

    A job's slots are divided by its weight. The last `kept` slots are only for jobs that have none. A domain never has
    more than `per_domain` visits at a time, a job never more than `per_job` or its own limit. Of visits that were
    running when a worker died only `most_suspects` run at a time, so that the one that kills workers is found.
    """
    taken_of = Counter(busy)
    turns = _Turns(ready, shares or {})
    queues = {job: deque(waiting) for job, waiting in ready.items()}
    dealt: list[ReadyVisit] = []
    while len(dealt) < slots and (job := turns.next()):
        if turns.counts[job] and len(dealt) >= slots - kept:
            continue
        if turns.has_enough(job, per_job):
            continue
        while queues[job]:
            visit = queues[job].popleft()
            if taken_of[visit.domain] >= per_domain or (visit.suspect and suspects >= most_suspects):
                continue
            taken_of[visit.domain] += 1
            suspects += visit.suspect
            dealt.append(visit)
            turns.give(job)
            break
    return dealt


def issue_in_shard(
    tx: Tx,
    lane: str,
    shard: int,
    shards: int,
    slots: int,
    worker: str,
    nudged: Collection[UUID],
    *,
    suspects: int,
    per_job: int | None = None,
) -> list[UUID]:
    """Choose visits for the free slots of a worker and mark them issued. The nudges are sent after the commit.

    `nudged` are visits whose nudges are on their way. Other visits that are issued to this worker are returned again:
    their nudges were lost.
    """
    ids = visits.forgotten(tx, worker, nudged)
    slots -= len(ids)
    ready = visits.ready(tx, lane, shard, shards, slots + SPARE, suspects=not suspects) if slots > 0 else {}
    if not ready:
        return ids
    domains = {waiting.domain for row in ready.values() for waiting in row}
    claims = jobs.claims(tx)
    has = queue_status.in_hand_of_jobs(tx, alone=per_job is not None or any(claim.most for claim in claims.values()))
    shares = {
        job: Share(claim.weight, has.get(job, 0), account=claim.account, most=claim.most)
        for job, claim in claims.items()
    }
    busy = visits.busy_domains(tx, sorted(domains))
    dealt = deal(ready, busy, slots, shares=shares, suspects=suspects, per_job=per_job)
    fresh = [waiting.id for waiting in dealt]
    visits.issue(tx, fresh, worker)
    return [*ids, *fresh]


class IssuerReplaced(Exception):
    """Another process is the issuer now."""


@dataclass(frozen=True, slots=True)
class Occupancy:
    """Number of visits allowed at a time, and their current number."""

    lanes: dict[str, int]  # slots of all live workers
    busy: dict[tuple[str, UUID], int]  # issued and running visits, by lane and job
    workers: int
    cap: int
    left: Mapping[str, int] = field(default_factory=dict)  # part of `busy` that dead workers hold, by lane
    silent: bool = False  # True if some workers have not reported for a while

    @property
    def in_hand(self) -> int:
        """Visits that count towards the cap; includes those of dead workers until they are taken back."""
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
        """Return the number of slots of a lane, limited by the cap."""
        return min(self.lanes.get(lane, 0), self.cap)

    def free(self, lane: str) -> int:
        """Return the free slots of a lane. Only live workers have slots, and visits of dead ones take none."""
        of_lane = sum(count for (in_lane, _), count in self.busy.items() if in_lane == lane)
        of_lane -= self.left.get(lane, 0)
        return max(0, min(self.slots(lane) - of_lane, self.cap - self.in_hand))


def look_around(tx: Tx, cap: int) -> Occupancy:
    """Read the current occupancy."""
    rooms = workers.rooms(tx)
    lanes: dict[str, int] = {}
    for occupancy in rooms.values():
        for lane, slots in occupancy.items():
            lanes[lane] = lanes.get(lane, 0) + slots
    return Occupancy(
        lanes, queue_status.in_hand(tx), len(rooms), cap, queue_status.left_behind(tx), workers.any_silent(tx)
    )


def issue_in_cluster(tx: Tx, holder: str, lane: str, cap: int, mark: str, per_job: int | None = None) -> list[UUID]:
    """Choose visits for the free slots of a lane and mark them issued.

    A repeated call returns the first choice.
    """
    if not named_slots.enter(tx, ISSUER, holder, 1, LEASE):
        raise IssuerReplaced
    ids = visits.forgotten(tx, mark, ())
    occupancy = look_around(tx, cap)
    free = occupancy.free(lane)
    if not free or ids:
        return ids
    suspects, most_suspects = visits.suspects_in_hand(tx), max(1, occupancy.workers)
    may = suspects < most_suspects
    ready = visits.ready(tx, lane, 0, 1, free + SPARE, per_domain=PER_DOMAIN, suspects=may)
    if not ready:
        return ids
    domains = {waiting.domain for row in ready.values() for waiting in row}
    shares = {job: occupancy.share(lane, job, claim) for job, claim in jobs.claims(tx).items()}
    dealt = deal(
        ready,
        visits.busy_domains(tx, sorted(domains)),
        free,
        shares=shares,
        kept=int(occupancy.slots(lane) * KEPT_FOR_NEW),
        per_domain=PER_DOMAIN,
        suspects=suspects,
        most_suspects=most_suspects,
        per_job=per_job,
    )
    fresh = [waiting.id for waiting in dealt]
    visits.issue(tx, fresh, mark)
    return fresh


class Issuer:
    """Issues visits of all lanes while its process holds the slot."""

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
        self._mute_reported: bool | None = None  # unknown: an earlier issuer may have left an alert
        self._passed: dict[str, bool] = {}  # by subject; one that is missing is unknown

    async def look(self) -> int:
        """Fill the free slots of every lane; return the number of nudges sent."""
        occupancy, wanted = await self._database.read(_survey, self._cap)
        await self._watch(occupancy)
        if occupancy.busy and not occupancy.workers:
            # No worker is left: nudges that were sent to them must not take the slots of new workers.
            await self._database.write(reclaim.lost_nudges, timedelta())
        elif occupancy.silent and await self._database.read(reclaim.any_lost, SILENT_AFTER):
            # Nudges to a vanished machine are lost for sure, without waiting for two lease times.
            lost = await self._database.write(reclaim.lost_nudges, SILENT_AFTER)
            log.warning("nudges.lost", visits=lost)
        return sum([await self._issue(lane) for lane in wanted])

    async def _issue(self, lane: str) -> int:
        mark = f"{NUDGED_BY}{uuid4().hex[:12]}"  # made here and not in the transaction, which may have to be made twice
        ids = await self._database.write(issue_in_cluster, self._holder, lane, self._cap, mark, self._per_job)
        lost = await self._send(ids, lane)
        if lost:
            await self._database.write(visits.take_back_issued, lost, mark)
            if self._mute_since is None:
                self._mute_since = self._clock.monotonic()
        if len(lost) < len(ids):
            self._mute_since = None
        await self._report_silence(sent=len(lost) < len(ids))
        return len(ids) - len(lost)

    async def _report_silence(self, *, sent: bool) -> None:
        if self.mute_for() >= _MUTE and not self._mute_reported:
            self._mute_reported = True
            sentence = ALERTS[AlertKind.BROKER].format(seconds=round(self.mute_for()))
            lasted = timedelta(seconds=self.mute_for())
            await self._database.write(alerts.fire, AlertKind.BROKER, ISSUER, sentence, lasted=lasted)
        elif sent and self._mute_reported is not False:
            self._mute_reported = False
            await self._database.write(alerts.clear, AlertKind.BROKER, ISSUER)

    async def _send(self, ids: Sequence[UUID], lane: str) -> Sequence[UUID]:
        """Send nudges; return the visits whose nudges could not be sent."""
        if ids and not await self._dispatcher.send(Nudge(ids[0], lane)):
            return ids  # the next ones would fail too, and each may take seconds to do so
        sent = await asyncio.gather(*(self._dispatcher.send(Nudge(identifier, lane)) for identifier in ids[1:]))
        return [identifier for identifier, arrived in zip(ids[1:], sent, strict=True) if not arrived]

    def mute_for(self) -> float:
        """Return for how many seconds every nudge has failed."""
        return 0.0 if self._mute_since is None else self._clock.monotonic() - self._mute_since

    def forget_mute(self) -> None:
        self._mute_since = None

    async def _watch(self, occupancy: Occupancy) -> None:
        """Check that no cap is exceeded. That would be a bug, so it is reported."""
        await self._check_cap(ISSUER, occupancy.in_hand, self._cap, "GOSSAMER_MAX_CONCURRENCY")
        await self._check_cap(_ONE_JOB, occupancy.in_largest_job, self._per_job, "GOSSAMER_JOB_CONCURRENCY")
        if self._clock.monotonic() >= self._logs_at:
            self._logs_at = self._clock.monotonic() + _EVERY_MINUTE
            log.info(
                "issuer.concurrency",
                visits=occupancy.in_hand,
                cap=self._cap,
                workers=occupancy.workers,
                **occupancy.lanes,
            )

    async def _check_cap(self, subject: str, visits: int, cap: int | None, setting: str) -> None:
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


def _survey(tx: Tx, cap: int) -> tuple[Occupancy, list[str]]:
    """Return the occupancy, and the lanes with free slots and ready visits. Takes no lock."""
    occupancy = look_around(tx, cap)
    # Stronger lanes first: a site is crawled in one lane at a time, so its visit in the home lane can wait.
    lanes = sorted(occupancy.lanes, key=lambda lane: (lane == HOME_LANE, lane))
    free = (lane for lane in lanes if occupancy.free(lane))
    return occupancy, [lane for lane in free if visits.any_ready(tx, lane, 0, 1, per_domain=PER_DOMAIN)]
