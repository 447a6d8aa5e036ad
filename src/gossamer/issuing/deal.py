"""Dealing free slots over the jobs that want them."""

from collections import Counter, deque
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from uuid import UUID

from gossamer.store import jobs, queue, visits
from gossamer.store.tx import Tx
from gossamer.store.visits import MOST_PER_DOMAIN, Waiting

# Looked at beyond the free slots, since some will be passed over.
SPARE = 50


@dataclass(frozen=True, slots=True)
class Share:
    """What a job has of the slots, and how large its part should be beside the others'."""

    weight: int = 1
    busy: int = 0
    elsewhere: int = 0  # in other lanes: only for the cap


def deal(
    ready: Mapping[UUID, Sequence[Waiting]],
    busy: Mapping[str, int],
    slots: int,
    *,
    shares: Mapping[UUID, Share] | None = None,
    kept: int = 0,
    per_domain: int = MOST_PER_DOMAIN,
    suspects: int = 0,
    most_suspects: int = 1,
    per_job: int | None = None,
) -> list[Waiting]:
    """Always to the job that has least for its weight, until the slots are full; among equals in turn.

    The last `kept` slots are only for jobs that have none. A domain never has more than `per_domain` visits at a time,
    a job never more than `per_job`.
    Of visits that were running when a worker died only `most_suspects` run at a time, so that the guilty one is found.
    """
    taken_of = Counter(busy)
    has = {job: (shares or {}).get(job, Share()) for job in ready}
    counts = {job: share.busy for job, share in has.items()}
    queues = {job: deque(waiting) for job, waiting in ready.items()}
    turns = [((counts[job] + 1) / has[job].weight, order, job) for order, job in enumerate(ready)]
    heapify(turns)
    dealt: list[Waiting] = []
    while turns and len(dealt) < slots:
        _, order, job = heappop(turns)
        if counts[job] and len(dealt) >= slots - kept:
            continue
        if per_job is not None and counts[job] + has[job].elsewhere >= per_job:
            continue
        while queues[job]:
            visit = queues[job].popleft()
            if taken_of[visit.domain] >= per_domain or (visit.suspect and suspects >= most_suspects):
                continue
            taken_of[visit.domain] += 1
            suspects += visit.suspect
            counts[job] += 1
            dealt.append(visit)
            heappush(turns, ((counts[job] + 1) / has[job].weight, order, job))
            break
    return dealt


def anything_ready(tx: Tx, lane: str, shard: int, shards: int) -> bool:
    """A look that takes no lock, so that an idle process disturbs nobody."""
    return visits.any_ready(tx, lane, shard, shards)


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
    ready = visits.ready(tx, lane, shard, shards, slots + SPARE) if slots > 0 else {}
    if not ready:
        return ids
    domains = {waiting.domain for row in ready.values() for waiting in row}
    has = queue.in_hand_of_jobs(tx) if per_job else {}
    shares = {job: Share(weight, has.get(job, 0)) for job, weight in jobs.weights(tx).items()}
    busy = visits.busy_domains(tx, sorted(domains))
    dealt = deal(ready, busy, slots, shares=shares, suspects=suspects, per_job=per_job)
    fresh = [waiting.id for waiting in dealt]
    visits.issue(tx, fresh, worker)
    return [*ids, *fresh]
