"""One working process, in this one: what it does when its lease, its recipe or its job is taken away."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import pytest
from sqlalchemy import select, update

from gossamer.app import open_deps
from gossamer.crawl.sweep import Sweeper
from gossamer.crawl.worker_deps import WorkerDeps
from gossamer.db.schema import upgrade
from gossamer.db.tables import visits
from gossamer.intake.submit import submit
from gossamer.model.document import Document
from gossamer.model.job import JobRequest, Target
from gossamer.model.page import Page
from gossamer.model.record import Harvest
from gossamer.model.states import JobState, SiteState, VisitState
from gossamer.recipes.prospect import PROSPECT
from gossamer.recipes.prospect.harvest import BoundProspect
from gossamer.recipes.prospect.params import ProspectParams
from gossamer.runtime.worker import ShardWorker
from gossamer.settings import Settings
from gossamer.store import counters, jobs, sites
from gossamer_sandbox.web import SampleWeb, serve

WEB = SampleWeb(sites=6, seed=2, nasty=0, size_min=6, size_max=8)


class _Broken(BoundProspect):
    def harvest(self, page: Page, doc: Document) -> Harvest:
        raise ZeroDivisionError(page.url)


class _Counted:
    """Binds prospecting, and counts how often."""

    def __init__(self) -> None:
        self.bound = 0

    def __call__(self, params: ProspectParams) -> BoundProspect:
        self.bound += 1
        return BoundProspect(params)


@asynccontextmanager
async def _deps(tmp_path: Path, rate: float) -> AsyncIterator[WorkerDeps]:
    async with serve(WEB) as running:
        settings = Settings(home=tmp_path, domain_rate=rate, connect_to=f"*.test=127.0.0.1:{running.port}")
        async with open_deps(settings, 1) as deps:
            await deps.database.write(upgrade)
            yield deps


async def _submit(deps: WorkerDeps) -> UUID:
    targets = tuple(Target(host, (f"http://{host}/",), host) for host in WEB.hosts())
    request = JobRequest("test", "prospect", {"keywords": list(WEB.keywords)}, targets)
    return (await submit(deps.database, deps.recipes, request)).id


@asynccontextmanager
async def _working(deps: WorkerDeps) -> AsyncIterator[None]:
    shard = ShardWorker(deps, 0, 1, "home/0-1")
    running = asyncio.create_task(shard.run())
    yield
    shard.stop()
    await running


async def _until(condition: Callable[[], Awaitable[bool]], seconds: float = 60) -> None:
    async with asyncio.timeout(seconds):
        while not await condition():
            await asyncio.sleep(0.05)


async def _state(deps: WorkerDeps, job_id: UUID) -> JobState:
    job = await deps.database.read(jobs.get, job_id)
    assert job
    return job.state


async def test_a_recipe_that_fails_fails_its_pages_and_nothing_else(tmp_path: Path) -> None:
    async with _deps(tmp_path, 500) as plain:
        deps = replace(plain, recipes={"prospect": replace(PROSPECT, bind=_Broken)})
        job_id = await _submit(deps)
        async with _working(deps):
            await _until(lambda: _is(deps, job_id, JobState.COMPLETED))
        failed = await deps.database.read(sites.summaries, job_id, SiteState.FAILED)
        assert len(failed) == 6
        assert {site.trouble.sentence for site in failed if site.trouble} == {"Internal error (ZeroDivisionError)"}


async def test_a_recipe_is_built_once_though_all_visits_begin_together(tmp_path: Path) -> None:
    """Of 500 keywords it is large, and what is compared with every page should be the same for all of them."""
    async with _deps(tmp_path, 500) as plain:
        recipe = _Counted()
        deps = replace(plain, recipes={"prospect": replace(PROSPECT, bind=recipe)})
        job_id = await _submit(deps)
        recipe.bound = 0
        async with _working(deps):
            await _until(lambda: _is(deps, job_id, JobState.COMPLETED))
        assert recipe.bound == 1


async def _is(deps: WorkerDeps, job_id: UUID, state: JobState) -> bool:
    return await _state(deps, job_id) is state


async def _pages(deps: WorkerDeps, job_id: UUID, least: int) -> bool:
    return (await deps.database.read(counters.progress, job_id)).pages_done >= least


async def test_a_visit_that_was_taken_away_is_left_alone(tmp_path: Path) -> None:
    """The walker whose token is no longer in the row writes nothing more, and the others go on."""
    async with _deps(tmp_path, 5) as deps:
        job_id = await _submit(deps)
        async with _working(deps):
            await _until(lambda: _pages(deps, job_id, 6))
            stolen = await deps.database.write(lambda tx: tx.run(select(visits.c.id).limit(1)).scalar_one())
            elsewhere = {"state": VisitState.RUNNING, "lease": UUID(int=1), "worker": "other/0-1"}
            await deps.database.write(
                lambda tx: tx.run(update(visits).where(visits.c.id == stolen).values(**elsewhere))
            )
            await _until(lambda: _finished(deps, job_id, 5))
            row = await deps.database.read(lambda tx: tx.run(select(visits).where(visits.c.id == stolen)).one())
        assert (row.state, row.lease, row.worker) == ("running", UUID(int=1), "other/0-1")
        assert await _state(deps, job_id) is JobState.RUNNING


async def _finished(deps: WorkerDeps, job_id: UUID, least: int) -> bool:
    return (await deps.database.read(counters.progress, job_id)).sites_finished >= least


async def test_stopping_hands_every_visit_back(tmp_path: Path) -> None:
    async with _deps(tmp_path, 2) as deps:
        job_id = await _submit(deps)
        async with _working(deps):
            await _until(lambda: _pages(deps, job_id, 2))
        states = await deps.database.read(lambda tx: tx.run(select(visits.c.state, visits.c.deaths)).all())
        assert {(row.state, row.deaths) for row in states} <= {("ready", 0), ("done", 0)}
        async with _working(replace(deps, limits=replace(deps.limits, spacing=deps.limits.spacing / 100))):
            await _until(lambda: _is(deps, job_id, JobState.COMPLETED))


@pytest.mark.parametrize("target", [JobState.PAUSING, JobState.CANCELLED])
async def test_a_job_that_no_longer_runs_gets_its_visits_back(tmp_path: Path, target: JobState) -> None:
    async with _deps(tmp_path, 2) as deps:
        job_id = await _submit(deps)
        async with _working(deps):
            await _until(lambda: _pages(deps, job_id, 2))
            await deps.database.write(jobs.move, job_id, target)
            await _until(lambda: _none_in_hand(deps), 15)
            await Sweeper(deps.database, deps.clock, deps.limits.lease).sweep()
        assert await _state(deps, job_id) is (JobState.PAUSED if target is JobState.PAUSING else target)


async def _none_in_hand(deps: WorkerDeps) -> bool:
    held = select(visits.c.id).where(visits.c.state.in_(("running", "issued")))
    return (await deps.database.read(lambda tx: tx.run(held).first())) is None
