"""Whoever asks for rest gets it, from every visit of its domain and whatever becomes of the page that was refused."""

import asyncio
import time
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from uuid import UUID

from sqlalchemy import select

from gossamer.db import tables
from gossamer.db.transactions import Tx
from gossamer.model.states import SiteState
from gossamer.runtime.worker import ShardWorker
from gossamer.store import counters, sites
from tests.crawl.scripted import PAGE, Answer, Site, kit_for, submit_job, walk

WALL = "<html><title>Just a moment...</title><body><p>Checking your browser</p></body></html>"
REST = 2.0  # seconds, as the header says


def shop(refused: str, status: int, said: str = "", others: int = 6) -> Answer:
    """Two sites whose pages lead to all others. One page of the first asks for rest every time."""

    def answer(host: str, path: str) -> tuple[int, dict[str, str], str]:
        if path == refused:
            return status, {"retry-after": f"{REST:.0f}"}, said
        if path.endswith((".txt", ".xml")):
            return 404, {}, ""
        paths = [refused] if host == "a.shop.test" else []
        links = "".join(f'<a href="{other}">x</a>' for other in (*paths, *(f"/{n}" for n in range(others))))
        return 200, {}, PAGE.replace("</p>", f"</p>{links}")

    return answer


def disturbed(site: Site, refused: str) -> list[tuple[str, float]]:
    """What was asked for while the domain should have been left alone, and how soon."""
    pairs = pairwise(site.asked)
    return [(after.path, after.at - one.at) for one, after in pairs if one.path == refused and after.at - one.at < REST]


async def test_a_domain_rests_after_the_last_try_too(tmp_path: Path) -> None:
    """Two visits share the domain. Neither comes again too soon, though nothing is left to try for the refused page."""
    site = Site(shop("/busy", 429))
    async with kit_for(tmp_path, site, rate=50) as deps:
        job_id = await walk(deps, "a.shop.test", "b.shop.test")
        assert disturbed(site, "/busy") == []
        assert site.paths.count("/busy") == 4
        progress = await deps.database.read(counters.progress, job_id)
        assert (progress.pages_done, progress.pages_failed, progress.pages_open) == (14, 1, 0)
        assert [one.state for one in await deps.database.read(sites.summaries, job_id)] == [SiteState.DONE] * 2


async def test_a_wall_that_asks_for_rest_gets_it(tmp_path: Path) -> None:
    site = Site(shop("/wall", 503, WALL))
    async with kit_for(tmp_path, site, rate=50) as deps:
        job_id = await walk(deps, "a.shop.test", "b.shop.test")
        assert disturbed(site, "/wall") == []
        assert site.paths.count("/wall") == 1
        assert (await deps.database.read(counters.progress, job_id)).pages_done == 14


async def test_nobody_waits_for_a_site_of_which_nothing_more_is_wanted(tmp_path: Path) -> None:
    """The last page of a site has failed and it wants rest: there is nobody who would come."""
    site = Site(shop("/last", 429, others=0))
    async with kit_for(tmp_path, site, rate=50) as deps:
        await walk(deps, "a.shop.test")
        assert site.paths.count("/last") == 4
        assert disturbed(site, "/last") == []
        assert time.monotonic() - site.asked[-1].at < REST


async def test_a_wall_that_asks_for_minutes_gets_them(tmp_path: Path) -> None:
    """Its page is given up, and the site is left alone by its visit and by the rows."""

    def answer(_host: str, path: str) -> tuple[int, dict[str, str], str]:
        if path.endswith((".txt", ".xml")):
            return 404, {}, ""
        if path == "/":
            return 200, {}, PAGE.replace("</p>", "</p><a href=/1>x</a><a href=/2>x</a>")
        return 429, {"retry-after": "600"}, WALL

    site = Site(answer)
    async with kit_for(tmp_path, site) as deps:
        job_id = await submit_job(deps, "a.shop.test")
        shard = ShardWorker(deps, 0, 1, "home/0-1")
        running = asyncio.create_task(shard.run())
        async with asyncio.timeout(20):
            while (resting := await deps.database.read(_resting_until, job_id)) is None:
                await asyncio.sleep(0.05)
        shard.stop()
        await running
        assert timedelta(minutes=9) < resting - deps.clock.now() <= timedelta(minutes=10)
        assert len(site.paths) == 2  # the homepage and one of the others


def _resting_until(tx: Tx, job_id: UUID) -> datetime | None:
    found: datetime | None = tx.run(select(tables.sites.c.not_before).where(tables.sites.c.job_id == job_id)).scalar()
    return found


async def test_a_site_that_refuses_page_after_page_is_left(tmp_path: Path) -> None:
    """However long we waited: what is not asked for is said to be failed, and why."""

    def answer(_host: str, path: str) -> tuple[int, dict[str, str], str]:
        if path.endswith((".txt", ".xml")):
            return 404, {}, ""
        if path == "/":
            return 200, {}, PAGE.replace("</p>", "</p>" + "".join(f"<a href=/{n}>x</a>" for n in range(30)))
        return 429, {"retry-after": "7200"}, ""

    site = Site(answer)
    async with kit_for(tmp_path, site) as deps:
        job_id = await walk(deps, "a.shop.test")
        assert len(site.paths) == 4
        progress = await deps.database.read(counters.progress, job_id)
        assert (progress.pages_done, progress.pages_failed, progress.pages_open) == (1, 30, 0)
        (summary,) = await deps.database.read(sites.summaries, job_id)
        assert summary.state is SiteState.PARTIAL
        assert summary.trouble
        assert summary.trouble.sentence == "Partially crawled: The site asked us to wait again and again"
