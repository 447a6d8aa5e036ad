"""`gossamer job list`, `status`, `watch`, `sites` and `pages`: jobs and their progress."""

import asyncio
import shlex
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from uuid import UUID

import typer
from pydantic import BaseModel
from rich.table import Table
from rich.text import Text

from gossamer.cli import costs, estimates, formatting, report, tables
from gossamer.cli.costs import spent_json
from gossamer.cli.home import Home
from gossamer.cli.report import checkpoint_line
from gossamer.cli.runtime import say, say_json
from gossamer.cli.screen import choose_screen
from gossamer.cli.tables import fit, table
from gossamer.errors import UserError
from gossamer.model.alert import Alert
from gossamer.model.ids import short
from gossamer.model.job import Job, Progress
from gossamer.model.money import dollars
from gossamer.model.rungs import Mode
from gossamer.model.states import OVER, JobState, PageState, SiteState
from gossamer.questions import jobs
from gossamer.questions.history import pages
from gossamer.questions.jobs import Standing, ended, status
from gossamer.recipes.registry import RECIPES
from gossamer.retention.service import PlannedStep
from gossamer.store.history import PageHistory
from gossamer.store.sites import SiteSummary

_NO_JOBS = "No jobs yet. Start one with 'gossamer job run --name N --domains F --keywords F'."
_HIDDEN = "Scrapes of single pages are not listed: see 'gossamer job list --recipe scrape'."
_ONLY_SCRAPES = f"No jobs but scrapes of single pages. {_HIDDEN.partition(': ')[2].capitalize()}"


async def show_list(
    home: Home, limit: int, *, archived: bool, recipe: str = "", state: str = "", name: str = "", as_json: bool
) -> None:
    known = job_state(state) if state else None
    found = await home.ask(jobs.listing, limit, archived=archived, recipe=recipe, state=known, name=name)
    runner, rows = found.runner, [(one.job, one.progress, one.spent) for one in found.jobs]
    if as_json:
        say_json([
            {**report.as_json(job, progress, runner), "cost": spent_json(spent)} for job, progress, spent in rows
        ])  # fmt: skip
        return
    if not rows:
        none = "No such jobs." if recipe or state or name else _NO_JOBS
        say(_ONLY_SCRAPES if found.hides else none)
        return
    found_title = formatting.found_title(job.recipe for job, _, _ in rows)
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
            formatting.shown_state(job, runner, progress) + note,
            f"{progress.sites_finished:,}/{progress.sites_total:,}",
            f"{progress.records:,}",
            dollars(spent.micros),
            formatting.day(job.created_at),
        )
    tables.show(table)
    if any(formatting.shown_state(job, runner) == formatting.NO_WORKER for job, _, _ in rows):
        say("Go on with all stopped jobs: 'gossamer job resume --all'.")
    if found.hides:
        say(_HIDDEN)


async def show_sites(home: Home, text: str, state: str, limit: int, *, as_json: bool) -> None:
    wanted = _site_state(state) if state else None
    answer = await home.ask(jobs.domains, text, wanted, limit)
    found = answer.sites
    if as_json:
        say_json(report.sites_json(found))
        return
    if not found:
        say(f"No domain is {state}." if state else "No domains.")
        return
    tables.show(domains_table(found, tables.width()))
    total = report.domains_in(answer.progress, wanted)
    more = " More of them: --limit." if len(found) < total else ""
    say(f"{len(found):,} of {total:,} {f'{state} ' if state else ''}domains.{more}")


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
        raise UserError("sites.state", f"{text!r} is not a state of a domain.", hint=f"Use one of {', '.join(known)}.")
    return SiteState(text)


_FAILED_SHOWN = 10  # failed domains listed


async def show_status(home: Home, text: str, *, as_json: bool) -> None:
    found = await home.ask(status, text)
    job, progress, spent = found.ended.job, found.ended.progress, found.ended.costs
    if as_json:
        say_json({
            **report.as_json(job, progress, found.runner),
            "cost": costs.as_json(spent),
            "estimate": estimates.as_json(found.ended.estimate),
            "params": dict(job.params),
            "pages_by_method": costs.pages_by_method(spent.bill),
            "results_until": formatting.timestamp(found.outlook.deletes_at) if found.outlook else None,
            "alerts": [{"kind": str(alert.kind), "sentence": alert.sentence} for alert in found.alerts],
            "failed_domains": report.failures_json(found.failed),
        })  # fmt: skip
        return
    besides = [
        *costs.status_lines(spent),
        *estimates.estimate_lines(found.ended),
        *_wanted(job),
        *costs.method_lines(spent.bill, tables.width()),
        checkpoint_line(found.checkpoint, found.now),
        *_kept(found.outlook),
        *_alerts(job, found.alerts),
    ]
    for line in report.status_lines(job, progress, found.runner, found.now, besides):
        say(line)
    for line in report.failure_lines(found.failed[:_FAILED_SHOWN], progress.sites_failed, short(job.id)):
        say(line)


