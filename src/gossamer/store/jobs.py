"""Jobs: create, find, and move them from state to state."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from itertools import islice
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import Row, Select, bindparam, delete, exists, func, insert, not_, select, text, update

from gossamer.db.tables import QUEUED, conclusions, job_keys, jobs, sites, usage, visits
from gossamer.db.tables import counters as count_rows
from gossamer.db.transactions import Tx
from gossamer.model.account import DEFAULT
from gossamer.model.alert import AlertKind
from gossamer.model.ids import fits, new_id
from gossamer.model.job import CheckpointCause, Extent, Job, Priority
from gossamer.model.states import JOB_MOVES, JobState, Phase, SiteState, VisitState, origins
from gossamer.store import alerts, counters, events, outbox
from gossamer.store.sites import LISTED

_ENDS = (JobState.COMPLETED, JobState.FAILED, JobState.CANCELLED)
_CHECKPOINTS = {JobState.PAUSED: CheckpointCause.PAUSE, **dict.fromkeys(_ENDS, CheckpointCause.END)}


_CREATE = insert(jobs)


def create(
    tx: Tx,
    name: str,
    recipe: str,
    params: Mapping[str, Any],
    sites_total: int,
    priority: Priority = Priority.NORMAL,
    account: str = DEFAULT,
    max_concurrency: int | None = None,
    pages_open: int = 0,
    extent: Extent = Extent(),  # noqa: B008 - frozen
) -> Job:
    """Create a pending job with its counters; `pages_open` is the number of pages it starts with."""
    identifier = new_id(tx.now)
    tx.run(
        _CREATE,
        {
            "id": identifier,
            "name": name,
            "recipe": recipe,
            "params": dict(params),
            "state": JobState.PENDING,
            "reason": "",
            "sites_total": sites_total,
            "created_at": tx.now,
            "priority": priority,
            "account_id": account,
            "at_once": max_concurrency,
            **_of_extent(extent),
        },
    )
    counters.create(tx, identifier, pages_open)
    events.add(tx, identifier, "job.created", f"{sites_total} sites")
    return Job(
        identifier, name, recipe, params, JobState.PENDING, "", tx.now, None, None, priority, max_concurrency, extent
    )


def _of_extent(extent: Extent) -> dict[str, Any]:
    """The columns of a job that hold its extent."""
    return {field.name: getattr(extent, field.name) for field in fields(extent)}


_GET = select(jobs).where(jobs.c.id == bindparam("id"))


def get(tx: Tx, identifier: UUID) -> Job | None:
    row = tx.run(_GET, {"id": identifier}).first()
    return of_row(row) if row else None


def matching(tx: Tx, text: str, limit: int = 5) -> list[UUID]:
    """Return jobs whose id matches these hexadecimal digits, newest first."""
    ids = tx.run(select(jobs.c.id).order_by(jobs.c.id.desc())).scalars()
    return list(islice((identifier for identifier in ids if fits(identifier, text)), limit))


_LISTED_PAGES = (
    select(sites.c.size)
    .where(sites.c.job_id == jobs.c.id, sites.c.listed, sites.c.size_source == LISTED)
    .limit(1)
    .scalar_subquery()
)
_SINGLE_PAGE = jobs.c.names_pages & (jobs.c.sites_total == 1) & (func.coalesce(_LISTED_PAGES, 0) == 1)


def _sum_of(column: str) -> Any:
    return select(func.sum(count_rows.c[column])).where(count_rows.c.job_id == jobs.c.id).scalar_subquery()


# Completed jobs that could read none of their pages are shown as failed.
_READ_NOTHING = (
    jobs.c.names_pages
    & (jobs.c.state == JobState.COMPLETED)
    & (func.coalesce(_LISTED_PAGES, 0) > 0)
    & (func.coalesce(_sum_of("pages_done"), 0) == 0)
    & (func.coalesce(_sum_of("pages_failed"), 0) > 0)
)


@dataclass(frozen=True, slots=True)
class JobFilter:
    """Filter for listing jobs.

    Jobs of a single page are listed only if another filter is set, since there may be thousands of them.
    """

    recipe: str = ""
    state: JobState | None = None
    name: str = ""  # a substring
    archived: bool = False
    of_pages: bool = False  # only jobs that were given their pages

    @property
    def asks(self) -> bool:
        return bool(self.recipe or self.state or self.name or self.of_pages)


def recent(tx: Tx, limit: int, wanted: JobFilter = JobFilter(), account: str | None = None) -> list[Job]:  # noqa: B008
    """Return the newest jobs, of one account or of all."""
    query = _of_account(select(jobs), account).order_by(jobs.c.id.desc()).limit(limit)
    if wanted.state is JobState.FAILED:
        query = query.where((jobs.c.state == JobState.FAILED) | _READ_NOTHING)
    elif wanted.state:
        query = query.where(jobs.c.state == wanted.state, not_(_READ_NOTHING))
    elif not wanted.archived:
        query = query.where(jobs.c.state != JobState.ARCHIVED)
    if wanted.recipe:
        query = query.where(jobs.c.recipe == wanted.recipe)
    if wanted.of_pages:
        query = query.where(jobs.c.names_pages)
    if wanted.name:
        query = query.where(func.lower(jobs.c.name).contains(wanted.name.lower(), autoescape=True))
    if not wanted.asks:
        query = query.where(not_(_SINGLE_PAGE))
    return [of_row(row) for row in tx.run(query)]


def any_single_page(tx: Tx, account: str | None = None) -> bool:
    return tx.run(_of_account(select(jobs.c.id), account).where(_SINGLE_PAGE).limit(1)).first() is not None


def named(tx: Tx, name: str, account: str | None = None, limit: int = 5) -> list[Job]:
    """Return jobs with this name, ignoring case, newest first; deleted results only if there are no others."""
    same = (jobs.c.name == name) | (func.lower(jobs.c.name) == name.lower())
    query = _of_account(select(jobs), account).where(same).order_by(jobs.c.id.desc())
    there = query.where(jobs.c.state != JobState.ARCHIVED).limit(limit)
    return [of_row(row) for row in tx.run(there)] or [of_row(row) for row in tx.run(query.limit(limit))]


def names_like(tx: Tx, name: str, account: str | None = None) -> list[str]:
    """Return job names that begin with this text."""
    query = _of_account(select(jobs.c.name), account).where(jobs.c.name.startswith(name, autoescape=True))
    return list(tx.run(query).scalars())


def _of_account(query: Select[Any], account: str | None) -> Select[Any]:
    return query if account is None else query.where(jobs.c.account_id == account)


def rename(tx: Tx, identifier: UUID, name: str) -> bool:
    """Rename a job; False if it no longer exists."""
    before = tx.run(select(jobs.c.name).where(jobs.c.id == identifier)).scalar()
    if before is None:
        return False
    if before != name:
        tx.run(update(jobs).where(jobs.c.id == identifier).values(name=name))
        events.add(tx, identifier, "job.renamed", f"it was called {before}", who="user")
    return True


def in_states(tx: Tx, *states: JobState) -> list[Job]:
    return [of_row(row) for row in tx.run(select(jobs).where(jobs.c.state.in_(states)).order_by(jobs.c.id))]


def states(tx: Tx, identifiers: Sequence[UUID]) -> dict[UUID, JobState]:
    query = select(jobs.c.id, jobs.c.state).where(jobs.c.id.in_(identifiers))
    return {row.id: JobState(row.state) for row in tx.run(query)}


class Claim(NamedTuple):
    """A running job's account, its weight among that account's jobs, and its concurrency limit."""

    account: str
    weight: int
    most: int | None


def claims(tx: Tx) -> dict[UUID, Claim]:
    """Return the claims of all running jobs."""
    query = select(jobs.c.id, jobs.c.account_id, jobs.c.priority, jobs.c.at_once).where(
        jobs.c.state == JobState.RUNNING
    )
    return {row.id: Claim(row.account_id, Priority(row.priority).weight, row.at_once) for row in tx.run(query)}


_STATE = select(jobs.c.state).where(jobs.c.id == bindparam("job"))


def hold(tx: Tx, identifier: UUID) -> JobState | None:
    """Lock and return the state of a job until commit; taken before the locks of its sites."""
    query = _STATE
    if tx.dialect.row_locks:
        # A foreign key to the job is checked late in a settle, which must not have to wait for this lock.
        query = query.with_for_update(key_share=True)
    state = tx.run(query, {"job": identifier}).scalar()
    return JobState(state) if state else None


_THIS = update(jobs).where(jobs.c.id == bindparam("b_id"))
_MOVE = {target: _THIS.where(jobs.c.state.in_(origins(JOB_MOVES, target))) for target in JobState}
_BEGIN = _THIS.where(jobs.c.started_at.is_(None))


def move(
    tx: Tx,
    identifier: UUID,
    target: JobState,
    why: str = "",
    who: str = "",
    *,
    account: str | None = None,
    is_new: bool = False,
) -> bool:
    """Change the state if the table of moves allows it from the job's current state. One UPDATE decides.

    `account` is the job's account, if the caller has it. `is_new`: the job was created in this transaction and
    so has never run.
    """
    changes: dict[str, Any] = {"b_id": identifier, "state": target}
    # The reason of a pause was stored when it began.
    if why or target is not JobState.PAUSED:
        changes["reason"] = why
    started: datetime | None = None
    if target is JobState.RUNNING:
        started = tx.now
        changes["finished_at"] = None
        if is_new:
            changes["started_at"] = started
    if target in _ENDS:
        changes["finished_at"] = tx.now
    if not tx.run(_MOVE[target], changes).rowcount:
        return False
    first = bool(started and (is_new or tx.run(_BEGIN, {"b_id": identifier, "started_at": started}).rowcount))
    events.add(tx, identifier, f"job.{target}", why, who=who)
    outbox.job_moved(tx, identifier, target, first=first, account=account)
    if target in _ENDS:
        alerts.clear_of_budget(tx, identifier)
    if target in _CHECKPOINTS:
        counters.take(tx, identifier, _CHECKPOINTS[target])
    return True


def hold_back(tx: Tx, identifier: UUID, why: str) -> None:
    """Let a pending job wait, with a reason. A job that waits for its user has no reason."""
    tx.run(_THIS.where(jobs.c.state == JobState.PENDING), {"b_id": identifier, "reason": why})


def held_back(tx: Tx) -> list[UUID]:
    """Return pending jobs that start automatically, oldest first, except those that wait for their account."""
    waits = (jobs.c.state == JobState.PENDING) & (jobs.c.reason != "")
    queued = exists().where(usage.c.id == jobs.c.id, usage.c.is_open == 1, usage.c.outcome == QUEUED)
    return list(tx.run(select(jobs.c.id).where(waits, ~queued).order_by(jobs.c.id)).scalars())


def names_pages_of_one_site(tx: Tx, identifier: UUID) -> bool:
    """Return True if the job adds a single visit to the queue, for pages given by a user."""
    row = tx.run(_GET, {"id": identifier}).first()
    return row is not None and row.sites_total == 1 and row.names_pages


def begin_anew(tx: Tx, identifier: UUID) -> None:
    """Reset the working time of a job that was started manually."""
    tx.run(update(jobs).where(jobs.c.id == identifier).values(ran_ms=0))


_ANY_OPEN = select(exists().where(sites.c.job_id == bindparam("job"), sites.c.state == SiteState.OPEN))


def complete(tx: Tx, identifier: UUID, why: str = "") -> bool:
    """Complete a running job, unless one of its sites was reopened meanwhile."""
    # Opening sites of a running job needs this lock too, so none is opened between the check and the end.
    hold(tx, identifier)
    return not tx.run(_ANY_OPEN, {"job": identifier}).scalar() and move(tx, identifier, JobState.COMPLETED, why)


def is_over(tx: Tx, identifier: UUID) -> bool:
    """Lock a job; return True if it runs and has no open site."""
    return hold(tx, identifier) is JobState.RUNNING and not tx.run(_ANY_OPEN, {"job": identifier}).scalar()


def count_sites(tx: Tx, identifier: UUID, more: int) -> None:
    """Add sites to the total of a job. The caller has locked the job."""
    tx.run(_THIS.values(sites_total=jobs.c.sites_total + bindparam("b_more")), {"b_id": identifier, "b_more": more})


_OPEN_SITE = exists().where(sites.c.job_id == jobs.c.id, sites.c.state == SiteState.OPEN)


@dataclass(frozen=True, slots=True)
class ClosableJob:
    """Data needed to close a job."""

    recipe: str
    params: Mapping[str, Any]
    account: str


_MAY_CLOSE = select(jobs.c.recipe, jobs.c.params, jobs.c.account_id).where(
    jobs.c.id == bindparam("job"), jobs.c.state == JobState.RUNNING, ~_OPEN_SITE
)


def may_close_now(tx: Tx, identifier: UUID) -> ClosableJob | None:
    """Lock a job that can be closed: it runs, has no open site, and no other transaction is changing it.

    The caller has locked sites, which come after jobs in the lock order: so a locked job is skipped
    instead of waited for.
    """
    runs = _MAY_CLOSE.with_for_update(key_share=True, skip_locked=True) if tx.dialect.row_locks else _MAY_CLOSE
    found = tx.run(runs, {"job": identifier}).first()
    return ClosableJob(found.recipe, found.params, found.account_id) if found else None


_BUSY = exists().where(visits.c.job_id == jobs.c.id, visits.c.state.in_((VisitState.ISSUED, VisitState.RUNNING)))
_CONCLUDED = exists().where(
    conclusions.c.job_id == jobs.c.id,
    conclusions.c.lease.is_not(None),
    conclusions.c.lease_until > bindparam("now", type_=conclusions.c.lease_until.type),
)
_READY_TO_REST = select(jobs.c.id).where(jobs.c.state == JobState.PAUSING, ~_BUSY, ~_CONCLUDED)


def ready_to_rest(tx: Tx) -> list[UUID]:
    """Return pausing jobs whose last visit has been handed back."""
    return list(tx.run(_READY_TO_REST, {"now": tx.now}).scalars())


_CONCLUDING = exists().where(
    conclusions.c.job_id == jobs.c.id, conclusions.c.phase.in_((Phase.CALLING, Phase.CONCLUDING))
)
_READY_TO_CLOSE = select(jobs.c.id, jobs.c.recipe).where(jobs.c.state == JobState.RUNNING, ~_OPEN_SITE, ~_CONCLUDING)


def ready_to_close(tx: Tx) -> list[UUID]:
    """Return running jobs without an open site that are not being concluded."""
    return [row.id for row in tx.run(_READY_TO_CLOSE)]


def ended_walks(tx: Tx) -> dict[UUID, str]:
    """Return the same jobs with their recipes."""
    return {row.id: row.recipe for row in tx.run(_READY_TO_CLOSE)}


def of_row(row: Row[Any]) -> Job:
    return Job(
        id=row.id,
        name=row.name,
        recipe=row.recipe,
        params=row.params,
        state=JobState(row.state),
        reason=row.reason,
        created_at=row.created_at,
        started_at=row.started_at,
        finished_at=row.finished_at,
        priority=Priority(row.priority),
        max_concurrency=row.at_once,
        extent=Extent(row.names_pages, row.in_pages, row.whole_up_to, row.top_pages),
    )


def pause_automatically(tx: Tx, job_id: UUID, kind: AlertKind, why: str) -> bool:
    """Pause a running job with an alert; False if the job does not run."""
    if not move(tx, job_id, JobState.PAUSING, why, who=kind):
        return False
    alerts.fire(tx, kind, str(job_id), why, job_id=job_id)
    return True


_RUNS = jobs.c.state == JobState.RUNNING


def any_running(tx: Tx) -> bool:
    return tx.run(select(jobs.c.id).where(_RUNS).limit(1)).first() is not None


def count_working_time(tx: Tx, worked: timedelta, limit: timedelta) -> list[UUID]:
    """Add to the working time of every running job; return those that have reached the limit."""
    more = worked // timedelta(milliseconds=1)
    tx.run(update(jobs).where(_RUNS).values(ran_ms=jobs.c.ran_ms + more))
    over = jobs.c.ran_ms >= limit // timedelta(milliseconds=1)
    return list(tx.run(select(jobs.c.id).where(_RUNS, over).order_by(jobs.c.id)).scalars())


# A job has no reason when it starts, so the reason of a running job is a note.
_HAS_NOTE = (jobs.c.state == JobState.RUNNING) & (jobs.c.reason != "")


def set_note(tx: Tx, job_id: UUID, remark: str) -> bool:
    """Set the note of a running job; False if it does not run any more."""
    running = (jobs.c.id == job_id) & (jobs.c.state == JobState.RUNNING)
    return bool(tx.run(update(jobs).where(running).values(reason=remark)).rowcount)


def withdraw_note(tx: Tx, job_id: UUID, remark: str) -> None:
    """Remove a note, unless another process has replaced it."""
    mine = (jobs.c.id == job_id) & _HAS_NOTE & (jobs.c.reason == remark)
    tx.run(update(jobs).where(mine).values(reason=""))


def any_note(tx: Tx) -> bool:
    return bool(tx.run(select(exists().where(_HAS_NOTE))).scalar())


def clear_notes(tx: Tx) -> None:
    """Remove the notes of all running jobs."""
    tx.run(update(jobs).where(_HAS_NOTE).values(reason=""))


@dataclass(frozen=True, slots=True)
class EarlierSubmission:
    """The job that an idempotency key belongs to, and a digest of the original request."""

    job_id: UUID
    digest: bytes


def submitted_under(tx: Tx, account: str, key: str) -> EarlierSubmission | None:
    """Return the earlier job under this key. If there is none, other requests under it wait until commit."""
    if tx.dialect.row_locks:
        # Concurrent requests under the same key must see each other, and there is no row to lock yet.
        tx.run(text("SELECT pg_advisory_xact_lock(hashtext(:key))"), {"key": f"submit {account} {key}"})
    mine = (jobs.c.account_id == account) & (jobs.c.submit_key == key)
    row = tx.run(select(jobs.c.id, jobs.c.submit_digest).where(mine)).first()
    return EarlierSubmission(row.id, bytes(row.submit_digest)) if row else None


def is_submit_key_known(tx: Tx, account: str, key: str) -> bool:
    mine = (jobs.c.account_id == account) & (jobs.c.submit_key == key)
    return tx.run(select(jobs.c.id).where(mine)).first() is not None


def name_under(tx: Tx, account: str, key: str) -> str:
    """Return the name of the job submitted under this key; "" if there is none."""
    mine = (jobs.c.account_id == account) & (jobs.c.submit_key == key)
    return str(tx.run(select(jobs.c.name).where(mine)).scalar() or "")


def keep_submit_key(tx: Tx, job_id: UUID, key: str, digest: bytes) -> None:
    tx.run(update(jobs).where(jobs.c.id == job_id).values(submit_key=key, submit_digest=digest))


def keep_provider_keys(tx: Tx, job_id: UUID, sealed: Mapping[str, bytes]) -> None:
    for provider, key in sealed.items():
        tx.run(insert(job_keys).values(job_id=job_id, provider=provider, sealed=key))


def provider_keys(tx: Tx, job_id: UUID) -> tuple[str, dict[str, bytes]]:
    """Return the account of a job, and its encrypted keys by provider."""
    query = (
        select(jobs.c.account_id, job_keys.c.provider, job_keys.c.sealed)
        .join(job_keys, job_keys.c.job_id == jobs.c.id)
        .where(jobs.c.id == job_id)
    )
    rows = tx.run(query).all()
    return (rows[0].account_id if rows else ""), {row.provider: row.sealed for row in rows}


def has_own_key(tx: Tx, job_id: UUID, provider: str) -> bool:
    """Return True if a job's requests to a provider are paid with its own key."""
    theirs = (job_keys.c.job_id == job_id) & (job_keys.c.provider == provider)
    return tx.run(select(job_keys.c.job_id).where(theirs)).first() is not None


def drop_provider_keys(tx: Tx, job_id: UUID) -> None:
    tx.run(delete(job_keys).where(job_keys.c.job_id == job_id))
