"""Follow a job to its end on this machine, and run it if no other process does."""

import asyncio
import signal
from contextlib import suppress
from datetime import timedelta
from uuid import UUID

from gossamer.app import App
from gossamer.cli import formatting
from gossamer.cli.screen import Screen
from gossamer.db.health import working_home
from gossamer.errors import StorageAway, UserError
from gossamer.intake import control
from gossamer.model.ids import short
from gossamer.model.job import Job, Progress
from gossamer.model.states import OVER, JobState
from gossamer.runtime.home_lock import CLUSTER
from gossamer.runtime.runner import Runner
from gossamer.store import counters, exports, jobs, outbox, reservations, visits

_LOOK = 0.25  # seconds between two reads of the rows
_FOR_FILES = 60.0  # seconds to wait for automatic exports
_FOR_MESSAGES = 15.0  # seconds to wait for webhook messages


async def worked_by_cluster(app: App) -> bool:
    """True if the workers of a cluster run the jobs of this database, so that no other process may."""
    return await app.database.read(working_home) == CLUSTER


class Follower:
    """Show a job until it is over or paused, and become the runner of a data folder that has none."""

    def __init__(self, app: App, job_id: UUID, screen: Screen, processes: int | None = None) -> None:
        self._app = app
        self._job_id = job_id
        self._screen = screen
        self._processes = processes
        self._runner: Runner | None = None
        self._cluster = False
        self._looking: asyncio.Task[None] | None = None
        self._interrupts = 0
        self._leave = False
        self._shown: tuple[Job, Progress] | None = None

    async def follow(self) -> Job:
        """Follow the job and return it when it is over, paused, or this process was told to stop."""
        loop = asyncio.get_running_loop()
        self._app.database.retries.limit = self._app.settings.database_patience
        loop.add_signal_handler(signal.SIGINT, self._interrupt)
        for name in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(name, self._leave_now)
        waiting = asyncio.create_task(self._show_database_wait())
        try:
            with self._screen:
                return await self._watch()
        except StorageAway as error:
            raise StorageAway(f"{error} Nothing is lost: once it is back, {_go_on(self._job_id)}.") from error
        finally:
            waiting.cancel()
            await self._stop_runner(now=self._interrupts > 1)
            for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                loop.remove_signal_handler(name)
            if self._interrupts:
                # The pause is done: another Ctrl-C has nothing left to stop and must not cut off our output.
                signal.signal(signal.SIGINT, signal.SIG_IGN)

    def _interrupt(self) -> None:
        self._interrupts += 1
        self._stop_waiting_for_database()

    def _leave_now(self) -> None:
        self._leave = True
        self._stop_waiting_for_database()

    def _stop_waiting_for_database(self) -> None:
        """Stop waiting for a database that does not answer, since the user wants to leave."""
        if self._app.database.retries.is_away:
            self._app.database.retries.limit = timedelta()

    async def _show_database_wait(self) -> None:
        """Show that the database does not answer, because the display is out of date by then."""
        while True:
            await asyncio.sleep(1)
            if self._app.database.retries.is_away and self._shown:
                note = "The database does not answer: waiting for it. Nothing is lost; Ctrl-C leaves."
                self._screen.show(*self._shown, note)

    async def _watch(self) -> Job:
        asked = False
        await self._ensure_runner()
        while True:
            job = await self._show()
            if job.state in OVER or job.state is JobState.PAUSED or self._leave:
                await self._finish_exports()
                await self._finish_messages()
                return job
            if self._interrupts and not asked:
                asked = True
                with suppress(UserError):  # it has just ended or been paused: the next look shows it
                    await control.pause(self._app.database, job)
            if self._interrupts > 1:  # after the pause, also if both came between two looks
                return await self._stop_at_once(job)
            await self._ensure_runner()
            await asyncio.sleep(_LOOK)

    async def _finish_exports(self) -> None:
        """Wait for the automatic exports of the job if this process is the runner; no other would make them."""
        until = asyncio.get_running_loop().time() + _FOR_FILES
        while self._runner and not self._leave and not self._interrupts:
            home = self._app.home_name
            in_time = asyncio.get_running_loop().time() < until
            if not in_time or not await self._app.database.read(exports.any_open, home, self._job_id):
                return
            await asyncio.sleep(_LOOK / 5)

    async def _finish_messages(self) -> None:
        """Try to send the webhook messages of the job once; those that remain are sent by the next runner."""
        until = asyncio.get_running_loop().time() + _FOR_MESSAGES
        while self._runner and not self._leave and not self._interrupts:
            in_time = asyncio.get_running_loop().time() < until
            if not in_time or not (await self._app.database.read(outbox.waiting))[0]:
                return
            await asyncio.sleep(_LOOK / 5)

    async def _show(self) -> Job:
        job = await self._app.database.read(jobs.get, self._job_id)
        if job is None:
            raise UserError("job.not_found", "The job was deleted while it ran.", hint="See 'gossamer job list'.")
        if not self._screen.is_due:
            return job
        progress = await self._app.database.read(counters.progress, self._job_id)
        progress = await self._app.remaining_work.add(self._app.database, job, progress)
        note = job.reason
        if job.state is JobState.PAUSING:
            busy = await self._app.database.read(visits.busy_of_job, self._job_id)
            more = "again" if self._interrupts else "twice"
            paid = await self._app.database.read(reservations.under_way, self._job_id)
            note = f"{note} Pausing... {formatting.work_in_progress(busy, paid)}. ".lstrip()
            note += f"Ctrl-C {more} stops at once; nothing is lost either way."
        elif self._runner is None and not note:
            note = (
                "Running on the cluster."
                if self._cluster
                else "Running in the gossamer that was started first on this data folder; its settings apply."
            )
        self._shown = (job, progress)
        self._screen.show(job, progress, note)
        return job

    async def _ensure_runner(self) -> None:
        """Become the runner if there is none; raise the error of our own runner if it has failed."""
        self._cluster = self._runner is None and await worked_by_cluster(self._app)
        if self._runner is None and not self._cluster and self._app.lock.take():
            runner = self._app.runner(self._processes)
            if not await runner.start():
                self._app.lock.release()  # another home works this database
                return
            self._runner = runner
            self._looking = asyncio.create_task(runner.look_after())
        if self._looking and self._looking.done():
            self._looking.result()

    async def _stop_at_once(self, job: Job) -> Job:
        """Kill the workers after the second Ctrl-C. Their pages stay pending, and the job is paused."""
        await self._stop_runner(now=True)
        if self._app.lock.take():
            await control.settle_down(self._app.database, self._app.home_name)
            self._app.lock.release()
        return await self._app.database.read(jobs.get, job.id) or job

    async def _stop_runner(self, *, now: bool) -> None:
        if self._looking:
            self._looking.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await self._looking
            self._looking = None
        if self._runner:
            await self._runner.stop(now=now)
            self._runner = None
            self._app.lock.release()


def _go_on(job_id: UUID) -> str:
    return f"go on with 'gossamer job resume {short(job_id)}'"
