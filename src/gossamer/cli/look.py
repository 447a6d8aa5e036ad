"""The commands that only look."""

import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from rich.cells import cell_len
from rich.console import Console, JustifyMethod
from rich.table import Table
from rich.text import Text

from gossamer.assembly import App
from gossamer.cli import report, words
from gossamer.cli.session import say, say_json
from gossamer.errors import UserError
from gossamer.export.rows import Row, rows_by_site
from gossamer.export.write import ENCODERS, write_file, write_stream
from gossamer.intake.control import find_job
from gossamer.model.ids import short
from gossamer.model.job import Job
from gossamer.model.record import RecordKind
from gossamer.model.states import OVER, JobState, SiteState
from gossamer.store import counters, jobs, sites

_FAILED_SHOWN = 1000  # failed domains in a JSON status
_FAILED_TOLD = 10  # and in one for people
_SHORTEST_CONTEXT = 24  # columns; less says nothing


async def show_status(app: App, text: str, *, as_json: bool) -> int:
    job = await find_job(app.database, text)
    progress = await app.database.read(counters.progress, job.id)
    failed = await app.database.read(sites.summaries, job.id, SiteState.FAILED, limit=_FAILED_SHOWN)
    runner = app.lock.holder()
    if as_json:
        say_json({**report.as_json(job, progress, runner), "failed_domains": report.failures_json(failed)})
        return 0
    for line in report.status_lines(job, progress, runner, app.clock.now()):
        say(line)
    for line in report.failure_lines(failed[:_FAILED_TOLD], progress.sites_failed, short(job.id)):
        say(line)
    return 0


async def show_list(app: App, limit: int, *, archived: bool, as_json: bool) -> int:
    runner = app.lock.holder()
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
    _print(table)
    if any(words.state_word(job, runner) == "stopped: no worker" for job, _ in rows):
        say("Go on with all stopped jobs: 'gossamer job resume --all'.")
    return 0


async def show_results(app: App, text: str, limit: int, *, as_json: bool) -> int:
    job = await find_job(app.database, text)
    kind = _kind(app, job)
    rows: list[Any] = []
    async for some in rows_by_site(app.database, job.id, kind):
        rows.extend(some[: limit - len(rows)])
        if len(rows) >= limit:
            break
    if as_json:
        say_json(rows)
        return 0
    if not rows:
        say("No matches" + (" yet." if job.state not in OVER else "."))
        return 0
    _print(_matches(rows, _width()))
    progress = await app.database.read(counters.progress, job.id)
    everything = f"'gossamer job export {short(job.id)} --output results.csv'"
    say(f"{len(rows):,} of {progress.records:,} matches. All of them: {everything}.")
    return 0


async def export_results(app: App, text: str, form: str, output: Path, *, as_json: bool) -> int:
    if str(output) in ("", "."):
        raise UserError("export.output", "--output names no file.", hint="For example --output results.csv.")
    if str(output) == "-" and as_json:
        raise UserError(
            "usage", "--json has nothing to say when the export itself goes to standard output.", hint="Give one."
        )
    if form not in ENCODERS:
        known = " or ".join(ENCODERS)
        raise UserError("export.format", f"{form!r} is not a format.", hint=f"Use --format {known}.")
    job = await find_job(app.database, text)
    kind = _kind(app, job)
    written = 0

    async def counted() -> AsyncIterator[list[Row]]:
        nonlocal written
        async for rows in rows_by_site(app.database, job.id, kind):
            written += len(rows)
            yield rows

    chunks = ENCODERS[form](counted(), kind)
    if str(output) == "-":
        await write_stream(sys.stdout, chunks)
        return 0
    size = await write_file(output, chunks)
    partial = job.state not in OVER
    if as_json:
        answer = {"path": str(output), "format": form, "rows": written, "bytes": size, "partial": partial}
        say_json(answer)
        return 0
    say(f"Wrote {written:,} matches to {output} ({size:,} bytes)")
    if partial:
        say(f"The job is {job.state}: these are the results so far.")
    return 0


def _kind(app: App, job: Job) -> RecordKind:
    return app.recipes[job.recipe].kinds[0]


def _matches(rows: list[Any], width: int) -> Table:
    """One line a row, whatever the terminal: what is cut here is whole in the export. Context takes what is left."""
    cells = [(row["domain"], "/" + row["url"].split("/", 3)[3], row["keyword"], str(row["frequency"])) for row in rows]
    titles, most = ("Domain", "Page", "Keyword", "Times"), (28, 30, 24, 6)
    widths = [
        min(cap, max(len(titles[place]), *(cell_len(line[place]) for line in cells))) for place, cap in enumerate(most)
    ]
    left = width - sum(widths) - len(widths) * 2
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title, cap in zip(titles, widths, strict=True):
        justify: JustifyMethod = "right" if title == "Times" else "left"
        table.add_column(title, no_wrap=True, overflow="ellipsis", width=cap, justify=justify)
    if left >= _SHORTEST_CONTEXT:
        table.add_column("Context", no_wrap=True, overflow="ellipsis", width=left)
    for row, line in zip(rows, cells, strict=True):
        room = left - len(row["keyword"]) - 6  # and the dots at both ends
        context = (
            [Text(words.around(row["context_snippet"], row["keyword"], room))] if left >= _SHORTEST_CONTEXT else []
        )
        table.add_row(*map(Text, line), *context)
    return table


def _width() -> int:
    """Piped output has no width to fit into: lines are kept whole for whoever reads them."""
    console = Console()
    return console.width if console.is_terminal else 200


def _print(table: Table) -> None:
    Console(width=_width(), soft_wrap=False).print(table)
