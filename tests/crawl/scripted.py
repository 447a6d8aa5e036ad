"""A small web that plays a part, and a process that walks it."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple
from uuid import UUID

from gossamer.app import open_deps
from gossamer.crawl.worker_deps import WorkerDeps
from gossamer.db.schema import upgrade
from gossamer.intake.submit import submit
from gossamer.model.job import JobRequest, Target
from gossamer.model.states import JobState
from gossamer.runtime.worker import ShardWorker
from gossamer.settings import Settings
from gossamer.store import jobs

Answer = Callable[[str, str], "tuple[int, dict[str, str], str]"]
PAGE = "<html><title>CRM</title><body><p>All about CRM and how to choose one for a small business.</p></body></html>"


class Asked(NamedTuple):
    """One request. `at` counts seconds."""

    host: str
    path: str
    cookie: str
    at: float
    method: str = "GET"
    headers: Mapping[str, str] = MappingProxyType({})
    body: bytes = b""


class Site:
    """Answers by a function of host and path, and remembers who asked for what."""

    def __init__(
        self,
        answer: Answer,
        slow: dict[str, float] | None = None,
        data: "Callable[[Asked], tuple[int, dict[str, str], str] | None] | None" = None,
    ) -> None:
        """`data` is asked first, and answers with nothing what it leaves to `answer`."""
        self._answer = answer
        self._data = data
        self._slow = slow or {}
        self.asked: list[Asked] = []

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                first, *lines = head.decode("latin-1").split("\r\n")
                said = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
                sent = await reader.readexactly(int(said.get("content-length", 0)))
                method, path, _ = first.split(" ")
                asked = Asked(said["host"], path, said.get("cookie", ""), time.monotonic(), method, said, sent)
                self.asked.append(asked)
                await asyncio.sleep(self._slow.get(asked.host, 0))
                found = self._data(asked) if self._data else None
                status, headers, body = found or self._answer(asked.host, asked.path)
                headers = {"content-type": "text/html", "content-length": str(len(body)), **headers}
                lines = [f"{name}: {value}\r\n" for name, value in headers.items()]
                writer.write(f"HTTP/1.1 {status} x\r\n{''.join(lines)}\r\n{body}".encode())
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            return
        finally:
            writer.close()

    @property
    def paths(self) -> list[str]:
        """What was asked for but what every site is asked for."""
        return [one.path for one in self.asked if not one.path.endswith((".txt", ".xml"))]


@asynccontextmanager
async def kit_for(home: Path, site: Site, rate: float = 500, **more: Any) -> AsyncIterator[WorkerDeps]:
    server = await asyncio.start_server(site, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    settings = Settings(home=home, domain_rate=rate, connect_to=f"*.test=127.0.0.1:{port}", **more)
    try:
        async with open_deps(settings, 1) as deps:
            await deps.database.write(upgrade)
            yield deps
    finally:
        server.close()


async def submit_job(deps: WorkerDeps, *hosts: str) -> UUID:
    targets = tuple(Target(host, (f"http://{host}/",), host) for host in hosts)
    return (await submit(deps.database, deps.recipes, JobRequest("t", "prospect", {"keywords": ["CRM"]}, targets))).id


async def work_until_over(deps: WorkerDeps, job_id: UUID, seconds: float = 60) -> None:
    shard = ShardWorker(deps, 0, 1, "home/0-1")
    running = asyncio.create_task(shard.run())
    async with asyncio.timeout(seconds):
        while True:
            job = await deps.database.read(jobs.get, job_id)
            assert job
            if job.state is JobState.COMPLETED:
                break
            await asyncio.sleep(0.05)
    shard.stop()
    await running


async def walk(deps: WorkerDeps, *hosts: str) -> UUID:
    """A job over these sites, from its beginning to its end."""
    job_id = await submit_job(deps, *hosts)
    await work_until_over(deps, job_id)
    return job_id
