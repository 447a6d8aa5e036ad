"""`gossamer job results` and `job errors`: results and failures as tables, or in a file."""

import re
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from rich.cells import set_cell_size
from rich.console import Group, JustifyMethod, RenderableType
from rich.table import Table
from rich.text import Text

from gossamer.cli import formatting, tables
from gossamer.cli.export import ExportOptions, write_directly
from gossamer.cli.home import Home
from gossamer.cli.runtime import say, say_json
from gossamer.cli.tables import GAP, fit, table
from gossamer.clock import iso
from gossamer.exports.paging import Where
from gossamer.model.ids import short
from gossamer.model.job import Job
from gossamer.model.states import OVER
from gossamer.questions.found import Conditions, Failures, Lines, Results, failures, results
from gossamer.recipes.base import Column, Nouns, Recipe, Screen, ScreenColumn, plural_form
from gossamer.recipes.registry import RECIPES
from gossamer.recipes.tables import BY_HAND
from gossamer.store.sites import SiteSummary


async def show_results(home: Home, text: str, conditions: Conditions, page: int, limit: int, *, as_json: bool) -> None:
    found = await home.ask(results, text, conditions, page, limit, whole=as_json)
    rows, recipe = found.page.rows, RECIPES[found.job.recipe]
    if as_json:
        say_json(rows)
        return
    if not rows:
        say(_nothing(found, recipe.nouns, page, limit))
        return
    tables.show(results_table(rows, recipe, tables.width()))
    below = _below_pages if found.job.extent.in_pages else _below
    for line in below(found, recipe, conditions, page, limit):
        say(line)


def _plain_screen(rows: Sequence[Any]) -> Screen:
    """The first columns as they are."""
    return Screen(tuple(ScreenColumn(name, (name,), 40, min(8, len(name))) for name in islice(rows[0], _PLAIN_COLUMNS)))


def _nothing(found: Results, nouns: Nouns, page: int, limit: int) -> str:
    if found.job.extent.in_pages:
        return "No such pages." if page == 1 else f"There is no page {page:,}."
    such = "such " if found.where else ""
    if found.before and found.before.rows:
        count = len(found.before.rows)
        more = "" if found.before.is_last else "more than "
        noun = nouns.found if count == 1 else plural_form(nouns.found)
        return f"There is no page {page:,}: the job has {more}{count:,} {such}{noun}, {limit:,} a page."
    return f"No {such}{plural_form(nouns.found)}" + (" yet." if found.job.state not in OVER else ".")


def _below(found: Results, recipe: Recipe, conditions: Conditions, page: int, limit: int) -> list[str]:
    """Lines below the table: the range shown, how to see more, and how to export all."""
    job, where, shown, total = found.job, found.where, found.page, found.total
    first = (page - 1) * limit + 1
    last = first + len(shown.rows) - 1
    of_all = f" of {total:,}" if not where else f", and that is all of {'them' if page > 1 else 'such'}" * shown.is_last
    lines = [f"{plural_form(recipe.nouns.found).capitalize()} {first:,} to {last:,}{of_all}."]
    if not shown.is_last:
        again = f"gossamer job results {short(job.id)}{conditions.options(recipe)} --limit {limit} --page {page + 1}"
        lines += ["Next:", f"  {again}"]
    return [*lines, *_file(job, recipe, where)]


def _below_pages(found: Results, recipe: Recipe, conditions: Conditions, page: int, limit: int) -> list[str]:
    """The same of a job whose results are the pages it was given."""
    first, identifier, progress = (page - 1) * limit + 1, short(found.job.id), found.progress
    of_all = "" if found.where.domain else f" of {progress.pages_ended + progress.pages_open:,}"
    lines = [f"Pages {first:,} to {first + len(found.page.rows) - 1:,}{of_all}."]
    if not found.page.is_last:
        lines += ["Next:", f"  gossamer job results {identifier} --limit {limit} --page {page + 1}"]
    export = f"gossamer job export {identifier} --output pages.jsonl"
    return [*lines, f"What was read of them, in a file:\n  {export}"]


