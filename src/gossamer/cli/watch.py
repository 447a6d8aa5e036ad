"""`gossamer job watch`: show a job to its end without working it."""

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
from gossamer.questions.jobs import Standing, ended

# Seconds that a background runner may take to start, or another one to take over.
_PATIENCE = 3.0

# Fields that change although nothing has happened.
_PASSING = ("domains_per_hour", "pages_per_minute", "eta_seconds", "eta_is_least", "last_activity")
_AT_REST = OVER | {JobState.PAUSED, JobState.PENDING}


async def watch_job(home: Home, text: str, *, as_json: bool) -> int:
    """Show a job until it is over or paused or the user leaves, and print which."""
    job = await home.ask(jobs.find, text)
    return await Watcher(home, job.id, as_json=as_json).watch()


class Watcher:
    """Shows a job by reading its rows, and changes nothing."""

    def __init__(self, home: Home, job_id: UUID, *, as_json: bool) -> None:
        self._home = home
        self._job_id = job_id
        self._as_json = as_json
        self._screen = choose_screen(quiet=as_json)
        self._leave = asyncio.Event()
        self._printed: dict[str, Any] = {}

    async def watch(self) -> int:
        loop = asyncio.get_running_loop()
        ways_out = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        for name in ways_out:
            loop.add_signal_handler(name, self._leave.set)
        try:
            with self._screen:
                now = await self._wait_for_end()
        finally:
            for name in ways_out:
                loop.remove_signal_handler(name)
        await self._print_ending(now)
        return report.exit_code(now.job)

    async def _wait_for_end(self) -> Standing:
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
            # A runner may still be starting, so none is reported as missing yet.
            self._print_change(now.job, now.progress, now.runner or 0)
            return
        note = now.job.reason
        if now.job.state is JobState.PAUSING:
            note = f"Pausing... {formatting.work_in_progress(now.busy, now.paid)}"
        self._screen.show(now.job, now.progress, note or "Only watching: Ctrl-C leaves, the job goes on.")

    def _print_change(self, job: Job, progress: Progress, runner: int | None) -> None:
        """Print one line of JSON if anything has changed."""
        told = report.as_json(job, progress, runner)
        lasting = {name: value for name, value in told.items() if name not in _PASSING}
        if lasting != self._printed:
            self._printed = lasting
            typer.echo(formatting.json_text(told))

    async def _print_ending(self, now: Standing) -> None:
        if self._as_json:
            self._print_change(now.job, now.progress, now.runner)
            return
        if now.job.state in _AT_REST - {JobState.PENDING}:
            found = await self._home.ask(ended, str(self._job_id))
            said, read_with = costs.ending_lines(found.costs), costs.method_lines(found.costs.bill, tables.width())
            lines = report.ending_lines(now.job, now.progress, found.reasons, costs=said, methods=read_with)
        else:
            lines = report.unfinished_lines(now.job, now.progress, now.runner)
        for line in lines:
            say(line)
