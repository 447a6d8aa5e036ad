"""Visits: queued, issued, leased, handed back. The lease token fences every write."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID, uuid4

from sqlalchemy import bindparam, func, select, update

from gossamer.model.alert import AlertKind
from gossamer.model.page import Visit
from gossamer.model.states import JobState, VisitState
from gossamer.store import alerts, leased
from gossamer.store.endings import Ending, end
from gossamer.store.many import Many
from gossamer.store.moves import Moving, may_become, moving, tell
from gossamer.store.tables import jobs, visits
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
    .where(visits.c.id == bindparam("b_id"), may_become(VisitState.ISSUED))
    .values(
        state=VisitState.ISSUED,
        due_at=bindparam("b_at", type_=visits.c.due_at.type),
        worker=bindparam("b_worker"),
    )
)
_ISSUABLE = moving(visits.c.id.in_(bindparam("ids", expanding=True)), may_become(VisitState.ISSUED))


def issue(tx: Tx, ids: Sequence[UUID], worker: str) -> None:
    """Mark them as nudged. `due_at` keeps when, so that a lost nudge is noticed."""
    free = Moving.read(tx, tx.locked(_ISSUABLE), {"ids": list(ids)})
    tx.run_many(_ISSUE, [{"b_id": one.id, "b_at": tx.now, "b_worker": worker} for one in free])
    tell(tx, VisitState.ISSUED, free, who=worker)


def claim(tx: Tx, ids: Sequence[UUID], worker: str, lease: timedelta) -> list[Visit]:
    """Lease those of the visits that are still to be had, each under a token of its own."""
    claimable = (
        visits.c.id.in_(ids),
        may_become(VisitState.RUNNING),
        jobs.c.state == JobState.RUNNING,
    )
    query = moving(*claimable).join(jobs, jobs.c.id == visits.c.job_id)
    if tx.dialect.row_locks:
        query = query.with_for_update(of=visits, skip_locked=True)
    free = Moving.read(tx, query)
    tokens = {one.id: uuid4() for one in free}
    tx.run_many(
        _CLAIM,
        [
            {"b_id": identifier, "b_lease": token, "b_until": tx.now + lease, "b_worker": worker}
            for identifier, token in tokens.items()
        ],
    )
    tell(tx, VisitState.RUNNING, free, who=worker)
    _put_back(tx, [identifier for identifier in ids if identifier not in tokens], worker)
    return leased.load(tx, tokens) if tokens else []


def _put_back(tx: Tx, refused: Sequence[UUID], worker: str) -> None:
    """Not to be had (the job was paused in this moment), but nudged by us: nobody else would put them back soon."""
    nudged = (visits.c.state == VisitState.ISSUED) & (visits.c.worker == worker)
    idle = Moving.read(tx, tx.locked(moving(visits.c.id.in_(refused), nudged))) if refused else []
    if idle:
        back = update(visits).where(visits.c.id.in_([one.id for one in idle]), nudged)
        tx.run(back.values(state=VisitState.READY, worker=None))
        tell(tx, VisitState.READY, idle, "its job does not run")


_CLAIM = (
    update(visits)
    .where(visits.c.id == bindparam("b_id"), may_become(VisitState.RUNNING))
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


def hand_back(tx: Tx, lease: UUID, identifier: UUID, due_at: datetime, why: str = "") -> None:
    """The slice is over, the visit is not."""
    end(tx, [Ending(identifier, lease, VisitState.READY, why, due_at)])


def finish(tx: Tx, lease: UUID, identifier: UUID, state: VisitState, why: str = "") -> bool:
    """End a visit; refused while it has open pages (one may just have been handed over to it)."""
    return bool(end(tx, [Ending(identifier, lease, state, why)]))


def reopen(tx: Tx, site_id: UUID, lane: str, why: str = "a page was handed over to it", *, who: str = "") -> UUID:
    """Make sure a site's visit will be walked again; its id."""
    (found,) = Moving.read(tx, moving(visits.c.site_id == site_id, visits.c.lane == lane))
    over = (visits.c.id == found.id) & visits.c.state.in_((VisitState.DONE, VisitState.FAILED, VisitState.DEAD))
    if tx.run(update(visits).where(over).values(state=VisitState.READY, due_at=tx.now)).rowcount:
        tell(tx, VisitState.READY, [found], why, who=who)
        # Nobody has to look after a visit that is walked again.
        alerts.clear(tx, AlertKind.DEAD_LETTER, str(found.id))
    return found.id


def busy_of_job(tx: Tx, job_id: UUID) -> int:
    """Visits of a job in somebody's hands."""
    mine = visits.c.job_id == job_id
    return int(tx.run(select(func.count()).select_from(visits).where(mine, _IN_HAND)).scalar_one())


def expired(tx: Tx) -> dict[UUID, UUID]:
    """Running visits whose lease has run out: id and token."""
    late = (visits.c.state == VisitState.RUNNING) & (visits.c.lease_until < tx.now)
    return {row.id: row.lease for row in tx.run(select(visits.c.id, visits.c.lease).where(late))}
