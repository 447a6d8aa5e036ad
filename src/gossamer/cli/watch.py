"""Watching a job to its end from anywhere, without a hand in it."""

import asyncio
import signal
import time
from typing import Any
from uuid import UUID

import typer

from gossamer.cli import costs, formatting, report, tables
from gossamer.cli.home import Home
from gossamer.cli.runtime import say
from gossamer.cli.screen import choose_screen
from gossamer.model.job import Job, Progress
from gossamer.model.states import OVER, JobState
from gossamer.questions import jobs
from gossamer.questions.jobs import Standing
from gossamer.questions.status import ended

# A runner in the background takes a moment to come up, and another one to take over.
_PATIENCE = 3.0

# What changes without anything having happened.
_PASSING = ("domains_per_hour", "pages_per_minute", "eta_seconds", "eta_is_least", "last_activity")

_AT_REST = OVER | {JobState.PAUSED, JobState.PENDING}


async def watch_job(home: Home, text: str, *, as_json: bool) -> int:
    """Show a job until it is over, stands still or is left; then say which."""
    job = await home.ask(jobs.find, text)
    return await Onlooker(home, job.id, as_json=as_json).watch()


class Onlooker:
    """Looks at rows and at nothing else."""

    def __init__(self, home: Home, job_id: UUID, *, as_json: bool) -> None:
        self._home = home
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
                now = await self._look_on()
        finally:
            for name in ways_out:
                loop.remove_signal_handler(name)
        await self._say_last_words(now)
        return report.exit_code(now.job)

    async def _look_on(self) -> Standing:
        alone_since: float | None = None
        while True:
            now = await self._home.ask(jobs.standing, str(self._job_id))
            moment = time.monotonic()
            alone_since = None if now.runner is not None else alone_since or moment
            abandoned = alone_since is not None and moment - alone_since >= _PATIENCE
            if now.job.state in _AT_REST or abandoned or self._leave.is_set():
                return now
            self._show(now)
            try:
                async with asyncio.timeout(self._home.pace):
                    await self._leave.wait()
            except TimeoutError:
                continue

    def _show(self, now: Standing) -> None:
        if self._as_json:
            # Nobody there yet is not nobody there.
            self._tell(now.job, now.progress, now.runner or 0)
            return
        note = now.job.reason
        if now.job.state is JobState.PAUSING:
            note = f"Pausing... {formatting.finishing(now.busy, now.paid)}"
        self._screen.show(now.job, now.progress, note or "Only watching: Ctrl-C leaves, the job goes on.")

    def _tell(self, job: Job, progress: Progress, runner: int | None) -> None:
        """One line, if it says anything new."""
        told = report.as_json(job, progress, runner)
        lasting = {name: value for name, value in told.items() if name not in _PASSING}
        if lasting != self._told:
            self._told = lasting
            typer.echo(formatting.json_text(told))

    async def _say_last_words(self, now: Standing) -> None:
        if self._as_json:
            self._tell(now.job, now.progress, now.runner)
            return
        if now.job.state in _AT_REST - {JobState.PENDING}:
            found = await self._home.ask(ended, str(self._job_id))
            said, read_with = costs.ending_lines(found.costs), costs.method_lines(found.costs.bill, tables.width())
            lines = report.ending(now.job, now.progress, found.reasons, costs=said, methods=read_with)
        else:
            lines = report.left(now.job, now.progress, now.runner)
        for line in lines:
            say(line)
