"""Lines as Parquet, with typed columns."""

from collections.abc import AsyncIterator, Iterator
from datetime import datetime
from tempfile import NamedTemporaryFile
from typing import IO, Any

from gossamer.errors import UserError
from gossamer.export.draft import Draft
from gossamer.export.table import Line, Lines
from gossamer.export.threads import chunks_of, write_in_thread

_GROUP = 2_500  # rows; a million of them in smaller groups, or in larger ones, takes more memory


def refuse_without_library() -> None:
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise UserError(
            "export.parquet",
            "Parquet files need a library that is not installed.",
            hint="Install it with \".venv/bin/pip install '.[parquet]'\", or choose another format.",
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
    import pyarrow as pa
    from pyarrow import parquet

    kinds: dict[str, Any] = {
        "text": pa.string(),
        "url": pa.string(),
        "number": pa.int64(),
        "decimal": pa.float64(),
        "time": pa.timestamp("ms", "UTC"),
    }
    schema = pa.schema([(column.name, kinds[column.kind]) for column in draft.columns])
    pool = _frugal_pool()
    with parquet.ParquetWriter(file, schema, compression="zstd", memory_pool=pool) as writer:
        for some in _groups(batches):
            arrays = [
                pa.array(list(map(_instant, cells)) if column.kind == "time" else cells, kind, memory_pool=pool)
                for column, kind, cells in zip(draft.columns, schema.types, zip(*some, strict=True), strict=True)
            ]
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema))


def _instant(written: str | None) -> int | None:
    """Milliseconds: the library would read them by itself, with a part of it that takes ten megabytes to load."""
    return round(datetime.fromisoformat(written).timestamp() * 1000) if written else None


def _groups(batches: Iterator[list[Line]]) -> Iterator[list[Line]]:
    return (batch[at : at + _GROUP] for batch in batches for at in range(0, len(batch), _GROUP))


def _frugal_pool() -> Any:
    """The library's usual pool keeps what it once had. Not every build has the one that gives it back at once."""
    import pyarrow as pa

    try:
        pool = pa.jemalloc_memory_pool()
    except NotImplementedError:
        return pa.system_memory_pool()
    pa.jemalloc_set_decay_ms(0)
    return pool
