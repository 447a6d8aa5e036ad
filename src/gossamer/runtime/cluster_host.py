"""One instance of a cluster, usually one per machine: starts working processes and looks after them.

It walks nothing itself, so that giving out work, closing jobs and making files do not wait for pages to be read.
"""

import asyncio
from datetime import timedelta

from gossamer.db.database import Database
from gossamer.dispatch import Dispatcher
from gossamer.logging import get_logger
from gossamer.runtime.cluster_leader import ClusterLeader
from gossamer.runtime.concluding import Concluder
from gossamer.runtime.outage_alerts import DatabaseWatch, StorageWatch
from gossamer.runtime.process_pool import ProcessPool
from gossamer.runtime.services import Cleanup, ExportService, WebhookService, Where, run_services
from gossamer.store import counters

ENDLESS = timedelta(days=3650)  # patience with a database: nobody is here to start us again by hand

log = get_logger(__name__)


class ClusterHost:
    """`optional` are the services that not every instance has: one without the desk lane makes no files."""

    def __init__(
        self,
        database: Database,
        host: str,
        process_pool: ProcessPool,
        keeper: ClusterLeader,
        dispatcher: Dispatcher,
        cleanup: Cleanup,
        *optional: ExportService | WebhookService | Concluder | DatabaseWatch | StorageWatch,
    ) -> None:
        self._database = database
        self._host = host
        self._process_pool = process_pool
        self._keeper = keeper
        self._dispatcher = dispatcher
        self._owners = (process_pool, cleanup, *optional)

    async def run(self, stop: asyncio.Event) -> None:
        """Until `stop`, or until something fails that another start might mend."""
        self._database.retries.limit = ENDLESS
        self._process_pool.start()
        stopped = asyncio.create_task(stop.wait())
        keeping = asyncio.create_task(self._keeper.run())
        services = asyncio.create_task(run_services(Where.INSTANCE, self._owners))
        try:
            done, _ = await asyncio.wait([stopped, keeping, services], return_when=asyncio.FIRST_COMPLETED)
        finally:
            await _cancel([stopped, services])
            self._database.retries.limit = timedelta()  # somebody waits for us to end
            # Whoever gives out work goes on until our own processes have handed theirs back.
            await self._process_pool.stop()
            await _cancel([keeping])
            await self._dispatcher.close()
        for task in done - {stopped}:
            task.result()
        await self._database.write(counters.take_running)
        log.info("cluster.stopped", host=self._host)


async def _cancel(tasks: list["asyncio.Task[None] | asyncio.Task[bool]"]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
