"""The files of a prospecting job: CSV for spreadsheets, JSON for programs. Streamed, and whole or not there at all."""

import csv
import io
import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO

import orjson

from gossamer.errors import UserError
from gossamer.export.rows import Row
from gossamer.model.record import RecordKind

# What a spreadsheet would take for the beginning of a formula.
_RISKY = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")

# The first columns have other names or places in JSON; the rest are there as they are.
_OWN_COLUMNS = 8

Encode = Callable[[AsyncIterator[list[Row]], RecordKind], AsyncIterator[str]]


def defused(value: Any) -> Any:
    """Text that a spreadsheet would run gets an apostrophe in front. Numbers are never touched."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_RISKY) else value


async def encode_csv(sites: AsyncIterator[list[Row]], kind: RecordKind) -> AsyncIterator[str]:
    """RFC 4180 with a header line."""
    yield _csv_lines([kind.columns])
    async for rows in sites:
        yield _csv_lines([[defused(row[column]) for column in kind.columns] for row in rows])


def _csv_lines(rows: list[Any]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\r\n").writerows(rows)
    return text.getvalue()


async def encode_json(sites: AsyncIterator[list[Row]], kind: RecordKind) -> AsyncIterator[str]:
    """`{"results": {domain: {keyword: [page, ...]}}}`, one domain a line."""
    separator = '{\n  "results": {'
    async for rows in sites:
        by_keyword: dict[str, list[Mapping[str, Any]]] = {}
        for row in sorted(rows, key=lambda row: (row["keyword"], row["url"])):
            by_keyword.setdefault(row["keyword"], []).append(
                {
                    "url": row["url"],
                    "frequency": row["frequency"],
                    "context": row["context_snippet"],
                    "crawl_method": row["crawl_method"],
                    "timestamp": row["timestamp"],
                    "http_status": row["http_status"],
                    **{column: row[column] for column in kind.columns[_OWN_COLUMNS:]},
                }
            )
        yield f"{separator}\n    {_json(rows[0]['domain'])}: {_json(by_keyword)}"
        separator = ","
    yield "\n  }\n}\n" if separator == "," else separator + "}\n}\n"


def _json(value: Any) -> str:
    return orjson.dumps(value).decode()


ENCODERS: Mapping[str, Encode] = {"csv": encode_csv, "json": encode_json}


async def write_file(path: Path, chunks: AsyncIterator[str]) -> int:
    """Write beside the target and rename: a reader never sees half a file. Returns its size in bytes.

    A link is followed, and what is no plain file (a pipe, a device) is written into as it is, never replaced.
    """
    try:
        path = path.resolve()
        if path.exists() and not path.is_file():
            with path.open("w", encoding="utf-8", newline="") as place:
                return await write_stream(place, chunks)
        return await _write_whole(path, chunks)
    except OSError as error:
        raise UserError(
            "export.unwritable",
            f"Cannot write {path}: {error.strerror or error}.",
            hint="Choose another place with --output.",
        ) from error


async def _write_whole(path: Path, chunks: AsyncIterator[str]) -> int:
    partial = path.with_name(f".{path.name[:100]}.{os.getpid()}.part")
    try:
        with partial.open("w", encoding="utf-8", newline="") as file:
            if path.exists():
                os.fchmod(file.fileno(), path.stat().st_mode & 0o777)
            size = await write_stream(file, chunks)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    finally:
        with suppress(OSError):
            partial.unlink()
    return size


async def write_stream(file: TextIO, chunks: AsyncIterator[str]) -> int:
    """Write all chunks; how many bytes that was."""
    size = 0
    async for chunk in chunks:
        file.write(chunk)
        size += len(chunk.encode())
    return size
