"""Following a job that a server works: a display, and a way to pause it."""

import asyncio
import signal
from contextlib import suppress
from typing import TYPE_CHECKING
from uuid import UUID

from gossamer.cli import words
from gossamer.cli.screen import Screen
from gossamer.client import ClientError, ServerError, TooManyRequests, Unreachable
from gossamer.errors import GossamerError
from gossamer.model.job import Job
from gossamer.model.states import OVER, JobState
from gossamer.questions.jobs import Standing, standing

if TYPE_CHECKING:
    from gossamer.cli.there import RemoteHome

_PATIENCE = 600.0  # seconds for which a server that does not answer is waited for


class RemoteFollower:
    """As with a job that is worked here, the first Ctrl-C pauses it. The second one leaves."""

    def __init__(self, home: "RemoteHome", job_id: UUID, screen: Screen) -> None:
        self._home = home
        self._job_id = job_id
        self._screen = screen
        self._interrupts = 0
        self._left = asyncio.Event()
        self._shown: Standing | None = None

    async def follow(self) -> Job:
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, self._interrupt)
        for name in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(name, self._left.set)
        try:
            with self._screen:
                return await self._watch()
        finally:
            for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                loop.remove_signal_handler(name)

    def _interrupt(self) -> None:
        self._interrupts += 1
        if self._interrupts > 1:
            self._left.set()

    async def _watch(self) -> Job:
        asked = False
        while True:
            now = await self._look()
            self._screen.show(now.job, now.progress, self._note(now))
            if now.job.state in OVER or now.job.state is JobState.PAUSED or self._left.is_set():
                return now.job
            if self._interrupts and not asked:
                asked = True
                with suppress(ClientError):  # it ended or was paused in this very moment: the next look shows it
                    await self._home.pause(now.job)
            with suppress(TimeoutError):
                async with asyncio.timeout(self._home.pace):
                    await self._left.wait()

    async def _look(self) -> Standing:
        """How it stands. A server that does not answer is waited for: the job goes on without us."""
        loop = asyncio.get_running_loop()
        until = loop.time() + _PATIENCE
        while True:
            try:
                self._shown = await self._home.ask(standing, str(self._job_id))
            except (Unreachable, ServerError, TooManyRequests) as error:
                if self._shown is None or self._interrupts or self._left.is_set() or loop.time() > until:
                    raise GossamerError(
                        f"{error} The job goes on there, at the latest when the server is back: look again with "
                        "'gossamer job list'."
                    ) from error
                note = "The server does not answer: waiting. The job goes on when it is back or before; Ctrl-C leaves."
                self._screen.show(self._shown.job, self._shown.progress, note)
                await asyncio.sleep(self._home.pace)
            else:
                return self._shown

    def _note(self, now: Standing) -> str:
        if now.job.state is JobState.PAUSING:
            note = f"{now.job.reason} Pausing... {words.finishing(now.busy, now.paid)}. ".lstrip()
            return note + "Ctrl-C leaves; nothing is lost either way."
        if now.job.state is JobState.PENDING:
            return now.job.reason or "It waits for another job of the account to end."
        nobody = "Nobody works the jobs of this server at the moment." if now.runner is None else ""
        return now.job.reason or nobody or f"Worked by {self._home.client.url}."
