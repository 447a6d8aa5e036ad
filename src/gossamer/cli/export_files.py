"""The commands that make files of a job, look after them and list them."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gossamer.cli import file_words, kept, words
from gossamer.cli.direct import write_directly, write_here
from gossamer.cli.home import Home
from gossamer.cli.main import FAILED
from gossamer.cli.session import say, say_json
from gossamer.errors import UserError
from gossamer.export.asking import Wish
from gossamer.export.formats import format_of_file, formats_named
from gossamer.export.make import Order
from gossamer.intake.exclusions import read_exclusions
from gossamer.model.export import ExportState
from gossamer.model.ids import short
from gossamer.questions.files import Exportable, Files, exportable, files
from gossamer.questions.jobs import find
from gossamer.recipes.base import Looks


@dataclass(frozen=True, slots=True)
class Asking:
    """What `job export` was given."""

    type: str
    form: str | None
    columns: tuple[str, ...] = ()
    only: str = ""
    bom: bool | None = None  # None: in a file that is written here for a person, and in no other
    raw: bool = False
    costs: bool = True
    title: str = ""
    client: str = ""
    since: str = ""
    exclude: Path | None = None

    def orders(self, found: Exportable, output: Path | None) -> list[Order]:
        """One per file."""
        formats = formats_named(format_of_file(output or Path("results.csv")).name if self.form is None else self.form)
        if output is not None and len(formats) > 1:
            raise UserError(
                "export.one_file", "--output is one file, and several formats are more.", hint="Give one --format."
            )
        self._refuse_what_means_nothing([one.name for one in formats])
        # A file that is written here gets its mark here, wherever it is made.
        looks = Looks(
            bom=bool(self.bom) and output is None, raw=self.raw, costs=self.costs, title=self.title, client=self.client
        )
        excluded = read_exclusions(self.exclude) if self.exclude else frozenset()
        return Wish(self.type, formats, self.columns, self.only, looks, found.since, excluded).orders(found.job)

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
        if (self.title or self.client) and not workbook:
            raise UserError(
                "export.title",
                f"--title and --client are about the workbook: {' and '.join(formats)} of {self.type} has neither.",
                hint="Leave them out, or give --format xlsx.",
            )
        compared = self.type == "prospects" or (self.type == "results" and "xlsx" in formats)
        if self.since and not compared:
            raise UserError(
                "export.since",
                f"--since-job is about prospects: {' and '.join(formats)} of {self.type} says nothing of them.",
                hint="Give --type prospects, or --format xlsx with --type results.",
            )


_LONGEST_LINE = 200


def a_line(option: str, text: str) -> str:
    """A title or a name: one line that can be printed."""
    if len(text) > _LONGEST_LINE or not text.isprintable():
        raise UserError(
            "usage", f"{option} takes one line of at most {_LONGEST_LINE} characters.", hint="Give a shorter one."
        )
    return text.strip()


async def export_files(
    home: Home, text: str, asking: Asking, output: Path | None, *, wait: bool, detach: bool = False, as_json: bool
) -> int:
    if output is not None:
        return await write_directly(home, text, asking, output, as_json=as_json, any_recipe=False)
    found = await home.ask(exportable, text, asking.since)
    # Somebody at this machine who has named nothing wants the file.
    here = home.is_here and asking.form is None and not detach and not as_json and sys.stdout.isatty()
    wait = wait or here
    orders = asking.orders(found, None)
    ids = await home.order_files(found.job, orders)
    if wait:
        await home.wait_for_files(found.job, ids)
    else:
        home.let_files_be_made()
    made = await home.ask(files, str(found.job.id), ids)
    failed = any(one.export.state is ExportState.FAILED for one in made.files)
    # Where the file lies in the data folder is of no use to somebody who has it here.
    if here and not failed and await write_here(home, orders[0], bom=asking.bom is not False):
        code = 0
    else:
        code = _answer(home, made, waited=wait, as_json=as_json)
    kept.warn(made.end, as_json=as_json)
    return code


async def show_export_status(home: Home, text: str, *, wait: bool, as_json: bool) -> int:
    found = await home.ask(files, text)
    if wait:
        await home.wait_for_files(found.job, [one.export.id for one in found.files if one.export.is_open])
        found = await home.ask(files, str(found.job.id), [one.export.id for one in found.files])
    if not found.files and not as_json:
        say(file_words.none_of(found.job))
        return 0
    code = _answer(home, found, waited=True, as_json=as_json)
    kept.warn(found.end, as_json=as_json)
    return code


async def cancel_exports(home: Home, text: str, *, as_json: bool) -> int:
    job = await home.ask(find, text)
    cancelled = await home.cancel_files(job)
    if as_json:
        say_json({"id": str(job.id), "short_id": short(job.id), "cancelled": cancelled})
    else:
        said = f"Cancelled {words.several(cancelled, 'file')}." if cancelled else "No file is being made."
        say(said)
    return 0


def _answer(home: Home, found: Files, *, waited: bool, as_json: bool) -> int:
    failed = waited and any(one.export.state is ExportState.FAILED for one in found.files)
    if as_json:
        said = [file_words.as_json(one, home.reach(one.link)) for one in found.files]
        say_json({"exports": said, **kept.as_json(found.end)})
        return FAILED if failed else 0
    if waited:
        for one in found.files:
            for line in file_words.lines(one, home.reach(one.link), found.now, alone=found.runner is None):
                say(line)
    else:
        say(
            f"Export started. Check status in ~{_estimate(found)}. "
            f"Run 'gossamer job export-status {short(found.job.id)}' to check progress."
        )
    return FAILED if failed else 0


def _estimate(found: Files) -> str:
    """How long it will take, by how many rows there are."""
    minutes, seconds = divmod(max(5, found.records * len(found.files) // 40_000), 60)
    return words.several(minutes + 1, "minute") if minutes else words.several(seconds, "second")
