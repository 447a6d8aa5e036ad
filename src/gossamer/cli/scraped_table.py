"""The results of a scrape job on the screen: which pages were read, and why others were not."""

from gossamer.cli import tables, words
from gossamer.cli.session import say, say_json
from gossamer.model.ids import short
from gossamer.questions.found import Failures, Lines, Results


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
    say(f"{words.several(len(lines.rows), 'failed page')}.{more}")
    say(f"As a file:\n  gossamer job errors {short(found.job.id)} --output failed_pages.csv")
    return 0
