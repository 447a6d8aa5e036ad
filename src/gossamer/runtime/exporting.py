"""Making of export files from the rows of jobs, each in a background slot; repeated if their process dies."""

import asyncio
import os
import sys
import threading
from collections.abc import AsyncIterator, Collection
from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING
from uuid import UUID, uuid4

from gossamer.billing.prices import PriceList
from gossamer.blobs.export_store import ExportStore, StoredFile
from gossamer.blobs.seam import BlobsAway
from gossamer.db.database import Database, SqliteDatabase
from gossamer.db.transactions import Tx
from gossamer.errors import GossamerError, StorageAway, UserError
from gossamer.exports.formats import FORMATS
from gossamer.exports.make import USUAL, Order, expected, make_file
from gossamer.exports.orders import order_of, table_named
from gossamer.logging import get_logger
from gossamer.model.export import RESULT, Export, ExportRequest, ExportState
from gossamer.model.ids import short
from gossamer.model.job import Job
from gossamer.model.states import JobState
from gossamer.model.worker import DeskKind
from gossamer.runtime.background_slots import BackgroundSlots
from gossamer.store import exports, jobs
from gossamer.store.exports import MadeFile

if TYPE_CHECKING:
    from gossamer.recipes.page_results import ResultLines

LEASE = timedelta(seconds=20)
"""Time without a heartbeat after which a maker counts as dead; its process id may be of another machine."""

_BEAT = 1.0  # seconds between heartbeats
_LOOK = 0.5  # seconds between checks for new exports
_TAKE_BACK = 5.0  # seconds between checks for exports whose makers have died
_ASIDE = 10  # nice value, so that crawls come first

log = get_logger(__name__)


