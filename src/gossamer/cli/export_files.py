"""The commands that make files of a job, look after them and list them."""

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from gossamer.assembly import App
from gossamer.cli import file_words, kept, words
from gossamer.cli.at_work import runner_of
from gossamer.cli.background import start_worker
from gossamer.cli.direct import write_directly
from gossamer.cli.known import recipe_of
from gossamer.cli.main import FAILED
from gossamer.cli.session import say, say_json
from gossamer.errors import UserError
from gossamer.export.asking import Wish, request_of
from gossamer.export.formats import format_of_file, formats_named
from gossamer.export.make import Order
from gossamer.export.table import Looks
from gossamer.intake.control import find_job
from gossamer.intake.exclusions import read_exclusions
from gossamer.model.export import Export, ExportState
from gossamer.model.ids import short
from gossamer.model.job import Job
from gossamer.store import counters, exports

_LOOK = 0.2  # seconds between looks at the rows


@dataclass(frozen=True, slots=True)
class Asking:
    """What `job export` was given."""

    type: str
    form: str | None
    columns: tuple[str, ...] = ()
    only: str = ""
    bom: bool = False
    raw: bool = False
    costs: bool = True
    since: str = ""
    exclude: Path | None = None

    async def orders(self, app: App, job: Job, output: Path | None) -> list[Order]:
        """One per file."""
        formats = formats_named(format_of_file(output or Path("results.csv")).name if self.form is None else self.form)
        if output is not None and len(formats) > 1:
            raise UserError(
                "export.one_file", "--output is one file, and several formats are more.", hint="Give one --format."
            )
        self._refuse_what_means_nothing([one.name for one in formats])
        looks = Looks(bom=self.bom, raw=self.raw, costs=self.costs)
        since = await find_job(app.database, self.since) if self.since else None
        if since:
            await kept.refuse_gone(app, since)
        excluded = read_exclusions(self.exclude) if self.exclude else frozenset()
        return Wish(self.type, formats, self.columns, self.only, looks, since, excluded).orders(job)

    def _refuse_what_means_nothing(self, formats: Sequence[str]) -> None:
        if self.bom and "csv" not in formats:
            raise UserError("export.bom", f"--bom is for csv, not for {' and '.join(formats)}.", hint="Leave it out.")
        # The workbook of results has a sheet of prospects, and one of costs.
        workbook = self.type in ("results", "prospects") and "xlsx" in formats
        if not self.costs and not workbook:
            raise UserError(
                "export.costs",
                f"--without-costs is about the workbook: {' and '.join(formats)} of {self.type} says nothing of them.",
                hint="Leave it out, or give --format xlsx.",
            )
        compared = self.type == "prospects" or (self.type == "results" and "xlsx" in formats)
        if self.since and not compared:
            raise UserError(
                "export.since",
                f"--since-job is about prospects: {' and '.join(formats)} of {self.type} says nothing of them.",
                hint="Give --type prospects, or --format xlsx with --type results.",
            )


async def export_files(app: App, text: str, asking: Asking, output: Path | None, *, wait: bool, as_json: bool) -> int:
    job = await find_job(app.database, text)
    await kept.refuse_gone(app, job)
    recipe_of(app, job)
    orders = await asking.orders(app, job, output)
    if output is not None:
        return await write_directly(app, orders[0], output, as_json=as_json)
    shelf = app.shelf()
    made = await app.database.write(exports.add, job.id, [request_of(order) for order in orders], shelf.owner)
    ids = [one.id for one in made]
    if wait:
        await _make_or_watch(app, ids)
    else:
        _see_that_somebody_works(app)
    return await _answer(app, job, ids, waited=wait, as_json=as_json)


async def show_export_status(app: App, text: str, *, wait: bool, as_json: bool) -> int:
    job = await find_job(app.database, text)
    found = await app.database.read(exports.of_job, job.id)
    if wait:
        await _make_or_watch(app, [one.id for one in found if one.is_open])
    ids = [one.id for one in found]
    if not ids and not as_json:
        say(file_words.none_of(job))
        return 0
    return await _answer(app, job, ids, waited=True, as_json=as_json)


async def cancel_exports(app: App, text: str, *, as_json: bool) -> int:
    job = await find_job(app.database, text)
    cancelled = await app.database.write(exports.cancel, job.id)
    if as_json:
        say_json({"id": str(job.id), "short_id": short(job.id), "cancelled": cancelled})
    else:
        said = f"Cancelled {words.several(cancelled, 'file')}." if cancelled else "No file is being made."
        say(said)
    return 0


async def _make_or_watch(app: App, ids: Collection[UUID]) -> None:
    """Make them ourselves; what somebody else has taken up already is waited for."""
    async with app.exporter("wait") as exporter:
        while True:
            rows = [await app.database.read(exports.get, one) for one in ids]
            if not any(row and row.is_open for row in rows):
                return
            if await exporter.make_next(ids) is None:
                await exporter.take_back()
                await asyncio.sleep(_LOOK)


def _see_that_somebody_works(app: App) -> None:
    """The runner of this home, if there is one; else a process of its own that ends with the last file."""
    if app.lock.holder() is None:
        start_worker(app, "--exports")


async def _answer(app: App, job: Job, ids: Sequence[UUID], *, waited: bool, as_json: bool) -> int:
    rows = [await app.database.read(exports.get, one) for one in ids]
    found = [row for row in rows if row]
    deleted = await kept.deletion_date(app, job)
    failed = waited and any(one.state is ExportState.FAILED for one in found)
    if as_json:
        said = [await file_words.as_json(app, one) for one in found]
        say_json({"exports": said, "deleted_on": kept.date(deleted) if deleted else None})
    else:
        if not waited:
            seconds = await _estimate(app, job, found)
            say(
                f"Export started. Check status in ~{seconds}. "
                f"Run 'gossamer job export-status {short(job.id)}' to check progress."
            )
        else:
            alone = await runner_of(app) is None
            for one in found:
                for line in await file_words.lines(app, one, alone=alone):
                    say(line)
        kept.warn(deleted)
    return FAILED if failed else 0


async def _estimate(app: App, job: Job, found: Sequence[Export]) -> str:
    """How long it will take, by how many rows there are."""
    rows = (await app.database.read(counters.progress, job.id)).records * len(found)
    minutes, seconds = divmod(max(5, rows // 40_000), 60)
    return words.several(minutes + 1, "minute") if minutes else words.several(seconds, "second")