def _wanted(job: Job) -> Iterator[str]:
    recipe = RECIPES.get(job.recipe)
    if recipe:
        return asked_for(job.params, recipe.params, job.max_concurrency)
    return iter([f"Recipe: {job.recipe}, which this program does not know. Go on with the program that created it."])


_OFF = {"only_main_content": "--whole-page"}  # flags that switch something off


def asked_for(params: Mapping[str, Any], kind: type[BaseModel], max_concurrency: int | None = None) -> Iterator[str]:
    """The job's keywords or formats, and the options that differ from the defaults."""
    client = ", ".join(params.get("client_domains", ()))
    wanted = formatting.plural(len(params.get("keywords", ())), "keyword")
    if "formats" in params:
        fields = f" ({formatting.plural(len(params['extract']), 'field')})" if params.get("extract") else ""
        yield f"Wants: {', '.join(params['formats'])}{fields}"
    else:
        yield f"Looks for: {wanted}" + (f", links to {client}" if client else "")
    options: list[str] = []
    for name, field in kind.model_fields.items():
        value = params.get(name)
        if (
            name in ("keywords", "client_domains", "mode", "ladder", "formats", "extract", "lines_skipped")
            or value is None
            or value == field.get_default(call_default_factory=True)
        ):
            continue
        option = "--" + name.replace("_", "-").removesuffix("s" if name.endswith("domains") else "")
        if isinstance(value, bool):
            options.append(option if value else _OFF.get(name, option))
            continue
        for one in value if isinstance(value, list) else [value]:
            options += [option, shlex.quote(str(one))]
    if max_concurrency is not None:
        options += ["--max-concurrency", str(max_concurrency)]
    if options:
        yield f"With: {' '.join(options)}"
    if ladder := params.get("ladder"):
        mode = "" if params["mode"] == Mode.OWN else f" ({params['mode']})"
        yield f"Fetches with: {', then '.join(ladder)}{mode}"


def _kept(outlook: PlannedStep | None) -> Iterator[str]:
    if outlook is None:
        return
    if outlook.job.state is JobState.ARCHIVED:
        yield "Retention: results deleted"
    elif outlook.job.hidden_at:
        yield f"Retention: results hidden, and deleted on {formatting.day(outlook.deletes_at)}"
    else:
        hidden, deleted = formatting.day(outlook.hides_at), formatting.day(outlook.deletes_at)
        yield f"Retention: results kept until {hidden}, deleted on {deleted}"


def _alerts(job: Job, fired: Sequence[Alert]) -> Iterator[str]:
    """Alerts that the status line does not already contain."""
    said = (alert.sentence for alert in fired if alert.sentence != job.reason)
    return (sentence if sentence.startswith(("Alert:", "Warning:")) else f"Alert: {sentence}" for sentence in said)


_AT_A_TIME = 1_000


async def show_pages(home: Home, text: str, state: str, site: str, limit: int, *, as_json: bool) -> None:
    wanted = _page_state(state) if state else None
    found: list[PageHistory] = []
    while True:
        # In steps: there may be a million pages.
        step, after = min(limit - len(found), _AT_A_TIME), found[-1].key.hex() if found else ""
        some = await home.ask(pages, text, wanted, site, after, step)
        found += some.pages
        if len(some.pages) < step or len(found) >= limit:
            break
    if as_json:
        say_json([_page_json(page) for page in found])
        return
    if not found:
        say(f"No page{f' of {some.host}' if some.host else ''} is {state}." if state else "No pages yet.")
        return
    tables.show(pages_table(found, tables.width()))
    more = " There may be more: --limit." if len(found) == limit else ""
    say(f"{formatting.plural(len(found), f'{state} page' if state else 'page')}.{more}")
    if any(page.state is PageState.FAILED for page in found):
        say(f"One of them in detail: 'gossamer explain URL --job {short(some.job.id)}'.")


def _page_state(text: str) -> PageState:
    known = [str(state) for state in PageState if state is not PageState.CLIMBING]
    if text not in known:
        raise UserError("pages.state", f"{text!r} is not a state of a page.", hint=f"Use one of {', '.join(known)}.")
    return PageState(text)


def _page_json(page: PageHistory) -> dict[str, Any]:
    return {
        "url": page.url,
        "state": str(page.state),
        "reason": page.trouble.sentence if page.trouble else "",
        "reason_name": page.trouble.reason.name if page.trouble else None,
        "http_status": page.http_status,
        "tries": formatting.tries(page.attempts),
        "depth": page.depth,
        "found_on": page.found_on or None,
        "due_at": formatting.timestamp(page.due_at),
        "settled_at": formatting.timestamp(page.settled_at),
    }


