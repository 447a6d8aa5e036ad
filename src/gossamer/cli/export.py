"""`gossamer job export` and its relatives: files of a job, made in the background or written at once to a path."""

import codecs
import sys
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import typer
from rich.table import Table
from rich.text import Text

from gossamer.cli import formatting, report, tables
from gossamer.cli.home import Home
from gossamer.cli.main import FAILED
from gossamer.cli.runtime import say, say_json
from gossamer.errors import UserError
from gossamer.exports.formats import format_of_file, formats_named, refuse_other_ending
from gossamer.exports.make import Order
from gossamer.exports.orders import Wish, file_name, table_named
from gossamer.exports.write import write_file, write_stream
from gossamer.intake.targets import read_exclusions
from gossamer.model.export import Export, ExportState
from gossamer.model.ids import short
from gossamer.model.job import Job
from gossamer.model.states import OVER, JobState
from gossamer.questions.files import Exportable, File, Files, exportable, files
from gossamer.questions.jobs import find
from gossamer.questions.view import date
from gossamer.recipes.base import Book, Looks, plural_form
from gossamer.recipes.registry import RECIPES


@dataclass(frozen=True, slots=True)
class ExportOptions:
    """The options of `job export`."""

    type: str
    form: str | None
    columns: tuple[str, ...] = ()
    only: str = ""
    bom: bool | None = None  # None: only in files written to this machine for a person
    raw: bool = False
    costs: bool = True
    title: str = ""
    client: str = ""
    since: str = ""
    exclude: Path | None = None

    def orders(self, found: Exportable, output: Path | None) -> list[Order]:
        """One order for each file."""
        formats = formats_named(format_of_file(output or Path("results.csv")).name if self.form is None else self.form)
        if output is not None and len(formats) > 1:
            raise UserError(
                "export.one_file", "--output takes one file; give a single --format.", hint="Or leave --output out."
            )
        if output is not None:
            refuse_other_ending(output, formats[0])
        table = table_named(self.type, found.job.recipe)
        self._refuse_what_means_nothing([one.name for one in formats], table.book)
        # A file written to this machine gets its byte order mark here, even if a server makes it.
        looks = Looks(
            bom=bool(self.bom) and output is None, raw=self.raw, costs=self.costs, title=self.title, client=self.client
        )
        excluded = read_exclusions(self.exclude) if self.exclude else frozenset()
        return Wish(self.type, formats, self.columns, self.only, looks, found.since, excluded).orders(found.job)

    def _refuse_what_means_nothing(self, formats: Sequence[str], book: Book | None) -> None:
        if self.bom and "csv" not in formats:
            raise UserError("export.bom", f"--bom is for csv, not for {' and '.join(formats)}.", hint="Leave it out.")
        # It has a sheet of the ranking, whichever of its tables it is made of, and one of costs.
        workbook = book is not None and "xlsx" in formats
        if not self.costs and not workbook:
            raise UserError(
                "export.costs",
                f"--without-costs only affects the workbook, and {' and '.join(formats)} of {self.type} has no costs.",
                hint="Leave it out, or give --format xlsx.",
            )
        if (self.title or self.client) and not workbook:
            raise UserError(
                "export.title",
                "--title and --client only affect the workbook, "
                f"and {' and '.join(formats)} of {self.type} has neither.",
                hint="Leave them out, or give --format xlsx.",
            )
        compared = workbook or (book is not None and self.type == book.ranked.table)
        if self.since and not compared:
            books = dict.fromkeys(one.book for recipe in RECIPES.values() for one in recipe.tables if one.book)
            ranked, rows = (" or ".join(getattr(one, part).table for one in books) for part in ("ranked", "rows"))
            raise UserError(
                "export.since",
                f"--since-job only affects {ranked}, and {' and '.join(formats)} of {self.type} does not contain them.",
                hint=f"Give --type {ranked}, or --format xlsx with --type {rows}.",
            )


_LONGEST_LINE = 200


