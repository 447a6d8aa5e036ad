"""What a message carries beside what its row says: the result of a scrape, read when it is sent.

So nothing of a page and no link that opens it lies in the log of messages, and what was deleted meanwhile is not sent.
"""

from typing import Any
from uuid import UUID

import orjson

from gossamer.blobs.export_store import Shelf
from gossamer.blobs.seam import BlobsAway, NoSuchBlob
from gossamer.clock import Clock
from gossamer.db.database import Database
from gossamer.logging import get_logger
from gossamer.model.export import Export
from gossamer.model.webhook import Delivery, EventType
from gossamer.store import exports

LARGEST = 64 * 1024  # bytes of a result that goes with its message

log = get_logger(__name__)


class Enclosures:
    """`address` is that of the server for people outside, as far as this process knows it."""

    def __init__(self, database: Database, shelf: Shelf, clock: Clock, address: str) -> None:
        self._database = database
        self._shelf = shelf
        self._clock = clock
        self._address = address

    async def body(self, message: Delivery) -> str:
        if message.type is not EventType.RESULT_READY:
            return message.body
        told = orjson.loads(message.body)
        if "data" not in told:
            return message.body  # what it said was forgotten
        export = await self._database.read(exports.get, UUID(told["data"]["export_id"]))
        told["data"] |= {"result": None, "url": None, **(await self._about(export) if export else {})}
        return orjson.dumps(told).decode()

    async def _about(self, export: Export) -> dict[str, Any]:
        link = await self._shelf.signed(export, self._clock.now())
        if link is None:
            return {}  # deleted, or on the disk of another machine
        url = f"{self._address}{link}" if link.startswith("/") else link
        return {"url": url, "result": await self._small(export)}

    async def _small(self, export: Export) -> Any:
        """The result itself, if it is that of one page and not large."""
        if export.rows_done != 1 or not export.blob_key or (export.size or 0) > LARGEST:
            return None
        blobs = self._shelf.local if self._shelf.path(export) else self._shelf.remote
        if blobs is None:
            return None
        try:
            return orjson.loads(b"".join([chunk async for chunk in blobs.open(export.blob_key)]))
        except (NoSuchBlob, BlobsAway) as error:
            log.warning("storage.away", export=export.id.hex, why=str(error))  # there is its address still
            return None
