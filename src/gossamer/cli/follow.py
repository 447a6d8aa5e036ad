"""Following a job to its end, and working it if nobody else does."""

import asyncio
import signal
from contextlib import suppress
from datetime import timedelta
from uuid import UUID

from gossamer.assembly import App
from gossamer.cli import formatting
from gossamer.cli.screen import Screen
from gossamer.db.health import working_home
from gossamer.errors import StorageAway, UserError
from gossamer.intake import control
from gossamer.model.ids import short
from gossamer.model.job import Job, Progress
from gossamer.model.states import OVER, JobState
from gossamer.store import counters, exports, jobs, outbox, reservations, visits
from gossamer.work.member import CLUSTER
from gossamer.work.runner import Runner

_LOOK = 0.25  # seconds between looks at the rows
_FOR_FILES = 60.0  # seconds that the files of a job may take which are made by themselves
_FOR_MESSAGES = 15.0  # seconds in which what webhooks are to be told may be sent


async def worked_by_cluster(app: App) -> bool:
    """Whether workers of a cluster are at work on this database: then nobody else may be."""
    return await app.database.read(working_home) == CLUSTER


class Follower:
    """Shows a job until it is over or paused. Whoever finds the home without a runner becomes it."""

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
        """The job as it is at the end: over, paused, or still running if we were told to leave."""
        loop = asyncio.get_running_loop()
        self._app.database.patience.lasts = self._app.settings.database_patience
        loop.add_signal_handler(signal.SIGINT, self._interrupt)
        for name in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(name, self._go)
        waiting = asyncio.create_task(self._tell_of_waiting())
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
                # What it asked for is done: another Ctrl-C has nothing left to stop, and must not cut off what we say.
                signal.signal(signal.SIGINT, signal.SIG_IGN)

    def _interrupt(self) -> None:
        self._interrupts += 1
        self._lose_patience()

    def _go(self) -> None:
        self._leave = True
        self._lose_patience()

    def _lose_patience(self) -> None:
        """Somebody wants to leave: a database that is away is not waited for any longer."""
        if self._app.database.patience.is_away:
            self._app.database.patience.lasts = timedelta()

    async def _tell_of_waiting(self) -> None:
        """What is shown is old while the database is away: say so."""
        while True:
            await asyncio.sleep(1)
            if self._app.database.patience.is_away and self._shown:
                note = "The database does not answer: waiting for it. Nothing is lost; Ctrl-C leaves."
                self._screen.show(*self._shown, note)

    async def _watch(self) -> Job:
        asked = False
        await self._keep_working()
        while True:
            job = await self._show()
            if job.state in OVER or job.state is JobState.PAUSED or self._leave:
                await self._let_files_be_made()
                await self._let_messages_go()
                return job
            if self._interrupts > 1:
                return await self._stop_at_once(job)
            if self._interrupts and not asked:
                asked = True
                with suppress(UserError):  # it ended or was paused in this very moment: the next look shows it
                    await control.pause(self._app.database, job)
            await self._keep_working()
            await asyncio.sleep(_LOOK)

    async def _let_files_be_made(self) -> None:
        """What is made by itself at the end of a job: if we work it, nobody else will."""
        until = asyncio.get_running_loop().time() + _FOR_FILES
        while self._runner and not self._leave and not self._interrupts:
            home = self._app.home_name
            in_time = asyncio.get_running_loop().time() < until
            if not in_time or not await self._app.database.read(exports.any_open, home, self._job_id):
                return
            await asyncio.sleep(_LOOK / 5)

    async def _let_messages_go(self) -> None:
        """What webhooks are to be told of it is tried once while we are here; the rest waits for whoever works next."""
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
        progress = await self._app.foresight.add(self._app.database, job, progress)
        note = job.reason
        if job.state is JobState.PAUSING:
            busy = await self._app.database.read(visits.busy_of_job, self._job_id)
            more = "again" if self._interrupts else "twice"
            paid = await self._app.database.read(reservations.under_way, self._job_id)
            note = f"{note} Pausing... {formatting.finishing(busy, paid)}. ".lstrip()
            note += f"Ctrl-C {more} stops at once; nothing is lost either way."
        elif self._runner is None and not note:
            note = (
                "Worked by the cluster."
                if self._cluster
                else "Worked by the gossamer that was started first on this home, with its settings."
            )
        self._shown = (job, progress)
        self._screen.show(job, progress, note)
        return job

    async def _keep_working(self) -> None:
        """Become the runner if there is none; notice if we are it and it has failed."""
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
        """Second Ctrl-C: kill the workers. Their pages stay pending, and the job is paused."""
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
