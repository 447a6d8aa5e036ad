"""Visits: queued, issued, leased, handed back. The lease token fences every write."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

from sqlalchemy import bindparam, func, select, update

from gossamer.model.page import Errand, Visit
from gossamer.model.states import VISIT_MOVES, JobState, VisitState, origins
from gossamer.store.many import Many
from gossamer.store.tables import jobs, sites, visits
from gossamer.store.tx import Tx


@dataclass(frozen=True, slots=True)
class Waiting:
    """A visit that may be issued."""

    id: UUID
    job_id: UUID
    domain: str
    suspect: bool  # it was running when a worker died


@dataclass(slots=True)
class VisitChange:
    """What a batch does to one visit that keeps running."""

    open_pages: int = 0
    walked: timedelta = timedelta()
    lived: bool = False  # a page was settled: earlier deaths are forgiven


MOST_PER_DOMAIN = 2

_IN_HAND = visits.c.state.in_((VisitState.ISSUED, VisitState.RUNNING))
_FULL_DOMAINS = (
    select(visits.c.domain).where(_IN_HAND).group_by(visits.c.domain).having(func.count() >= MOST_PER_DOMAIN)
)


def ready(tx: Tx, lane: str, shard: int, shards: int, per_job: int) -> dict[UUID, list[Waiting]]:
    """Visits that are due, per running job, at most `per_job` of each, in (due_at, id) order."""
    found = {}
    for job_id in tx.run(select(jobs.c.id).where(jobs.c.state == JobState.RUNNING).order_by(jobs.c.id)).scalars():
        query = (
            select(visits.c.id, visits.c.domain, visits.c.deaths)
            .where(
                visits.c.job_id == job_id,
                visits.c.lane == lane,
                visits.c.state == VisitState.READY,
                visits.c.due_at <= tx.now,
                visits.c.shard % shards == shard,
                visits.c.domain.not_in(_FULL_DOMAINS),
            )
            .order_by(visits.c.due_at, visits.c.id)
            .limit(per_job)
        )
        rows = [Waiting(row.id, job_id, row.domain, row.deaths > 0) for row in tx.run(query)]
        if rows:
            found[job_id] = rows
    return found


def busy_domains(tx: Tx, domains: Sequence[str]) -> dict[str, int]:
    """How many visits are issued or running per Gate key."""
    query = (
        select(visits.c.domain, func.count().label("busy"))
        .where(_IN_HAND, visits.c.domain.in_(domains))
        .group_by(visits.c.domain)
    )
    return {row.domain: row.busy for row in tx.run(query)}


_ISSUE = (
    update(visits)
    .where(visits.c.id == bindparam("b_id"), visits.c.state == VisitState.READY)
    .values(
        state=VisitState.ISSUED,
        due_at=bindparam("b_at", type_=visits.c.due_at.type),
        worker=bindparam("b_worker"),
    )
)


def issue(tx: Tx, ids: Sequence[UUID], worker: str) -> None:
    """Mark them as nudged. `due_at` keeps when, so that a lost nudge is noticed."""
    tx.run_many(_ISSUE, [{"b_id": identifier, "b_at": tx.now, "b_worker": worker} for identifier in sorted(ids)])


def claim(tx: Tx, ids: Sequence[UUID], worker: str, lease: timedelta) -> list[Visit]:
    """Lease those of the visits that are still to be had, each under a token of its own."""
    free = tx.locked(
        select(visits.c.id)
        .join(jobs, jobs.c.id == visits.c.job_id)
        .where(
            visits.c.id.in_(ids),
            visits.c.state.in_(origins(VISIT_MOVES, VisitState.RUNNING)),
            jobs.c.state == JobState.RUNNING,
        )
        .order_by(visits.c.id)
    )
    if tx.dialect.row_locks:
        free = free.with_for_update(of=visits, skip_locked=True)
    tokens = {identifier: uuid4() for identifier in tx.run(free).scalars()}
    tx.run_many(
        _CLAIM,
        [
            {"b_id": identifier, "b_lease": token, "b_until": tx.now + lease, "b_worker": worker}
            for identifier, token in tokens.items()
        ],
    )
    refused = visits.c.id.in_([identifier for identifier in ids if identifier not in tokens])
    nudged = (visits.c.state == VisitState.ISSUED) & (visits.c.worker == worker)
    # Not to be had (the job was paused in this moment), but nudged by us: nobody else would put it back soon.
    tx.run(update(visits).where(refused, nudged).values(state=VisitState.READY, worker=None))
    if not tokens:
        return []
    rows = tx.run(
        select(
            visits,
            sites.c.host,
            sites.c.entries,
            sites.c.whole,
            sites.c.not_before,
            sites.c.notes,
            sites.c.robots,
            sites.c.errands,
        )
        .join(sites, sites.c.id == visits.c.site_id)
        .where(visits.c.id.in_(tokens))
        .order_by(visits.c.id)
    )
    return [
        Visit(
            id=row.id,
            job_id=row.job_id,
            site_id=row.site_id,
            host=row.host,
            domain=row.domain,
            entries=tuple(row.entries),
            lane=row.lane,
            lease=row.lease,
            deaths=row.deaths,
            walked=timedelta(milliseconds=row.walked_ms),
            not_before=row.not_before,
            whole=row.whole,
            notes=bytes(row.notes),
            robots=dict(row.robots),
            errands=tuple(Errand(*errand) for errand in row.errands),
        )
        for row in rows
    ]


_CLAIM = (
    update(visits)
    .where(visits.c.id == bindparam("b_id"))
    .values(
        state=VisitState.RUNNING,
        lease=bindparam("b_lease", type_=visits.c.lease.type),
        lease_until=bindparam("b_until", type_=visits.c.lease_until.type),
        worker=bindparam("b_worker"),
    )
)


def renew(tx: Tx, worker: str, held: Sequence[UUID], lease: timedelta) -> set[UUID]:
    """Extend the leases a process holds in one statement; the tokens that are still its own."""
    mine = (visits.c.worker == worker) & (visits.c.state == VisitState.RUNNING) & visits.c.lease.in_(held)
    renewed = update(visits).where(mine).values(lease_until=tx.now + lease).returning(visits.c.lease)
    return set(tx.run(renewed).scalars())


_LEASES = (
    select(visits.c.id, visits.c.lease).where(visits.c.id.in_(bindparam("ids", expanding=True))).order_by(visits.c.id)
)


def leases(tx: Tx, ids: Sequence[UUID], *, held: bool = False) -> dict[UUID, UUID | None]:
    """The leases of these visits as they are now; `held`: and as they stay until commit."""
    return dict(tx.rows(tx.locked(_LEASES) if held else _LEASES, {"ids": list(ids)}))


_APPLY = Many(
    update(visits)
    .where(visits.c.id == bindparam("b_id"))
    .values(
        open_pages=visits.c.open_pages + bindparam("b_open"),
        walked_ms=visits.c.walked_ms + bindparam("b_walked"),
        deaths=visits.c.deaths * bindparam("b_deaths"),
    )
)


def apply(tx: Tx, changes: Mapping[UUID, VisitChange]) -> None:
    _APPLY.run(
        tx,
        [
            {
                "b_id": identifier,
                "b_open": change.open_pages,
                "b_walked": change.walked // timedelta(milliseconds=1),
                "b_deaths": 0 if change.lived else 1,
            }
            for identifier, change in sorted(changes.items())
        ],
    )


_FREED: dict[str, Any] = {"lease": None, "lease_until": None, "worker": None}


def hand_back(tx: Tx, lease: UUID, identifier: UUID, due_at: datetime) -> None:
    """The slice is over, the visit is not."""
    held = (visits.c.id == identifier) & (visits.c.lease == lease)
    tx.run(update(visits).where(held).values(state=VisitState.READY, due_at=due_at, **_FREED))


def finish(tx: Tx, lease: UUID, identifier: UUID, state: VisitState) -> bool:
    """End a visit; refused while it has open pages (one may just have been handed over to it)."""
    held = (visits.c.id == identifier) & (visits.c.lease == lease) & (visits.c.open_pages == 0)
    return bool(tx.run(update(visits).where(held).values(state=state, **_FREED)).rowcount)


def reopen(tx: Tx, site_id: UUID, lane: str) -> UUID:
    """Make sure a site's visit will be walked again; its id."""
    ended = (VisitState.DONE, VisitState.FAILED, VisitState.DEAD)
    wanted = (visits.c.site_id == site_id) & (visits.c.lane == lane)
    tx.run(update(visits).where(wanted, visits.c.state.in_(ended)).values(state=VisitState.READY, due_at=tx.now))
    return UUID(str(tx.run(select(visits.c.id).where(wanted)).scalar_one()))


def busy_of_job(tx: Tx, job_id: UUID) -> int:
    """Visits of a job in somebody's hands."""
    mine = visits.c.job_id == job_id
    return int(tx.run(select(func.count()).select_from(visits).where(mine, _IN_HAND)).scalar_one())


def expired(tx: Tx) -> dict[UUID, UUID]:
    """Running visits whose lease has run out: id and token."""
    late = (visits.c.state == VisitState.RUNNING) & (visits.c.lease_until < tx.now)
    return {row.id: row.lease for row in tx.run(select(visits.c.id, visits.c.lease).where(late))}
