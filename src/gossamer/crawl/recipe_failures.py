"""A mistake of ours on one page is that page's trouble; one on every page is the job's, and ends it."""

from uuid import UUID

from gossamer.db.database import Database
from gossamer.db.transactions import Tx
from gossamer.logging import get_logger
from gossamer.model.alert import FAILURES
from gossamer.model.ids import short
from gossamer.model.states import JobState, PageState
from gossamer.model.trouble import Reason
from gossamer.settle.step import PageStep
from gossamer.store import jobs

ENOUGH = 20  # pages, none of which could be read

log = get_logger(__name__)


class RecipeFailures:
    """One per process: which jobs have stumbled over every page so far."""

    def __init__(self, database: Database, enough: int = ENOUGH) -> None:
        self._database = database
        self._enough = enough
        self._stumbled: dict[UUID, int] = {}
        self._errors: dict[UUID, str] = {}
        self._sound: set[UUID] = set()  # jobs that have read a page: whatever else happens, it is not every page

    def note(self, job_id: UUID, step: PageStep) -> None:
        if job_id in self._sound:
            return
        if step.state is PageState.DONE:
            self._sound.add(job_id)
            self._stumbled.pop(job_id, None)
        elif step.trouble and step.trouble.reason is Reason.INTERNAL:
            self._stumbled[job_id] = self._stumbled.get(job_id, 0) + 1
            self._errors[job_id] = step.trouble.detail

    async def look(self) -> set[UUID]:
        """Once a second: fail the jobs that can only go on stumbling. Their walks are to end."""
        hopeless = {job_id for job_id, pages in self._stumbled.items() if pages >= self._enough}
        for job_id in hopeless:
            pages = self._stumbled.pop(job_id)
            log.error("job.hopeless", job=short(job_id), pages=pages, error=self._errors[job_id])
            await self._database.write(_fail, job_id, pages, self._errors[job_id])
        return hopeless

    def forget(self, held: set[UUID]) -> None:
        """Forget all jobs that are no longer being walked."""
        self._sound &= held
        for job_id in set(self._stumbled) - held:
            del self._stumbled[job_id]
        for job_id in set(self._errors) - held:
            del self._errors[job_id]


def _fail(tx: Tx, job_id: UUID, pages: int, error: str) -> None:
    job = jobs.get(tx, job_id)
    if job:
        why = FAILURES["recipe"].format(recipe=job.recipe, pages=pages, error=error, job=short(job_id))
        jobs.move(tx, job_id, JobState.FAILED, why, who="worker")


def fail_for_params(tx: Tx, job_id: UUID, error: str) -> None:
    """A job whose recipe does not take its parameters (any more) cannot read a single page."""
    jobs.move(tx, job_id, JobState.FAILED, FAILURES["params"].format(error=error), who="worker")
