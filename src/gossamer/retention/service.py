"""Retention: hide and delete the results of jobs and exported files when their time is over, or on request.

Results are hidden first and deleted after a grace time. Files that wait on the disk are moved to object storage.
"""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from uuid import UUID

from gossamer.blobs.export_store import ExportStore
from gossamer.blobs.page_files import PageFiles
from gossamer.blobs.seam import BlobsAway, NoSuchBlob
from gossamer.db import postgres
from gossamer.db.database import Database
from gossamer.db.transactions import Tx
from gossamer.errors import UserError
from gossamer.logging import get_logger
from gossamer.model.export import KEPT
from gossamer.model.ids import short
from gossamer.model.job import Job
from gossamer.model.states import JobState
from gossamer.recipes.base import Keep, Recipe
from gossamer.recipes.registry import RECIPES
from gossamer.retention import queries
from gossamer.retention.queries import KeptJob
from gossamer.store import events, exports, jobs

_USUAL = Keep()


@dataclass(frozen=True, slots=True)
class Terms:
    """Retention periods: from the end of a job to hiding its results, and from there to their deletion.

    An unknown recipe, of another data folder or a later version, has the default period.
    """

    usual: timedelta
    grace: timedelta = timedelta(days=7)
    recipes: Mapping[str, Recipe] = field(default_factory=lambda: RECIPES)

    def hides_at(self, recipe: str, since: datetime) -> datetime:
        return since + self._time(self._keep(recipe))

    def goes_whole(self, recipe: str) -> bool:
        """Return True if the job itself is deleted together with its results, as soon as they are due."""
        return self._keep(recipe).whole_job

    def grace_of(self, recipe: str) -> timedelta:
        return timedelta() if self.goes_whole(recipe) else self.grace

    @property
    def wholly(self) -> list[str]:
        """The recipes whose jobs are deleted together with their results."""
        return [name for name in self.recipes if self.goes_whole(name)]

    @property
    def shortest(self) -> timedelta:
        """The shortest period of all recipes: no younger job can be due."""
        return min(self.usual, *(self._time(recipe.keep) for recipe in self.recipes.values()))

    def _keep(self, recipe: str) -> Keep:
        known = self.recipes.get(recipe)
        return known.keep if known else _USUAL

    def _time(self, keep: Keep) -> timedelta:
        return self.usual if keep.days is None else timedelta(days=keep.days)


AT_ONCE = 1_000  # rows per transaction, so that a crawl never waits long
PER_PASS = 20_000
_EVERY, _SOON = 300.0, 5.0  # seconds between passes; shorter while rows of a large job are left

log = get_logger(__name__)


class NextStep(StrEnum):
    """Action of a retention pass for a job."""

    KEEP = "keep"
    HIDE = "hide"
    SHOW = "show"
    DELETE = "delete"
    GO_ON = "go on"  # continue an unfinished deletion


@dataclass(frozen=True, slots=True)
class PlannedStep:
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


def look_ahead(job: KeptJob, terms: Terms, now: datetime) -> PlannedStep:
    hides_at = terms.hides_at(job.recipe, job.since)
    deletes_at = max(hides_at, job.hidden_at or hides_at) + terms.grace_of(job.recipe)
    return PlannedStep(job, _next_step(job, terms, hides_at, now), hides_at, deletes_at)


def _next_step(job: KeptJob, terms: Terms, hides_at: datetime, now: datetime) -> NextStep:
    if job.state is JobState.ARCHIVED:
        whole = terms.goes_whole(job.recipe) and hides_at <= now
        return NextStep.GO_ON if job.hidden_at or whole else NextStep.KEEP
    resting = job.state in (JobState.COMPLETED, JobState.FAILED, JobState.CANCELLED, JobState.PAUSED)
    if not resting or hides_at > now:
        # If it is hidden, it was resumed since, or the retention period is longer now.
        return NextStep.SHOW if job.hidden_at else NextStep.KEEP
    if job.hidden_at is None:
        return NextStep.HIDE
    return NextStep.DELETE if job.hidden_at + terms.grace_of(job.recipe) <= now else NextStep.KEEP


