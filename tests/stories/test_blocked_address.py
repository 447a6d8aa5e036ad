"""Many sites block the address we come from: the job says so, goes slower, pauses, and can be resumed."""

import asyncio
import logging
import re
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from uuid import UUID

import pytest

from gossamer.app import open_deps
from gossamer.cli import report
from gossamer.crawl.ip_block import IpBlockDetector, Thresholds
from gossamer.crawl.sweep import Sweeper
from gossamer.crawl.worker_deps import WorkerDeps
from gossamer.db.schema import upgrade
from gossamer.intake import control
from gossamer.intake.submit import submit
from gossamer.model.ids import short
from gossamer.model.job import Job, JobRequest, Target
from gossamer.model.states import JobState
from gossamer.runtime.worker import ShardWorker
from gossamer.settings import Settings
from gossamer.store import counters, events, jobs

SITES = 40
SPACING = 0.12  # seconds
# The same shares over times that a test can wait for.
QUICK = Thresholds(window=timedelta(seconds=120), patience=timedelta(seconds=1), least_sites_since=8)

PAGE = """<html><head><title>Bread</title></head><body><p>All about CRM and how to choose one for a small business.</p>
<a href="/one">one</a> <a href="/two">two</a> <a href="/three">three</a></body></html>"""
BLOCK = """<html><head><title>Attention Required! | Cloudflare</title></head><body>
<h1>Sorry, you have been blocked</h1><p>Cloudflare Ray ID: 8f1a2b3c4d5e6f70</p></body></html>"""


class Web:
    """Forty small sites behind one port; those in `blocking` refuse whoever asks."""

    def __init__(self, blocking: set[str]) -> None:
        self.blocking = blocking
        self.asked: dict[str, list[float]] = defaultdict(list)  # host -> when

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                lines = head.decode("latin-1").split("\r\n")
                host = next(line.split(": ", 1)[1] for line in lines if line.lower().startswith("host: "))
                self.asked[host].append(time.monotonic())
                writer.write(self._answer(host, lines[0].split(" ")[1]))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            return
        finally:
            writer.close()

    def _answer(self, host: str, path: str) -> bytes:
        if path in ("/robots.txt", "/sitemap.xml"):
            status, body = "404 Not Found", ""
        elif host in self.blocking:
            status, body = "403 Forbidden", BLOCK
        else:
            status, body = "200 OK", PAGE.replace("Bread", f"Bread {host}{path}")
        server = "server: cloudflare\r\n" if host in self.blocking else ""
        return (
            f"HTTP/1.1 {status}\r\n{server}content-type: text/html\r\ncontent-length: {len(body)}\r\n\r\n{body}"
        ).encode()

    @property
    def requests(self) -> int:
        return sum(map(len, self.asked.values()))


def _host(number: int) -> str:
    return f"site{number}.test"


@asynccontextmanager
async def _deps(tmp_path: Path, web: Web, at_once: int = 4) -> AsyncIterator[WorkerDeps]:
    async with await asyncio.start_server(web, "127.0.0.1", 0) as server:
        rule = f"*.test=127.0.0.1:{server.sockets[0].getsockname()[1]}"
        settings = Settings(home=tmp_path, domain_rate=1 / SPACING, max_concurrency=at_once, connect_to=rule)
        async with open_deps(settings, 1) as deps:
            await deps.database.write(upgrade)
            yield deps


async def _submit(deps: WorkerDeps) -> UUID:
    targets = tuple(Target(_host(number), (f"http://{_host(number)}/",), _host(number)) for number in range(SITES))
    return (await submit(deps.database, deps.recipes, JobRequest("t", "prospect", {"keywords": ["CRM"]}, targets))).id


@asynccontextmanager
async def _working(deps: WorkerDeps, thresholds: Thresholds) -> AsyncIterator[None]:
    """One working process and what its runner does for it."""
    shard = ShardWorker(deps, 0, 1, "home/0-1", IpBlockDetector(deps.clock, thresholds))
    running = asyncio.create_task(shard.run())
    sweeping = asyncio.create_task(_sweep(deps))
    try:
        yield
    finally:
        sweeping.cancel()
        shard.stop()
        await running


async def _sweep(deps: WorkerDeps) -> None:
    sweeper = Sweeper(deps.database, deps.clock, deps.limits.lease)
    while True:
        await sweeper.sweep()
        await asyncio.sleep(0.2)


async def _until(condition: Callable[[], Awaitable[bool]], seconds: float = 60) -> None:
    async with asyncio.timeout(seconds):
        while not await condition():
            await asyncio.sleep(0.05)


async def _job(deps: WorkerDeps, job_id: UUID) -> Job:
    job = await deps.database.read(jobs.get, job_id)
    assert job
    return job


async def _is(deps: WorkerDeps, job_id: UUID, state: JobState) -> bool:
    return (await _job(deps, job_id)).state is state


async def _has(deps: WorkerDeps, job_id: UUID, kind: str) -> bool:
    return bool(await _history(deps, job_id, kind))


async def _history(deps: WorkerDeps, job_id: UUID, *kinds: str) -> list[events.Event]:
    return [event for event in await deps.database.read(events.of_job, job_id) if event.kind in kinds]


async def _status(deps: WorkerDeps, job_id: UUID) -> list[str]:
    progress = await deps.database.read(counters.progress, job_id)
    return report.status_lines(await _job(deps, job_id), progress, 4711, deps.clock.now())


