"""Where files are kept that people fetch by a link, where that is not the home."""

import asyncio
import secrets
import time
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from gossamer.assembly import object_storage
from gossamer.cli.checkup.finding import Finding, ok, warn
from gossamer.settings import Settings

if TYPE_CHECKING:
    from gossamer.blobs.objects import ObjectBlobs

_PATIENCE = 5.0  # seconds for everything that is asked
_MERCY = 2.0  # to remove what was written, though it could not be read
_FOLDER = "exports/doctor"  # a rule of the bucket that removes old files removes what is left here, too
_NEXT = "Check GOSSAMER_STORAGE_URL, GOSSAMER_STORAGE_ENDPOINT, the keys, and what they may do in this bucket."


async def check_storage(settings: Settings) -> list[Finding]:
    objects = object_storage(settings)
    if objects is None:
        return [ok("storage", "No object storage is set: files are kept in the home.")]
    from gossamer.blobs.seam import BlobsAway, NoSuchBlob

    where = _shown(settings.storage_url or "")
    began = time.monotonic()
    try:
        async with asyncio.timeout(_PATIENCE):
            same = await _there_and_back(objects)
    except TimeoutError:
        why = f"It has not answered within {_PATIENCE:.0f} seconds."
    except (BlobsAway, NoSuchBlob) as error:
        why = str(error)
    else:
        if same:
            took = (time.monotonic() - began) * 1000
            return [ok("storage", f"{where} takes, gives and removes a small file in {took:.0f} ms.")]
        why = "What was read is not what was written."
    return [warn("storage", f"{where}: {why} Files are kept in the home until it can be used.", _NEXT)]


async def _there_and_back(objects: "ObjectBlobs") -> bool:
    """Whether a small file that was written is what is read; it is removed again."""
    key, body = f"{_FOLDER}/{secrets.token_hex(8)}", secrets.token_bytes(64)
    await objects.put(key, [body])
    try:
        return b"".join([chunk async for chunk in objects.open(key)]) == body
    finally:
        async with asyncio.timeout(_MERCY):
            await objects.delete(key)


def _shown(url: str) -> str:
    """The address without what might be secret in it."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.hostname or ''}{parts.path}"
