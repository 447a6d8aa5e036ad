"""Conclusions of jobs: the last step of recipes that merge or compare their results before a job is completed.

`Concluder` finds due conclusions in the rows and starts a process for each. That process (`ConclusionRun`) makes the
recipe's last requests, merges and compares results in batches, makes files and completes the job.

Only the main loop of that process uses the database. The recipe runs in a thread, so that the lease is renewed however
long a batch takes. Each batch is one transaction with its cursor: if the process is killed, another one continues from
there.
"""

import asyncio
import sys
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID, uuid4

from gossamer.crawl.completion import doubt_of, fail_conclusion
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
from gossamer.model.worker import DeskKind
from gossamer.recipes.base import Recipe
from gossamer.runtime.background_slots import BackgroundSlots
from gossamer.runtime.exporting import Exporter
from gossamer.runtime.process_pool import NO_DATABASE, sink
from gossamer.store import alerts, conclusions, exports, jobs, pages, records
from gossamer.store.conclusions import MOST_TRIES, Advance, Conclusion
from gossamer.store.exports import MadeFile
from gossamer.store.openings import Opening

_MOST_ROWS = 5_000  # per read, and per step of a deletion
_LOOK = 0.5  # seconds between checks for new conclusions
_TAKE_BACK = 5.0  # seconds between checks for those whose processes have died
_PATIENCE = 20.0  # seconds for a process to finish its batch and end

T = TypeVar("T")

log = get_logger(__name__)


class Stopped(Exception):
    """The conclusion stops here and is continued later."""


class RowsOfJob:
    """Rows of a job as a recipe reads them from its thread; each call is one short transaction."""

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
class HeldConclusion:
    """A conclusion that this process has leased."""

    job_id: UUID
    token: UUID
    lease: timedelta


