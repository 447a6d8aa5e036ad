"""Files of single pages, kept for a day: HTML and bodies as they arrived, written before their page is settled.

Their location is not stored in a row: it follows from the job, the page and the name. A file without
a row, left by a crashed worker, is never served and is removed with the others.
"""

from datetime import timedelta
from uuid import UUID

from gossamer.blobs.folder import FolderBlobs
from gossamer.blobs.objects import ObjectBlobs
from gossamer.blobs.seam import BlobsAway, NoSuchBlob
from gossamer.logging import get_logger
from gossamer.model.record import PageFile

KEPT = timedelta(hours=24)
_UNFINISHED = timedelta(hours=1)
_ALL = "pages"

log = get_logger(__name__)


class PageFiles:
    """The page files of a home, or of all workers that share one object storage."""

    def __init__(self, blobs: FolderBlobs | ObjectBlobs) -> None:
        self._blobs = blobs

    async def keep(self, job_id: UUID, page_key: bytes, files: tuple[PageFile, ...]) -> None:
        """Write the files. An unavailable storage loses the files but not the page, which may have been paid for."""
        for file in files:
            try:
                await self._blobs.put(_key(job_id, page_key, file.name), [file.content])
            except BlobsAway as error:
                log.warning("storage.away", key=_key(job_id, page_key, file.name), why=str(error))

    async def read(self, job_id: UUID, page_key: bytes, name: str) -> bytes | None:
        """Return a whole file, at most as large as a page may be; None if it does not exist."""
        try:
            return b"".join([chunk async for chunk in self._blobs.open(_key(job_id, page_key, name))])
        except NoSuchBlob:
            return None

    async def forget(self, job_id: UUID, page_key: bytes | None = None) -> int:
        """Remove the files of a page, or of a whole job; returns how many."""
        under = f"{_ALL}/{job_id.hex}" + (f"/{page_key.hex()}" if page_key else "")
        return await self._blobs.remove_under(under)

    async def sweep(self) -> int:
        """Remove files that were kept long enough; returns how many."""
        if isinstance(self._blobs, FolderBlobs):
            await self._blobs.remove_unfinished(_UNFINISHED)
        return await self._blobs.remove_old(KEPT, _ALL)


def _key(job_id: UUID, page_key: bytes, name: str) -> str:
    return f"{_ALL}/{job_id.hex}/{page_key.hex()}/{name}"
