"""What a client can ask about the files of a job."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from gossamer.client import answers
from gossamer.client.errors import ServerError, StillRunning
from gossamer.client.jobs import JobId
from gossamer.client.transport import Call, Transport

_LOOK, _LONGEST_LOOK = 0.1, 2.0  # seconds between looks at a file that is being made, ever longer


class FileCalls:
    """Have files made, and fetch them."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def export(
        self,
        job: JobId,
        *,
        type: str = "results",  # noqa: A002 - as the server calls it
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
        """Have files made of a job, one for each format; they are made in the background."""
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
        """The file once nobody makes it any more: done, failed or cancelled."""
        clock = asyncio.get_running_loop().time
        until, look = clock() + patience, _LOOK
        while (one := await self.export_status(job, export)).is_open:
            if clock() > until:
                raise StillRunning(f"{one.name} is not made after {patience:g} s.", str(job))
            await asyncio.sleep(look)
            look = min(look * 1.5, _LONGEST_LOOK)
        return one

    async def download(self, export: answers.Export, path: Path) -> Path:
        """Write a file that is done to `path`: all of it, as the server has it, or nothing."""
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
        """The bytes of a file that is done, as they come; at the end they are held against what the server knows."""
        digest = sha256()
        call = Call("GET", f"/v1/jobs/{export.job_id}/exports/{export.id}/file", answers.Export)
        async with self._transport.stream(call) as pieces:
            async for piece in pieces:
                digest.update(piece)
                yield piece
        if export.sha256 and digest.hexdigest() != export.sha256:
            said: Mapping[str, str] = {"detail": f"{export.name} did not arrive whole.", "code": "export.damaged"}
            raise ServerError(200, {**said, "hint": "Fetch it again."})
