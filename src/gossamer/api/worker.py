"""The runner inside a server: works on the jobs of the data folder while no other process does."""

import asyncio
from contextlib import suppress

from gossamer.app import App
from gossamer.crawl.express import Express
from gossamer.errors import GossamerError
from gossamer.logging import get_logger
from gossamer.runtime.runner import Runner

_LOOK = 1.0  # seconds after which a home that somebody else works is looked at again
_AGAIN = 5.0  # and after which one is tried again that could not be worked

log = get_logger(__name__)


class HomeWorker:
    def __init__(self, app: App, express: Express, processes: int | None = None) -> None:
        self._app = app
        self._express = express
        self._processes = processes
        self.is_working = False

    async def run(self) -> None:
        """For ever, until it is cancelled: then the children settle and hand back what they have."""
        while True:
            if not self._app.lock.take():
                await asyncio.sleep(_LOOK)
                continue
            runner = self._app.runner(self._processes, self._express)
            pause = _AGAIN
            try:
                if await runner.start():
                    pause = await self._work(runner)
            except GossamerError as error:
                log.error("runner.failed", why=str(error))
            finally:
                self._app.lock.release()
            await asyncio.sleep(pause)

    async def _work(self, runner: Runner) -> float:
        self.is_working = True
        looking = asyncio.create_task(runner.look_after())
        try:
            await looking
        finally:
            self.is_working = False
            looking.cancel()
            with suppress(asyncio.CancelledError, GossamerError):
                await looking
            await runner.stop()
        return _LOOK