async def test_a_job_that_many_sites_block_says_so_slows_down_and_pauses(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    web = Web({_host(number) for number in range(SITES) if number % 10 in (2, 5, 8)})
    with caplog.at_level(logging.INFO, "gossamer.crawl.ip_block"):
        async with _deps(tmp_path, web) as deps:
            job_id = await _submit(deps)
            async with _working(deps, QUICK):
                await _until(lambda: _has(deps, job_id, "address.blocked"))
                slowed = time.monotonic()
                said = (await _job(deps, job_id)).reason
                assert re.fullmatch(r"\d+ of \d\d sites block this address: slowing down", said)
                assert f"Status: Running - {said}" in await _status(deps, job_id)

                await _until(lambda: _is(deps, job_id, JobState.PAUSED))
                requests = web.requests
                await _paused_with_the_sentence(deps, job_id)
                _twice_the_spacing(web, slowed)

                await control.resume(deps.database, await _job(deps, job_id))
                assert (await _job(deps, job_id)).reason == ""
                # Fewer than twenty sites are left: whoever still counted the ones before would slow down at once.
                await _until(lambda: _is(deps, job_id, JobState.COMPLETED))
                assert web.requests > requests
            progress = await deps.database.read(counters.progress, job_id)
            assert (progress.sites_done, progress.sites_failed) == (SITES - len(web.blocking), len(web.blocking))
            steps = ("address.blocked", "job.pausing", "job.paused", "job.running", "job.completed")
            started, *then = [event.kind for event in await _history(deps, job_id, *steps)]
            assert started == "job.running"
            assert then == list(steps)
    logged = [record.getMessage() for record in caplog.records if record.name == "gossamer.crawl.ip_block"]
    assert ["'address.blocked'" in logged[0], "'address.still_blocked'" in logged[1], len(logged)] == [True, True, 2]


async def _paused_with_the_sentence(deps: WorkerDeps, job_id: UUID) -> None:
    sentence = (
        r"Many sites are blocking this address \(\d+ of \d\d in 2 minutes\)\. Paused so that it does not get worse\. "
        r"Wait some hours, lower GOSSAMER_DOMAIN_RATE or set GOSSAMER_PROXY, "
        rf"then resume with 'gossamer job resume {short(job_id)}'\."
    )
    (pausing,) = await _history(deps, job_id, "job.pausing")
    assert pausing.who == "address"
    assert re.fullmatch(sentence, pausing.why)
    job = await _job(deps, job_id)
    assert job.reason == pausing.why
    lines = await _status(deps, job_id)
    assert f"Status: Paused - {job.reason}" in lines
    assert sum("job resume" in line for line in lines) == 1
    progress = await deps.database.read(counters.progress, job_id)
    assert 0 < progress.sites_finished < SITES
    (ending,) = report.ending_lines(job, progress)
    assert ending.startswith("Paused at ")
    assert ending.endswith(job.reason)


def _twice_the_spacing(web: Web, slowed: float) -> None:
    """Of the sites that were first asked at the slower speed: the gaps between their requests."""
    gaps = [
        later - earlier for asked in web.asked.values() if asked[0] > slowed + 1 for earlier, later in pairwise(asked)
    ]
    assert gaps
    assert min(gaps) > 2 * SPACING * 0.95


async def test_a_job_that_is_no_longer_blocked_goes_at_its_usual_speed_again(tmp_path: Path) -> None:
    web = Web({_host(number) for number in range(SITES) if number % 10 in (2, 5, 8)})
    async with _deps(tmp_path, web) as deps:
        job_id = await _submit(deps)
        async with _working(deps, replace(QUICK, window=timedelta(seconds=6))):
            await _until(lambda: _has(deps, job_id, "address.blocked"))
            web.blocking = set()
            await _until(lambda: _has(deps, job_id, "address.recovered"))
            job = await _job(deps, job_id)
            assert (job.state, job.reason) == (JobState.RUNNING, "")
            await _until(lambda: _is(deps, job_id, JobState.COMPLETED))
        assert not await _has(deps, job_id, "job.pausing")
        (recovered,) = await _history(deps, job_id, "address.recovered")
        assert re.fullmatch(r"\d+ of \d+ sites block this address: back to the usual speed", recovered.why)


async def test_a_job_that_few_sites_block_goes_on_undisturbed(tmp_path: Path) -> None:
    web = Web({_host(number) for number in range(SITES) if number % 10 == 5})
    async with _deps(tmp_path, web, at_once=20) as deps:
        job_id = await _submit(deps)
        async with _working(deps, QUICK):
            await _until(lambda: _is(deps, job_id, JobState.COMPLETED))
        happened = await deps.database.read(events.of_job, job_id)
        assert not [event for event in happened if event.kind.startswith("address.") or event.kind == "job.pausing"]
        progress = await deps.database.read(counters.progress, job_id)
        assert (progress.sites_done, progress.sites_failed) == (36, 4)


async def test_a_process_that_starts_does_not_repeat_what_a_dead_one_said(tmp_path: Path) -> None:
    web = Web(set())
    async with _deps(tmp_path, web) as deps, asyncio.timeout(20):
        job_id = await _submit(deps)
        await deps.database.write(jobs.set_note, job_id, "8 of 31 sites block this address: slowing down")
        async with _working(deps, QUICK):
            while not web.requests:
                await asyncio.sleep(0.05)
            job = await _job(deps, job_id)
            assert (job.state, job.reason) == (JobState.RUNNING, "")
