"""`gossamer job forget`: find and remove what is stored about a page or a domain, here or on a server."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from gossamer.app import App
from gossamer.blobs.seam import BlobsAway
from gossamer.client import AsyncClient
from gossamer.client.answers import Forgotten
from gossamer.intake import control
from gossamer.model.job import Job
from gossamer.model.mention import ErasureTarget
from gossamer.model.record import RecordKind
from gossamer.retention.erase import (
    MAY_HAVE_FOUND,
    JobMentions,
    domain_named,
    find_mentions,
    forget_in_job,
    forget_robots,
    page_named,
)
from gossamer.retention.service import FileSweeper, refuse_at_work
from gossamer.store import jobs


@dataclass(frozen=True, slots=True)
class Trace:
    """Counts of the rows one job has stored about a page or a domain."""

    job_id: UUID
    name: str
    recipe: str  # nothing where only its server knows
    pages: int
    records: int
    mentions: int  # other rows that mention it


class Traces(Protocol):
    """All rows stored about a page or a domain, in all jobs or in one."""

    @property
    def found(self) -> Sequence[Trace]: ...

    async def refuse_at_work(self) -> None:
        """Refuse, before the user is asked, if one of the jobs is running."""
        ...

    async def remove(self) -> tuple[bool, int]:
        """Remove it for good. Returns whether there was anything, and the number of files that remain for later."""
        ...


async def find_traces(app: App, url: str | None, domain: str | None, job: str | None) -> "LocalTraces":
    mention = page_named(url) if url is not None else domain_named(domain or "")
    if job is None:
        wanted = await app.database.read(jobs.in_states, *MAY_HAVE_FOUND)
    else:
        wanted = [await control.find_job(app.database, job)]
    looked = [await find_mentions(app.database, one, _kinds(app, one), mention) for one in wanted]
    return LocalTraces(app, mention, [one for one in looked if one])


def _kinds(app: App, job: Job) -> tuple[RecordKind, ...]:
    """The record kinds of the job's recipe; empty if the recipe is unknown to this version."""
    recipe = app.recipes.get(job.recipe)
    return recipe.kinds if recipe else ()


class LocalTraces:
    def __init__(self, app: App, mention: ErasureTarget, rows: list[JobMentions]) -> None:
        self._app, self._mention, self._rows = app, mention, rows
        self.found = [
            Trace(one.job.id, one.job.name, one.job.recipe, len(one.pages), one.records, one.mentions) for one in rows
        ]

    async def refuse_at_work(self) -> None:
        for one in self._rows:
            refuse_at_work(one.job, "nothing can be forgotten in it")

    async def remove(self) -> tuple[bool, int]:
        for one in self._rows:
            await forget_in_job(self._app.database, one, self._mention)
        answers = await forget_robots(self._app.database, self._mention)
        left = await remove_files(self._app, *(one.job for one in self._rows))
        return bool(self._rows or answers), left


async def remove_files(app: App, *of_jobs: Job) -> int:
    """Remove the exported files and page files of jobs. Returns the number of files that remain for later."""
    pages, left = app.page_files(), 0
    for job in of_jobs:
        try:
            await pages.forget(job.id)
        except BlobsAway:
            left += 1
    return left + await FileSweeper(app.database, app.export_store(), pages).remove_now()


class RemoteTraces:
    def __init__(
        self, client: AsyncClient, url: str | None, domain: str | None, job: UUID | None, found: Forgotten
    ) -> None:
        self._client, self._url, self._domain, self._job = client, url, domain, job
        self.found = [
            Trace(UUID(one.job_id), one.name, one.recipe, one.pages, one.records, one.mentions) for one in found.jobs
        ]

    async def refuse_at_work(self) -> None:
        """Nothing to do: the server refuses before it removes anything."""

    async def remove(self) -> tuple[bool, int]:
        done = await self._client.forget(url=self._url, domain=self._domain, job=self._job)
        return done.forgotten, 0
