"""Calls about jobs: submit, follow and control them, and get their files."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any, TypedDict, Unpack
from uuid import UUID, uuid4

from pydantic import ValidationError

from gossamer.client import answers
from gossamer.client.answers import Update
from gossamer.client.errors import ServerError, StillRunning, TooManyRequests, Unreachable
from gossamer.client.transport import Call, Transport

_SAID_BY_JOBS = frozenset({"update", "end"})  # other events end the stream before the job is over


async def updates(pieces: AsyncIterator[bytes]) -> AsyncIterator[Update]:
    """Yield the updates in an event stream. Of other events only the end matters: the caller reconnects then."""
    name = identifier = ""
    said: list[str] = []
    async for line in _lines(pieces):
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if line:
            if field == "event":
                name = value
            elif field == "id":
                identifier = value
            elif field == "data":
                said.append(value)
            continue
        if said and name in _SAID_BY_JOBS:
            try:
                yield Update.model_validate_json("\n".join(said)).model_copy(update={"event_id": identifier})
            except ValidationError:
                return
        elif said:
            return
        name, said = "", []


async def _lines(pieces: AsyncIterator[bytes]) -> AsyncIterator[str]:
    rest = b""
    async for piece in pieces:
        *whole, rest = (rest + piece).split(b"\n")
        for line in whole:
            yield line.removesuffix(b"\r").decode()


JobId = UUID | str
_BACK = 1.0  # seconds before a broken stream is resumed
_BREAKS = 30  # in a row, without an update between them
_LISTS = frozenset({"domains", "formats", "urls"})


class PageOptions(TypedDict, total=False):
    """Formats wanted of scraped pages, and how the pages are fetched."""

    formats: Sequence[str]
    extract: Mapping[str, Any] | None
    mode: str | None
    ladder: str | None
    only_main_content: bool | None
    limits: Mapping[str, Any] | None


class JobOptions(TypedDict, total=False):
    """Parameters, inputs and limits of a job."""

    params: Mapping[str, Any] | None
    domains: Sequence[str]
    urls: Sequence[str]
    mode: str | None
    ladder: str | None
    limits: Mapping[str, Any] | None


class JobCalls:
    """Calls that submit, show, control and follow jobs."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def scrape(
        self,
        url: str,
        *,
        patience: float = 300.0,
        idempotency_key: str | None = None,
        **options: Unpack[PageOptions],
    ) -> answers.Scraped:
        """Scrape one page. Raises `StillRunning` after `patience` seconds without a result; the job continues."""
        wanted = _body(PageOptions, options, url=url)
        call = Call("POST", "/v1/scrape", answers.Scraped, headers=_once(idempotency_key))
        until = asyncio.get_running_loop().time() + patience
        while True:
            left = max(0.0, until - asyncio.get_running_loop().time())
            # Repeating the request with the same key waits for the same job.
            asked = replace(call, body={**wanted, "timeout": min(left, 50.0)})
            status, _, text = await self._transport.whole(asked)
            if status != 202:
                return answers.Scraped.model_validate_json(text)
            job = answers.Accepted.model_validate_json(text)
            state = (await self.job(job.id)).state
            if not left or state not in ("pending", "running"):
                raise StillRunning(f"The page is not there yet: its job {job.id} is {state}.", job.id)

    async def scrape_later(
        self,
        url: str,
        *,
        idempotency_key: str | None = None,
        **options: Unpack[PageOptions],
    ) -> answers.Accepted:
        """Start scraping one page without waiting: `job(id).result` locates the result; webhooks are notified."""
        wanted = _body(PageOptions, options, url=url)
        body = {**wanted, "async": True}
        call = Call("POST", "/v1/scrape", answers.Accepted, body=body, headers=_once(idempotency_key))
        return await self._transport.answer(call)

    async def batch(
        self,
        urls: Sequence[str],
        *,
        name: str = "",
        idempotency_key: str | None = None,
        **options: Unpack[PageOptions],
    ) -> answers.Accepted:
        """Scrape many pages as one job."""
        wanted = _body(PageOptions, options, urls=urls, name=name)
        call = Call("POST", "/v1/batch", answers.Accepted, body=wanted, headers=_once(idempotency_key))
        return await self._transport.answer(call)

    async def submit(
        self,
        recipe: str,
        name: str,
        *,
        priority: str | None = None,
        max_concurrency: int | None = None,
        start: bool = True,
        idempotency_key: str | None = None,
        **options: Unpack[JobOptions],
    ) -> answers.Job:
        """Submit a job of any recipe. Without an idempotency key one is generated, so that retries are harmless."""
        steering = {"priority": priority, "max_concurrency": max_concurrency, "start": start}
        wanted = _body(JobOptions, options, recipe=recipe, name=name, **steering)
        call = Call("POST", "/v1/jobs", answers.Job, body=wanted, headers=_once(idempotency_key))
        _, headers, text = await self._transport.whole(call)
        made = self._transport.read(call, text)
        return made.model_copy(update={"replayed": "idempotent-replayed" in headers})

    async def estimate(self, recipe: str, **options: Unpack[JobOptions]) -> answers.Estimate:
        """Estimate the cost of such a job. Nothing is created or fetched."""
        wanted = _body(JobOptions, options, recipe=recipe, name="estimate")
        return await self._transport.answer(Call("POST", "/v1/estimate", answers.Estimate, body=wanted))

    async def jobs(self, *, states: Sequence[str] = (), recipe: str = "") -> AsyncIterator[answers.Job]:
        """Yield all jobs, newest first; archived jobs only if `states` includes them."""
        call = Call("GET", "/v1/jobs", answers.JobPage, {"state": list(states), "recipe": recipe, "limit": 200})
        async for page in self._transport.pages(call):
            for job in page.items:
                yield job

    async def job(self, job: JobId) -> answers.JobStatus:
        return await self._transport.answer(Call("GET", f"/v1/jobs/{job}", answers.JobStatus))

    async def results(self, job: JobId, *, kind: str | None = None) -> AsyncIterator[Mapping[str, Any]]:
        """Yield all records so far."""
        call = Call("GET", f"/v1/jobs/{job}/results", answers.ResultPage, {"kind": kind, "limit": 1_000})
        async for page in self._transport.pages(call):
            for record in page.items:
                yield record

    async def errors(self, job: JobId, *, of: str | None = None) -> AsyncIterator[answers.Failure]:
        """Yield failed `sites` or `pages`; by default, the kind that the job was given."""
        call = Call("GET", f"/v1/jobs/{job}/errors", answers.FailurePage, {"of": of, "limit": 1_000})
        async for page in self._transport.pages(call):
            for failure in page.items:
                yield failure

    async def urls(self, job: JobId) -> AsyncIterator[answers.PageResult]:
        """Yield the result of each address of a scrape job."""
        async for page in self._transport.pages(Call("GET", f"/v1/jobs/{job}/urls", answers.PageList, {"limit": 500})):
            for one in page.items:
                yield one

    async def pause(self, job: JobId) -> answers.Steered:
        return await self._steer(job, "pause", answers.Steered)

    async def resume(self, job: JobId, *, limits: Mapping[str, Any] | None = None) -> answers.Resumed:
        """Resume a job, or start one made with `start=False`; it waits while the account has no room for it."""
        return await self._steer(job, "resume", answers.Resumed, limits)

    async def rename(self, job: JobId, name: str) -> answers.Job:
        return await self._transport.answer(Call("PATCH", f"/v1/jobs/{job}", answers.Job, body={"name": name}))

    async def rerun(
        self, job: JobId, *, name: str = "", start: bool = True, idempotency_key: str | None = None
    ) -> answers.Job:
        """Submit a new job with the same sites or pages, parameters and limits."""
        body, headers = {"name": name, "start": start}, _once(idempotency_key)
        call = Call("POST", f"/v1/jobs/{job}/rerun", answers.Job, body=body, headers=headers)
        return await self._transport.answer(call)

    async def cancel(self, job: JobId) -> answers.Steered:
        return await self._steer(job, "cancel", answers.Steered)

    async def retry_failed(self, job: JobId) -> answers.Retried:
        return await self._steer(job, "retry-failed", answers.Retried)

    async def delete(self, job: JobId) -> answers.Deleted:
        """Delete the results of a job immediately and permanently."""
        return await self._transport.answer(Call("DELETE", f"/v1/jobs/{job}", answers.Deleted))

    async def live(self, job: JobId, *, after: str = "") -> AsyncIterator[answers.Update]:
        """Yield the job's state repeatedly until it is over. A broken stream is resumed at its last position."""
        breaks = 0
        while True:
            try:
                headers = {"Accept": "text/event-stream", **({"Last-Event-ID": after} if after else {})}
                call = Call("GET", f"/v1/jobs/{job}/live", answers.Update, headers=headers)
                async with self._transport.stream(call) as pieces:
                    async for update in updates(pieces):
                        breaks, after = 0, update.event_id or after
                        yield update
                        if update.is_last:
                            return
            except (Unreachable, ServerError, TooManyRequests):
                if breaks >= _BREAKS:
                    raise
            breaks += 1
            await asyncio.sleep(_BACK)

    async def wait(self, job: JobId, *, patience: float | None = None) -> answers.JobStatus:
        """Return the job once it is over or paused. Raises `StillRunning` after `patience` seconds."""
        try:
            async with asyncio.timeout(patience):
                async for update in self.live(job):
                    if update.job.state == "paused":
                        break
        except TimeoutError:
            raise StillRunning(f"Job {job} is not over after {patience:g} s.", str(job)) from None
        return await self.job(job)

    async def _steer(
        self, job: JobId, verb: str, shape: type[answers.AnAnswer], body: Mapping[str, Any] | None = None
    ) -> answers.AnAnswer:
        return await self._transport.answer(Call("POST", f"/v1/jobs/{job}/{verb}", shape, body=body))


