"""`gossamer job results` and `job errors`: results and failures on the screen, or in a file."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.cells import set_cell_size
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from gossamer.cli import formatting, tables
from gossamer.cli.export import Asking
from gossamer.cli.export_to_file import write_directly
from gossamer.cli.home import Home
from gossamer.cli.runtime import say, say_json
from gossamer.cli.tables import GAP, fit, table
from gossamer.export.errors import BY_HAND
from gossamer.export.moments import iso
from gossamer.export.paging import Page, Where
from gossamer.export.readable import flag_words
from gossamer.model.ids import short
from gossamer.model.job import Job
from gossamer.model.states import OVER
from gossamer.questions.conditions import Conditions
from gossamer.questions.found import Failures, Lines, Results, failures, results
from gossamer.store.sites import SiteSummary


async def show_results(home: Home, text: str, conditions: Conditions, page: int, limit: int, *, as_json: bool) -> int:
    found = await home.ask(results, text, conditions, page, limit, whole=as_json)
    if found.pages is not None:
        return show_scraped(found, found.pages, page, limit, as_json=as_json)
    matches = found.matches or Page([], is_last=True)
    if as_json:
        say_json(matches.rows)
        return 0
    if not matches.rows:
        say(_nothing(found, page, limit))
        return 0
    tables.show(matches_table(matches.rows, tables.width()))
    for line in _below(found.job, conditions, found.where, matches, page, limit, found.progress.records):
        say(line)
    return 0


def _nothing(found: Results, page: int, limit: int) -> str:
    such = "such " if found.where else ""
    if found.before and found.before.rows:
        rows = found.before.rows
        count = f"{'' if found.before.is_last else 'more than '}{len(rows):,} {such}match"
        several = "" if len(rows) == 1 else "es"
        return f"There is no page {page:,}: the job has {count}{several}, {limit:,} a page."
    return f"No {such}matches" + (" yet." if found.job.state not in OVER else ".")


def _below(job: Job, conditions: Conditions, where: Where, found: Page, page: int, limit: int, total: int) -> list[str]:
    """Which these are, how to see more, and how to have all."""
    first = (page - 1) * limit + 1
    last = first + len(found.rows) - 1
    of_all = f" of {total:,}" if not where else f", and that is all of {'them' if page > 1 else 'such'}" * found.is_last
    lines = [f"Matches {first:,} to {last:,}{of_all}."]
    if not found.is_last:
        again = f"gossamer job results {short(job.id)}{conditions.options()} --limit {limit} --page {page + 1}"
        lines += ["Next:", f"  {again}"]
    return [*lines, *_file(job, where)]


def _file(job: Job, where: Where) -> list[str]:
    """How to have them in a file, and what else is in it then: export knows fewer conditions."""
    unlinked = where.verdict == "unlinked"
    more = {"domains": where.domain, "keywords": where.keyword, "verdicts": where.verdict and not unlinked}
    others = " and ".join(name for name, is_given in more.items() if is_given)
    which = "All unlinked ones" if unlinked else "All"
    said = f"{which} in a file" + (f", those of other {others} too" if others else "")
    only = " --filter unlinked" if unlinked else ""
    return [f"{said}:", f"  gossamer job export {short(job.id)}{only} --output results.csv"]


MENTIONED = "bold yellow"

_NARROW = 150  # columns; in fewer, what is left beside the others says too little

_SHORTEST_CONTEXT = 24

_ROOM_FOR_FLAGS = 72  # columns; in fewer, the others would be wider than the terminal

_INDENT = 2

_HYPHENS = "[-\u2010\u2011\u2012\u2013]"


def matches_table(rows: Sequence[Any], room: int) -> RenderableType:
    """The results. Nothing is wider than `room`."""
    titles, most, least = ["Domain", "Page", "Keyword", "Times"], [28, 30, 24, 6], [12, 8, 8, 5]
    cells = [[row["domain"], _page(row["url"]), row["keyword"], f"{row['frequency'] or 0:,}"] for row in rows]
    if any(row["verdict"] for row in rows):
        titles, most, least = [*titles, "Verdict"], [*most, 15], [*least, 15]
        cells = [[*line, row["verdict"]] for line, row in zip(cells, rows, strict=True)]
    if room >= _ROOM_FOR_FLAGS and any(row.get("flags") for row in rows):
        titles, most, least = [*titles, "Flags"], [*most, 20], [*least, 13]
        cells = [[*line, flag_words(row.get("flags") or "")] for line, row in zip(cells, rows, strict=True)]
    widths = fit(titles, cells, most, least, room)
    left = room - sum(widths) - len(widths) * GAP
    if room < _NARROW or left < _SHORTEST_CONTEXT:
        return _in_two_lines(titles, cells, widths, rows, room)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title, width in zip([*titles, "Context"], [*widths, left], strict=True):
        justify = _justify(title)
        table.add_column(title, no_wrap=True, overflow="ellipsis", width=width, justify=justify)  # type: ignore[arg-type]
    for line, row in zip(cells, rows, strict=True):
        table.add_row(*map(Text, line), context(row, left))
    return table


def _in_two_lines(
    titles: Sequence[str], cells: Sequence[Sequence[str]], widths: Sequence[int], rows: Sequence[Any], room: int
) -> RenderableType:
    lines = [Text(_padded(titles, titles, widths), style="bold", no_wrap=True, overflow="crop")]
    for line, row in zip(cells, rows, strict=True):
        lines.append(Text(_padded(titles, line, widths), no_wrap=True, overflow="crop"))
        below = Text(" " * _INDENT, no_wrap=True, overflow="crop")
        lines.append(below.append_text(context(row, room - _INDENT)))
    return Group(*lines)


def _padded(titles: Sequence[str], texts: Sequence[str], widths: Sequence[int]) -> str:
    cells = []
    for title, text, width in zip(titles, texts, widths, strict=True):
        cell = set_cell_size(text[: width - 1] + "…", width) if len(text) > width else text
        cells.append(cell.rjust(width) if _justify(title) == "right" else set_cell_size(cell, width))
    return (" " * GAP).join(cells)


def context(row: Any, room: int) -> Text:
    """The words round a mention, with the mention itself to be seen at once."""
    keyword = row["keyword"]
    # The keyword and the dots at both ends come on top of the words round it.
    around = formatting.around(row["context_snippet"], keyword, max(0, room - len(keyword) - 6))
    text = Text(around, no_wrap=True, overflow="ellipsis")
    pattern = re.escape(keyword).replace(r"\-", _HYPHENS)
    for found in re.finditer(pattern, around, re.IGNORECASE):
        text.stylize(MENTIONED, *found.span())
    text.truncate(room, overflow="ellipsis")
    return text


def _justify(title: str) -> str:
    return "right" if title == "Times" else "left"


def _page(url: str) -> str:
    return "/" + url.split("/", 3)[3]


def show_scraped(found: Results, lines: Lines, page: int, limit: int, *, as_json: bool) -> int:
    if as_json:
        say_json([dict(zip(lines.names, line, strict=True)) for line in lines.rows])
        return 0
    if not lines.rows:
        say("No such pages." if page == 1 else f"There is no page {page:,}.")
        return 0
    titles = ["Page", "State", "HTTP", "Title or reason"]
    cells = [[url, state, str(status or ""), error or title or ""] for url, state, status, title, error in lines.rows]
    widths = tables.fit(titles, cells, [100, 7, 4, 80], [20, 7, 4, 12], tables.width())
    tables.show(tables.table(titles, cells, widths, right=("HTTP",)))
    first = (page - 1) * limit + 1
    of_all = "" if found.where.domain else f" of {found.progress.pages_ended + found.progress.pages_open:,}"
    identifier = short(found.job.id)
    say(f"Pages {first:,} to {first + len(lines.rows) - 1:,}{of_all}.")
    if lines.more:
        say(f"Next:\n  gossamer job results {identifier} --limit {limit} --page {page + 1}")
    say(f"What was read of them, in a file:\n  gossamer job export {identifier} --output pages.jsonl")
    return 0


def show_failed_pages(found: Failures, lines: Lines, limit: int, *, as_json: bool) -> int:
    if as_json:
        say_json([dict(zip(lines.names, line, strict=True)) for line in lines.rows])
        return 0
    if not lines.rows:
        say("No page failed.")
        return 0
    titles = ["Page", "Reason", "HTTP", "Retries"]
    cells = [[url, reason, str(status or ""), f"{retries:,}"] for _, url, reason, status, retries, _ in lines.rows]
    widths = tables.fit(titles, cells, [100, 80, 4, 7], [20, 12, 4, 7], tables.width())
    tables.show(tables.table(titles, cells, widths, right=("HTTP", "Retries")))
    more = " There may be more: --limit." if len(lines.rows) == limit else ""
    say(f"{formatting.several(len(lines.rows), 'failed page')}.{more}")
    say(f"As a file:\n  gossamer job errors {short(found.job.id)} --output failed_pages.csv")
    return 0


async def show_errors(
    home: Home, text: str, limit: int, form: str | None, output: Path | None, *, by_hand: bool, as_json: bool
) -> int:
    if form is not None or output:
        asked = Asking("errors", form, only=BY_HAND if by_hand else "")
        return await write_directly(home, text, asked, output or Path("-"), as_json=as_json)
    answer = await home.ask(failures, text, limit, by_hand=by_hand)
    if answer.pages is not None:
        return show_failed_pages(answer, answer.pages, limit, as_json=as_json)
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
        return 0
    if not found:
        say("No domain wants a login or a CAPTCHA." if by_hand else "No domain failed.")
        return 0
    tables.show(failures_table(found, tables.width()))
    if by_hand:
        say(f"{formatting.several(len(found), 'domain')} to look at in a browser: a login or a CAPTCHA is for people.")
        say(f"As a file:\n  gossamer job errors {short(job.id)} --by-hand --output by_hand.csv")
        return 0
    total = answer.progress.sites_failed
    more = " More of them: --limit." if len(found) < total else ""
    say(f"{len(found):,} of {formatting.several(total, 'failed domain')}.{more}")
    say(f"As a file:\n  gossamer job errors {short(job.id)} --output failed_domains.csv")
    return 0


def failures_table(found: Sequence[SiteSummary], room: int) -> Table:
    """Domains that failed: why, with which answer, after how many further tries, and when last."""
    titles = ["Domain", "Reason", "HTTP", "Retries", "Last attempt"]
    cells = [
        [
            site.host,
            site.trouble.sentence if site.trouble else "",
            str(site.trouble.http_status) if site.trouble and site.trouble.http_status else "",
            f"{site.retries:,}",
            formatting.moment(site.last_attempt_at)[:19] if site.last_attempt_at else "",
        ]
        for site in found
    ]
    widths = fit(titles, cells, [40, 80, 4, 7, 19], [12, 12, 4, 7, 10], room)
    return table(titles, cells, widths, right=("HTTP", "Retries"))