def domains_table(found: Sequence[SiteSummary], room: int) -> Table:
    """The domains of a job: state, pages read, size and its source, reason."""
    titles = ["Domain", "State", "Read", "Size", "From", "Reason"]
    cells = [
        [
            site.host,
            str(site.state),
            f"{site.pages_done:,}",
            f"{site.size:,}" if site.size else "",
            site.size_source,
            site.trouble.sentence if site.trouble else "",
        ]
        for site in found
    ]
    widths = fit(titles, cells, [40, 7, 7, 9, 7, 80], [12, 7, 4, 4, 4, 10], room)
    return table(titles, cells, widths, right=("Read", "Size"))


def pages_table(found: Sequence[PageHistory], room: int) -> Table:
    """The pages of a job: state, number of tries, reason."""
    titles = ["Page", "State", "Tries", "Reason"]
    cells = [
        [
            page.url,
            str(page.state),
            f"{formatting.tries(page.attempts):,}",
            page.trouble.sentence if page.trouble else "",
        ]
        for page in found
    ]
    return table(titles, cells, fit(titles, cells, [100, 7, 5, 80], [20, 7, 5, 10], room), right=("Tries",))


# Seconds that a background runner may take to start, or another one to take over.
_PATIENCE = 3.0

# Fields that change although nothing has happened.
_PASSING = ("domains_per_hour", "pages_per_minute", "eta_seconds", "eta_is_least", "last_activity")
_AT_REST = OVER | {JobState.PAUSED, JobState.PENDING}


async def watch_job(home: Home, text: str, *, as_json: bool) -> int:
    """Show a job until it is over or paused or the user leaves, and print which."""
    job = await home.ask(jobs.find, text)
    return await Watcher(home, job.id, as_json=as_json).watch()


class Watcher:
    """Shows a job by reading its rows, and changes nothing."""

    def __init__(self, home: Home, job_id: UUID, *, as_json: bool) -> None:
        self._home = home
        self._job_id = job_id
        self._as_json = as_json
        self._screen = choose_screen(quiet=as_json)
        self._leave = asyncio.Event()
        self._printed: dict[str, Any] = {}

    async def watch(self) -> int:
        loop = asyncio.get_running_loop()
        ways_out = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        for name in ways_out:
            loop.add_signal_handler(name, self._leave.set)
        try:
            with self._screen:
                now = await self._wait_for_end()
        finally:
            for name in ways_out:
                loop.remove_signal_handler(name)
        await self._print_ending(now)
        return report.exit_code(now.job)

    async def _wait_for_end(self) -> Standing:
        alone_since: float | None = None
        while True:
            now = await self._home.ask(jobs.standing, str(self._job_id))
            moment = time.monotonic()
            alone_since = None if now.runner is not None else alone_since or moment
            abandoned = alone_since is not None and moment - alone_since >= _PATIENCE
            if now.job.state in _AT_REST or abandoned or self._leave.is_set():
                return now
            self._show(now)
            try:
                async with asyncio.timeout(self._home.pace):
                    await self._leave.wait()
            except TimeoutError:
                continue

    def _show(self, now: Standing) -> None:
        if self._as_json:
            # A runner may still be starting, so none is reported as missing yet.
            self._print_change(now.job, now.progress, now.runner or 0)
            return
        note = now.job.reason
        if now.job.state is JobState.PAUSING:
            note = f"Pausing... {formatting.work_in_progress(now.busy, now.paid)}"
        self._screen.show(now.job, now.progress, note or "Watching. Ctrl-C closes this view; the job keeps running.")

    def _print_change(self, job: Job, progress: Progress, runner: int | None) -> None:
        """Print one line of JSON if anything has changed."""
        job_json = report.as_json(job, progress, runner)
        lasting = {name: value for name, value in job_json.items() if name not in _PASSING}
        if lasting != self._printed:
            self._printed = lasting
            typer.echo(formatting.json_text(job_json))

    async def _print_ending(self, now: Standing) -> None:
        if self._as_json:
            self._print_change(now.job, now.progress, now.runner)
            return
        if now.job.state in _AT_REST - {JobState.PENDING}:
            found = await self._home.ask(ended, str(self._job_id))
            said, read_with = costs.ending_lines(found.costs), costs.method_lines(found.costs.bill, tables.width())
            lines = report.ending_lines(now.job, now.progress, found.reasons, costs=said, methods=read_with)
        else:
            lines = report.unfinished_lines(now.job, now.progress, now.runner)
        for line in lines:
            say(line)
