"""One conclusion, in a process of its own: last call, merging and comparing in batches, files, the end of the job.

Only the main loop of this process speaks to the database. The recipe runs in a thread, so that the lease is renewed
however long a batch takes. Each batch is one transaction with its cursor: if the process is killed, another one goes on
from there.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, TypeVar
from uuid import UUID

from gossamer.db.database import Database
from gossamer.db.transactions import Tx
from gossamer.errors import StorageAway
from gossamer.exports.orders import automatic_files
from gossamer.logging import get_logger
from gossamer.model.alert import AlertKind
from gossamer.model.ids import short
from gossamer.model.job import Job
from gossamer.model.page import asked_page, rung_named
from gossamer.model.recipe import FIRST, Bound, Concluded, JobRows, Key, PageFacts, StoredRecord
from gossamer.model.record import Follow
from gossamer.model.states import JobState, Phase
from gossamer.model.url import site_of_url
from gossamer.recipes.base import Recipe
from gossamer.runtime.exporting import Exporter
from gossamer.runtime.job_completion import doubt_of, fail_conclusion
from gossamer.store import alerts, conclusions, exports, jobs, pages, records
from gossamer.store.conclusions import Advance, Conclusion
from gossamer.store.exports import MadeFile
from gossamer.store.openings import Opening

_MOST_ROWS = 5_000  # of one read, and looked at in one step of a deletion

T = TypeVar("T")

log = get_logger(__name__)


class Stopped(Exception):
    """It is to end here, and goes on some other time."""


class RowsOfJob:
    """What a recipe reads, called from its own thread: each call is one short read."""

    def __init__(self, database: Database, loop: asyncio.AbstractEventLoop, job: Job, generation: int | None) -> None:
        self._database = database
        self._loop = loop
        self._job = job
        self._generation = generation
        self.compared: JobRows | None = None

    @property
    def job_id(self) -> UUID:
        return self._job.id

    @property
    def created_at(self) -> datetime:
        return self._job.created_at

    def records(self, kind: str, after: Key, limit: int) -> Sequence[StoredRecord]:
        most, own = min(limit, _MOST_ROWS), self._generation
        return self._read(lambda tx: records.in_order(tx, self._job.id, kind, after, most, generation=own))

    def pages(self, after: Key, limit: int) -> Sequence[PageFacts]:
        most = min(limit, _MOST_ROWS)
        return self._read(lambda tx: conclusions.page_facts(tx, self._job.id, after, most))

    def has_pages(self, keys: Sequence[Key]) -> set[Key]:
        return set(self._read(lambda tx: pages.states(tx, self._job.id, keys)))

    def baseline(self) -> JobRows | None:
        return self.compared

    def _read(self, work: Callable[[Tx], T]) -> T:
        return asyncio.run_coroutine_threadsafe(self._database.read(work), self._loop).result()


@dataclass(frozen=True, slots=True)
class Task:
    """A conclusion in our hands."""

    job_id: UUID
    token: UUID
    lease: timedelta


class Concluding:
    """`stop` is set by whoever wants it to end: it does so between two batches."""

    def __init__(
        self, database: Database, recipes: Mapping[str, Recipe], exporter: Exporter, task: Task, stop: asyncio.Event
    ) -> None:
        self._database = database
        self._recipes = recipes
        self._exporter = exporter
        self._task = task
        self._stop = stop
        self._loop = asyncio.get_running_loop()

    async def run(self) -> None:
        """Until the job is completed, waits for what is asked for last, or is to be left."""
        job_id, token = self._task.job_id, self._task.token
        renewing = asyncio.create_task(self._renew())
        try:
            await self._conclude()
        except Stopped:
            await self._database.write(conclusions.hand_back, job_id, token)
            log.info("conclusion.stopped", job=short(job_id))
        except StorageAway:
            raise
        except Exception as error:  # noqa: BLE001 - a recipe may raise anything: the job says so, and is resumed
            await self._database.write(_failed, job_id, token, error)
        finally:
            renewing.cancel()

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(self._task.lease.total_seconds() / 4)
            task = self._task
            if not await self._database.write(conclusions.renew, task.job_id, task.token, task.lease):
                self._stop.set()  # somebody else has it

    async def _conclude(self) -> None:
        job_id = self._task.job_id
        job, known = await self._database.read(_look, job_id)
        if job is None or known is None:
            raise Stopped
        recipe = self._recipes[job.recipe]
        bound = await asyncio.to_thread(lambda: recipe.bind(recipe.params.model_validate(job.params)))
        rows = await self._rows(job, known)
        if known.phase is Phase.CALLING:
            known = await self._call(bound, rows, known)
            if known is None:
                return
        await asyncio.to_thread(self._merge, bound, rows, recipe, known)
        await self._drop_former(recipe, known)
        doubt = await doubt_of(self._database, job_id, self._recipes)
        made = await self._files(job, known.generation)
        if not await self._database.write(_complete, job_id, self._task.token, doubt, made):
            raise Stopped
        log.info("job.concluded", job=short(job_id), generation=known.generation, files=len(made))

    async def _rows(self, job: Job, known: Conclusion) -> RowsOfJob:
        rows = RowsOfJob(self._database, self._loop, job, known.generation)
        earlier = await self._database.read(jobs.get, known.baseline_id) if known.baseline_id else None
        if earlier is not None and earlier.state is not JobState.ARCHIVED:
            rows.compared = RowsOfJob(self._database, self._loop, earlier, None)
        return rows

    async def _call(self, bound: Bound, rows: RowsOfJob, known: Conclusion) -> Conclusion | None:
        """The last call; None if its pages have to be walked first."""
        asked = await asyncio.to_thread(lambda: [self._asked(bound, follow) for follow in bound.last_call(rows)])
        phase = await self._database.write(conclusions.call, self._task.job_id, self._task.token, asked)
        if phase is None:
            raise Stopped
        log.info("job.last_call", job=short(self._task.job_id), pages=len(asked), phase=str(phase))
        return replace(known, phase=phase, cursor="") if phase is Phase.CONCLUDING else None

    def _asked(self, bound: Bound, follow: Follow) -> Opening:
        if self._stop.is_set():
            raise Stopped
        policy = bound.policy(follow.step)
        # Never where a site begins: whether it can be entered was decided when it was walked.
        page = asked_page(follow, policy, "", 1, last=True)
        return Opening(
            page, site_of_url(page.url), rung_named(page.rung, policy).lane, given=f"asked for as {page.step}"
        )

    # In the recipe's own thread

    def _merge(self, bound: Bound, rows: RowsOfJob, recipe: Recipe, known: Conclusion) -> None:
        kinds = {kind.name for kind in recipe.kinds if kind.concluded}
        cursor = known.cursor
        for step in bound.conclude(rows, cursor):
            _check(step, cursor, kinds)
            if self._stop.is_set():
                raise Stopped
            task = self._task
            advance = Advance(
                task.job_id, task.token, known.generation, cursor, step.cursor, step.note, step.done, step.total
            )
            if not self._wait(self._database.write(conclusions.advance, advance, step.records)):
                raise Stopped
            cursor = step.cursor

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    # The end

    async def _drop_former(self, recipe: Recipe, known: Conclusion) -> None:
        """What only earlier generations have concluded does not hold any more."""
        kinds = [kind.name for kind in recipe.kinds if kind.concluded] if known.generation > 1 else []
        for kind in kinds:
            after = FIRST
            while True:
                further = await self._database.write(
                    conclusions.drop_former,
                    self._task.job_id,
                    self._task.token,
                    known.generation,
                    kind,
                    after,
                    _MOST_ROWS,
                )
                if further is None or self._stop.is_set():
                    raise Stopped
                if not further:
                    break
                after = further

    async def _files(self, job: Job, generation: int) -> list[MadeFile]:
        """The automatic files, where they will be found: made again they lie in the same places."""
        over = replace(job, state=JobState.COMPLETED)
        made = []
        for wanted in automatic_files(job.id, job.recipe, job.params):
            if self._stop.is_set():
                raise Stopped
            key = f"exports/{short(job.id)}/concluded-{generation}/{wanted.type}/{wanted.name}"
            made.append(await self._exporter.make_automatic(over, wanted, key))
        return made


def _check(step: Concluded, cursor: str, kinds: Iterable[str]) -> None:
    if step.cursor == cursor:
        raise ValueError(f"a step of the conclusion does not move its cursor {cursor!r}")
    unknown = next((one.kind for one in step.records if one.kind not in kinds), None)
    if unknown is not None:
        raise ValueError(f"{unknown!r} is not a kind of record that is concluded")


def _look(tx: Tx, job_id: UUID) -> tuple[Job | None, Conclusion | None]:
    return jobs.get(tx, job_id), conclusions.of_job(tx, job_id)


def _failed(tx: Tx, job_id: UUID, token: UUID, error: Exception) -> None:
    if conclusions.is_held(tx, job_id, token):
        fail_conclusion(tx, job_id, error)
    conclusions.hand_back(tx, job_id, token)


def _complete(tx: Tx, job_id: UUID, token: UUID, doubt: str, made: Sequence[MadeFile]) -> bool:
    """Register the files and complete the job, in one; False if it is not ours, or does not run."""
    if jobs.hold(tx, job_id) is not JobState.RUNNING or not conclusions.is_held(tx, job_id, token):
        return False
    if not jobs.is_over(tx, job_id):
        # A person has had something tried again meanwhile.
        conclusions.raise_generation(tx, job_id)
        return True
    conclusions.end(tx, job_id, token)
    jobs.complete(tx, job_id, doubt)
    exports.register(tx, job_id, made)
    if doubt:
        alerts.fire(tx, AlertKind.AUDIT, str(job_id), doubt, job_id=job_id)
    return True
