"""A job that climbs to a provider: an emulated one, which keeps a bill of its own."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

from sqlalchemy import select

from gossamer.app import open_deps
from gossamer.crawl.worker_deps import WorkerDeps
from gossamer.db.schema import upgrade
from gossamer.db.tables import records
from gossamer.db.transactions import Tx
from gossamer.intake.submit import submit
from gossamer.model.job import JobRequest, Target
from gossamer.model.money import Cap
from gossamer.model.states import JobState
from gossamer.runtime.worker import ShardWorker
from gossamer.settings import Settings
from gossamer.store import budgets, jobs, reservations
from gossamer_sandbox.providers import Running, emulate
from gossamer_sandbox.web import SampleWeb, serve
from gossamer_sandbox.web.visitors import JS
from tests.auditing import assert_clean

WEB = SampleWeb(sites=60, seed=11, nasty=1, size_min=4, size_max=7)
LADDER = ("direct", "scrapingbee-standard", "scrapingbee-js")


Mentions = set[tuple[str, str]]


def there(*powers: str) -> dict[str, Mentions]:
    """What each site has to find for such a visitor; sites that keep one waiting are left out."""
    patient = {"TIMEOUT", "UNAVAILABLE", "RATE_LIMITED"}
    return {
        site["host"]: {(page["url"], word) for page in site["pages"] if page["reachable"] for word in page["keywords"]}
        for site in WEB.truth(visitor=frozenset(powers))["sites"]
        if not site["crawl_delay"] and not any(patient & set(page["reasons"]) for page in site["pages"])
    }


def opened_by_scripts() -> list[str]:
    """Sites on which somebody who runs scripts finds more."""
    plain = there()
    return [host for host, found in there(JS).items() if found > plain[host]][:2]


@asynccontextmanager
async def paying_kit(home: Path, web: SampleWeb = WEB, **emulated: Any) -> AsyncIterator[tuple[WorkerDeps, Running]]:
    async with serve(web) as served:
        rules = f"*.test=127.0.0.1:{served.port}"
        async with emulate("scrapingbee", rules, **emulated) as provider:
            settings = Settings(
                home=home,
                domain_rate=500,
                connect_to=rules,
                scrapingbee_key=provider.key,
                scrapingbee_url=provider.url,
            )
            async with open_deps(settings, 1) as deps:
                await deps.database.write(upgrade)
                yield deps, provider


async def work(
    deps: WorkerDeps,
    hosts: Sequence[str],
    until: JobState,
    cap: Cap,
    *,
    web: SampleWeb = WEB,
    mode: str = "hybrid",
    ladder: Sequence[str] = LADDER,
) -> UUID:
    targets = tuple(Target(host, (f"http://{host}/",), host) for host in hosts)
    asked = {"keywords": list(web.keywords), "mode": mode, "ladder": list(ladder)}
    job = await submit(deps.database, deps.recipes, JobRequest("test", "prospect", asked, targets, cap=cap))
    shard = ShardWorker(deps, 0, 1, "home/0-1")
    running = asyncio.create_task(shard.run())
    try:
        async with asyncio.timeout(60):
            while (await deps.database.read(jobs.states, [job.id]))[job.id] is not until:
                assert not running.done(), running.result()
                await asyncio.sleep(0.05)
    finally:
        shard.stop()
        await running
    return job.id


def mentions(tx: Tx, job_id: UUID) -> Mentions:
    rows = tx.run(select(records.c.data).where(records.c.job_id == job_id)).scalars()
    return {(row["url"], row["keyword"]) for row in rows}


async def test_what_only_scripts_show_is_found_and_the_bill_is_ours(tmp_path: Path) -> None:
    hosts = opened_by_scripts()
    expected = set().union(*(there(JS)[host] for host in hosts))
    assert expected > set().union(*(there()[host] for host in hosts))
    async with paying_kit(tmp_path) as (deps, provider):
        job_id = await work(deps, hosts, JobState.COMPLETED, Cap(1_000))
        assert await deps.database.read(mentions, job_id) == expected
        assert (await deps.database.read(budgets.of_job, job_id)).spent.credits == provider.bill.total > 0
        assert not await deps.database.read(reservations.any_left)
        await assert_clean(deps.database, job_id)


async def test_at_its_limit_a_job_pauses_and_no_credit_more_was_charged(tmp_path: Path) -> None:
    async with paying_kit(tmp_path) as (deps, provider):
        job_id = await work(deps, opened_by_scripts(), JobState.PAUSING, Cap(6))
        job = await deps.database.read(jobs.get, job_id)
        assert job
        spent = (await deps.database.read(budgets.of_job, job_id)).spent.credits
        assert job.reason == (
            f"Budget limit reached ({spent} credits used). Job paused. "
            "Resume with higher limit or export partial results."
        )
        assert 0 < spent == provider.bill.total <= 6
        await assert_clean(deps.database, job_id)