async def delete_rows(database: Database, job_id: UUID, most: int, *, whole: bool = False) -> tuple[int, bool]:
    """Delete up to `most` rows of an archived job in short transactions; return their number, and True if none is left.

    `whole`: the job itself is deleted too.
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

    async def outlook(self, now: datetime) -> list[PlannedStep]:
        """Return all jobs that have ended or are paused, the next to change first. Changes nothing."""
        found = await self._database.read(queries.kept_jobs)
        ahead = [look_ahead(job, self._terms, now) for job in found]
        return sorted(ahead, key=lambda one: (one.step is NextStep.KEEP, one.hides_at, one.job.id))

    async def pass_once(self, now: datetime) -> RetentionReport:
        """Hide, show and delete due results, up to the row limit of a pass."""
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
        while name := await self._database.write(postgres.drop_next_partition):
            dropped.append(name)
        return tuple(dropped)

    async def _delete(self, job: KeptJob, report: RetentionReport, now: datetime) -> RetentionReport:
        # The row of a job that was deleted manually is kept until its period is over.
        whole = self._terms.goes_whole(job.recipe) and self._terms.hides_at(job.recipe, job.since) <= now
        rows, is_over = await delete_rows(self._database, job.id, self._per_pass - report.rows, whole=whole)
        deleted = (*report.deleted, job.id) if is_over and (rows or not whole) else report.deleted
        return replace(report, deleted=deleted, rows=report.rows + rows, is_over=report.is_over and is_over)


def _hide(tx: Tx, job: KeptJob, now: datetime, terms: Terms) -> bool:
    until = f"{now + terms.grace_of(job.recipe):%Y-%m-%d}"
    return queries.hide(tx, job, now, f"Its results are deleted on {until}.")


def _archive(tx: Tx, job_id: UUID, now: datetime, terms: Terms) -> bool:
    # Checked again, because it may have been resumed since.
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
    """Delete all results of a job; return the number of rows. The job with its request and outcome is kept."""
    refuse_at_work(job, "it cannot be deleted")
    if job.state is not JobState.ARCHIVED and not await database.write(_begin, job):
        # It was resumed meanwhile.
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


_FILES_EVERY = 60.0  # seconds between passes
_WAITED_FOR = 10.0  # maximum seconds that a caller waits
_UNFINISHED = timedelta(hours=6)
# Files on the disk are deleted at this age, even without a row.
_FORGOTTEN = KEPT + timedelta(days=1)


class FileSweeper:
    """Deletes expired files; called regularly by the worker. A pass continues where the last one stopped."""

    def __init__(self, database: Database, export_store: ExportStore, pages: PageFiles | None = None) -> None:
        self._database = database
        self._export_store = export_store
        self._pages = pages

    async def run(self, turn: Callable[[], AbstractAsyncContextManager[None]]) -> None:
        """Sweep for ever, as a separate task: a storage that does not respond delays only this one."""
        while True:
            async with turn():
                await self.sweep()
            await asyncio.sleep(_FILES_EVERY)

    async def remove_now(self) -> int:
        """Remove expired files while a caller waits; return the number of files left for later."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_WAITED_FOR):
                await self._remove()
        await self._tidy()
        return await self._database.read(exports.count_expired)

    async def sweep(self) -> int:
        """Remove expired files and move waiting ones to object storage; return the number of files."""
        done = 0
        done += await self._remove()
        done += await self._bring_away()
        done += await self._sweep_pages()
        return done + await self._tidy()

    async def _sweep_pages(self) -> int:
        try:
            return await self._pages.sweep() if self._pages else 0
        except BlobsAway as error:
            log.warning("storage.away", key="pages", why=str(error))
            return 0

    async def _tidy(self) -> int:
        local = self._export_store.local
        return await local.remove_unfinished(_UNFINISHED) + await local.remove_old(_FORGOTTEN)

    async def _remove(self) -> int:
        due = await self._database.read(
            exports.expired, self._export_store.home, remote=self._export_store.remote is not None
        )
        removed = 0
        for export in due:
            try:
                await self._export_store.delete(export)
            except BlobsAway as error:
                log.warning("storage.away", export=export.id.hex, why=str(error))
                continue
            await self._database.write(exports.forget_file, export)
            log.info("export.removed", export=export.id.hex, name=export.name)
            removed += 1
        return removed

    async def _bring_away(self) -> int:
        if self._export_store.remote is None:
            return 0
        waiting = await self._database.read(exports.spooled, self._export_store.home)
        moved = 0
        for export in waiting:
            assert export.blob_key  # noqa: S101 - asked for
            try:
                await self._export_store.send(export.blob_key)
                if await self._database.write(exports.moved, export):
                    moved += 1
                    log.info("export.moved", export=export.id.hex, name=export.name)
                    await self._export_store.drop(export.blob_key)
                else:
                    # Its job was deleted during the transfer, so the copy in object storage is removed.
                    await self._export_store.delete(export)
            except NoSuchBlob:
                await self._database.write(exports.forget_file, export)
            except BlobsAway as error:
                log.warning("storage.away", export=export.id.hex, why=str(error))
        return moved
