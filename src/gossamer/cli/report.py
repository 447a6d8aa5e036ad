"""Texts about jobs: sentences for people, and the same facts as JSON."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import typer

from gossamer.cli import formatting
from gossamer.intake.control import Retried
from gossamer.model.alert import PAUSES
from gossamer.model.ids import short
from gossamer.model.job import Checkpoint, Job, Progress
from gossamer.model.states import OVER, JobState, SiteState
from gossamer.model.trouble import Reason, in_general
from gossamer.questions.view import date
from gossamer.retention.service import PlannedStep
from gossamer.store.sites import SiteSummary


def checkpoint_line(checkpoint: Checkpoint | None, now: datetime) -> str:
    """`Last checkpoint: 12:03:11, 2,400 of 5,000 domains; ...`, with the date if it is not of today."""
    if checkpoint is None:
        return "Last checkpoint: none yet"
    at, today = checkpoint.at.astimezone(), now.astimezone().date()
    when = at.strftime("%H:%M:%S") if at.date() == today else at.strftime("%Y-%m-%d %H:%M:%S")
    done = f"{checkpoint.sites_finished:,} of {checkpoint.sites_total:,} domains"
    return f"Last checkpoint: {when}, {done}; nothing since then is lost either"


def as_json(job: Job, progress: Progress, runner: int | None) -> dict[str, Any]:
    left = progress.left if job.state is JobState.RUNNING and runner is not None else None
    return {
        "id": str(job.id),
        "short_id": short(job.id),
        "name": job.name,
        "recipe": job.recipe,
        "state": str(job.state),
        "shown_state": formatting.shown_state(job, runner, progress),
        "reason": job.reason or progress.doing,
        "domains": {
            "total": progress.sites_total,
            "finished": progress.sites_finished,
            "succeeded": progress.sites_done,
            "partially_crawled": progress.sites_partial,
            "failed": progress.sites_failed,
        },
        "pages": {
            "done": progress.pages_done,
            "failed": progress.pages_failed,
            "skipped": progress.pages_skipped,
            "open": progress.pages_open,
            "expected": progress.pages_expected,
        },
        "matches": progress.records,
        "bytes_in": progress.bytes_in,
        "domains_per_hour": round(formatting.per_hour(progress), 1),
        "pages_per_minute": round(progress.pages_per_minute, 1) if job.state is JobState.RUNNING else 0.0,
        "eta_seconds": round(left.total_seconds()) if left is not None else None,
        "eta_is_least": left is not None and progress.left_is_least,
        "last_activity": formatting.timestamp(progress.last_activity),
        "created_at": formatting.timestamp(job.created_at),
        "started_at": formatting.timestamp(job.started_at),
        "finished_at": formatting.timestamp(job.finished_at),
    }


def status_lines(
    job: Job, progress: Progress, runner: int | None, now: datetime, besides: Sequence[str] = ()
) -> list[str]:
    """The state of a job, the lines of `besides`, and last the next step."""
    identifier = short(job.id)
    lines = [
        f"{job.name} ({identifier})",
        f"Status: {formatting.shown_state(job, runner, progress).capitalize()}"
        + (f" - {reason}" if (reason := job.reason or progress.doing) else ""),
        f"Progress: {formatting.progress_text(job, progress)}",
        f"Domains: {formatting.domain_outcomes(progress)}",
        f"Pages: {progress.pages_done:,} read, {progress.pages_failed:,} failed, {progress.pages_skipped:,} skipped",
        f"{formatting.found_title([job.recipe])}: {progress.records:,}",
    ]
    if job.state is JobState.RUNNING and runner is not None:
        lines.insert(
            3, f"Pages so far: {formatting.page_progress(progress)}, {progress.pages_per_minute:,.0f} pages/min"
        )
        lines.append(f"ETA: {formatting.remaining(progress)}")
        minutes = max(1, round(progress.window.total_seconds() / 60))
        span = f"{minutes} minutes" if minutes != 1 else "minute"
        lines.append(f"Throughput: Averaging {formatting.per_hour(progress):,.0f} domains/hour over last {span}")
    lines.append(f"Last activity: {formatting.ago(progress.last_activity, now)}")
    lines += besides
    hint = next_step(job, runner, progress)
    return [*lines, hint] if hint else lines


def failures_json(failed: Sequence[SiteSummary]) -> list[dict[str, Any]]:
    return [
        {
            "domain": site.host,
            "reason": site.trouble.sentence if site.trouble else "",
            "http_status": site.trouble.http_status if site.trouble else None,
            "retries": site.retries,
            "last_attempt": formatting.timestamp(site.last_attempt_at),
        }
        for site in failed
    ]


def failure_lines(failed: Sequence[SiteSummary], total: int, identifier: str) -> list[str]:
    """The first failed domains and their reasons."""
    if not failed:
        return []
    lines = [f"  {site.host}: {site.trouble.sentence if site.trouble else 'unknown'}" for site in failed]
    more = total - len(failed)
    rest = [f"  and {more:,} more: 'gossamer job sites {identifier} --state failed'"] if more > 0 else []
    return ["Failed domains:", *lines, *rest]


def sites_json(found: Sequence[SiteSummary]) -> list[dict[str, Any]]:
    return [
        {
            "domain": site.host,
            "state": str(site.state),
            "pages_read": site.pages_done,
            "estimated_size": site.size or None,
            "size_source": site.size_source or None,
            "reason": site.trouble.sentence if site.trouble else "",
            "http_status": site.trouble.http_status if site.trouble else None,
            "last_attempt": formatting.timestamp(site.last_attempt_at),
        }
        for site in found
    ]


def domains_in(progress: Progress, state: SiteState | None) -> int:
    """The number of domains in a state; all domains for None."""
    match state:
        case SiteState.DONE:
            return progress.sites_done
        case SiteState.PARTIAL:
            return progress.sites_partial
        case SiteState.FAILED:
            return progress.sites_failed
        case SiteState.OPEN:
            return progress.sites_total - progress.sites_finished
    return progress.sites_total


def _outcome(job: Job, progress: Progress) -> str:
    if job.extent.in_pages:
        return f"{formatting.plural(progress.pages_done, 'page')} read, {progress.pages_failed:,} failed."
    pages = formatting.plural(progress.pages_done, "page")
    return f"{formatting.domain_outcomes(progress)}. {formatting.record_count(job, progress)}, {pages} read."


_AT_LIMIT = PAUSES["budget"].partition("(")[0]
_LIMITS = {"residential": "--max-residential-mb", "MB of traffic": "--max-mb", "$": "--max-usd"}


def next_step(job: Job, runner: int | None, progress: Progress) -> str:
    identifier = short(job.id)
    if formatting.shown_state(job, runner) == formatting.NO_WORKER:
        return f"Go on with 'gossamer job resume {identifier}', or with all jobs: 'gossamer job resume --all'."
    match job.state:
        case JobState.PENDING if job.reason:
            return job.reason  # it starts automatically
        case JobState.PENDING:
            return f"Start it with 'gossamer job start {identifier}'."
        case JobState.PAUSED | JobState.CANCELLED | JobState.FAILED:
            return _resume(job)
        case JobState.COMPLETED if job.extent.in_pages or progress.records:  # a table of pages names failed ones too
            name = "pages.jsonl" if job.extent.in_pages else "results.csv"
            return f"Get the table with 'gossamer job export {identifier} --output {name}'."
    return ""


def _resume(job: Job) -> str:
    """Return how to resume the job and what to do before, unless the reason of the pause already says so."""
    command = f"'gossamer job resume {short(job.id)}'"
    if job.reason.startswith(_AT_LIMIT):
        option = next((option for mark, option in _LIMITS.items() if mark in job.reason), "--max-credits")
        return f"Give it more with 'gossamer job resume {short(job.id)} {option} N'."
    return "" if command in job.reason else f"Resume anytime with {command}."


_MOST_REASONS = 5


def _why_failed(progress: Progress, reasons: Sequence[tuple[Reason, int]]) -> list[str]:
    """The most frequent reasons; if no name could be looked up at all, whether this machine is connected."""
    if not reasons:
        return []
    counted = ", ".join(f"{in_general(reason)} ({count:,})" for reason, count in reasons[:_MOST_REASONS])
    others = sum(count for _, count in reasons[_MOST_REASONS:])
    counted += f" and others ({others:,})" if others else ""
    lines = [f"Failed most often: {counted}."]
    names = sum(count for reason, count in reasons if reason in (Reason.DNS, Reason.NAME_SERVER))
    if names == progress.sites_total:
        lines.append("No name could be looked up at all: is this machine connected?")
    return lines


def _which_failed(job: Job, progress: Progress, reasons: Sequence[tuple[Reason, int]]) -> list[str]:
    if job.extent.in_pages:
        return [f"Which ones failed, and why:\n  gossamer job errors {short(job.id)}"] if progress.pages_failed else []
    return _why_failed(progress, reasons)


def ending_lines(
    job: Job,
    progress: Progress,
    reasons: Sequence[tuple[Reason, int]] = (),
    busy: int = 0,
    costs: Sequence[str] = (),
    methods: Sequence[str] = (),
) -> list[str]:
    """The last lines about a followed job; `busy` is the number of its visits still held by workers."""
    identifier = short(job.id)
    match job.state:
        case JobState.COMPLETED:
            lines = [
                f"{'Failed' if formatting.has_failed(job, progress) else 'Completed'}: {_outcome(job, progress)}",
                *_error_report(job, progress),
                *methods,
                *_which_failed(job, progress, reasons),
                *costs,
            ]
            hint = next_step(job, None, progress)
            return [*lines, hint] if hint else lines
        case JobState.PAUSED | JobState.PAUSING:
            where = f"{str(job.state).capitalize()} at {formatting.progress_text(job, progress)}."
            return [" ".join(part for part in (where, job.reason, _resume(job)) if part), *costs]
        case JobState.CANCELLED:
            finishing = f" {formatting.visits(busy)} still finishing." if busy else ""
            return [f"Cancelled at {formatting.progress_text(job, progress)}.{finishing} Results so far are kept."]
        case JobState.FAILED:
            return [f"Failed: {job.reason}"]
        case JobState.ARCHIVED:
            return [f"Archived at {formatting.progress_text(job, progress)}. Its results were deleted."]
    return [f"Left at {formatting.progress_text(job, progress)}. Go on with 'gossamer job resume {identifier}'."]


def _error_report(job: Job, progress: Progress) -> list[str]:
    """The command that shows what the line before calls the error report."""
    is_named = progress.sites_failed and not job.extent.in_pages
    return [f"Error report: gossamer job errors {short(job.id)}"] if is_named else []


def retry_lines(done: Retried, progress: Progress, identifier: str, unfinished: int = 0) -> list[str]:
    """Summary of a retry: how much is tried again, and how much is not because it would fail in the same way.

    A job that was not over resumes as a whole, including its `unfinished` domains.
    """
    final = progress.sites_failed
    rest = f"Why:\n  gossamer job sites {identifier} --state failed"
    if not done.sites and not done.pages:
        if not final and not progress.pages_failed:
            return ["Nothing of this job failed, so there is nothing to retry."]
        return [f"Nothing to retry: what failed would fail again. {rest}"]
    tried = f"{formatting.plural(done.sites, 'domain')}, {formatting.plural(done.pages, 'page')}"
    lines = [f"Retrying what failed: {tried}."]
    if unfinished:
        lines.append(f"The job also goes on with what was still open: {formatting.plural(unfinished, 'domain')}.")
    if final:
        lines.append(f"Skipped, since it would fail again: {formatting.plural(final, 'domain')}. {rest}")
    return lines


def unfinished_lines(job: Job, progress: Progress, runner: int | None) -> list[str]:
    """The last lines for a user who only watched a job that is not over."""
    where = formatting.progress_text(job, progress)
    if formatting.shown_state(job, runner) == formatting.NO_WORKER:
        return [f"{formatting.NO_WORKER.capitalize()}, at {where}. {next_step(job, runner, progress)}"]
    if job.state is JobState.PENDING:
        return [job.reason or f"The job has not been started. {next_step(job, runner, progress)}"]
    return [f"Left at {where}. The job goes on; look again with 'gossamer job watch {short(job.id)}'."]


def exit_code(job: Job) -> int:
    """0 for completed, 1 for failed or cancelled, 3 for paused or left."""
    if job.state in (JobState.COMPLETED, JobState.ARCHIVED):
        return 0
    return 1 if job.state in OVER else 3


_SOON = timedelta(days=14)


def print_kept_until(end: PlannedStep | None, now: datetime | None = None) -> None:
    """Print how long results are kept, for a user who has their file; with `now`, only in the last two weeks."""
    if end and (now is None or end.deletes_at - now <= _SOON):
        said = f"The job keeps its results until {date(end.hides_at)}; they are deleted on {date(end.deletes_at)}."
        typer.echo(said, err=True)


def print_deletion_date(end: PlannedStep | None, *, as_json: bool = False) -> None:
    """Print when the job will be deleted, on standard error because results may be on standard output."""
    if end and not as_json:
        typer.echo(f"This job will be auto-deleted on {date(end.deletes_at)}. Download your results now.", err=True)


def deletion_json(end: PlannedStep | None) -> dict[str, str | None]:
    return {
        "hidden_on": date(end.hides_at) if end else None,
        "deleted_on": date(end.deletes_at) if end else None,
    }
