"""Dealing free slots over the accounts that want them, and in each over its jobs."""

from collections import Counter, deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush, heapreplace
from uuid import UUID

from gossamer.db.transactions import Tx
from gossamer.store import jobs, queue, visits
from gossamer.store.visits import MOST_PER_DOMAIN, ReadyVisit

# Looked at beyond the free slots, since some will be passed over.
SPARE = 50


@dataclass(frozen=True, slots=True)
class Share:
    """A job's current slots, and the weight of its share within its account."""

    weight: int = 1
    busy: int = 0
    elsewhere: int = 0  # in other lanes: only for the cap
    account: str = ""
    most: int | None = None  # it may have, by its own wish


class _Turns:
    """Whose turn it is: the account that has least, and of its jobs the one that has least for its weight."""

    def __init__(self, ready: Iterable[UUID], shares: Mapping[UUID, Share]) -> None:
        self._shares = {job: shares.get(job, Share()) for job in ready}
        self.counts = {job: share.busy for job, share in self._shares.items()}
        # Also those that want nothing now: what they hold is their account's.
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
        """Return the next job in turn, which leaves the queue unless it is given something; None if none is left."""
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
    """Always to the account that has least, and there to the job that has least for its weight, until all are dealt.

    The last `kept` slots are only for jobs that have none. A domain never has more than `per_domain` visits at a time,
    a job never more than `per_job`, nor more than it wants itself.
    Of visits that were running when a worker died only `most_suspects` run at a time, so that the guilty one is found.
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


def issue(
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
    """Choose visits for the free slots and mark them issued. The nudges go out after the commit.

    `nudged` are those whose nudges are on their way. Any other visit that this worker was issued is among the chosen:
    it was, the last time this was said.
    """
    ids = visits.forgotten(tx, worker, nudged)
    slots -= len(ids)
    ready = visits.ready(tx, lane, shard, shards, slots + SPARE, suspects=not suspects) if slots > 0 else {}
    if not ready:
        return ids
    domains = {waiting.domain for row in ready.values() for waiting in row}
    claims = jobs.claims(tx)
    has = queue.in_hand_of_jobs(tx, alone=per_job is not None or any(claim.most for claim in claims.values()))
    shares = {
        job: Share(claim.weight, has.get(job, 0), account=claim.account, most=claim.most)
        for job, claim in claims.items()
    }
    busy = visits.busy_domains(tx, sorted(domains))
    dealt = deal(ready, busy, slots, shares=shares, suspects=suspects, per_job=per_job)
    fresh = [waiting.id for waiting in dealt]
    visits.issue(tx, fresh, worker)
    return [*ids, *fresh]
