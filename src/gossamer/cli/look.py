"""The commands that only look."""

from rich.table import Table
from rich.text import Text

from gossamer.cli import report, tables, words
from gossamer.cli.costs import spent_json
from gossamer.cli.home import Home
from gossamer.cli.session import say, say_json
from gossamer.errors import UserError
from gossamer.model.ids import short
from gossamer.model.money import dollars
from gossamer.model.states import JobState, SiteState
from gossamer.questions import jobs

_NO_JOBS = "No jobs yet. Start one with 'gossamer job run --name N --domains F --keywords F'."
_HIDDEN = "Scrapes of single pages are not listed: see 'gossamer job list --recipe scrape'."
_ONLY_SCRAPES = f"No jobs but scrapes of single pages. {_HIDDEN.partition(': ')[2].capitalize()}"


async def show_list(
    home: Home, limit: int, *, archived: bool, recipe: str = "", state: str = "", name: str = "", as_json: bool
) -> int:
    known = job_state(state) if state else None
    found = await home.ask(jobs.listing, limit, archived=archived, recipe=recipe, state=known, name=name)
    runner, rows = found.runner, [(one.job, one.progress, one.spent) for one in found.jobs]
    if as_json:
        say_json([
            {**report.as_json(job, progress, runner), "cost": spent_json(spent)} for job, progress, spent in rows
        ])  # fmt: skip
        return 0
    if not rows:
        none = "No such jobs." if recipe or state or name else _NO_JOBS
        say(_ONLY_SCRAPES if found.hides else none)
        return 0
    # What was scraped are no matches.
    found_title = "Results" if any(words.is_of_pages(job) for job, _, _ in rows) else "Matches"
    table = Table(box=None, pad_edge=False, show_header=True, header_style="bold")
    for title in ("ID", "Name", "State"):
        table.add_column(title, no_wrap=title == "ID", overflow="fold")
    for title in ("Domains", found_title, "Cost"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("Date", no_wrap=True)
    for job, progress, spent in rows:
        note = " (Results deleted)" if job.state is JobState.ARCHIVED else ""
        table.add_row(
            short(job.id),
            Text(job.name),
            words.state_word(job, runner, progress) + note,
            f"{progress.sites_finished:,}/{progress.sites_total:,}",
            f"{progress.records:,}",
            dollars(spent.micros),
            words.day(job.created_at),
        )
    tables.show(table)
    if any(words.state_word(job, runner) == words.NO_WORKER for job, _, _ in rows):
        say("Go on with all stopped jobs: 'gossamer job resume --all'.")
    if found.hides:
        say(_HIDDEN)
    return 0


async def show_sites(home: Home, text: str, state: str, limit: int, *, as_json: bool) -> int:
    wanted = _site_state(state) if state else None
    answer = await home.ask(jobs.domains, text, wanted, limit)
    found = answer.sites
    if as_json:
        say_json(report.sites_json(found))
        return 0
    if not found:
        say(f"No domain is {state}." if state else "No domains.")
        return 0
    tables.show(tables.domains(found, tables.width()))
    total = report.count_in(answer.progress, wanted)
    more = " More of them: --limit." if len(found) < total else ""
    say(f"{len(found):,} of {total:,} {f'{state} ' if state else ''}domains.{more}")
    return 0


def job_state(text: str) -> JobState:
    known = [str(state) for state in JobState]
    if text not in known:
        raise UserError(
            "job.unknown_state", f"{text!r} is not a state of a job.", hint=f"Use one of {', '.join(known)}."
        )
    return JobState(text)


def _site_state(text: str) -> SiteState:
    known = [str(state) for state in SiteState]
    if text not in known:
        raise UserError("sites.state", f"{text!r} is no state of a domain.", hint=f"Use one of {', '.join(known)}.")
    return SiteState(text)
