"""Completion of jobs: when the last site of a job has ended, its rows are audited, and only then is it completed."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any
from uuid import UUID

from gossamer.crawl.audit import AuditReport, audit, audit_now
from gossamer.db.database import Database
from gossamer.db.transactions import Tx
from gossamer.errors import StorageAway
from gossamer.exports.orders import automatic_files
from gossamer.logging import get_logger
from gossamer.model.alert import ALERTS, FAILURES, AlertKind
from gossamer.model.ids import short
from gossamer.model.job import Job
from gossamer.model.recipe import Comparison
from gossamer.model.states import JobState
from gossamer.recipes.base import Recipe
from gossamer.store import alerts, conclusions, exports, jobs, usage
from gossamer.store import audit as audit_store

_NOT_AUDITED = (
    "Whether the rows of job {job} add up is not known: its audit itself failed ({error}). See the log, then try it "
    "again with 'gossamer job audit {job}'."
)

log = get_logger(__name__)


class Closer:
    """Completes running jobs that have no open site left. `slot` yields a background slot for one audit."""

    def __init__(
        self,
        database: Database,
        recipes: Mapping[str, Recipe],
        files_of: str,
        slot: Callable[[], AbstractAsyncContextManager[object]],
    ) -> None:
        self._database = database
        self._recipes = recipes
        self._files_of = files_of
        self._slot = slot

    async def look(self) -> None:
        found = await self._database.read(jobs.ended_walks)
        if found:
            # A job that fails does not keep the others from their end.
            ends = await asyncio.gather(
                *(self._end(job_id, self._recipes.get(recipe)) for job_id, recipe in found.items()),
                return_exceptions=True,
            )
            for error in ends:
                if error is not None:
                    raise error

    async def _end(self, job_id: UUID, recipe: Recipe | None) -> None:
        if recipe is not None and recipe.concludes:
            await self._end_walk(job_id, recipe)
        else:
            await self._close(job_id)

    async def _end_walk(self, job_id: UUID, recipe: Recipe) -> None:
        """Start the conclusion that a recipe adds before the job is completed (runtime/conclusion.py)."""
        job = await self._database.read(jobs.get, job_id)
        if job is None:
            return
        try:
            comparison = await asyncio.to_thread(_comparison, recipe, job)
        except Exception as error:  # noqa: BLE001 - a recipe may raise anything, and it is the job that ends with it
            await self._database.write(fail_conclusion, job_id, error)
            return
        await self._database.write(conclusions.walked, job_id, comparison)

    async def _close(self, job_id: UUID) -> None:
        async with self._slot():
            doubt = await doubt_of(self._database, job_id, self._recipes)
            await self._database.write(_complete, job_id, doubt, self._files_of)


def _comparison(recipe: Recipe, job: Job) -> Comparison:
    return recipe.bind(recipe.params.model_validate(job.params)).comparison()


def fail_conclusion(tx: Tx, job_id: UUID, error: Exception) -> None:
    """Fail a job whose conclusion raised an error; it can be resumed once the cause is repaired."""
    job = jobs.get(tx, job_id)
    if job is not None:
        log.error("job.not_concluded", job=short(job_id), error=type(error).__name__, exc_info=error)
        what = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        why = FAILURES["conclusion"].format(job=short(job_id), recipe=job.recipe, error=what)
        jobs.move(tx, job_id, JobState.FAILED, why)


async def doubt_of(database: Database, job_id: UUID, recipes: Mapping[str, Recipe]) -> str:
    """Audit a job; return its faults as a sentence, "" if there are none.

    If the audit itself fails, the sentence says so, and the job can still be completed.
    """
    try:
        report = await audit(database, job_id, recipes)
    except StorageAway:
        raise
    except Exception as error:
        log.exception("job.audit_crashed", job=short(job_id))
        return _NOT_AUDITED.format(job=short(job_id), error=type(error).__name__)
    return _said(report)


def close_at_once(
    tx: Tx, job_id: UUID, *, recipes: Mapping[str, Recipe], files_of: str, credits: Mapping[str, int]
) -> None:
    """Complete a job of one page, and its bill, in the transaction that ended the page: a caller waits for it.

    If anything prevents that, the transaction continues without it, and the job is closed like any other.
    """
    try:
        with tx.savepoint():
            whose = jobs.may_close_now(tx, job_id)
            if whose and not recipes[whose.recipe].concludes:
                why = "" if audit_store.is_whole(tx, job_id) else _said(audit_now(tx, job_id, recipes))
                if jobs.move(tx, job_id, JobState.COMPLETED, why, account=whose.account):
                    _completed(tx, job_id, whose.recipe, whose.params, why, files_of)
                usage.close(tx, whose.account, job_id, credits)
    except Exception:
        if tx.is_gone:
            raise
        log.exception("job.not_closed", job=short(job_id))


def _said(report: AuditReport) -> str:
    if report.clean:
        return ""
    log.error("job.audit_failed", job=short(report.job_id), found=report.sentence)
    return ALERTS[AlertKind.AUDIT].format(job=short(report.job_id), found=report.sentence)


def _complete(tx: Tx, job_id: UUID, why: str, files_of: str) -> None:
    job = jobs.get(tx, job_id)
    if job and jobs.complete(tx, job_id, why):
        _completed(tx, job_id, job.recipe, job.params, why, files_of)


def _completed(tx: Tx, job_id: UUID, recipe: str, params: Mapping[str, Any], why: str, files_of: str) -> None:
    files = automatic_files(job_id, recipe, params)
    if files:
        exports.add(tx, job_id, files, files_of)
    if why:
        alerts.fire(tx, AlertKind.AUDIT, str(job_id), why, job_id=job_id)
