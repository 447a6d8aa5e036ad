"""What goes wrong at a provider costs no page and no credit: jobs wait, or pause and say what to do, and go on."""

import asyncio
import gc
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import func, select

from gossamer.app import open_deps
from gossamer.crawl.sweep import Sweeper
from gossamer.crawl.worker_deps import WorkerDeps
from gossamer.db.schema import upgrade
from gossamer.db.tables import charges, pages
from gossamer.db.transactions import Tx
from gossamer.fetch.providers import circuit_breaker, installed
from gossamer.intake import control
from gossamer.intake.submit import submit
from gossamer.model.alert import AlertKind
from gossamer.model.breaker import BreakerRule
from gossamer.model.ids import short
from gossamer.model.job import JobRequest, Target
from gossamer.model.money import Cap
from gossamer.model.rungs import RUNGS
from gossamer.model.states import JobState
from gossamer.model.trouble import Reason
from gossamer.runtime.worker import ShardWorker
from gossamer.settings import Settings
from gossamer.store import alerts, budgets, jobs, reservations
from gossamer_sandbox.providers import Running, emulate
from gossamer_sandbox.providers.storms import Kind, Storm
from gossamer_sandbox.web import SampleWeb, serve
from tests.auditing import assert_clean
from tests.crawl.test_paid_rungs import mentions
from tests.jobs import state_of

BEE = "scrapingbee-standard"
QUICK = BreakerRule(
    failures=3, share=0.5, window=timedelta(seconds=20), buckets=4, rest=timedelta(seconds=0.3), probes=2
)


WEB = SampleWeb(sites=12, seed=5, nasty=0, size_min=3, size_max=4)
CALM = [site for site in WEB.truth()["sites"] if not any(page["reasons"] for page in site["pages"])][-2:]
HOSTS = [site["host"] for site in CALM]
EXPECTED = {
    (page["url"], word) for site in CALM for page in site["pages"] if page["reachable"] for word in page["keywords"]
}


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installed, "PROVIDER", QUICK)
    monkeypatch.setattr(circuit_breaker, "_AGAIN", timedelta(seconds=0.1))


@dataclass
class Place:
    """A database, a web, and how to work there with one set of settings after the other."""

    home: Path
    database_url: str
    rules: str

    def settings(self, *providers: Running, **more: Any) -> Settings:
        reached = {f"{one.name}_{what}": getattr(one, what) for one in providers for what in ("key", "url")}
        return Settings(
            **{
                "home": self.home,
                "database_url": self.database_url,
                "domain_rate": 500,
                "connect_to": self.rules,
                "provider_patience": timedelta(seconds=1),
                **reached,
                **more,
            }
        )

    @asynccontextmanager
    async def deps(self, *providers: Running, **more: Any) -> AsyncIterator[WorkerDeps]:
        async with open_deps(self.settings(*providers, **more), 1) as deps:
            await deps.database.write(upgrade)
            yield deps


@pytest.fixture
async def place(tmp_path: Path, database_url: str) -> AsyncIterator[Place]:
    async with serve(WEB) as web:
        yield Place(tmp_path, database_url, f"*.test=127.0.0.1:{web.port}")
    if database_url.startswith("postgres"):
        # Whoever is told to stop in the middle of a question drops its connection. The driver complains of that when
        # the connection is collected, which would be in the middle of some other test.
        with warnings.catch_warnings(action="ignore", category=ResourceWarning):
            gc.collect()


async def begin(deps: WorkerDeps, *ladder: str, hosts: list[str] = HOSTS) -> UUID:
    targets = tuple(Target(host, (f"http://{host}/",), host) for host in hosts)
    asked = {"keywords": list(WEB.keywords), "mode": "own", "ladder": list(ladder)}
    request = JobRequest("test", "prospect", asked, targets, cap=Cap(1_000))
    return (await submit(deps.database, deps.recipes, request)).id


@asynccontextmanager
async def working(deps: WorkerDeps) -> AsyncIterator[None]:
    shard = ShardWorker(deps, 0, 1, "home/0-1")
    running = asyncio.create_task(shard.run())
    try:
        yield
    finally:
        shard.stop()
        await running
        await Sweeper(deps.database, deps.clock, deps.limits.lease).sweep()


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(60):
        while not await condition():
            await asyncio.sleep(0.05)


async def work_until(deps: WorkerDeps, job_id: UUID, *states: JobState) -> None:
    async with working(deps):
        await until(lambda: _in(deps, job_id, *states))


