"""`gossamer job results`: a job's matches on the screen, a page at a time."""

from gossamer.cli import match_table, tables
from gossamer.cli.home import Home
from gossamer.cli.scraped_table import show_scraped
from gossamer.cli.session import say, say_json
from gossamer.export.paging import Page, Where
from gossamer.model.ids import short
from gossamer.model.job import Job
from gossamer.model.states import OVER
from gossamer.questions.conditions import Conditions
from gossamer.questions.found import Results, results


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
    tables.show(match_table.matches(matches.rows, tables.width()))
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
