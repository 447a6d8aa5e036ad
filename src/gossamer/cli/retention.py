"""`job delete`, `job forget` and `system retention`: show what would be deleted, delete it, report it."""

import sys
from typing import Any

from rich.table import Table
from rich.text import Text

from gossamer.cli import formatting, prompts, tables
from gossamer.cli.home import Home
from gossamer.cli.runtime import say, say_json
from gossamer.cli.traces import Trace
from gossamer.errors import UserError
from gossamer.model.ids import short
from gossamer.model.states import JobState
from gossamer.questions.jobs import deleted_at, standing
from gossamer.questions.system import ahead, tidy
from gossamer.questions.view import date
from gossamer.recipes.base import plural_form
from gossamer.recipes.registry import RECIPES, nouns_of
from gossamer.retention.service import NextStep, PlannedStep, refuse_at_work

_STEPS = {
    NextStep.KEEP: "",
    NextStep.HIDE: "hide",
    NextStep.SHOW: "show again",
    NextStep.DELETE: "delete",
    NextStep.GO_ON: "go on deleting",
}


async def delete_results(home: Home, text: str, *, yes: bool, as_json: bool) -> None:
    now = await home.ask(standing, text)
    job, progress = now.job, now.progress
    refuse_at_work(job, "it cannot be deleted")
    identifier = short(job.id)
    found = f"{formatting.record_count(job, progress)} and {formatting.plural(progress.pages_done, 'page')}"
    question = f"Delete all of {job.name} ({identifier}): {found}?"
    if job.state is not JobState.ARCHIVED and not _confirmed(question, yes=yes):
        return
    rows, left = await home.delete(job)
    if as_json:
        said = {"id": str(job.id), "short_id": identifier, "state": str(JobState.ARCHIVED)}
        say_json({**said, "rows": rows, "files_left": left})
    elif job.state is JobState.ARCHIVED and not rows:
        at = await home.ask(deleted_at, str(job.id))
        say(f"Nothing to do: job {identifier} was deleted already{f', on {date(at)}' if at else ''}.")
    else:
        still = f"'gossamer job list --include-archived' still shows that job {identifier} was run."
        say(f"Deleted {formatting.plural(rows, 'row')}. {still}")
    _say_left(left, quiet=as_json)


async def forget_mentions(
    home: Home, url: str | None, domain: str | None, text: str | None, *, yes: bool, dry_run: bool, as_json: bool
) -> None:
    traces = await home.traces(url, domain, text)
    for one in traces.found:
        say(_sentence(one), quiet=as_json)
    removed, left = bool(traces.found), 0
    if not dry_run:
        await traces.refuse_at_work()
        if traces.found and not _confirmed("Remove all of this for good?", yes=yes):
            return
        removed, left = await traces.remove()
    if as_json:
        forgotten = removed and not dry_run
        say_json({"forgotten": forgotten, "jobs": [_as_json(one) for one in traces.found], "files_left": left})
    elif not removed:
        say("No stored data mentions it.")
    else:
        say("Nothing was changed: this was a dry run." if dry_run else "Forgotten.")
    _say_left(left, quiet=as_json)


def _say_left(files: int, *, quiet: bool) -> None:
    if files:
        say(
            f"{formatting.plural(files, 'exported file')} could not be removed yet, because the storage does not "
            "answer or another machine has them. They are removed as soon as jobs run there.",
            quiet=quiet,
        )


async def show_retention(home: Home, *, due_only: bool, as_json: bool) -> None:
    """List all jobs with results and their dates; with `due_only`, those on which something would be done now."""
    found = await home.ask(ahead)
    shown = [one for one in found if one.step is not NextStep.KEEP] if due_only else found
    if as_json:
        say_json([_outlook_json(one) for one in shown])
        return
    if not shown:
        say("Nothing is due." if due_only else "No job has results to keep.")
        return
    table = Table(box=None, pad_edge=False, show_header=True, header_style="bold")
    # Of the recipe that comes first, whichever these jobs are of: the column stays where scripts look for it.
    found_title = plural_form(next(iter(RECIPES.values())).nouns.found).capitalize()
    for title in ("ID", "Name", "State", found_title, "Hidden", "Deleted", "Due now"):
        table.add_column(title, justify="right" if title == found_title else "left", no_wrap=title != "Name")
    for one in shown:
        job, hidden_at = one.job, one.job.hidden_at or one.hides_at
        dates = (date(hidden_at), date(one.deletes_at))
        table.add_row(short(job.id), Text(job.name), str(job.state), f"{job.records:,}", *dates, _STEPS[one.step])
    tables.show(table)
    if any(one.step is not NextStep.KEEP for one in shown):
        say("Due deletions happen while jobs run, or now with 'gossamer system retention --run'.")


async def run_retention(home: Home, *, as_json: bool) -> None:
    tidied = await home.ask(tidy)
    done, left = tidied.report, tidied.left
    if as_json:
        ids = {name: [str(one) for one in getattr(done, name)] for name in ("hidden", "shown", "deleted")}
        say_json({**ids, "rows": done.rows, "files_left": left})
        return
    hidden, deleted = (formatting.plural(len(some), "job") for some in (done.hidden, done.deleted))
    say(f"Hidden: {hidden}. Deleted: {deleted}, {formatting.plural(done.rows, 'row')}.")
    if done.shown:
        say(f"Shown again: {formatting.plural(len(done.shown), 'job')}.")
    _say_left(left, quiet=False)


def _confirmed(question: str, *, yes: bool) -> bool:
    """Ask before something that cannot be undone; refuse without --yes if there is no terminal."""
    if yes:
        return True
    if not sys.stdin.isatty():
        raise UserError(
            "confirm.needed", "This cannot be undone, and there is no terminal to ask at.", hint="Repeat with --yes."
        )
    meant = prompts.confirm(question, err=True)
    if not meant:
        say("Nothing was changed.")
    return meant


def _sentence(one: Trace) -> str:
    pages, mentions = formatting.plural(one.pages, "page"), formatting.plural(one.mentions, "mention")
    found = nouns_of(one.recipe).count_found(one.records)
    return f"{one.name} ({short(one.job_id)}): {pages}, {found}, {mentions} elsewhere"


def _as_json(one: Trace) -> dict[str, Any]:
    return {
        "id": str(one.job_id),
        "short_id": short(one.job_id),
        "pages": one.pages,
        "matches": one.records,
        "mentions": one.mentions,
    }


def _outlook_json(one: PlannedStep) -> dict[str, Any]:
    return {
        "id": str(one.job.id),
        "short_id": short(one.job.id),
        "name": one.job.name,
        "state": str(one.job.state),
        "matches": one.job.records,
        "hidden_at": formatting.timestamp(one.job.hidden_at),
        "hides_at": formatting.timestamp(one.hides_at),
        "deletes_at": formatting.timestamp(one.deletes_at),
        "due": _STEPS[one.step] or None,
    }
