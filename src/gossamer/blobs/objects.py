"""Files in object storage (S3, GCS, Azure): private, complete or absent, fetched by presigned links."""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Coroutine, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeVar

from gossamer.blobs.atomic_files import CHUNK, in_chunks
from gossamer.blobs.seam import Blob, BlobsAway, NoSuchBlob, checked_key
from gossamer.errors import UserError

if TYPE_CHECKING:
    from obstore.store import ObjectStore

T = TypeVar("T")

PART = 8 * 1024 * 1024  # bytes sent at once; S3 wants 5 MB at least
_PARTS = 2  # side by side
LONGEST_LINK = timedelta(days=7)  # no object storage signs for longer

# The caller waits, or the file is kept here and sent later: a long timeout would help neither.
_RETRIES = {"max_retries": 2, "retry_timeout": timedelta(seconds=10)}
_TIMES = {"connect_timeout": timedelta(seconds=5), "timeout": timedelta(minutes=5)}
_ANSWER = 15.0  # seconds a storage has for what is small
_SLOWEST = 256 * 1024  # bytes a second it must take at least, or it counts as away
_LEAVE = 3.0  # seconds a call has to end after it was cancelled
_PROBED = "exports/probe"  # no file is ever put there
_BREATH = 0.2  # seconds the library needs to let go of one it was made to end


@dataclass(frozen=True, slots=True)
class StorageAccess:
    """Operator's settings of the object storage.

    Missing values are looked up where the storage's own tools look.
    """

    url: str  # s3://bucket/prefix, gs://bucket/prefix, az://container/prefix
    endpoint: str = ""
    region: str = ""
    access_key: str = ""
    secret_key: str = field(default="", repr=False)


def open_objects(access: StorageAccess) -> "ObjectBlobs":
    try:
        from obstore.store import from_url  # optional, and heavy
    except ImportError:
        raise UserError(
            "storage.library",
            f"Files in {access.url.partition(':')[0]} storage need a library that is not installed.",
            hint="Install it with \".venv/bin/pip install '.[s3]'\", or unset GOSSAMER_STORAGE_URL.",
        ) from None
    named = {
        "endpoint": access.endpoint,
        "region": access.region,
        "access_key_id": access.access_key,
        "secret_access_key": access.secret_key,
    }
    config: Any = {name: value for name, value in named.items() if value}
    options: Any = {**_TIMES, "allow_http": access.endpoint.startswith("http://")}
    retries: Any = _RETRIES
    try:
        store = from_url(access.url, config=config or None, client_options=options, retry_config=retries)
    except Exception as error:
        raise UserError(
            "storage.unusable",
            f"GOSSAMER_STORAGE_URL cannot be used: {_first_line(error)}.",
            hint="Give s3://bucket/prefix, gs://bucket/prefix or az://container/prefix, and the keys it needs.",
        ) from error
    return ObjectBlobs(store)


class ObjectBlobs:
    """One bucket, or a part of one. No call is left behind: the library would trip over it when the process ends."""

    def __init__(self, store: "ObjectStore") -> None:
        self._store = store

    async def put(self, key: str, chunks: AsyncIterator[bytes] | Iterable[bytes]) -> Blob:
        source = _Source(chunks)
        sending = asyncio.ensure_future(self._send(checked_key(key), source))
        try:
            return await asyncio.shield(sending)
        except asyncio.CancelledError:
            source.stopped = True
            await _end(sending, _LEAVE)
            raise

    async def _send(self, key: str, source: "_Source") -> Blob:
        import obstore  # optional, and heavy

        # Small files in one request; of large ones nothing is there before the last part is.
        first = await source.first()
        with _translated(source):
            if source.ended:
                sending = obstore.put_async(self._store, key, first, use_multipart=False)
                await _finished(sending, _patience(len(first)), leave=0)
            else:
                whole = source.whole(first)
                await _going_on(
                    obstore.put_async(
                        self._store, key, whole, use_multipart=True, chunk_size=PART, max_concurrency=_PARTS
                    ),
                    source,
                    _patience(_PARTS * PART),
                )
        return Blob(key, source.size, source.digest.hexdigest())

    async def open(self, key: str) -> AsyncIterator[bytes]:
        import obstore  # optional, and heavy

        checked_key(key)
        with _translated():
            try:
                found = await _finished(obstore.get_async(self._store, key), _ANSWER)
            except FileNotFoundError:
                raise NoSuchBlob(f"There is no file {key}.") from None
        stream = found.stream(CHUNK).__aiter__()
        while True:
            with _translated():
                try:
                    chunk = await _finished(_next(stream), _ANSWER)
                except StopAsyncIteration:
                    return
            if chunk is None:
                return
            yield chunk

    async def probe(self) -> None:
        """Raise if the storage cannot be used. "Permission denied" for the probe counts as usable."""
        import obstore  # optional, and heavy
        from obstore.exceptions import PermissionDeniedError  # optional, and heavy

        with _translated():
            try:
                await _finished(obstore.get_async(self._store, _PROBED), _ANSWER)
            except FileNotFoundError as error:
                if "NoSuchBucket" in str(error):
                    raise
            except PermissionDeniedError:
                return

    async def delete(self, key: str) -> None:
        import obstore  # optional, and heavy

        checked_key(key)
        with _translated():
            try:
                await _finished(obstore.delete_async(self._store, key), _ANSWER)
            except FileNotFoundError:
                return

    async def remove_old(self, older_than: timedelta, under: str) -> int:
        """Remove files under these segments that are older, by the storage's own clock; returns how many."""
        return await self._remove(under, datetime.now(UTC) - older_than)

    async def remove_under(self, under: str) -> int:
        """Remove all files whose keys begin with these segments; returns how many."""
        return await self._remove(under, None)

    async def _remove(self, under: str, before: datetime | None) -> int:
        import obstore  # optional, and heavy

        listed = obstore.list(self._store, f"{checked_key(under)}/").__aiter__()
        removed = 0
        while True:
            with _translated():
                some = await _finished(_next_of(listed), _ANSWER)
                gone = [one["path"] for one in some or () if before is None or one["last_modified"] < before]
                if gone:
                    await _finished(obstore.delete_async(self._store, gone), _patience(0))
            removed += len(gone)
            if some is None:
                return removed

    async def link(self, key: str, expires: timedelta) -> str:
        import obstore  # optional, and heavy

        checked_key(key)
        store: Any = self._store
        with _translated():
            return await _finished(obstore.sign_async(store, "GET", key, min(expires, LONGEST_LINK)), _ANSWER)


