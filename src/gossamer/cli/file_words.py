"""What is said of a file that is being made, is ready or is gone."""

from datetime import datetime, timedelta
from typing import Any

from gossamer.cli import words
from gossamer.model.export import Export, ExportState
from gossamer.model.ids import short
from gossamer.model.job import Job
from gossamer.model.states import JobState
from gossamer.questions.files import File

_TAKEN_UP = timedelta(seconds=10)  # after which a file should have been begun


def none_of(job: Job) -> str:
    """What is said of a job without files."""
    if job.state is JobState.ARCHIVED:
        return f"Job {short(job.id)} was deleted, and with it whatever files were made of it."
    return f"No file was asked for yet: 'gossamer job export {short(job.id)} --format csv'."


def state(export: Export) -> str:
    """One or two words."""
    if export.state is ExportState.DONE and not export.is_there:
        return "expired"
    if export.state is ExportState.RUNNING:
        return f"running {words.percent(export.rows_done, export.rows_total)}%"
    return str(export.state)


def lines(file: File, link: str | None, now: datetime, *, alone: bool) -> list[str]:
    """How it stands with one file, and where it is."""
    export = file.export
    identifier = short(export.job_id)
    match export.state:
        case ExportState.DONE:
            return _ready(file, link, now)
        case ExportState.RUNNING:
            of = f"{export.rows_done:,} of {export.rows_total:,} rows"
            return [f"{export.name}: {words.percent(export.rows_done, export.rows_total)}% ({of})"]
        case ExportState.PENDING:
            said = [f"{export.name}: waiting for its turn"]
            if alone and now - export.created_at > _TAKEN_UP:
                said.append(f"Nobody works here now: 'gossamer job export-status {identifier} --wait' makes it.")
            return said
        case ExportState.FAILED:
            return [f"{export.name}: failed. {export.reason}"]
        case ExportState.CANCELLED:
            return [f"{export.name}: cancelled"]


def _ready(file: File, link: str | None, now: datetime) -> list[str]:
    export = file.export
    if file.elsewhere:
        return [f"{export.name}: ready on the home {export.home}, which made it"]
    if link is None or export.expires_at is None:
        return [f"{export.name}: no longer there. Make it anew with 'gossamer job export {short(export.job_id)}'."]
    said = [f"Export ready: {link} (expires in {_left(export.expires_at - now)})"]
    if link.startswith("file:") and file.shared:
        said.append(f"For others, who need no key: {file.shared}")
    if export.partial:
        said.append("The job was not over when it was made: these are the results up to then.")
    if export.spooled:
        said.append("Object storage does not answer: the file is kept here and moved there later.")
    return said


def _left(time: timedelta) -> str:
    hours = max(1, round(time.total_seconds() / 3600))
    return words.several(round(hours / 24), "day") if hours >= 24 else words.several(hours, "hour")


def as_json(file: File, link: str | None) -> dict[str, Any]:
    export = file.export
    return {
        "id": str(export.id),
        "job_id": str(export.job_id),
        "type": export.type,
        "format": export.format,
        "name": export.name,
        "state": state(export).partition(" ")[0],
        "reason": export.reason,
        "partial": export.partial,
        "rows": export.rows_done,
        "rows_total": export.rows_total,
        "size_bytes": export.size,
        "sha256": export.sha256,
        "created_at": words.stamp(export.created_at),
        "finished_at": words.stamp(export.finished_at),
        "expires_at": words.stamp(export.expires_at),
        "spooled": export.spooled,
        "url": link,
        "link": link if file.shared == file.link else file.shared,
    }
