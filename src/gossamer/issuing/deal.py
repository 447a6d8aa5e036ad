"""Dealing free slots over the jobs that want them."""

from collections import Counter, deque
from collections.abc import Collection, Mapping, Sequence
from uuid import UUID

from gossamer.store import visits
from gossamer.store.tx import Tx
from gossamer.store.visits import MOST_PER_DOMAIN, Waiting

# Looked at beyond the free slots, since some will be passed over.
_SPARE = 50


def deal(
    ready: Mapping[UUID, Sequence[Waiting]], busy: Mapping[str, int], slots: int, *, suspects: int = 0
) -> list[Waiting]:
    """One visit of each job in turn, until the slots are full.

    A domain never has more than two visits at a time. Of visits that were running when a worker died only one runs at
    a time, so that the guilty one is found.
    """
    per_domain = Counter(busy)
    queues = deque(deque(waiting) for waiting in ready.values())
    dealt: list[Waiting] = []
    while queues and len(dealt) < slots:
        queue = queues.popleft()
        while queue:
            visit = queue.popleft()
            if per_domain[visit.domain] >= MOST_PER_DOMAIN or (visit.suspect and suspects):
                continue
            per_domain[visit.domain] += 1
            suspects += visit.suspect
            dealt.append(visit)
            queues.append(queue)
            break
    return dealt


def anything_ready(tx: Tx, lane: str, shard: int, shards: int) -> bool:
    """A look that takes no lock, so that an idle process disturbs nobody."""
    return visits.any_ready(tx, lane, shard, shards)


def issue(
    tx: Tx, lane: str, shard: int, shards: int, slots: int, worker: str, nudged: Collection[UUID], *, suspects: int
) -> list[UUID]:
    """Choose visits for the free slots and mark them issued. The nudges go out after the commit.

    `nudged` are those whose nudges are on their way. Any other visit that this worker was issued is among the chosen:
    it was, the last time this was said.
    """
    ids = visits.forgotten(tx, worker, nudged)
    slots -= len(ids)
    ready = visits.ready(tx, lane, shard, shards, slots + _SPARE) if slots > 0 else {}
    if not ready:
        return ids
    domains = {waiting.domain for row in ready.values() for waiting in row}
    dealt = deal(ready, visits.busy_domains(tx, sorted(domains)), slots, suspects=suspects)
    fresh = [waiting.id for waiting in dealt]
    visits.issue(tx, fresh, worker)
    return [*ids, *fresh]