async def _in(deps: WorkerDeps, job_id: UUID, *states: JobState) -> bool:
    return await state_of(deps.database, job_id) in states


async def _idle(provider: Running) -> bool:
    return provider.emulator.shop.running == 0


def states_of_pages(tx: Tx, job_id: UUID) -> Mapping[str, int]:
    rows = tx.run(
        select(pages.c.state, func.count().label("pages")).where(pages.c.job_id == job_id).group_by(pages.c.state)
    )
    return {row.state: row.pages for row in rows}


async def said(deps: WorkerDeps, job_id: UUID, kind: AlertKind) -> str:
    """Why a paused job was paused, which its one alert says too; nothing of it is lost."""
    assert await state_of(deps.database, job_id) is JobState.PAUSED
    job = await deps.database.read(jobs.get, job_id)
    assert job
    (alert,) = await deps.database.read(alerts.of_job, job_id)
    assert (alert.kind, alert.sentence) == (kind, job.reason)
    assert "failed" not in await deps.database.read(states_of_pages, job_id)
    assert not await deps.database.read(reservations.any_left)
    return job.reason


async def go_on(deps: WorkerDeps, job_id: UUID) -> None:
    job = await deps.database.read(jobs.get, job_id)
    assert job
    await control.resume(deps.database, job)
    await work_until(deps, job_id, JobState.COMPLETED)


async def assert_whole(deps: WorkerDeps, job_id: UUID, *bills: Running, wasted: int = 0) -> None:
    """All was found, no page failed, the books agree, and no page was paid for twice, but for so many."""
    assert await deps.database.read(mentions, job_id) == EXPECTED
    assert await deps.database.read(states_of_pages, job_id) == {"done": sum(await _pages(deps, job_id))}
    spent = (await deps.database.read(budgets.of_job, job_id)).spent.credits
    assert spent == sum(one.bill.total for one in bills) > 0
    paid = [entry.target for one in bills for entry in one.bill.entries if entry.charged]
    assert len(paid) - len(set(paid)) == wasted
    assert not await deps.database.read(reservations.any_left)
    await assert_clean(deps.database, job_id)


async def _pages(deps: WorkerDeps, job_id: UUID) -> list[int]:
    return list((await deps.database.read(states_of_pages, job_id)).values())


async def test_a_bad_key_pauses_the_job_until_it_is_the_right_one(place: Place) -> None:
    async with emulate("scrapingbee", place.rules) as bee:
        async with place.deps(bee, scrapingbee_key="somebody-elses") as deps:
            job_id = await begin(deps, BEE)
            await work_until(deps, job_id, JobState.PAUSING, JobState.PAUSED)
            assert await said(deps, job_id, AlertKind.PROVIDER_KEY) == (
                "ScrapingBee does not accept the key (HTTP 401). Paused: no page has failed for it, and nothing was "
                f"charged. Correct GOSSAMER_SCRAPINGBEE_KEY, then resume with 'gossamer job resume {short(job_id)}'."
            )
            assert bee.bill.total == (await deps.database.read(budgets.of_job, job_id)).spent.credits == 0
        async with place.deps(bee) as deps:
            await go_on(deps, job_id)
            assert await deps.database.read(alerts.of_job, job_id) == []
            await assert_whole(deps, job_id, bee)


async def test_used_up_credits_pause_the_job_and_no_page_is_paid_for_twice(place: Place) -> None:
    async with emulate("scrapingbee", place.rules, credits=3) as bee, place.deps(bee) as deps:
        job_id = await begin(deps, BEE)
        await work_until(deps, job_id, JobState.PAUSING, JobState.PAUSED)
        assert (await said(deps, job_id, AlertKind.PROVIDER_CREDITS)).startswith(
            "The credits at ScrapingBee are used up (HTTP 402). Paused: no page has failed for it. Buy some there"
        )
        # What calls at the same moment take beyond the plan is the provider's to say.
        assert bee.bill.total == (await deps.database.read(budgets.of_job, job_id)).spent.credits >= 3
        bee.emulator.shop.credits = 1_000
        await go_on(deps, job_id)
        await assert_whole(deps, job_id, bee)