class ConclusionRun:
    """The work on one conclusion. It ends between two batches once `stop` is set."""

    def __init__(
        self,
        database: Database,
        recipes: Mapping[str, Recipe],
        exporter: Exporter,
        held: HeldConclusion,
        stop: asyncio.Event,
    ) -> None:
        self._database = database
        self._recipes = recipes
        self._exporter = exporter
        self._held = held
        self._stop = stop
        self._loop = asyncio.get_running_loop()

    async def run(self) -> None:
        """Run until the job is completed, waits for its last requests, or `stop` is set."""
        job_id, token = self._held.job_id, self._held.token
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
            await asyncio.sleep(self._held.lease.total_seconds() / 4)
            held = self._held
            if not await self._database.write(conclusions.renew, held.job_id, held.token, held.lease):
                self._stop.set()  # another process has it

    async def _conclude(self) -> None:
        job_id = self._held.job_id
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
        if not await self._database.write(_complete, job_id, self._held.token, doubt, made):
            raise Stopped
        log.info("job.concluded", job=short(job_id), generation=known.generation, files=len(made))

    async def _rows(self, job: Job, known: Conclusion) -> RowsOfJob:
        rows = RowsOfJob(self._database, self._loop, job, known.generation)
        earlier = await self._database.read(jobs.get, known.baseline_id) if known.baseline_id else None
        if earlier is not None and earlier.state is not JobState.ARCHIVED:
            rows.compared = RowsOfJob(self._database, self._loop, earlier, None)
        return rows

    async def _call(self, bound: Bound, rows: RowsOfJob, known: Conclusion) -> Conclusion | None:
        """Make the recipe's last requests; None if their pages must be crawled first."""
        asked = await asyncio.to_thread(lambda: [self._asked(bound, follow) for follow in bound.last_call(rows)])
        phase = await self._database.write(conclusions.call, self._held.job_id, self._held.token, asked)
        if phase is None:
            raise Stopped
        log.info("job.last_call", job=short(self._held.job_id), pages=len(asked), phase=str(phase))
        return replace(known, phase=phase, cursor="") if phase is Phase.CONCLUDING else None

    def _asked(self, bound: Bound, follow: Follow) -> Opening:
        if self._stop.is_set():
            raise Stopped
        policy = bound.policy(follow.step)
        # Depth 1, so never a homepage: whether the site can be read was decided by its crawl.
        page = asked_page(follow, policy, "", 1, last=True)
        return Opening(
            page, site_of_url(page.url), rung_named(page.rung, policy).lane, given=f"asked for as {page.step}"
        )

    # In the thread of the recipe

    def _merge(self, bound: Bound, rows: RowsOfJob, recipe: Recipe, known: Conclusion) -> None:
        kinds = {kind.name for kind in recipe.kinds if kind.concluded}
        cursor = known.cursor
        for step in bound.conclude(rows, cursor):
            _check(step, cursor, kinds)
            if self._stop.is_set():
                raise Stopped
            held = self._held
            advance = Advance(
                held.job_id, held.token, known.generation, cursor, step.cursor, step.note, step.done, step.total
            )
            if not self._wait(self._database.write(conclusions.advance, advance, step.records)):
                raise Stopped
            cursor = step.cursor

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    # The end

    async def _drop_former(self, recipe: Recipe, known: Conclusion) -> None:
        """Delete records that only earlier generations have concluded."""
        kinds = [kind.name for kind in recipe.kinds if kind.concluded] if known.generation > 1 else []
        for kind in kinds:
            after = FIRST
            while True:
                further = await self._database.write(
                    conclusions.drop_former,
                    self._held.job_id,
                    self._held.token,
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
        """Make the automatic files under fixed keys, so that a repetition replaces them."""
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
    """Register the files and complete the job; False if another process has it, or it does not run."""
    if jobs.hold(tx, job_id) is not JobState.RUNNING or not conclusions.is_held(tx, job_id, token):
        return False
    if not jobs.is_over(tx, job_id):
        # Pages are retried on request: the conclusion follows after them.
        conclusions.raise_generation(tx, job_id)
        return True
    conclusions.end(tx, job_id, token)
    jobs.complete(tx, job_id, doubt)
    exports.register(tx, job_id, made)
    if doubt:
        alerts.fire(tx, AlertKind.AUDIT, str(job_id), doubt, job_id=job_id)
    return True


class Died(Exception):
    """The processes of a conclusion have ended too often."""


class Concluder:
    """Starts the processes of a runner or an instance, with `command`; they write to `output`."""

    def __init__(
        self,
        database: Database,
        background_slots: BackgroundSlots,
        worker: str,
        command: Sequence[str],
        lease: timedelta,
        output: Path | None = None,
    ) -> None:
        self._database = database
        self._background_slots = background_slots
        self._worker = worker
        self._command = command
        self._lease = lease
        self._output = output
        self._starting = 0  # waiting for a slot, or about to start a process

    async def run(self) -> None:
        """Run until cancelled; then processes end after their current batch."""
        clock = asyncio.get_running_loop().time
        looks_at = clock()
        tasks: set[asyncio.Task[None]] = set()
        try:
            while True:
                if clock() >= looks_at:
                    looks_at = clock() + _TAKE_BACK
                    if await self._database.read(conclusions.any_lost):
                        await self._database.write(conclusions.take_back)
                waiting = await self._database.read(conclusions.waiting)
                for _ in range(min(waiting - self._starting, self._background_slots.size - len(tasks))):
                    tasks.add(asyncio.create_task(self._next()))
                await asyncio.sleep(_LOOK)
                for task in [task for task in tasks if task.done()]:
                    tasks.discard(task)
                    task.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _next(self) -> None:
        self._starting += 1
        starting = True
        try:
            async with self._background_slots.hold(DeskKind.CONCLUDE):
                token = uuid4()  # made here, because the transaction may be repeated
                found = await self._database.write(conclusions.claim, self._worker, token, self._lease)
                self._starting -= 1
                starting = False
                if found is None:
                    return
                if found.tries > MOST_TRIES:
                    await self._database.write(_give_up, found, token)
                else:
                    await self._work(found.job_id, token)
        finally:
            self._starting -= starting

    async def _work(self, job_id: UUID, token: UUID) -> None:
        with sink(self._output) as output:
            process = await asyncio.create_subprocess_exec(
                *self._command,
                *("--conclude", job_id.hex, "--token", token.hex),
                stdin=asyncio.subprocess.PIPE,  # the process ends when this closes
                stdout=output or sys.stderr,
                stderr=output or sys.stderr,
                start_new_session=True,
            )
        log.info("conclusion.begun", job=short(job_id), pid=process.pid)
        try:
            code = await process.wait()
        except asyncio.CancelledError:
            await asyncio.shield(_end(process))
            raise
        if code:
            log.error("conclusion.died", job=short(job_id), pid=process.pid, exit_code=code)
            with suppress(StorageAway):  # then its lease expires
                blameless = code == NO_DATABASE
                await self._database.write(conclusions.hand_back if blameless else conclusions.void, job_id, token)


async def _end(process: asyncio.subprocess.Process) -> None:
    with suppress(ProcessLookupError):
        process.terminate()
        try:
            async with asyncio.timeout(_PATIENCE):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()


def _give_up(tx: Tx, found: Conclusion, token: UUID) -> None:
    fail_conclusion(
        tx, found.job_id, Died(f"its process ended {MOST_TRIES} times at {found.cursor or 'its beginning'}")
    )
    conclusions.hand_back(tx, found.job_id, token)
