"""A proxy that is away costs no page a try: the job pauses, says why, and goes on once it is resumed."""

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import pytest
from sqlalchemy import select

from gossamer.app import open_deps
from gossamer.clock import FrozenClock
from gossamer.crawl.requester import NoWayOut
from gossamer.crawl.sweep import Sweeper
from gossamer.crawl.worker_deps import WorkerDeps
from gossamer.db.schema import upgrade
from gossamer.db.tables import pages
from gossamer.fetch.outage import Outage
from gossamer.intake import control
from gossamer.intake.submit import submit
from gossamer.model.job import JobRequest, Target
from gossamer.model.states import JobState
from gossamer.runtime.auto_pause import ProxyGuard
from gossamer.runtime.worker import ShardWorker
from gossamer.settings import Settings
from gossamer.store import alerts, counters, jobs, sites
from tests.conftest import AnyDatabase
from tests.fetch.forward_proxy import ForwardProxy
from tests.fetch.loopback import Name, NameServer, Site, answer
from tests.jobs import make_job, state_of

HOSTS = ("a.example", "b.example")
PAGE = b"<html><title>Shop</title><p>" + b"Our CRM is the one we sell to every shop around here. " * 20 + b"</p></html>"


async def test_an_outage_pauses_what_runs_once_it_has_lasted(database: AnyDatabase) -> None:
    clock = FrozenClock()
    outage = Outage(clock)
    guard = ProxyGuard(database, outage, timedelta(seconds=60))
    job = await database.write(make_job, "a.test")
    outage.begin("no server answers there")
    clock.advance(59)
    outage.begin("no server answers there")
    assert await guard.look({job.id}) == set()
    outage.end()
    outage.begin("it asks for other credentials")
    clock.advance(59)
    assert await guard.look({job.id}) == set()
    clock.advance(2)
    assert await guard.look({job.id}) == {job.id}
    assert await state_of(database, job.id) is JobState.PAUSING
    (alert,) = await database.read(alerts.of_job, job.id)
    assert alert.sentence.startswith(
        "The proxy in GOSSAMER_PROXY cannot be used: it asks for other credentials. Paused"
    )
    # Said once; whoever resumes has the whole time again, also where another process has paused the job.
    assert await guard.look({job.id}) == set()
    outage.begin("no server answers there")
    clock.advance(70)
    assert await guard.look(set()) == set()
    assert await guard.look({job.id}) == set()


@asynccontextmanager
async def working(deps: WorkerDeps) -> AsyncIterator[None]:
    shard = ShardWorker(deps, 0, 1, "home/0-1")
    running = asyncio.create_task(shard.run())
    sweeper = Sweeper(deps.database, deps.clock, deps.limits.lease)
    yield
    shard.stop()
    await running
    await sweeper.sweep()


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(40):
        while not await condition():
            await asyncio.sleep(0.05)


async def in_state(deps: WorkerDeps, job_id: UUID, state: JobState) -> bool:
    return await state_of(deps.database, job_id) is state


@pytest.fixture
async def names() -> AsyncIterator[NameServer]:
    server = await NameServer().start()
    server.names |= {host: Name(["93.184.216.34"]) for host in HOSTS}
    yield server
    server.close()


async def test_a_job_outlives_a_proxy_that_is_away(
    tmp_path: Path, names: NameServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(NoWayOut, "wait", timedelta(seconds=0.2))
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    settings = Settings(
        home=tmp_path,
        domain_rate=50,
        dns_servers=[names.address],
        proxy=f"http://127.0.0.1:{port}",
        proxy_patience=timedelta(seconds=0.5),
    )
    async with open_deps(settings, 1) as deps:
        await deps.database.write(upgrade)
        targets = tuple(Target(host, (f"http://{host}/",), host) for host in HOSTS)
        request = JobRequest("test", "prospect", {"keywords": ["CRM"]}, targets)
        job_id = (await submit(deps.database, deps.recipes, request)).id
        async with working(deps):
            await until(lambda: in_state(deps, job_id, JobState.PAUSING))
        assert await state_of(deps.database, job_id) is JobState.PAUSED
        progress = await deps.database.read(counters.progress, job_id)
        assert (progress.sites_finished, progress.pages_failed) == (0, 0)
        tried = await deps.database.read(lambda tx: tx.run(select(pages.c.state, pages.c.attempts)).all())
        assert all(row == ("pending", []) for row in tried)
    async with Site() as site, ForwardProxy(site.port) as proxy:
        # The second request of a connection comes through this proxy as it was sent.
        addresses = ("/", *(f"http://{host}/" for host in HOSTS))
        site.pages |= dict.fromkeys(addresses, answer(PAGE, b"Content-Type: text/html"))
        mended = Settings(**{**settings.model_dump(), "proxy": f"http://127.0.0.1:{proxy.port}"})
        async with open_deps(mended, 1) as deps:
            job = await deps.database.read(jobs.get, job_id)
            assert job
            assert job.reason.startswith("The proxy in GOSSAMER_PROXY cannot be used: no server answers there.")
            await control.resume(deps.database, job)
            assert await deps.database.read(alerts.of_job, job_id) == []
            async with working(deps):
                await until(lambda: in_state(deps, job_id, JobState.COMPLETED))
            progress = await deps.database.read(counters.progress, job_id)
            found = await deps.database.read(sites.summaries, job_id)
    assert [site.trouble for site in found] == [None, None]
    assert (progress.sites_done, progress.pages_done) == (2, 2)