def _file(job: Job, recipe: Recipe, where: Where) -> list[str]:
    """Describe how to export the results, and what else the file contains: exports support fewer filters."""
    only = next((value for value in where.values.values() if value in recipe.tables[0].filters), "")
    conditions = {"domain": where.domain, **where.values}
    others = " and ".join(plural_form(name) for name, value in conditions.items() if value and value != only)
    which = f"All {only} ones" if only else "All"
    said = f"{which} in a file" + (f", those of other {others} too" if others else "")
    option = f" --filter {only}" if only else ""
    return [f"{said}:", f"  gossamer job export {short(job.id)}{option} --output results.csv"]


MENTIONED = "bold yellow"
_NARROW = 150  # columns; with fewer, the context column would be too narrow
_SHORTEST_CONTEXT = 24
_PLAIN_COLUMNS = 5
_INDENT = 2
_HYPHENS = "[-\u2010\u2011\u2012\u2013]"


def results_table(rows: Sequence[Any], recipe: Recipe, room: int) -> RenderableType:
    """The results. Nothing is wider than `room`."""
    screen = recipe.screen or _plain_screen(rows)
    known = {column.name: column for kind in recipe.kinds for column in kind.columns}
    columns = [
        one
        for one in screen.columns
        if room >= one.room and (not one.if_any or any(row.get(name) for row in rows for name in one.columns))
    ]
    titles = [one.title for one in columns]
    cells = [[_cell(one, row, known) for one in columns] for row in rows]
    widths = fit(titles, cells, [one.most for one in columns], [one.least for one in columns], room)
    right = [one.title for one in columns if one.right]
    if screen.context is None:
        return table(titles, cells, widths, right=right)
    left = room - sum(widths) - len(widths) * GAP
    if room < _NARROW or left < _SHORTEST_CONTEXT:
        return _in_two_lines(titles, cells, widths, rows, screen.context, right, room)
    made = Table(box=None, pad_edge=False, header_style="bold")
    for title, width in zip([*titles, "Context"], [*widths, left], strict=True):
        justify: JustifyMethod = "right" if title in right else "left"
        made.add_column(title, no_wrap=True, overflow="ellipsis", width=width, justify=justify)
    for line, row in zip(cells, rows, strict=True):
        made.add_row(*map(Text, line), context(row, screen.context, left))
    return made


def _cell(column: ScreenColumn, row: Any, known: Mapping[str, Column]) -> str:
    name = next((name for name in column.columns if row.get(name)), column.columns[0])
    value = row.get(name)
    if column.counted:
        return f"{value or 0:,}"
    if column.path_only:
        return "/" + str(value).split("/", 3)[3]
    return known[name].in_words(str(value or "")) if column.in_words else str(value or "")


def _in_two_lines(
    titles: Sequence[str],
    cells: Sequence[Sequence[str]],
    widths: Sequence[int],
    rows: Sequence[Any],
    names: tuple[str, str],
    right: Sequence[str],
    room: int,
) -> RenderableType:
    lines = [Text(_padded(titles, titles, widths, right), style="bold", no_wrap=True, overflow="crop")]
    for line, row in zip(cells, rows, strict=True):
        lines.append(Text(_padded(titles, line, widths, right), no_wrap=True, overflow="crop"))
        below = Text(" " * _INDENT, no_wrap=True, overflow="crop")
        lines.append(below.append_text(context(row, names, room - _INDENT)))
    return Group(*lines)


def _padded(titles: Sequence[str], texts: Sequence[str], widths: Sequence[int], right: Sequence[str]) -> str:
    cells = []
    for title, text, width in zip(titles, texts, widths, strict=True):
        cell = set_cell_size(text[: width - 1] + "…", width) if len(text) > width else text
        cells.append(cell.rjust(width) if title in right else set_cell_size(cell, width))
    return (" " * GAP).join(cells)


