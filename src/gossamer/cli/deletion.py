"""The commands that delete: each says what it would do before, and what it has done after."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import typer
from rich.table import Table
from rich.text import Text

from gossamer.assembly import App
from gossamer.blobs.seam import BlobsAway
from gossamer.cli import kept, tables, words
from gossamer.cli.session import say, say_json
from gossamer.errors import UserError
from gossamer.intake.control import find_job
from gossamer.model.ids import short
from gossamer.model.job import Job
from gossamer.model.record import RecordKind
from gossamer.model.states import JobState
from gossamer.retain.delete import delete_job, refuse_at_work
from gossamer.retain.files import FileSweeper
from gossamer.retain.retainer import NextStep, Outlook, Retainer, RetentionReport
from gossamer.store import counters, jobs, retention
from gossamer.work.forget import MAY_HAVE_FOUND, Found, find_mentions, forget_in_job, forget_robots
from gossamer.work.mentioned import domain_named, page_named

INTERRUPTED = 130  # exit code

_STEPS = {
    NextStep.KEEP: "",
    NextStep.HIDE: "hide",
    NextStep.SHOW: "show again",
    NextStep.DELETE: "delete",
    NextStep.GO_ON: "go on deleting",
}


async def delete_results(app: App, text: str, *, yes: bool, as_json: bool) -> int:
    job = await find_job(app.database, text)
    refuse_at_work(job, "it cannot be deleted")
    progress = await app.database.read(counters.progress, job.id)
    identifier = short(job.id)
    found = f"{_matches(progress.records)} and {words.several(progress.pages_done, 'page')}"
    question = f"Delete all of {job.name} ({identifier}): {found}?"
    if job.state is not JobState.ARCHIVED and not _is_meant(question, yes=yes):
        return 0
    rows = await delete_job(app.database, job)
    left = await _remove_files(app, job)
    if as_json:
        say_json(
            {
                "id": str(job.id),
                "short_id": identifier,
                "state": str(JobState.ARCHIVED),
                "rows": rows,
                "files_left": left,
            }
        )
    elif job.state is JobState.ARCHIVED and not rows:
        at = await app.database.read(retention.deleted_at, job.id)
        say(f"Nothing to do: job {identifier} was deleted already{f', on {kept.date(at)}' if at else ''}.")
    else:
        still = f"'gossamer job list --include-archived' still shows that job {identifier} was run."
        say(f"Deleted {words.several(rows, 'row')}. {still}")
    _say_left(left, quiet=as_json)
    return 0


async def forget_mentions(
    app: App, url: str | None, domain: str | None, text: str | None, *, yes: bool, dry_run: bool, as_json: bool
) -> int:
    mention = page_named(url) if url is not None else domain_named(domain or "")
    if text is None:
        wanted = await app.database.read(jobs.in_states, *MAY_HAVE_FOUND)
    else:
        wanted = [await find_job(app.database, text)]
    looked = [await find_mentions(app.database, job, _kinds(app, job), mention) for job in wanted]
    found = [one for one in looked if one]
    for one in found:
        say(_sentence(one), quiet=as_json)
    answers = left = 0
    if not dry_run:
        for one in found:
            refuse_at_work(one.job, "nothing can be forgotten in it")
        if found and not _is_meant("Remove all of this for good?", yes=yes):
            return 0
        for one in found:
            await forget_in_job(app.database, one, mention)
        answers = await forget_robots(app.database, mention)
        left = await _remove_files(app, *(one.job for one in found))
    if as_json:
        forgotten = bool(found or answers) and not dry_run
        say_json({"forgotten": forgotten, "jobs": [_as_json(one) for one in found], "files_left": left})
    elif not (found or answers):
        say("Nothing here names it.")
    else:
        say("Nothing was changed: this was a dry run." if dry_run else "Forgotten.")
    _say_left(left, quiet=as_json)
    return 0


async def _remove_files(app: App, *of_jobs: Job) -> int:
    """Files that shall not be had any longer, exported ones and those of single pages; how many are left for later."""
    pages, left = app.page_files(), 0
    for job in of_jobs:
        try:
            await pages.forget(job.id)
        except BlobsAway:
            left += 1
    return left + await FileSweeper(app.database, app.shelf(), pages).remove_now()


def _say_left(files: int, *, quiet: bool) -> None:
    if files:
        say(
            f"{words.several(files, 'exported file')} could not be removed yet, because the storage does not answer or "
            "another machine has them. They go as soon as jobs are worked there.",
            quiet=quiet,
        )


def _kinds(app: App, job: Job) -> tuple[RecordKind, ...]:
    """What is known of the job's tables: nothing, if it comes from a program that knew another recipe."""
    recipe = app.recipes.get(job.recipe)
    return recipe.kinds if recipe else ()


