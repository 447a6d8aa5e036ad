"""Exported files: deleted after a week, and moved to object storage if they wait on the disk."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, suppress
from datetime import timedelta

from gossamer.blobs.export_store import ExportStore
from gossamer.blobs.page_files import PageFiles
from gossamer.blobs.seam import BlobsAway, NoSuchBlob
from gossamer.db.database import Database
from gossamer.logging import get_logger
from gossamer.model.export import KEPT
from gossamer.store import exports

_EVERY = 60.0  # seconds between passes
_WAITED_FOR = 10.0  # seconds somebody waits for files to go, at most
_UNFINISHED = timedelta(hours=6)
# Whatever the rows say, or no longer say: on the disk nothing gets much older than was promised.
_FORGOTTEN = KEPT + timedelta(days=1)

log = get_logger(__name__)


class FileSweeper:
    """Deletes expired files; called regularly by the worker. A pass continues where the last one stopped."""

    def __init__(self, database: Database, export_store: ExportStore, pages: PageFiles | None = None) -> None:
        self._database = database
        self._export_store = export_store
        self._pages = pages

    async def run(self, turn: Callable[[], AbstractAsyncContextManager[None]]) -> None:
        """Sweep for ever, as a separate task: a storage that does not respond delays only this one."""
        while True:
            async with turn():
                await self.sweep()
            await asyncio.sleep(_EVERY)

    async def remove_now(self) -> int:
        """Remove expired files while a caller waits; return the number of files left for later."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_WAITED_FOR):
                await self._remove()
        await self._tidy()
        return await self._database.read(exports.count_expired)

    async def sweep(self) -> int:
        """Remove what is due, bring away what waits; how many files that was."""
        done = 0
        done += await self._remove()
        done += await self._bring_away()
        done += await self._sweep_pages()
        return done + await self._tidy()

    async def _sweep_pages(self) -> int:
        try:
            return await self._pages.sweep() if self._pages else 0
        except BlobsAway as error:
            log.warning("storage.away", key="pages", why=str(error))
            return 0

    async def _tidy(self) -> int:
        local = self._export_store.local
        return await local.remove_unfinished(_UNFINISHED) + await local.remove_old(_FORGOTTEN)

    async def _remove(self) -> int:
        due = await self._database.read(
            exports.expired, self._export_store.home, remote=self._export_store.remote is not None
        )
        removed = 0
        for export in due:
            try:
                await self._export_store.delete(export)
            except BlobsAway as error:
                log.warning("storage.away", export=export.id.hex, why=str(error))
                continue
            await self._database.write(exports.forget_file, export)
            log.info("export.removed", export=export.id.hex, name=export.name)
            removed += 1
        return removed

    async def _bring_away(self) -> int:
        if self._export_store.remote is None:
            return 0
        waiting = await self._database.read(exports.spooled, self._export_store.home)
        moved = 0
        for export in waiting:
            assert export.blob_key  # noqa: S101 - asked for
            try:
                await self._export_store.send(export.blob_key)
                if await self._database.write(exports.moved, export):
                    moved += 1
                    log.info("export.moved", export=export.id.hex, name=export.name)
                    await self._export_store.drop(export.blob_key)
                else:
                    # Its job was deleted while it was sent, and whoever removed the file did not find this one.
                    await self._export_store.delete(export)
            except NoSuchBlob:
                await self._database.write(exports.forget_file, export)
            except BlobsAway as error:
                log.warning("storage.away", export=export.id.hex, why=str(error))
        return moved
