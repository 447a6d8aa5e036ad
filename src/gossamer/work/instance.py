"""One instance of a cluster, usually one per machine: starts working processes and looks after them.

It walks nothing itself, so that giving out work, closing jobs and making files do not wait for pages to be read.
"""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from functools import partial

from gossamer.db.database import Database
from gossamer.deliver.sender import Sender
from gossamer.dispatch import Dispatcher
from gossamer.logging import get_logger
from gossamer.model.desk import DeskKind
from gossamer.retain.files import FileSweeper
from gossamer.store import counters
from gossamer.work.crew import Crew
from gossamer.work.desk import Desk
from gossamer.work.exporting import Exporter
from gossamer.work.keeper import Keeper
from gossamer.work.outage import DatabaseWatch, StorageWatch

_EVERY = 0.5  # seconds between looks
ENDLESS = timedelta(days=3650)  # patience with a database: nobody is here to start us again by hand

log = get_logger(__name__)


class Instance:
    """`open_exporter` and `open_sender` are nothing where this instance makes no files and sends no messages."""

    def __init__(
        self,
        database: Database,
        host: str,
        crew: Crew,
        keeper: Keeper,
        dispatcher: Dispatcher,
        files: FileSweeper,
        open_exporter: Callable[[], AbstractAsyncContextManager[Exporter]] | None,
        open_sender: Callable[[], AbstractAsyncContextManager[Sender]] | None,
        desk: Desk,
        watch: DatabaseWatch,
        storage: StorageWatch | None,
    ) -> None:
        self._database = database
        self._host = host
        self._crew = crew
        self._keeper = keeper
        self._dispatcher = dispatcher
        self._files = files
        self._open_exporter = open_exporter
        self._open_sender = open_sender
        self._cleanup = partial(desk.turn, DeskKind.CLEANUP)
        self._watch = watch
        self._storage = storage

    async def run(self, stop: asyncio.Event) -> None:
        """Until `stop`, or until something fails that another start might mend."""
        self._database.patience.lasts = ENDLESS
        self._crew.start()
        stopped = asyncio.create_task(stop.wait())
        keeping = asyncio.create_task(self._keeper.run())
        others = (
            self._look(),
            self._make_files(),
            self._send(),
            self._files.run(self._cleanup),
            self._watch.run(),
            *([self._storage.run()] if self._storage else []),
        )
        loops = [keeping, *(asyncio.create_task(other) for other in others)]
        try:
            done, _ = await asyncio.wait([stopped, *loops], return_when=asyncio.FIRST_COMPLETED)
        finally:
            await _cancel([stopped, *loops[1:]])
            self._database.patience.lasts = timedelta()  # somebody waits for us to end
            # Whoever gives out work goes on until our own processes have handed theirs back.
            await self._crew.stop()
            await _cancel([keeping])
            await self._dispatcher.close()
        for task in done - {stopped}:
            task.result()
        await self._database.write(counters.take_running)
        log.info("cluster.stopped", host=self._host)

    async def _look(self) -> None:
        while True:
            await self._crew.look()
            await asyncio.sleep(_EVERY)

    async def _make_files(self) -> None:
        if self._open_exporter is None:
            await asyncio.Event().wait()
            return
        async with self._open_exporter() as exporter:
            await exporter.run()

    async def _send(self) -> None:
        if self._open_sender is None:
            await asyncio.Event().wait()
            return
        async with self._open_sender() as sender:
            await sender.run()


async def _cancel(tasks: list["asyncio.Task[None] | asyncio.Task[bool]"]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
