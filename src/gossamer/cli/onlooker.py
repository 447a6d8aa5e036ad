"""Watching a job to its end from anywhere, without a hand in it."""

import asyncio
import signal
import time
from typing import Any
from uuid import UUID

import orjson
import typer

from gossamer.assembly import App
from gossamer.cli import costs, methods, report, tables, words
from gossamer.cli.at_work import runner_of
from gossamer.cli.screen import choose_screen
from gossamer.cli.session import say
from gossamer.errors import UserError
from gossamer.intake.control import find_job
from gossamer.model.job import Job, Progress
from gossamer.model.states import OVER, JobState
from gossamer.store import counters, jobs, reservations, sites, visits

_LOOK = 0.25  # seconds between looks at the rows
# A runner in the background takes a moment to come up, and another one to take over.
_PATIENCE = 3.0
# What changes without anything having happened.
_PASSING = ("domains_per_hour", "eta_seconds", "eta_is_least", "last_activity")
_AT_REST = OVER | {JobState.PAUSED, JobState.PENDING}


async def watch_job(app: App, text: str, *, as_json: bool) -> int:
    """Show a job until it is over, stands still or is left; then say which."""
    job = await find_job(app.database, text)
    return await Onlooker(app, job.id, as_json=as_json).watch()


class Onlooker:
    """Looks at rows and at nothing else."""

    def __init__(self, app: App, job_id: UUID, *, as_json: bool) -> None:
        self._app = app
        self._job_id = job_id
        self._as_json = as_json
        self._screen = choose_screen(quiet=as_json)
        self._leave = asyncio.Event()
        self._told: dict[str, Any] = {}

    async def watch(self) -> int:
        loop = asyncio.get_running_loop()
        ways_out = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        for name in ways_out:
            loop.add_signal_handler(name, self._leave.set)
        try:
            with self._screen:
                job, progress, runner = await self._look_on()
        finally:
            for name in ways_out:
                loop.remove_signal_handler(name)
        await self._say_last_words(job, progress, runner)
        return report.exit_code(job)

    async def _look_on(self) -> tuple[Job, Progress, int | None]:
        alone_since: float | None = None
        while True:
            job, progress = await self._rows()
            runner = await runner_of(self._app)
            now = time.monotonic()
            alone_since = None if runner is not None else alone_since or now
            abandoned = alone_since is not None and now - alone_since >= _PATIENCE
            if job.state in _AT_REST or abandoned or self._leave.is_set():
                return job, progress, runner
            # Nobody there yet is not nobody there.
            await self._show(job, progress, 0 if runner is None else runner)
            try:
                async with asyncio.timeout(_LOOK):
                    await self._leave.wait()
            except TimeoutError:
                continue

    async def _rows(self) -> tuple[Job, Progress]:
        job = await self._app.database.read(jobs.get, self._job_id)
        if job is None:
            raise UserError(
                "job.not_found", "The job was deleted while it was watched.", hint="See 'gossamer job list'."
            )
        return job, await self._app.database.read(counters.progress, self._job_id)

    async def _show(self, job: Job, progress: Progress, runner: int) -> None:
        if self._as_json:
            self._tell(job, progress, runner)
            return
        note = job.reason
        if job.state is JobState.PAUSING:
            busy = await self._app.database.read(visits.busy_of_job, self._job_id)
            paid = await self._app.database.read(reservations.under_way, self._job_id)
            note = f"Pausing... {words.finishing(busy, paid)}"
        self._screen.show(job, progress, note or "Only watching: Ctrl-C leaves, the job goes on.")

    def _tell(self, job: Job, progress: Progress, runner: int | None) -> None:
        """One line, if it says anything new."""
        told = report.as_json(job, progress, runner)
        lasting = {name: value for name, value in told.items() if name not in _PASSING}
        if lasting != self._told:
            self._told = lasting
            typer.echo(orjson.dumps(told).decode())

    async def _say_last_words(self, job: Job, progress: Progress, runner: int | None) -> None:
        if self._as_json:
            self._tell(job, progress, runner)
            return
        if job.state in _AT_REST - {JobState.PENDING}:
            reasons = await self._app.database.read(sites.failure_reasons, self._job_id)
            spent = await costs.read_costs(self._app, job, progress)
            read_with = methods.lines(spent.bill, tables.width())
            lines = report.ending(job, progress, reasons, costs=costs.ending_lines(spent), methods=read_with)
        else:
            lines = report.left(job, progress, runner)
        for line in lines:
            say(line)