def single_line(option: str, text: str) -> str:
    """Check that a title or a name is one printable line, and strip it."""
    if len(text) > _LONGEST_LINE or not text.isprintable():
        raise UserError(
            "usage", f"{option} takes one line of at most {_LONGEST_LINE} characters.", hint="Give a shorter one."
        )
    return text.strip()


async def export_files(
    home: Home,
    text: str,
    options: ExportOptions,
    output: Path | None,
    *,
    wait: bool,
    detach: bool = False,
    as_json: bool,
) -> int:
    if output is not None:
        await write_directly(home, text, options, output, as_json=as_json, any_recipe=False)
        return 0
    found = await home.ask(exportable, text, options.since)
    # A person at this machine who names no format wants the file itself.
    here = home.is_here and options.form is None and not detach and not as_json and sys.stdout.isatty()
    wait = wait or here
    orders = options.orders(found, None)
    ids = await home.order_files(found.job, orders)
    if wait:
        await home.wait_for_files(found.job, ids)
    else:
        home.let_files_be_made()
    made = await home.ask(files, str(found.job.id), ids)
    failed = any(one.export.state is ExportState.FAILED for one in made.files)
    # The path in the data folder is of no use to a person who already has the file.
    if here and not failed and await write_here(home, orders[0], bom=options.bom is not False):
        code = 0
    else:
        code = _answer(home, made, waited=wait, as_json=as_json)
    report.print_deletion_date(made.end, as_json=as_json)
    return code


async def show_export_status(home: Home, text: str, *, wait: bool, as_json: bool) -> int:
    found = await home.ask(files, text)
    if wait:
        await home.wait_for_files(found.job, [one.export.id for one in found.files if one.export.is_open])
        found = await home.ask(files, str(found.job.id), [one.export.id for one in found.files])
    if not found.files and not as_json:
        say(no_files(found.job))
        return 0
    code = _answer(home, found, waited=True, as_json=as_json)
    report.print_deletion_date(found.end, as_json=as_json)
    return code


async def cancel_exports(home: Home, text: str, *, as_json: bool) -> None:
    job = await home.ask(find, text)
    cancelled = await home.cancel_files(job)
    if as_json:
        say_json({"id": str(job.id), "short_id": short(job.id), "cancelled": cancelled})
    else:
        said = f"Cancelled {formatting.plural(cancelled, 'file')}." if cancelled else "No file is being made."
        say(said)


def _answer(home: Home, found: Files, *, waited: bool, as_json: bool) -> int:
    failed = waited and any(one.export.state is ExportState.FAILED for one in found.files)
    if as_json:
        said = [file_json(one, home.reach(one.link)) for one in found.files]
        say_json({"exports": said, **report.deletion_json(found.end)})
        return FAILED if failed else 0
    if waited:
        for one in found.files:
            for line in file_lines(one, home.reach(one.link), found.now, alone=found.runner is None):
                say(line)
    else:
        say(
            f"Export started. Check status in ~{_estimate(found)}. "
            f"Run 'gossamer job export-status {short(found.job.id)}' to check progress."
        )
    return FAILED if failed else 0


