"""Jobs on a machine without a network: nothing fails, no try counts, they go on. Dead sites still fail."""

import asyncio
import socket
from pathlib import Path
from uuid import UUID

import pytest
from sqlalchemy import select

from gossamer.app import open_deps
from gossamer.crawl import own_network
from gossamer.crawl.worker_deps import WorkerDeps
from gossamer.db.schema import upgrade
from gossamer.db.tables import pages
from gossamer.model.states import JobState, SiteState
from gossamer.runtime.worker import ShardWorker
from gossamer.settings import Settings
from gossamer.store import alerts, jobs, sites
from tests.auditing import assert_clean
from tests.crawl.scripted import PAGE, Site, submit_job, work_until_over

HOSTS = [f"{letter}.test" for letter in "abcdefgh"]


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_network, "_FIRST_LOOK", 0.2)


def unused_port() -> int:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        return int(unused.getsockname()[1])


def settings_for(home: Path, port: int) -> Settings:
    return Settings(home=home, domain_rate=20, connect_to=f"*.test=127.0.0.1:{port}")


async def has_reason(deps: WorkerDeps, job_id: UUID, said: str) -> bool:
    job = await deps.database.read(jobs.get, job_id)
    assert job
    assert job.state is JobState.RUNNING
    return job.reason.startswith(said) if said else not job.reason


async def test_a_job_begun_without_a_network_waits_and_is_read_whole(tmp_path: Path) -> None:
    port, site = unused_port(), Site(lambda host, path: (200, {}, PAGE) if path == "/" else (404, {}, ""))
    async with open_deps(settings_for(tmp_path, port), 1) as deps:
        await deps.database.write(upgrade)
        job_id = await submit_job(deps, *HOSTS)
        shard = ShardWorker(deps, 0, 1, "home/0-1")
        running = asyncio.create_task(shard.run())
        async with asyncio.timeout(60):
            while not await has_reason(deps, job_id, "No network since "):
                await asyncio.sleep(0.05)
            (alert,) = await deps.database.read(lambda tx: alerts.recent(tx, 10))
            assert alert.kind == "network"
            await asyncio.sleep(1)
            server = await asyncio.start_server(site, "127.0.0.1", port)
            while await deps.database.read(lambda tx: alerts.recent(tx, 10)):
                await asyncio.sleep(0.05)
        shard.stop()
        await running
        await work_until_over(deps, job_id)
        server.close()
        found = await deps.database.read(sites.summaries, job_id)
        tried = await deps.database.read(lambda tx: tx.run(select(pages.c.url, pages.c.attempts)).all())
        await assert_clean(deps.database, job_id)
    assert {one.state for one in found} == {SiteState.DONE}
    assert all(len(row.attempts) == 1 for row in tried), "no try counts that was made without a network"


async def test_three_dead_domains_come_to_their_end(tmp_path: Path) -> None:
    async with open_deps(settings_for(tmp_path, unused_port()), 1) as deps:
        await deps.database.write(upgrade)
        job_id = await submit_job(deps, *HOSTS[:3])
        await work_until_over(deps, job_id)
        found = await deps.database.read(sites.summaries, job_id)
    assert {one.state for one in found} == {SiteState.FAILED}


async def test_a_job_of_dead_domains_does_not_keep_others_waiting(tmp_path: Path) -> None:
    site = Site(lambda host, path: (200, {}, PAGE) if path == "/" else (404, {}, ""))
    server = await asyncio.start_server(site, "127.0.0.1", 0)
    rules = f"alive.example=127.0.0.1:{server.sockets[0].getsockname()[1]},*.test=127.0.0.1:{unused_port()}"
    settings = Settings(home=tmp_path, domain_rate=20, connect_to=rules)
    async with server, open_deps(settings, 1) as deps:
        await deps.database.write(upgrade)
        dead = await submit_job(deps, *HOSTS)
        shard = ShardWorker(deps, 0, 1, "home/0-1")
        running = asyncio.create_task(shard.run())
        async with asyncio.timeout(60):
            while not await has_reason(deps, dead, "No network since "):
                await asyncio.sleep(0.05)
            alive = await submit_job(deps, "alive.example")
            while (await deps.database.read(sites.summaries, alive))[0].state is SiteState.OPEN:
                await asyncio.sleep(0.05)
        shard.stop()
        await running
        found = await deps.database.read(sites.summaries, alive)
    assert {one.state for one in found} == {SiteState.DONE}