def _once(key: str | None) -> dict[str, str]:
    return {"Idempotency-Key": key or f"client-{uuid4().hex}"}


def _body(kind: type, options: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """Return options as a request's body, without those that are None or empty lists.

    Raises TypeError for an option that `kind` does not have: a server could only refuse it later.
    """
    known = kind.__annotations__
    if unknown := [name for name in options if name not in known]:
        raise TypeError(f"unexpected option {unknown[0]!r}; there are {', '.join(known)}")
    body = {name: _plain(name, value) for name, value in {**options, **more}.items()}
    return {name: value for name, value in body.items() if value is not None and value != []}


def _plain(name: str, value: Any) -> Any:
    """Return a value as JSON has it: any iterable will do where a list is wanted."""
    if name in _LISTS:
        return list(value)
    return dict(value) if isinstance(value, Mapping) else value


_LOOK, _LONGEST_LOOK = 0.1, 2.0  # seconds between checks of an unfinished export, increasing


class FileCalls:
    """Calls that create and download exports."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def export(
        self,
        job: JobId,
        *,
        type: str = "results",  # noqa: A002 - named as in the API
        format: str = "csv",  # noqa: A002
        columns: Sequence[str] = (),
        filter: str = "",  # noqa: A002
        bom: bool = False,
        raw: bool = False,
        costs: bool = True,
        title: str = "",
        client: str = "",
        since_job: JobId | None = None,
        exclude_domains: Sequence[str] = (),
    ) -> list[answers.Export]:
        """Start exports of a job in the background, one for each format."""
        body = {
            "type": type,
            "format": format,
            "columns": list(columns),
            "filter": filter,
            "bom": bom,
            "raw": raw,
            "costs": costs,
            "title": title,
            "client": client,
            "since_job": str(since_job) if since_job else None,
            "exclude_domains": list(exclude_domains),
        }
        call = Call("POST", f"/v1/jobs/{job}/exports", answers.Exports, body=body)
        return (await self._transport.answer(call)).items

    async def exports(self, job: JobId) -> list[answers.Export]:
        return (await self._transport.answer(Call("GET", f"/v1/jobs/{job}/exports", answers.Exports))).items

    async def export_status(self, job: JobId, export: str) -> answers.Export:
        return await self._transport.answer(Call("GET", f"/v1/jobs/{job}/exports/{export}", answers.Export))

    async def cancel_exports(self, job: JobId) -> list[answers.Export]:
        call = Call("POST", f"/v1/jobs/{job}/exports/cancel", answers.Exports)
        return (await self._transport.answer(call)).items

    async def wait_for_export(self, job: JobId, export: str, *, patience: float = 3_600.0) -> answers.Export:
        """Return the export once it is finished: done, failed or cancelled."""
        clock = asyncio.get_running_loop().time
        until, look = clock() + patience, _LOOK
        while (one := await self.export_status(job, export)).is_open:
            if clock() > until:
                raise StillRunning(f"{one.name} is not made after {patience:g} s.", str(job))
            await asyncio.sleep(look)
            look = min(look * 1.5, _LONGEST_LOOK)
        return one

    async def download(self, export: answers.Export, path: Path) -> Path:
        """Write a finished export to `path`, completely or not at all."""
        part = path.with_name(f".{path.name}.part")
        try:
            with part.open("wb") as file:
                async for piece in self.read(export):
                    file.write(piece)
            part.replace(path)
        finally:
            with suppress(FileNotFoundError):
                part.unlink()
        return path

    async def read(self, export: answers.Export) -> AsyncIterator[bytes]:
        """Yield the bytes of a finished file; at the end they are checked against the server's metadata."""
        digest = sha256()
        call = Call("GET", f"/v1/jobs/{export.job_id}/exports/{export.id}/file", answers.Export)
        async with self._transport.stream(call) as pieces:
            async for piece in pieces:
                digest.update(piece)
                yield piece
        if export.sha256 and digest.hexdigest() != export.sha256:
            said: Mapping[str, str] = {"detail": f"{export.name} did not arrive whole.", "code": "export.damaged"}
            raise ServerError(200, {**said, "hint": "Fetch it again."})