class Exporter:
    """Makes the files of a data folder, on its own database connection."""

    def __init__(
        self,
        database: Database,
        export_store: ExportStore,
        worker: str,
        background_slots: BackgroundSlots | None = None,
        prices: PriceList = USUAL,
        results: "ResultLines | None" = None,
    ) -> None:
        self._database = database
        self._export_store = export_store
        self._worker = worker
        self._background_slots = background_slots or BackgroundSlots(database, worker)
        self._prices = prices
        self._results = results
        self._rows_done: dict[UUID, int] = {}  # by lease, of those being made
        self._starting = 0  # waiting for a slot, or about to claim a file

    async def run(self) -> None:
        """Run until cancelled; then an unfinished file is given back, to be made by another exporter."""
        if isinstance(self._database, SqliteDatabase):
            await self._database.read(_step_aside)
        clock = asyncio.get_running_loop().time
        looks_at = clock()
        making: set[asyncio.Task[Export | None]] = set()
        try:
            while True:
                if clock() >= looks_at:
                    looks_at = clock() + _TAKE_BACK
                    await self.take_back()
                making |= await self._begin(self._background_slots.size - len(making))
                await asyncio.sleep(_LOOK)
                for task in [task for task in making if task.done()]:
                    making.discard(task)
                    task.result()
        finally:
            for task in making:
                task.cancel()
            await asyncio.gather(*making, return_exceptions=True)

    async def _begin(self, most: int) -> set["asyncio.Task[Export | None]"]:
        """Start one task for each waiting file for which no slot was requested here."""
        waiting = await self._database.read(exports.count_waiting, self._export_store.home) if most > 0 else 0
        return {asyncio.create_task(self.make_next()) for _ in range(min(most, waiting - self._starting))}

    async def make_all(self) -> None:
        """Make all files of this data folder, then end; includes files whose maker has died."""
        await self.take_back()
        while await self._database.read(exports.any_open, self._export_store.home):
            if await self.make_next() is None:
                await asyncio.sleep(_BEAT)
                await self.take_back()

    async def take_back(self) -> None:
        """Release the exports of dead workers, so that they are made again."""
        if await self._database.read(exports.any_lost):
            await self._database.write(exports.take_back)

    async def make_next(self, only: Collection[UUID] | None = None) -> Export | None:
        """Make the oldest waiting file, or one of `only`; None if there is none."""
        if not await self._database.read(exports.any_open, self._export_store.home):
            return None
        self._starting += 1
        starting = True
        try:
            async with self._background_slots.hold(DeskKind.EXPORT):
                export = await self._claim(only)
                self._starting -= 1
                starting = False
                if export is not None:
                    await self._make(export)
                return export
        finally:
            self._starting -= starting

    async def _claim(self, only: Collection[UUID] | None) -> Export | None:
        for lost in await self._database.read(exports.left_behind, self._export_store.home):
            await self._remove(lost)
        token = uuid4()  # made here, because the transaction may be repeated
        return await self._database.write(exports.claim, self._worker, self._export_store.home, token, LEASE, only)

    async def _make(self, export: Export) -> None:
        try:
            kept = await self._made(export)
            if kept and await self._finished(export, kept):
                rows, size = self._rows(export), kept.blob.size
                log.info("export.made", export=export.id.hex, name=export.name, rows=rows, bytes=size)
            else:
                log.info("export.stopped", export=export.id.hex, name=export.name)
                await self._remove(export)
        except asyncio.CancelledError:
            self._database.retries.limit = timedelta()  # a shutdown does not wait long
            await asyncio.shield(self._export_store.drop(_key(export)))  # remote copies are left to the next maker
            with suppress(StorageAway):  # then it is taken back from us
                await asyncio.shield(self._database.write(exports.give_back, export))
            raise
        except StorageAway:
            raise
        except Exception as error:
            # One file that cannot be made must not keep the others from being made.
            log.exception("export.failed", export=export.id.hex, name=export.name)
            await self._database.write(exports.fail, export, _sentence(error))
            await self._remove(export)
        finally:
            self._rows_done.pop(_lease(export), None)

    async def _remove(self, export: Export) -> None:
        """Delete the file of a failed try, never that of another try."""
        try:
            await self._export_store.delete(export)
        except BlobsAway as error:
            log.warning("storage.away", export=export.id.hex, why=str(error))  # swept later, if the row still knows it
        else:
            await self._database.write(exports.forget_file, export)

    async def _made(self, export: Export) -> StoredFile | None:
        """Return the complete file; None if the export was cancelled meanwhile."""
        chunks, total = await self._content(export)
        self._count(_lease(export), 0)
        if not await self._beat(export, total):
            return None
        making = asyncio.ensure_future(self._export_store.keep(_key(export), chunks))
        try:
            while not (await asyncio.wait([making], timeout=_BEAT))[0]:
                if not await self._beat(export, total):
                    return None
            return making.result()
        finally:
            if not making.done():
                making.cancel()
                await asyncio.wait([making])

    async def make_automatic(self, job: Job, wanted: ExportRequest, key: str) -> MadeFile:
        """Make a file that has no row yet, for a job as it will be when it is completed."""
        token = uuid4()
        self._count(token, 0)
        try:
            chunks = await self._automatic(job, wanted, token)
            kept = await self._export_store.keep(key, chunks)
        except (StorageAway, asyncio.CancelledError):
            raise
        except Exception as error:
            # A file that cannot be made does not keep the job from its end.
            log.exception("export.failed", job=short(job.id), name=wanted.name)
            return MadeFile(wanted, key, reason=_sentence(error))
        else:
            size, sha256 = kept.blob.size, kept.blob.sha256
            return MadeFile(wanted, key, kept.home, kept.spooled, size, sha256, self._rows_done[token])
        finally:
            self._rows_done.pop(token, None)

    async def _automatic(self, job: Job, wanted: ExportRequest, token: UUID) -> AsyncIterator[bytes]:
        count = partial(self._count, token)
        if wanted.type == RESULT and self._results is not None:
            return self._results.lines(job.id, count)
        order = Order(job, table_named(wanted.type, job.recipe), FORMATS[wanted.format])
        workroom = self._export_store.local.workroom()
        total = await expected(self._database, order)
        return make_file(self._database, order, count, lines_expected=total, folder=workroom, prices=self._prices)

    async def _content(self, export: Export) -> tuple[AsyncIterator[bytes], int]:
        """Return the contents of the file, and the number of rows as far as it can be determined quickly."""
        count = partial(self._count, _lease(export))
        if export.type == RESULT:
            if self._results is None:
                raise UserError("export.type", "Files of single pages are not made here.")
            return self._results.lines(export.job_id, count), 1
        order = await self._order(export)
        total = await expected(self._database, order)
        workroom = self._export_store.local.workroom()
        made = make_file(self._database, order, count, lines_expected=total, folder=workroom, prices=self._prices)
        return made, total

    async def _order(self, export: Export) -> Order:
        job = await self._database.read(jobs.get, export.job_id)
        since = UUID(export.options["since"]) if export.options.get("since") else None
        earlier = await self._database.read(jobs.get, since) if since else None
        assert job is not None  # noqa: S101 - an export goes with its job
        if since and (earlier is None or earlier.state is JobState.ARCHIVED):
            # Without its rows everything would be new.
            raise UserError("results.deleted", f"The results of job {short(since)} were deleted.")
        return order_of(job, export, earlier)

    def _count(self, lease: UUID, rows: int) -> None:
        self._rows_done[lease] = rows

    def _rows(self, export: Export) -> int:
        return self._rows_done.get(_lease(export), 0)

    async def _beat(self, export: Export, total: int) -> bool:
        return await self._database.write(exports.beat, export, self._rows(export), total, LEASE)

    async def _finished(self, export: Export, kept: StoredFile) -> bool:
        done = await self._database.write(
            exports.finish,
            export,
            rows=self._rows(export),
            size=kept.blob.size,
            sha256=kept.blob.sha256,
            home=kept.home,
            spooled=kept.spooled,
            kept=export.kept,
        )
        if done:
            return True
        now = await self._database.read(exports.get, export.id)
        # The first write of a repeated transaction has succeeded.
        return now is not None and now.state is ExportState.DONE and now.blob_key == export.blob_key


def _key(export: Export) -> str:
    assert export.blob_key  # noqa: S101 - it is claimed
    return export.blob_key


def _lease(export: Export) -> UUID:
    assert export.lease  # noqa: S101 - it is claimed
    return export.lease


def _sentence(error: Exception) -> str:
    if isinstance(error, OSError):
        return f"It could not be written: {error.strerror or error}."
    return str(error) if isinstance(error, GossamerError) else f"Internal error ({type(error).__name__}). See the log."


def _step_aside(_: Tx) -> None:
    """Lower the priority of the reading thread: crawls come first."""
    if sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _ASIDE)