def _estimate(found: Files) -> str:
    """Estimate from the number of rows how long the files will take."""
    minutes, seconds = divmod(max(5, found.records * len(found.files) // 40_000), 60)
    return formatting.plural(minutes + 1, "minute") if minutes else formatting.plural(seconds, "second")


async def list_files(home: Home, text: str, *, as_json: bool) -> None:
    answer = await home.ask(files, text)
    if as_json:
        say_json([file_json(one, home.reach(one.link)) for one in answer.files])
        return
    found = [one.export for one in answer.files]
    if not found:
        say(no_files(answer.job))
        return
    table = Table(box=None, pad_edge=False, show_header=True, header_style="bold")
    for title in ("File", "State", "Rows", "Bytes", "Made", "Expires"):
        table.add_column(title, justify="right" if title in ("Rows", "Bytes") else "left", no_wrap=title != "File")
    for one in reversed(found):
        size, rows = ("" if number is None else f"{number:,}" for number in (one.size, one.rows_done))
        dates = (date(at) if at else "" for at in (one.finished_at, one.expires_at))
        table.add_row(Text(one.name, overflow="fold"), file_state(one), rows, size, *dates)
    tables.show(table)


_TAKEN_UP = timedelta(seconds=10)  # by then a file should have been started


def no_files(job: Job) -> str:
    """The sentence for a job without files."""
    if job.state is JobState.ARCHIVED:
        return f"Job {short(job.id)} was deleted, and with it whatever files were made of it."
    return f"No file was asked for yet: 'gossamer job export {short(job.id)} --format csv'."


def file_state(export: Export) -> str:
    """The state of a file in one or two words."""
    if export.state is ExportState.DONE and not export.is_there:
        return "expired"
    if export.state is ExportState.RUNNING:
        return f"running {formatting.percent(export.rows_done, export.rows_total)}%"
    return str(export.state)


def file_lines(file: File, link: str | None, now: datetime, *, alone: bool) -> list[str]:
    """The state of one file, and where it is."""
    export = file.export
    identifier = short(export.job_id)
    match export.state:
        case ExportState.DONE:
            return _ready(file, link, now)
        case ExportState.RUNNING:
            of = f"{export.rows_done:,} of {export.rows_total:,} rows"
            return [f"{export.name}: {formatting.percent(export.rows_done, export.rows_total)}% ({of})"]
        case ExportState.PENDING:
            said = [f"{export.name}: waiting for its turn"]
            if alone and now - export.created_at > _TAKEN_UP:
                said.append(f"Not being made now: 'gossamer job export-status {identifier} --wait' makes it.")
            return said
        case ExportState.FAILED:
            return [f"{export.name}: failed. {export.reason}"]
        case ExportState.CANCELLED:
            return [f"{export.name}: cancelled"]


def _ready(file: File, link: str | None, now: datetime) -> list[str]:
    export = file.export
    if file.elsewhere:
        return [f"{export.name}: ready on the home {export.home}, which made it"]
    if link is None or export.expires_at is None:
        return [f"{export.name}: no longer there. Export it again with 'gossamer job export {short(export.job_id)}'."]
    said = [f"Export ready: {link} (expires in {_left(export.expires_at - now)})"]
    if link.startswith("file:") and file.shared:
        said.append(f"For others, who need no key: {file.shared}")
    if export.partial:
        said.append("The job was not over when it was made: these are the results up to then.")
    if export.spooled:
        said.append("Object storage does not answer: the file is kept here and moved there later.")
    return said


def _left(time: timedelta) -> str:
    hours = max(1, round(time.total_seconds() / 3600))
    return formatting.plural(round(hours / 24), "day") if hours >= 24 else formatting.plural(hours, "hour")


def file_json(file: File, link: str | None) -> dict[str, Any]:
    export = file.export
    return {
        "id": str(export.id),
        "job_id": str(export.job_id),
        "type": export.type,
        "format": export.format,
        "name": export.name,
        "state": file_state(export).partition(" ")[0],
        "reason": export.reason,
        "partial": export.partial,
        "rows": export.rows_done,
        "rows_total": export.rows_total,
        "size_bytes": export.size,
        "sha256": export.sha256,
        "created_at": formatting.timestamp(export.created_at),
        "finished_at": formatting.timestamp(export.finished_at),
        "expires_at": formatting.timestamp(export.expires_at),
        "spooled": export.spooled,
        "url": link,
        "link": link if file.shared == file.link else file.shared,
    }


async def write_directly(
    home: Home, text: str, options: ExportOptions, output: Path, *, as_json: bool, any_recipe: bool = True
) -> None:
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
        report.print_kept_until(found.end, now)
        return
    size = await write_file(output, chunks)
    partial = order.job.state not in OVER
    if as_json:
        answer = {"path": str(output), "type": order.table.name, "format": order.form.name, "rows": written}
        say_json({**answer, "bytes": size, "partial": partial, **report.deletion_json(found.end)})
        return
    _say_written(order, written, output, size)
    if partial:
        say(f"The job is {order.job.state}: these are the results so far.")
    report.print_kept_until(found.end, now)


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
        typer.echo(f"Not written to this folder: {getattr(error, 'strerror', None) or error}", err=True)
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
