"""Beside the requests: bills of jobs that have ended are made up, and jobs that wait are let in."""

import asyncio
from collections.abc import Mapping
from datetime import timedelta

from gossamer.errors import StorageAway
from gossamer.intake.quota import let_in
from gossamer.model.account import Quota
from gossamer.store import accounts, usage
from gossamer.store.database import Database
from gossamer.store.tx import Tx
from gossamer.telemetry import get_logger

EVERY = 0.5  # seconds
KEPT = timedelta(days=90)
_FORGET_EVERY = 7_200  # rounds

log = get_logger(__name__)


class Housekeeper:
    """Several servers of one database may do this at once: whoever comes second finds it done."""

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


def _forget_old(tx: Tx) -> int:
    return usage.forget(tx, tx.now - KEPT)
