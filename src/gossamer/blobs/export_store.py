"""Finished export files: on the disk of a home, or in object storage with that disk as its waiting room."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from gossamer.blobs.folder import FolderBlobs
from gossamer.blobs.seam import Blob, Blobs, BlobsAway
from gossamer.logging import get_logger
from gossamer.model.export import Export

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A complete file and its location."""

    blob: Blob
    home: str  # "" for object storage
    spooled: bool = False  # lies here because object storage is away


class ExportStore:
    """The export files of one data folder."""

    def __init__(self, home: str, local: FolderBlobs, remote: Blobs | None = None) -> None:
        self.home = home
        self.local = local
        self.remote = remote

    @property
    def owner(self) -> str:
        """The data folder that has to make a file for it to be stored correctly; "" if any may."""
        return "" if self.remote else self.home

    async def keep(self, key: str, chunks: AsyncIterator[bytes]) -> StoredFile:
        """Store a file, first on the disk: so reading rows does not wait for a network, and an outage loses nothing."""
        blob = await self.local.put(key, chunks)
        if self.remote is None:
            return StoredFile(blob, self.home)
        try:
            await self.remote.put(key, self.local.open(key))
        except BlobsAway as error:
            log.warning("storage.away", key=key, why=str(error))
            return StoredFile(blob, self.home, spooled=True)
        await self.local.delete(key)
        return StoredFile(blob, "")

    async def send(self, key: str) -> None:
        """Copy a file from the disk into object storage; the local one stays until it is `dropped`."""
        if self.remote is not None:
            await self.remote.put(key, self.local.open(key))

    async def drop(self, key: str) -> None:
        """Remove the file from the disk."""
        await self.local.delete(key)

    async def delete(self, export: Export) -> None:
        """Remove a file from all places that can be reached from here."""
        if not export.blob_key:
            return
        if export.home in ("", self.home):  # what goes to object storage is made on a disk
            await self.local.delete(export.blob_key)
        if self.remote and (export.spooled or not export.home):
            await self.remote.delete(export.blob_key)

    def path(self, export: Export) -> Path | None:
        """Return the path of the file, if it is on the disk of this data folder."""
        return self.local.path(export.blob_key) if export.blob_key and export.home == self.home else None

    async def link(self, export: Export, now: datetime) -> str | None:
        """Return a new URL to fetch the file from; None if it is not available from here."""
        path = self.path(export)
        if path is not None and _is_good(export, now):
            return path.as_uri() if path.exists() else None
        return await self.signed(export, now)

    async def signed(self, export: Export, now: datetime) -> str | None:
        """Return a signed URL that is valid as long as the file is kept; it begins with `/` for a file on the disk."""
        path = self.path(export)
        blobs = self.local if path is not None and path.exists() else None if export.home else self.remote
        if blobs is None or not export.blob_key or not export.expires_at or not _is_good(export, now):
            return None
        return await blobs.link(export.blob_key, max(export.expires_at - now, timedelta(seconds=1)))


def _is_good(export: Export, now: datetime) -> bool:
    return export.is_there and export.expires_at is not None and export.expires_at > now
