"""Lines as Parquet, with typed columns."""

from collections.abc import AsyncIterator, Iterator
from tempfile import NamedTemporaryFile
from typing import IO, Any

from gossamer.errors import UserError
from gossamer.export.draft import Draft
from gossamer.export.table import Line, Lines
from gossamer.export.threads import chunks_of, write_in_thread

_GROUP = 20_000  # rows; smaller groups make larger files


def refuse_without_library() -> None:
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise UserError(
            "export.parquet",
            "Parquet files need a library that is not installed.",
            hint="Install it: pip install 'gossamer[parquet]'.",
        ) from None


async def encode_parquet(lines: Lines, draft: Draft) -> AsyncIterator[bytes]:
    """Text as string, whole numbers as int64, others as double, times as milliseconds in UTC."""
    refuse_without_library()
    with NamedTemporaryFile(dir=draft.folder, prefix=".", suffix=".part") as file:
        await write_in_thread(lambda batches: _write(file, draft, batches), lines)
        async for chunk in chunks_of(file):
            yield chunk


def _write(file: IO[bytes], draft: Draft, batches: Iterator[list[Line]]) -> None:
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
    with parquet.ParquetWriter(file, schema, compression="zstd") as writer:
        for some in _gathered(batches):
            arrays = [
                pa.array(cells, pa.string()).cast(field.type)
                if pa.types.is_timestamp(field.type)
                else pa.array(cells, field.type)
                for cells, field in zip(zip(*some, strict=True), schema, strict=True)
            ]
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema))


def _gathered(batches: Iterator[list[Line]]) -> Iterator[list[Line]]:
    group: list[Line] = []
    for some in batches:
        group.extend(some)
        if len(group) >= _GROUP:
            yield group
            group = []
    if group:
        yield group