async def test_a_provider_that_is_down_pauses_who_needs_it_and_nobody_else(place: Place) -> None:
    async with emulate("scrapingbee", place.rules) as bee:
        port = bee.port
    async with place.deps(bee) as deps:
        needy = await begin(deps, BEE)
        async with working(deps):
            await until(lambda: _in(deps, needy, JobState.PAUSING, JobState.PAUSED))
            other = await begin(deps, "direct")
            await until(lambda: _in(deps, other, JobState.COMPLETED))
        assert await deps.database.read(mentions, other) == EXPECTED
        assert (await said(deps, needy, AlertKind.PROVIDER)).startswith(
            "ScrapingBee has not worked for 1 seconds (no server answers there). Paused: no page has failed for it."
        )
        async with emulate("scrapingbee", place.rules, port=port) as back:
            await go_on(deps, needy)
            await assert_whole(deps, needy, back)


async def test_a_storm_is_waited_out(place: Place) -> None:
    async with emulate("scrapingbee", place.rules) as bee, place.deps(bee, provider_patience="1h") as deps:
        bee.storms.add(Storm(Kind.STATUS, times=9, status=503))
        job_id = await begin(deps, BEE)
        await work_until(deps, job_id, JobState.COMPLETED)
        await assert_whole(deps, job_id, bee)
        assert not bee.storms
        # Two failures are met before the provider is in doubt; from then on no page is charged a try for it.
        tried = await deps.database.read(lambda tx: tx.run(select(pages.c.attempts)).scalars().all())
        assert sum(len(attempts) - 1 for attempts in tried) <= 2
        assert len(bee.bill.entries) == 9 + len(tried)


async def test_what_comes_too_late_or_broken_is_booked_at_the_worst_price_each_time(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(RUNGS._values, BEE, replace(RUNGS[BEE], timeout=timedelta(seconds=1)))
    async with emulate("scrapingbee", place.rules) as bee, place.deps(bee, provider_patience="1h") as deps:
        for storm in (Storm(Kind.SLOW, seconds=1.5), Storm(Kind.CUT), Storm(Kind.MALFORMED, times=2)):
            bee.storms.add(storm)
        job_id = await begin(deps, BEE)
        await work_until(deps, job_id, JobState.COMPLETED)
        # The late one may still be on its way to the bill when the page it was for is long there.
        await until(lambda: _idle(bee))
        # The late one and the cut one brought nothing; the others only did not say what they cost.
        await assert_whole(deps, job_id, bee, wasted=2)
        assumed = select(func.count()).where(charges.c.job_id == job_id, charges.c.assumed)
        assert await deps.database.read(lambda tx: tx.run(assumed).scalar_one()) >= 3


async def test_with_another_provider_on_the_ladder_the_job_goes_on(place: Place) -> None:
    async with emulate("scrapingbee", place.rules) as bee, emulate("scraperapi", place.rules) as ape:
        async with place.deps(bee, ape, scrapingbee_key="somebody-elses") as deps:
            job_id = await begin(deps, BEE, "scrapingbee-js", "scraperapi")
            await work_until(deps, job_id, JobState.COMPLETED)
            await assert_whole(deps, job_id, ape)
            rungs = await deps.database.read(lambda tx: set(tx.run(select(pages.c.rung)).scalars()))
        assert rungs == {"scraperapi"}, "nothing is tried on a dearer rung of the same provider"


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
async def test_pages_that_a_provider_cannot_fetch_fail_in_the_end_and_keep_no_job_from_its_own(place: Place) -> None:
    hosts = [site["host"] for site in WEB.truth()["sites"]][:4]
    async with emulate("scrapingbee", place.rules) as bee, place.deps(bee) as deps:
        bee.storms.add(Storm(Kind.STATUS, times=10_000, status=500))
        job_id = await begin(deps, BEE, hosts=hosts)
        for _ in range(5):
            await work_until(deps, job_id, JobState.PAUSING, JobState.PAUSED, JobState.COMPLETED)
            if await _in(deps, job_id, JobState.COMPLETED):
                break
            # Whoever resumes it has looked: what is said of each page for so long is about the pages.
            job = await deps.database.read(jobs.get, job_id)
            assert job
            await control.resume(deps.database, job)
        assert await state_of(deps.database, job_id) is JobState.COMPLETED
        reasons = await deps.database.read(lambda tx: set(tx.run(select(pages.c.reason)).scalars()))
        assert reasons == {Reason.PROVIDER_FAILED.name}
        assert bee.bill.total == (await deps.database.read(budgets.of_job, job_id)).spent.credits == 0
