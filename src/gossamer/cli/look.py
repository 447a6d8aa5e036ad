"""The commands that only look."""

from rich.table import Table
from rich.text import Text

from gossamer.assembly import App
from gossamer.cli import report, tables, words
from gossamer.cli.at_work import runner_of
from gossamer.cli.costs import spent_json
from gossamer.cli.session import say, say_json
from gossamer.errors import UserError
from gossamer.intake.control import find_job
from gossamer.model.ids import short
from gossamer.model.money import NOTHING, dollars
from gossamer.model.states import JobState, SiteState
from gossamer.store import budgets, counters, jobs, sites


async def show_list(app: App, limit: int, *, archived: bool, as_json: bool) -> int:
    runner = await runner_of(app)
    found = await app.database.read(jobs.recent, limit, archived=archived)
    rows = [(job, await app.database.read(counters.progress, job.id)) for job in found]
    spent = await app.database.read(budgets.spent_by_jobs, [job.id for job in found])
    if as_json:
        say_json([
            {**report.as_json(job, progress, runner), "cost": spent_json(spent.get(job.id, NOTHING))}
            for job, progress in rows
        ])  # fmt: skip
        return 0
    if not rows:
        say("No jobs yet. Start one with 'gossamer job run --name N --domains F --keywords F'.")
        return 0
    table = Table(box=None, pad_edge=False, show_header=True, header_style="bold")
    for title in ("ID", "Name", "State"):
        table.add_column(title, no_wrap=title == "ID", overflow="fold")
    for title in ("Domains", "Matches", "Cost"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("Date", no_wrap=True)
    for job, progress in rows:
        note = " (Results deleted)" if job.state is JobState.ARCHIVED else ""
        table.add_row(
            short(job.id),
            Text(job.name),
            words.state_word(job, runner) + note,
            f"{progress.sites_finished:,}/{progress.sites_total:,}",
            f"{progress.records:,}",
            dollars(spent.get(job.id, NOTHING).micros),
            words.day(job.created_at),
        )
    tables.show(table)
    if any(words.state_word(job, runner) == words.NO_WORKER for job, _ in rows):
        say("Go on with all stopped jobs: 'gossamer job resume --all'.")
    return 0


async def show_sites(app: App, text: str, state: str, limit: int, *, as_json: bool) -> int:
    job = await find_job(app.database, text)
    wanted = _site_state(state) if state else None
    found = await app.database.read(sites.summaries, job.id, wanted, limit=limit)
    if as_json:
        say_json(report.sites_json(found))
        return 0
    if not found:
        say(f"No domain is {state}." if state else "No domains.")
        return 0
    tables.show(tables.domains(found, tables.width()))
    total = report.count_in(await app.database.read(counters.progress, job.id), wanted)
    more = " More of them: --limit." if len(found) < total else ""
    say(f"{len(found):,} of {total:,} {f'{state} ' if state else ''}domains.{more}")
    return 0


def _site_state(text: str) -> SiteState:
    known = [str(state) for state in SiteState]
    if text not in known:
        raise UserError("sites.state", f"{text!r} is no state of a domain.", hint=f"Use one of {', '.join(known)}.")
    return SiteState(text)
