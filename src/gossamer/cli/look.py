"""The commands that only look."""

from typing import Any

from rich.table import Table
from rich.text import Text

from gossamer.assembly import App
from gossamer.cli import kept, report, tables, words
from gossamer.cli.follow import runner_of
from gossamer.cli.session import say, say_json
from gossamer.errors import UserError
from gossamer.export.rows import rows_by_site
from gossamer.intake.control import find_job
from gossamer.model.ids import short
from gossamer.model.job import Job
from gossamer.model.record import RecordKind
from gossamer.model.states import OVER, JobState, SiteState
from gossamer.store import counters, jobs, sites


async def show_list(app: App, limit: int, *, archived: bool, as_json: bool) -> int:
    runner = await runner_of(app)
    found = await app.database.read(jobs.recent, limit, archived=archived)
    rows = [(job, await app.database.read(counters.progress, job.id)) for job in found]
    if as_json:
        say_json([report.as_json(job, progress, runner) for job, progress in rows])
        return 0
    if not rows:
        say("No jobs yet. Start one with 'gossamer job run --name N --domains F --keywords F'.")
        return 0
    table = Table(box=None, pad_edge=False, show_header=True, header_style="bold")
    for title in ("ID", "Name", "State"):
        table.add_column(title, no_wrap=title == "ID", overflow="fold")
    for title in ("Domains", "Matches"):
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


async def show_results(app: App, text: str, limit: int, *, unlinked_only: bool, as_json: bool) -> int:
    job = await find_job(app.database, text)
    await kept.refuse_gone(app, job)
    kind = _kind(app, job)
    rows: list[Any] = []
    async for some in rows_by_site(app.database, job.id, kind, verdict=_wanted(job, unlinked_only)):
        rows.extend(some[: limit - len(rows)])
        if len(rows) >= limit:
            break
    if as_json:
        say_json(rows)
        return 0
    if not rows:
        say(f"No {'unlinked ' if unlinked_only else ''}matches" + (" yet." if job.state not in OVER else "."))
        return 0
    tables.show(tables.matches(rows, tables.width()))
    export = f"gossamer job export {short(job.id)}"
    if unlinked_only:
        say(f"The first {len(rows):,} unlinked matches. All of them: '{export} --unlinked-only --output unlinked.csv'.")
    else:
        progress = await app.database.read(counters.progress, job.id)
        say(f"{len(rows):,} of {progress.records:,} matches. All of them: '{export} --output results.csv'.")
    return 0


def _kind(app: App, job: Job) -> RecordKind:
    return app.recipes[job.recipe].kinds[0]


def _wanted(job: Job, unlinked_only: bool) -> str:
    """The verdict rows must have; "" for any."""
    if unlinked_only and not job.params.get("client_domains"):
        raise UserError(
            "results.no_client",
            f"Job {short(job.id)} was run without a client's domain, so it does not know who links to it.",
            hint="Run it again with --client-domain.",
        )
    return "unlinked" if unlinked_only else ""


def _site_state(text: str) -> SiteState:
    known = [str(state) for state in SiteState]
    if text not in known:
        raise UserError("sites.state", f"{text!r} is no state of a domain.", hint=f"Use one of {', '.join(known)}.")
    return SiteState(text)
