"""Exported files have an end: after a week they go, and those that wait on the disk get into object storage."""

from datetime import timedelta

from gossamer.blobs.seam import BlobsAway, NoSuchBlob
from gossamer.blobs.shelf import Shelf
from gossamer.model.export import KEPT
from gossamer.store import exports
from gossamer.store.database import Database
from gossamer.telemetry import get_logger

_UNFINISHED = timedelta(hours=6)
# Whatever the rows say, or no longer say: on the disk nothing gets much older than was promised.
_FORGOTTEN = KEPT + timedelta(days=1)

log = get_logger(__name__)


class FileSweeper:
    """Called now and then by whoever works the home. What a pass leaves undone, the next one does."""

    def __init__(self, database: Database, shelf: Shelf) -> None:
        self._database = database
        self._shelf = shelf

    async def sweep(self) -> int:
        """Remove what is due, bring away what waits; how many files that was."""
        done = 0
        try:
            done += await self._remove()
            done += await self._bring_away()
        except BlobsAway as error:
            log.warning("storage.away", why=str(error))
        done += await self._shelf.local.remove_unfinished(_UNFINISHED)
        return done + await self._shelf.local.remove_old(_FORGOTTEN)

    async def _remove(self) -> int:
        due = await self._database.read(exports.expired, self._shelf.home, remote=self._shelf.remote is not None)
        for export in due:
            await self._shelf.delete(export)
            await self._database.write(exports.forget_file, export.id)
            log.info("export.removed", export=export.id.hex, name=export.name)
        return len(due)

    async def _bring_away(self) -> int:
        if self._shelf.remote is None:
            return 0
        waiting = await self._database.read(exports.spooled, self._shelf.home)
        for export in waiting:
            try:
                await self._shelf.send(export.key)
            except NoSuchBlob:
                await self._database.write(exports.forget_file, export.id)
                continue
            if await self._database.write(exports.moved, export.id):
                log.info("export.moved", export=export.id.hex, name=export.name)
            await self._shelf.drop(export.key)
        return len(waiting)
