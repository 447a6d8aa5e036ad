"""How much of a job is ahead, and how long it takes: by its pages and by its slowest domain."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import bindparam, update

from gossamer.crawl.remaining_work import RemainingWork
from gossamer.db import tables
from gossamer.db.transactions import Tx
from gossamer.model.job import Extent, Job, Progress, Target
from gossamer.model.states import JobState, SiteState
from gossamer.runtime.worker import ShardWorker
from gossamer.store import counters, jobs, sites
from gossamer.store.counters import CounterChange
from tests.conftest import AnyDatabase
from tests.crawl.scripted import PAGE, Site, kit_for, submit_job

SECOND = timedelta(seconds=1)
EndedPage = tuple[int, int, int]  # pages read, pages chosen and open, pages known


def every_second(_: str) -> timedelta:
    return SECOND


def a_job(
    tx: Tx,
    known: Sequence[EndedPage],
    *,
    unread: int = 0,
    ended: int = 0,
    recently: int = 0,
    extent: Extent = Extent(),  # noqa: B008 - frozen
    source: str = "sitemap",
    robots: dict[str, Any] | None = None,
    host: Callable[[int], str] = lambda number: f"site{number}.test",
) -> Job:
    """A running job in its third minute, as its rows stand: `recently` pages have ended in these three minutes."""
    count = len(known) + unread
    job = jobs.create(tx, "t", "prospect", {"keywords": ["CRM"]}, count + ended, extent=extent)
    targets = [Target(host(number), (f"http://{host(number)}/",), host(number)) for number in range(count)]
    created = sites.create_many(tx, job.id, targets)
    jobs.move(tx, job.id, JobState.RUNNING)
    rows = [
        {"b_id": site_id, "done": done, "open": open_, "size": size}
        for (site_id, _), (done, open_, size) in zip(created, known, strict=False)
    ]
    change = update(tables.sites).where(tables.sites.c.id == bindparam("b_id"))
    names: dict[str, Any] = {
        "pages_done": bindparam("done"),
        "open_pages": bindparam("open"),
        "size": bindparam("size"),
    }
    if rows:
        tx.run_many(change.values(**names, size_source=source, robots=robots or {}), rows)
    read = sum(done for done, _, _ in known)
    counters.add(
        tx,
        0,
        {
            job.id: CounterChange(
                sites_done=ended, pages_done=max(read, recently), pages_open=sum(one[1] for one in known)
            )
        },
    )
    tx.run(update(tables.minutes).values(pages=recently))
    tx.run(update(tables.jobs).values(started_at=tx.now - timedelta(minutes=3)))
    found = jobs.get(tx, job.id)
    assert found
    return found


async def progress_of(database: AnyDatabase, job: Job, spacing: Callable[[str], timedelta] = every_second) -> Progress:
    progress = await database.read(counters.progress, job.id)
    # As if the window were exactly three minutes, whatever the clock says.
    progress = replace(progress, pages_window=timedelta(minutes=3))
    return await RemainingWork(spacing).add(database, job, progress)


async def test_twenty_thousand_small_domains_take_as_long_as_their_pages_at_the_present_rate(
    database: AnyDatabase,
) -> None:
    """2,000 domains are over and had ten pages each: the other 18,000 are expected to be like them."""
    job = await database.write(a_job, [], unread=18_000, ended=2_000, recently=20_000)
    progress = await progress_of(database, job)
    assert progress.ahead
    assert (progress.ahead.unread, progress.pages_expected) == (18_000, 200_000)
    assert progress.left == timedelta(minutes=180_000 / (20_000 / 3))
    assert progress.left_is_least


async def test_one_large_domain_takes_as_long_as_its_queue_at_its_own_spacing(database: AnyDatabase) -> None:
    job = await database.write(a_job, [(30, 10, 500)], ended=9, recently=330)
    progress = await progress_of(database, job)
    # By the rate alone it would be over in four minutes: the others went faster than this one may.
    assert progress.pages_per_minute == 110
    assert progress.left == timedelta(seconds=470 * 1.02)
    assert not progress.left_is_least
    assert progress.pages_expected == 330 + 470


async def test_a_large_domain_among_many_small_ones_decides_once_it_takes_longer(database: AnyDatabase) -> None:
    small = [(8, 2, 10)] * 19_999
    job = await database.write(a_job, [*small, (50, 10, 450)], recently=60_000)
    progress = await progress_of(database, job)
    assert progress.left == timedelta(seconds=400 * 1.02)
    slow = await database.write(a_job, [*small, (50, 10, 450)], recently=3_000)
    progress = await progress_of(database, slow)
    assert progress.left == timedelta(minutes=(2 * 19_999 + 400) / 1_000)


async def test_of_a_site_above_the_threshold_only_the_top_pages_count(database: AnyDatabase) -> None:
    large = await database.write(a_job, [(20, 10, 4_000)], recently=20)
    assert (await progress_of(database, large)).pages_expected == 50
    asked = Extent(whole_up_to=5_000, top_pages=80)
    whole = await database.write(a_job, [(20, 10, 4_000)], recently=20, extent=asked)
    # A visit has half an hour: at one page a second that is all it can read of it.
    assert (await progress_of(database, whole)).pages_expected == int(1_800 / 1.02)


@pytest.mark.parametrize(("agent", "seconds"), [("*", 10), ("gossamer", 10), ("otherbot", 1.02 * 200)])
async def test_a_crawl_delay_makes_the_queue_longer_if_it_is_meant_for_us(
    database: AnyDatabase, agent: str, seconds: float
) -> None:
    robots = {"https://a.test": {"status": 200, "body": f"User-agent: {agent}\nCrawl-delay: 10\nDisallow: /x"}}
    job = await database.write(a_job, [(10, 5, 210)], recently=100_000, robots=robots)
    expected = 1.02 * 200 * 10 if seconds == 10 else seconds
    assert (await progress_of(database, job)).left == timedelta(seconds=expected)


async def test_hosts_of_one_domain_stand_in_one_queue_and_named_domains_have_a_rate_of_their_own(
    database: AnyDatabase,
) -> None:
    def host(number: int) -> str:
        return f"shop{number}.big.test"

    job = await database.write(a_job, [(10, 5, 110)] * 3, recently=100_000, host=host)
    assert (await progress_of(database, job)).left == timedelta(seconds=300 * 1.02)

    def half(domain: str) -> timedelta:
        return SECOND / 2 if domain == "big.test" else SECOND

    assert (await progress_of(database, job, half)).left == timedelta(seconds=150 * 1.02)


async def test_it_is_at_least_while_domains_are_unread_or_found_by_links(database: AnyDatabase) -> None:
    known = await database.write(a_job, [(10, 5, 30)], recently=10)
    assert not (await progress_of(database, known)).left_is_least
    by_links = await database.write(a_job, [(10, 5, 30)], recently=10, source="links")
    assert (await progress_of(database, by_links)).left_is_least
    unread = await database.write(a_job, [(10, 5, 30)], recently=10, unread=1)
    assert (await progress_of(database, unread)).left_is_least


async def test_nothing_is_foretold_of_a_job_that_stands_still_or_has_read_nothing(database: AnyDatabase) -> None:
    fresh = await database.write(a_job, [], unread=3)
    assert (await progress_of(database, fresh)).left is None
    await database.write(jobs.move, fresh.id, JobState.CANCELLED)
    over = await database.read(jobs.get, fresh.id)
    assert over
    assert (await progress_of(database, over)).ahead is None


async def test_an_estimate_is_made_once_for_all_who_look_in_a_moment(database: AnyDatabase) -> None:
    job = await database.write(a_job, [(10, 5, 30)], recently=10)
    progress, remaining_work = await database.read(counters.progress, job.id), RemainingWork(every_second)
    first = (await remaining_work.add(database, job, progress)).ahead
    await database.write(lambda tx: tx.run(update(tables.sites).values(size=300)))
    assert (await remaining_work.add(database, job, progress)).ahead is first
    again = (await RemainingWork(every_second).add(database, job, progress)).ahead
    assert again != first


def _web(pages: dict[str, int]) -> Site:
    """Sites of so many pages, which their sitemaps name."""

    def answer(host: str, path: str) -> tuple[int, dict[str, str], str]:
        if path == "/robots.txt":
            return 200, {"content-type": "text/plain"}, f"Sitemap: http://{host}/sitemap.xml\n"
        if path == "/sitemap.xml":
            urls = "".join(f"<url><loc>http://{host}/{n}</loc></url>" for n in range(1, pages[host]))
            return 200, {"content-type": "application/xml"}, f"<urlset>{urls}</urlset>"
        return 200, {}, PAGE

    return Site(answer)


@pytest.mark.parametrize(
    "pages",
    [
        {f"s{number}.test": 4 for number in range(40)},
        {"large.test": 60},
        {**{f"s{number}.test": 4 for number in range(30)}, "large.test": 60},
    ],
    ids=["small", "large", "mixed"],
)
async def test_a_real_job_never_promises_less_than_its_slowest_domain_takes(
    tmp_path: Path, pages: dict[str, int]
) -> None:
    """Once all sizes are known, what is said at any moment is no less than the spacing of the longest queue allows."""
    rate = 20
    async with kit_for(tmp_path, _web(pages), rate=rate) as deps:
        job_id = await submit_job(deps, *pages)
        shard = ShardWorker(deps, 0, 1, "home/0-1")
        running = asyncio.create_task(shard.run())
        looks: list[Progress] = []
        async with asyncio.timeout(120):
            while True:
                job = await deps.database.read(jobs.get, job_id)
                assert job
                if job.state is JobState.COMPLETED:
                    break
                before = await deps.database.read(counters.progress, job_id)
                progress = await RemainingWork(lambda _: SECOND / rate).add(deps.database, job, before)
                left = await deps.database.read(_longest_left, job_id, pages)
                after = await deps.database.read(counters.progress, job_id)
                if progress.left and not progress.left_is_least:
                    looks.append(progress)
                    # What was settled between these looks is in neither part of the estimate.
                    between = after.pages_done - before.pages_done
                    assert progress.left >= left * SECOND / rate
                    total = sum(pages.values())
                    assert 0.75 * total - between <= progress.pages_expected <= 1.25 * total
                await asyncio.sleep(0.05)
        shard.stop()
        await running
        assert looks
        assert (await deps.database.read(counters.progress, job_id)).pages_done == sum(pages.values())


def _longest_left(tx: Tx, job_id: UUID, pages: dict[str, int]) -> int:
    found = sites.summaries(tx, job_id, SiteState.OPEN)
    return max((pages[site.host] - site.pages_done for site in found), default=0)
