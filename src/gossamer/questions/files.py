"""Exports of a job."""

from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from gossamer.model.export import Export
from gossamer.model.job import Job
from gossamer.questions.view import Text, View, recipe_of, refuse_gone, schedule_if_completed
from gossamer.retention.service import PlannedStep
from gossamer.store import counters, exports


@dataclass(frozen=True, slots=True)
class File:
    """A file and its link: `link` is None if the file does not exist or cannot be downloaded from this server."""

    export: Export
    link: str | None  # begins with `/` if only the client knows the address of the server
    shared: str | None  # a link for others, without a key
    elsewhere: bool  # stored on the disk of another data folder


@dataclass(frozen=True, slots=True)
class Files:
    job: Job
    files: tuple[File, ...]  # newest first
    now: datetime
    end: PlannedStep | None  # when the results of a completed job are hidden, and when deleted
    records: int
    runner: int | None


@dataclass(frozen=True, slots=True)
class Exportable:
    """A job that may be exported, and an earlier one to compare it with."""

    job: Job
    since: Job | None
    end: PlannedStep | None  # when the results of a completed job are hidden, and when deleted


async def exportable(view: View, job: Text, since: Text = "", *, any_recipe: bool = False) -> Exportable:
    found, database = await view.job(job)
    await refuse_gone(view, database, found)
    if not any_recipe:
        recipe_of(view.recipes, found)
    earlier = None
    if since:
        earlier, its_database = await view.job(since)
        await refuse_gone(view, its_database, earlier)
    return Exportable(found, earlier, await schedule_if_completed(view, database, found))


async def files(view: View, job: Text, ids: list[UUID] | None = None) -> Files:
    """All files of a job, or only these."""
    found, database = await view.job(job)
    made = await database.read(exports.of_job, found.id)
    if ids is not None:
        place = {one.id: one for one in made}
        made = [place[one] for one in ids if one in place]
    progress = await database.read(counters.progress, found.id)
    return Files(
        found,
        tuple([await _file(view, one) for one in made]),
        view.now,
        await schedule_if_completed(view, database, found),
        progress.records,
        await view.runner(),
    )


async def _file(view: View, export: Export) -> File:
    export_store = view.export_store()
    signed = await export_store.signed(export, view.now)
    if view.is_remote:
        # Paths on the server's disk are not shown: the file is fetched through the server.
        shown = replace(export, blob_key=None if export.blob_key is None else "", lease=None)
        return File(shown, signed, signed, _is_elsewhere(export, signed, export_store.home))
    link = await export_store.link(export, view.now) if export.is_there else None
    if signed and signed.startswith("/"):
        # A link to a file on this disk needs the public address of the server.
        signed = f"{view.settings.api_url}{signed}" if view.settings.api_url else None
    return File(export, link, signed, _is_elsewhere(export, link, export_store.home))


def _is_elsewhere(export: Export, link: str | None, home: str) -> bool:
    return link is None and export.is_there and export.home not in ("", home)