def context(row: Any, names: tuple[str, str], room: int) -> Text:
    """The text around a mention, with the mention highlighted."""
    text_name, word_name = names
    keyword = row[word_name]
    # The keyword and the dots at both ends are not counted in the width of the text around it.
    around = formatting.excerpt(row[text_name], keyword, max(0, room - len(keyword) - 6))
    text = Text(around, no_wrap=True, overflow="ellipsis")
    pattern = re.escape(keyword).replace(r"\-", _HYPHENS)
    for found in re.finditer(pattern, around, re.IGNORECASE):
        text.stylize(MENTIONED, *found.span())
    text.truncate(room, overflow="ellipsis")
    return text


def show_failed_pages(found: Failures, lines: Lines, limit: int, *, as_json: bool) -> None:
    if as_json:
        say_json([dict(zip(lines.names, line, strict=True)) for line in lines.rows])
        return
    if not lines.rows:
        say("No page failed.")
        return
    titles = ["Page", "Reason", "HTTP", "Retries"]
    cells = [[url, reason, str(status or ""), f"{retries:,}"] for _, url, reason, status, retries, _ in lines.rows]
    widths = tables.fit(titles, cells, [100, 80, 4, 7], [20, 12, 4, 7], tables.width())
    tables.show(tables.table(titles, cells, widths, right=("HTTP", "Retries")))
    more = " There may be more: --limit." if len(lines.rows) == limit else ""
    say(f"{formatting.plural(len(lines.rows), 'failed page')}.{more}")
    say(f"As a file:\n  gossamer job errors {short(found.job.id)} --output failed_pages.csv")


async def show_errors(
    home: Home, text: str, limit: int, form: str | None, output: Path | None, *, by_hand: bool, as_json: bool
) -> None:
    if form is not None or output:
        asked = ExportOptions("errors", form, only=BY_HAND if by_hand else "")
        await write_directly(home, text, asked, output or Path("-"), as_json=as_json)
        return
    answer = await home.ask(failures, text, limit, by_hand=by_hand)
    if answer.pages is not None:
        show_failed_pages(answer, answer.pages, limit, as_json=as_json)
        return
    job, found = answer.job, answer.sites
    if as_json:
        say_json(
            [
                {
                    "domain": site.host,
                    "failure_reason": site.trouble.sentence if site.trouble else "",
                    "http_status": site.trouble.http_status if site.trouble else None,
                    "retry_count": site.retries,
                    "last_attempt_timestamp": iso(site.last_attempt_at),
                }
                for site in found
            ]
        )
        return
    if not found:
        say("No domain wants a login or a CAPTCHA." if by_hand else "No domain failed.")
        return
    tables.show(failures_table(found, tables.width()))
    if by_hand:
        say(f"{formatting.plural(len(found), 'domain')} to look at in a browser: a login or a CAPTCHA is for people.")
        say(f"As a file:\n  gossamer job errors {short(job.id)} --by-hand --output by_hand.csv")
        return
    total = answer.progress.sites_failed
    more = " More of them: --limit." if len(found) < total else ""
    say(f"{len(found):,} of {formatting.plural(total, 'failed domain')}.{more}")
    say(f"As a file:\n  gossamer job errors {short(job.id)} --output failed_domains.csv")


def failures_table(found: Sequence[SiteSummary], room: int) -> Table:
    """Failed domains with reason, HTTP status, number of retries and last attempt."""
    titles = ["Domain", "Reason", "HTTP", "Retries", "Last attempt"]
    cells = [
        [
            site.host,
            site.trouble.sentence if site.trouble else "",
            str(site.trouble.http_status) if site.trouble and site.trouble.http_status else "",
            f"{site.retries:,}",
            formatting.local_time(site.last_attempt_at)[:19] if site.last_attempt_at else "",
        ]
        for site in found
    ]
    widths = fit(titles, cells, [40, 80, 4, 7, 19], [12, 12, 4, 7, 10], room)
    return table(titles, cells, widths, right=("HTTP", "Retries"))