async def show_retention(app: App, *, due_only: bool, as_json: bool) -> int:
    """All jobs with results and their dates; or only those with which something would be done now."""
    ahead = await Retainer(app.database, app.terms).outlook(app.clock.now())
    shown = [one for one in ahead if one.step is not NextStep.KEEP] if due_only else ahead
    if as_json:
        say_json([_outlook_json(one) for one in shown])
        return 0
    if not shown:
        say("Nothing is due." if due_only else "No job has results to keep.")
        return 0
    table = Table(box=None, pad_edge=False, show_header=True, header_style="bold")
    for title in ("ID", "Name", "State", "Matches", "Hidden", "Deleted", "Due now"):
        table.add_column(title, justify="right" if title == "Matches" else "left", no_wrap=title != "Name")
    for one in shown:
        job, hidden_at = one.job, one.job.hidden_at or one.hides_at
        dates = (kept.date(hidden_at), kept.date(one.deletes_at))
        table.add_row(short(job.id), Text(job.name), str(job.state), f"{job.records:,}", *dates, _STEPS[one.step])
    tables.show(table)
    if any(one.step is not NextStep.KEEP for one in shown):
        say("What is due is done while jobs are worked, or now with 'gossamer system retention --run'.")
    return 0


async def run_retention(app: App, *, as_json: bool) -> int:
    retainer, done = Retainer(app.database, app.terms), RetentionReport(is_over=False)
    while not done.is_over:
        more = await retainer.pass_once(app.clock.now())
        done = replace(
            more,
            hidden=done.hidden + more.hidden,
            shown=done.shown + more.shown,
            deleted=done.deleted + more.deleted,
            rows=done.rows + more.rows,
        )
    left = await _remove_files(app)
    if as_json:
        ids = {name: [str(one) for one in getattr(done, name)] for name in ("hidden", "shown", "deleted")}
        say_json({**ids, "rows": done.rows, "files_left": left})
        return 0
    hidden, deleted = (words.several(len(some), "job") for some in (done.hidden, done.deleted))
    say(f"Hidden: {hidden}. Deleted: {deleted}, {words.several(done.rows, 'row')}.")
    if done.shown:
        say(f"Shown again: {words.several(len(done.shown), 'job')}.")
    _say_left(left, quiet=False)
    return 0


def _is_meant(question: str, *, yes: bool) -> bool:
    """What cannot be undone is asked about; a script must have said it before."""
    if yes:
        return True
    if not sys.stdin.isatty():
        raise UserError(
            "confirm.needed", "This cannot be undone, and nobody is here to ask.", hint="Repeat with --yes."
        )
    try:
        with _ctrl_c_ends_it():
            meant = typer.confirm(question, err=True)
    except typer.Abort:
        say("\nNothing was changed.")
        raise typer.Exit(INTERRUPTED) from None
    if not meant:
        say("Nothing was changed.")
    return meant


@contextmanager
def _ctrl_c_ends_it() -> Iterator[None]:
    """While somebody is asked, the event loop stands still: all it would do with Ctrl-C is to note it for later."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _sentence(one: Found) -> str:
    pages, mentions = words.several(len(one.pages), "page"), words.several(one.mentions, "mention")
    return f"{one.job.name} ({short(one.job.id)}): {pages}, {_matches(one.records)}, {mentions} elsewhere"


def _matches(count: int) -> str:
    return f"{count:,} match{'' if count == 1 else 'es'}"


def _as_json(one: Found) -> dict[str, Any]:
    return {
        "id": str(one.job.id),
        "short_id": short(one.job.id),
        "pages": len(one.pages),
        "matches": one.records,
        "mentions": one.mentions,
    }


def _outlook_json(one: Outlook) -> dict[str, Any]:
    return {
        "id": str(one.job.id),
        "short_id": short(one.job.id),
        "name": one.job.name,
        "state": str(one.job.state),
        "matches": one.job.records,
        "hidden_at": words.stamp(one.job.hidden_at),
        "hides_at": words.stamp(one.hides_at),
        "deletes_at": words.stamp(one.deletes_at),
        "due": _STEPS[one.step] or None,
    }
