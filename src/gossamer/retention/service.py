"""Hide results that were kept long enough, and delete them: after a grace time, or at once on request."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from gossamer.db import partitions
from gossamer.db.database import Database
from gossamer.db.transactions import Tx
from gossamer.errors import UserError
from gossamer.logging import get_logger
from gossamer.model.ids import short
from gossamer.model.job import Job
from gossamer.model.states import JobState
from gossamer.retention import queries
from gossamer.retention.classes import Terms
from gossamer.retention.queries import KeptJob
from gossamer.store import events, jobs

AT_ONCE = 1_000  # rows of one transaction, so that a crawl never waits for long
PER_PASS = 20_000
_EVERY, _SOON = 300.0, 5.0  # seconds between passes; what is left of a large job goes soon, but not all at once

log = get_logger(__name__)


class NextStep(StrEnum):
    """Action of a retention pass for a job."""

    KEEP = "keep"
    HIDE = "hide"
    SHOW = "show"
    DELETE = "delete"
    GO_ON = "go on"  # deleting it was begun


@dataclass(frozen=True, slots=True)
class Outlook:
    """Next step for a job's results, and its dates."""

    job: KeptJob
    step: NextStep
    hides_at: datetime
    deletes_at: datetime


@dataclass(frozen=True, slots=True)
class RetentionReport:
    """Results of one retention pass."""

    hidden: tuple[UUID, ...] = ()
    shown: tuple[UUID, ...] = ()
    deleted: tuple[UUID, ...] = ()
    rows: int = 0
    dropped: tuple[str, ...] = ()  # partitions
    is_over: bool = True  # False: there are rows left to delete


def look_ahead(job: KeptJob, terms: Terms, now: datetime) -> Outlook:
    hides_at = terms.hides_at(job.recipe, job.since)
    deletes_at = max(hides_at, job.hidden_at or hides_at) + terms.grace_of(job.recipe)
    return Outlook(job, _next_step(job, terms, hides_at, now), hides_at, deletes_at)


def _next_step(job: KeptJob, terms: Terms, hides_at: datetime, now: datetime) -> NextStep:
    if job.state is JobState.ARCHIVED:
        whole = terms.goes_whole(job.recipe) and hides_at <= now
        return NextStep.GO_ON if job.hidden_at or whole else NextStep.KEEP
    resting = job.state in (JobState.COMPLETED, JobState.FAILED, JobState.CANCELLED, JobState.PAUSED)
    if not resting or hides_at > now:
        # Hidden all the same: it was resumed since, or results are kept for longer now.
        return NextStep.SHOW if job.hidden_at else NextStep.KEEP
    if job.hidden_at is None:
        return NextStep.HIDE
    return NextStep.DELETE if job.hidden_at + terms.grace_of(job.recipe) <= now else NextStep.KEEP


async def delete_rows(database: Database, job_id: UUID, most: int, *, whole: bool = False) -> tuple[int, bool]:
    """Delete up to `most` rows of an archived job in short transactions; how many, and whether that was all.

    `whole`: nothing is left of it, not even that there was such a job.
    """
    gone = 0
    while gone < most:
        step = await database.write(queries.purge_step, job_id, min(AT_ONCE, most - gone), whole=whole)
        if not step:
            return gone, True
        gone += step
    return gone, False


