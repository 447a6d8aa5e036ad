"""Services of API servers: bill jobs that ended, start jobs that wait for their account's limits, and make files.

A server makes files only if no worker does.
"""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from datetime import timedelta

from gossamer.db.database import Database
from gossamer.db.transactions import Tx
from gossamer.errors import StorageAway
from gossamer.intake.limits import let_in
from gossamer.logging import get_logger
from gossamer.model.account import Quota
from gossamer.runtime.exporting import Exporter
from gossamer.runtime.home_lock import HomeLock
from gossamer.store import accounts, exports, usage

EVERY = 0.5  # seconds between rounds
_MAKE_EVERY = 1.0
KEPT = timedelta(days=90)
_FORGET_EVERY = 7_200  # rounds

log = get_logger(__name__)


class Housekeeper:
    """Regular maintenance. Several servers of one database may run it at once: the second finds the work done."""

    def __init__(self, database: Database, quota: Quota, prices: Mapping[str, int]) -> None:
        self._database = database
        self._quota = quota
        self._prices = prices

    async def run(self) -> None:
        rounds = 0
        while True:
            try:
                await self.look()
                if rounds % _FORGET_EVERY == 0:
                    await self._database.write(_forget_old)
                    await self._database.write(usage.set_month_anew)
            except StorageAway as error:
                log.warning("database.away", why=str(error))
            rounds += 1
            await asyncio.sleep(EVERY)

    async def look(self) -> None:
        for account, job_id in await self._database.read(usage.ended):
            await self._database.write(usage.close, account, job_id, self._prices)
        if await self._database.read(usage.waiting):
            await self._database.write(let_in, self._limits)

    def _limits(self, tx: Tx, account: str) -> Quota:
        return self._quota.of(accounts.get(tx, account))


class FileMaker:
    """Makes files requested here while no worker runs in this data folder: for example on a cluster's server.

    If they go to object storage, a worker makes them, if there is one.
    """

    def __init__(
        self,
        database: Database,
        lock: HomeLock,
        home: str,
        open_exporter: Callable[[], AbstractAsyncContextManager[Exporter]],
    ) -> None:
        self._database = database
        self._lock = lock
        self._home = home
        self._open_exporter = open_exporter

    async def run(self) -> None:
        while True:
            await asyncio.sleep(_MAKE_EVERY)
            try:
                if await self._is_needed():
                    async with self._open_exporter() as exporter:
                        await exporter.make_all()
            except StorageAway as error:
                log.warning("database.away", why=str(error))

    async def _is_needed(self) -> bool:
        if self._lock.holder() is not None:
            return False  # the runner of this data folder makes its files
        return await self._database.read(exports.any_unmade, self._home)


def _forget_old(tx: Tx) -> int:
    return usage.forget(tx, tx.now - KEPT)
