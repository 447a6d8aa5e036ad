"""`job export --output`: write one file to a path, complete when the command returns."""

import codecs
import sys
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from gossamer.cli import formatting, retention_notice
from gossamer.cli.home import Home
from gossamer.cli.runtime import say, say_json
from gossamer.errors import UserError
from gossamer.exports.make import Order
from gossamer.exports.orders import file_name
from gossamer.exports.write import write_file, write_stream
from gossamer.model.states import OVER
from gossamer.questions.files import exportable
from gossamer.recipes.base import plural_form

if TYPE_CHECKING:
    from gossamer.cli.export import ExportOptions


async def write_directly(
    home: Home, text: str, options: "ExportOptions", output: Path, *, as_json: bool, any_recipe: bool = True
) -> int:
    found = await home.ask(exportable, text, options.since, any_recipe=any_recipe)
    (order,) = options.orders(found, output)
    if str(output) in ("", "."):
        raise UserError("export.output", "--output names no file.", hint="For example --output results.csv.")
    to_screen = str(output) == "-"
    if to_screen and as_json:
        raise UserError(
            "usage", "--json has nothing to say when the export itself goes to standard output.", hint="Give one."
        )
    if to_screen and order.form.binary and sys.stdout.isatty():
        raise UserError(
            "export.binary",
            f"A {order.form.name} file is nothing to look at on a screen.",
            hint=f"Name a file, for example --output results.{order.form.name}.",
        )
    written = 0

    def count(rows: int) -> None:
        nonlocal written
        written = rows

    # Reports have the form their document specifies: only exports are adapted to spreadsheets.
    bom = options.bom if options.bom is not None else not to_screen and not any_recipe
    chunks = with_mark(home.write(order, count)) if bom and order.form.name == "csv" else home.write(order, count)
    # An export always prints how long its job is kept.
    now = datetime.now(UTC) if any_recipe else None
    if to_screen:
        await write_stream(sys.stdout.buffer, formatting.printable_chunks(chunks) if sys.stdout.isatty() else chunks)
        sys.stdout.buffer.flush()
        retention_notice.print_kept_until(found.end, now)
        return 0
    size = await write_file(output, chunks)
    partial = order.job.state not in OVER
    if as_json:
        answer = {"path": str(output), "type": order.table.name, "format": order.form.name, "rows": written}
        say_json({**answer, "bytes": size, "partial": partial, **retention_notice.as_json(found.end)})
        return 0
    _say_written(order, written, output, size)
    if partial:
        say(f"The job is {order.job.state}: these are the results so far.")
    retention_notice.print_kept_until(found.end, now)
    return 0


async def write_here(home: Home, order: Order, *, bom: bool) -> bool:
    """Write the file to the working folder without replacing one; False if that is not possible."""
    rows = 0

    def count(done: int) -> None:
        nonlocal rows
        rows = done

    chunks = home.write(order, count)
    path: Path | None = None
    try:
        path = _free_place(Path(file_name(order)))
        await write_file(path, with_mark(chunks) if bom else chunks)
    except (OSError, UserError) as error:
        if path:
            path.unlink(missing_ok=True)
        typer.echo(f"Not written to this folder as well: {getattr(error, 'strerror', None) or error}", err=True)
        return False
    if order.job.state not in OVER:
        say(f"The job is {order.job.state}: these are the results so far.")
    typer.secho(formatting.printable(_written(order, rows, path.absolute())), bold=True)
    return True


def _free_place(wanted: Path) -> Path:
    """`results-3f9a2c71.csv`, or `results-3f9a2c71-2.csv` if that exists; an empty file reserves the name."""
    path, number = wanted, 1
    while True:
        try:
            path.touch(exist_ok=False)
        except FileExistsError:
            number += 1
            path = wanted.with_stem(f"{wanted.stem}-{number}")
        else:
            return path


async def with_mark(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """CSV with a byte order mark in front, by which Excel recognises UTF-8."""
    yield codecs.BOM_UTF8
    async for chunk in chunks:
        yield chunk


def _say_written(order: Order, written: int, output: Path, size: int) -> None:
    say(f"{_written(order, written, output)} ({size:,} bytes)")


def _written(order: Order, written: int, output: Path) -> str:
    """`Wrote 1,266 matches to results.csv`"""
    noun = order.table.noun or order.table.name.removesuffix("s")
    noun = noun if written == 1 else plural_form(noun)
    return f"Wrote {written:,} {f'{order.only} ' if order.only else ''}{noun} to {output}"