class Retainer:
    """Hides and deletes old results; called regularly by the worker. A pass resumes unfinished or crashed ones."""

    def __init__(self, database: Database, terms: Terms, *, per_pass: int = PER_PASS) -> None:
        self._database = database
        self._terms = terms
        self._per_pass = per_pass

    async def run(self, now: Callable[[], datetime], turn: Callable[[], AbstractAsyncContextManager[None]]) -> None:
        """Run for ever, as a separate task."""
        pause = _EVERY
        while True:
            await asyncio.sleep(pause)
            async with turn():
                report = await self.pass_once(now())
            pause = _EVERY if report.is_over else _SOON

    async def outlook(self, now: datetime) -> list[Outlook]:
        """Return all jobs that have ended or are paused, the next to change first. Changes nothing."""
        found = await self._database.read(queries.kept_jobs)
        ahead = [look_ahead(job, self._terms, now) for job in found]
        return sorted(ahead, key=lambda one: (one.step is NextStep.KEEP, one.hides_at, one.job.id))

    async def pass_once(self, now: datetime) -> RetentionReport:
        """Hide, show and delete what is due, with at most so many rows deleted."""
        report = RetentionReport()
        oldest = now - self._terms.shortest
        for job in await self._database.read(queries.kept_jobs, created_before=oldest, archived_too=self._terms.wholly):
            step = look_ahead(job, self._terms, now).step
            match step:
                case NextStep.HIDE if await self._database.write(_hide, job, now, self._terms):
                    report = replace(report, hidden=(*report.hidden, job.id))
                case NextStep.SHOW if await self._database.write(queries.show, job):
                    report = replace(report, shown=(*report.shown, job.id))
                case NextStep.DELETE if await self._database.write(_archive, job.id, now, self._terms):
                    report = await self._delete(job, report, now)
                case NextStep.GO_ON:
                    report = await self._delete(job, report, now)
        report = replace(report, dropped=await self._drop_months())
        if report != RetentionReport():
            log.info(
                "retention.passed",
                hidden=len(report.hidden),
                shown=len(report.shown),
                deleted=len(report.deleted),
                rows=report.rows,
                dropped=list(report.dropped),
            )
        return report

    async def _drop_months(self) -> tuple[str, ...]:
        """Drop the partitions of months whose jobs are all deleted. If long reads block one, a later pass drops it."""
        dropped: list[str] = []
        while name := await self._database.write(partitions.drop_next):
            dropped.append(name)
        return tuple(dropped)

    async def _delete(self, job: KeptJob, report: RetentionReport, now: datetime) -> RetentionReport:
        # One that was deleted by hand before its time keeps until then that it was run.
        whole = self._terms.goes_whole(job.recipe) and self._terms.hides_at(job.recipe, job.since) <= now
        rows, is_over = await delete_rows(self._database, job.id, self._per_pass - report.rows, whole=whole)
        deleted = (*report.deleted, job.id) if is_over and (rows or not whole) else report.deleted
        return replace(report, deleted=deleted, rows=report.rows + rows, is_over=report.is_over and is_over)


def _hide(tx: Tx, job: KeptJob, now: datetime, terms: Terms) -> bool:
    until = f"{now + terms.grace_of(job.recipe):%Y-%m-%d}"
    return queries.hide(tx, job, now, f"Its results are deleted on {until}.")


def _archive(tx: Tx, job_id: UUID, now: datetime, terms: Terms) -> bool:
    # Looked at again: it may have been resumed since.
    job = queries.kept_job(tx, job_id)
    if job is None or look_ahead(job, terms, now).step is not NextStep.DELETE:
        return False
    return queries.archive(tx, job_id, now, "Its results were kept long enough and are deleted.", "retention")


def refuse_at_work(job: Job, what: str) -> None:
    """Refuse to act on a running or pausing job, because a worker may be writing its rows."""
    if job.state in (JobState.RUNNING, JobState.PAUSING):
        identifier = short(job.id)
        raise UserError(
            "job.state",
            f"Job {identifier} is {job.state}: {what}.",
            hint=f"First stop it: 'gossamer job pause {identifier}' or 'gossamer job cancel {identifier}'.",
        )


async def delete_job(database: Database, job: Job) -> int:
    """Delete everything a job has found; how many rows. What it was asked, and how it ended, is kept."""
    refuse_at_work(job, "it cannot be deleted")
    if job.state is not JobState.ARCHIVED and not await database.write(_begin, job):
        # It was resumed in this very moment.
        now = await database.read(jobs.get, job.id)
        refuse_at_work(now or job, "it cannot be deleted")
    rows, is_over = 0, False
    while not is_over:
        gone, is_over = await delete_rows(database, job.id, AT_ONCE)
        rows += gone
    return rows


def _begin(tx: Tx, job: Job) -> bool:
    if not queries.archive(tx, job.id, tx.now, "Its results were deleted by hand.", "user"):
        return False
    events.add(tx, job.id, "job.deleted", who="user")
    return True