class _Source:
    """Data to be stored; its size and digest are computed while it passes through."""

    def __init__(self, chunks: AsyncIterator[bytes] | Iterable[bytes]) -> None:
        self._chunks = in_chunks(chunks)
        self.digest = hashlib.sha256()
        self.size = 0
        self.ended = False
        self.stopped = False
        self.error: BaseException | None = None

    async def first(self) -> bytes:
        """Read as much as goes into one request."""
        gathered = bytearray()
        while len(gathered) < PART:
            chunk = await anext(self._chunks, None)
            if chunk is None:
                self.ended = True
                break
            self._weigh(chunk)
            gathered += chunk
            if self.stopped:
                raise asyncio.CancelledError
        return bytes(gathered)

    async def whole(self, first: bytes) -> AsyncIterator[bytes]:
        yield first
        try:
            async for chunk in self._chunks:
                if self.stopped:
                    raise asyncio.CancelledError
                self._weigh(chunk)
                yield chunk
        except BaseException as error:
            # The library makes an error of its own of it.
            self.error = error
            raise

    def _weigh(self, chunk: bytes) -> None:
        self.digest.update(chunk)
        self.size += len(chunk)


async def _next(stream: Any) -> bytes | None:
    chunk = await _next_of(stream)
    return None if chunk is None else bytes(chunk)


async def _next_of(stream: Any) -> Any:
    try:
        return await stream.__anext__()
    except StopAsyncIteration:
        return None


async def _finished(call: Coroutine[Any, Any, T], limit: float | None = None, leave: float | None = None) -> T:
    """Return the result of a call within `limit`.

    If we are cancelled meanwhile, the call has a moment to finish.
    """
    calling = asyncio.ensure_future(_wrapped(call))
    try:
        done, _ = await asyncio.wait([calling], timeout=limit)
    except asyncio.CancelledError:
        await _end(calling, _LEAVE if leave is None else leave)
        raise
    if not done:
        await _end(calling, 0)
        raise BlobsAway(f"Object storage has not answered within {limit:.0f} seconds.")
    return calling.result()


def _patience(size: int) -> float:
    """Return the time limit in seconds for sending so many bytes."""
    return _ANSWER + size / _SLOWEST


async def _going_on(call: Coroutine[Any, Any, T], source: "_Source", limit: float) -> T:
    """Return the result of a long call, which may take any time as long as it continues to read what it sends."""
    calling = asyncio.ensure_future(_wrapped(call))
    taken = -1
    try:
        while not calling.done() and source.size > taken:
            taken = source.size
            await asyncio.wait([calling], timeout=limit)
    except asyncio.CancelledError:
        await _end(calling, 0)
        raise
    if not calling.done():
        source.stopped = True
        await _end(calling, 0)
        raise BlobsAway(f"Object storage has taken nothing for {limit:.0f} seconds.")
    return calling.result()


async def _end(calling: "asyncio.Future[Any]", leave: float) -> None:
    await asyncio.wait([calling], timeout=leave)
    if not calling.done():
        calling.cancel()
        await asyncio.wait([calling])
        await asyncio.sleep(_BREATH)
    if not calling.cancelled():
        calling.exception()  # retrieved, or asyncio would log it as never retrieved


async def _wrapped(call: Coroutine[Any, Any, T]) -> T:
    return await call


@contextmanager
def _translated(source: _Source | None = None) -> Iterator[None]:
    """Translate the library's errors to ours; an error of the source stays as it was."""
    from obstore.exceptions import BaseError  # optional, and heavy

    try:
        yield
    except FileNotFoundError as error:
        raise BlobsAway(f"Object storage has no such bucket: {_first_line(error)}.") from error
    except (BaseError, OSError) as error:
        if source and source.error:
            raise source.error from None
        raise BlobsAway(f"Object storage cannot be used: {_first_line(error)}.") from error


def _first_line(error: BaseException) -> str:
    return " ".join(str(error).split("\n\n")[0].split())[:300].rstrip(".")
