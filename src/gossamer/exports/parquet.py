"""Lines as Parquet, with typed columns."""

import shlex
import sys
from collections.abc import AsyncIterator, Iterator
from datetime import datetime
from tempfile import NamedTemporaryFile
from typing import IO, Any

from gossamer.errors import UserError
from gossamer.exports.encoding import Draft
from gossamer.exports.threads import chunks_of, write_in_thread
from gossamer.recipes.base import Line, Lines

_GROUP = 5_000  # rows; a million of them in smaller groups, or in larger ones, takes more memory
_PAGE = 128 * 1024  # bytes of a column that are put together, and of its list of words


def refuse_without_library() -> None:
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise UserError(
            "export.parquet",
            "Parquet files need a library that is not installed.",
            hint=f'Install it with "{shlex.quote(sys.executable)} -m pip install pyarrow", or choose another format.',
        ) from None


async def encode_parquet(lines: Lines, draft: Draft) -> AsyncIterator[bytes]:
    """Text as string, whole numbers as int64, others as double, times as milliseconds in UTC."""
    refuse_without_library()
    with NamedTemporaryFile(dir=draft.folder, prefix=".", suffix=".part") as file:
        await write_in_thread(lambda batches: _write(file, draft, batches), lines)
        async for chunk in chunks_of(file):
            yield chunk


def _write(file: IO[bytes], draft: Draft, batches: Iterator[list[Line]]) -> None:
    """In small row groups: memory counts for more here than the last tenth of the size."""
    # An optional library.
    import pyarrow as pa
    from pyarrow import parquet

    kinds: dict[str, Any] = {
        "text": pa.string(),
        "url": pa.string(),
        "number": pa.int64(),
        "decimal": pa.float64(),
        "money": pa.float64(),
        "time": pa.timestamp("ms", "UTC"),
    }
    schema = pa.schema([(column.name, kinds[column.kind]) for column in draft.columns])
    pool = _frugal_pool()
    # The least and the largest text of every group would fill the memory, and help nobody to find anything.
    known: Any = [column.name for column in draft.columns if column.kind not in ("text", "url")]
    with parquet.ParquetWriter(
        file,
        schema,
        compression="zstd",
        write_statistics=known,
        data_page_size=_PAGE,
        dictionary_pagesize_limit=_PAGE,
        memory_pool=pool,
    ) as writer:
        # A step in which everybody was left out has no lines.
        for group in _groups(some for some in batches if some):
            made = [_batch(some, draft, schema, pool) for some in group]
            writer.write_table(pa.Table.from_batches(made, schema))


def _batch(lines: list[Line], draft: Draft, schema: Any, pool: Any) -> Any:
    # An optional library.
    import pyarrow as pa

    arrays = [
        pa.array(list(map(_instant, cells)) if column.kind == "time" else cells, kind, memory_pool=pool)
        for column, kind, cells in zip(draft.columns, schema.types, zip(*lines, strict=True), strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _instant(written: str | None) -> int | None:
    """Convert a timestamp to milliseconds; the library's own parser takes ten megabytes to load."""
    return round(datetime.fromisoformat(written).timestamp() * 1000) if written else None


def _groups(batches: Iterator[list[Line]]) -> Iterator[Iterator[list[Line]]]:
    """Batches that make a row group together, to be taken one by one: as lines they need many times as much room."""
    for first in batches:
        yield _until_enough(first, batches)


def _until_enough(some: list[Line], others: Iterator[list[Line]]) -> Iterator[list[Line]]:
    yield some
    rows = len(some)
    while rows < _GROUP and (more := next(others, None)):
        yield more
        rows += len(more)


def _frugal_pool() -> Any:
    """Return a memory pool that releases memory immediately, unlike pyarrow's default; some builds lack jemalloc."""
    # An optional library.
    import pyarrow as pa

    try:
        pool = pa.jemalloc_memory_pool()
    except NotImplementedError:
        return pa.system_memory_pool()
    pa.jemalloc_set_decay_ms(0)
    return pool
