"""Cases that once went wrong, against a small server that plays them."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from gossamer.model.job import CrawlPolicy
from gossamer.model.record import FIRST_STEP
from gossamer.model.states import SiteState
from gossamer.model.trouble import Reason
from gossamer.recipes.prospect import PROSPECT
from gossamer.recipes.prospect.harvest import BoundProspect
from gossamer.runtime.worker import ShardWorker
from gossamer.store import counters, sites
from tests.crawl.scripted import PAGE, Site, kit_for, submit_job, work_until_over


async def test_a_redirect_under_a_long_crawl_delay_comes_to_its_end(tmp_path: Path) -> None:
    def answer(_host: str, path: str) -> tuple[int, dict[str, str], str]:
        if path == "/robots.txt":
            return 200, {"content-type": "text/plain"}, "User-agent: *\nCrawl-delay: 5.5\n"
        return (301, {"location": "/home"}, "") if path == "/" else (200, {}, PAGE)

    site = Site(answer)
    async with kit_for(tmp_path, site) as deps:
        job_id = await submit_job(deps, "slow.test")
        await work_until_over(deps, job_id)
        assert [one.path for one in site.asked] == ["/robots.txt", "/", "/home", "/sitemap.xml"]
        assert (await deps.database.read(counters.progress, job_id)).records == 1


async def test_a_chain_of_redirects_from_site_to_site_ends(tmp_path: Path) -> None:
    def answer(host: str, path: str) -> tuple[int, dict[str, str], str]:
        if path == "/robots.txt":
            return 404, {}, ""
        number = int(host.removeprefix("h").partition(".")[0])
        return 301, {"location": f"http://h{number + 1}.trap{number + 1}.test/"}, ""

    site = Site(answer)
    async with kit_for(tmp_path, site) as deps:
        job_id = await submit_job(deps, "h0.trap0.test")
        await work_until_over(deps, job_id)
        hosts = await deps.database.read(sites.hosts, job_id, "", 100)
        assert len(hosts) == 6  # the listed one and five hand-overs
        progress = await deps.database.read(counters.progress, job_id)
        assert (progress.sites_done, progress.pages_failed, progress.pages_open) == (1, 1, 0)


async def test_a_worker_that_is_stopping_begins_nothing_new(tmp_path: Path) -> None:
    def answer(_host: str, path: str) -> tuple[int, dict[str, str], str]:
        if path == "/robots.txt":
            return 404, {}, ""
        links = "".join(f'<a href="/{number}">x</a>' for number in range(40))
        return 200, {}, PAGE.replace("</p>", f"</p>{links}")

    site = Site(answer, slow={"late.test": 6.0})
    async with kit_for(tmp_path, site, rate=20) as deps:
        await submit_job(deps, "late.test", *(f"quick{number}.test" for number in range(8)))
        shard = ShardWorker(deps, 0, 1, "home/0-1")
        running = asyncio.create_task(shard.run())
        while len(site.asked) < 60:
            await asyncio.sleep(0.05)
        shard.stop()
        await asyncio.sleep(0.2)  # what was on its way may still arrive
        asked = len(site.asked)
        await asyncio.wait_for(running, 20)
        assert len(site.asked) == asked


async def test_robots_txt_on_another_domain_is_not_asked_from_here(tmp_path: Path) -> None:
    """The other domain may be in another process's care, which alone can keep the gap between requests to it."""

    def answer(host: str, path: str) -> tuple[int, dict[str, str], str]:
        if path == "/robots.txt":
            return 301, {"location": "http://elsewhere.test/robots.txt"}, ""
        return 200, {}, PAGE

    site = Site(answer)
    async with kit_for(tmp_path, site) as deps:
        job_id = await submit_job(deps, "a.test", "b.test")
        await work_until_over(deps, job_id)
        assert not [one for one in site.asked if one.host == "elsewhere.test"]
        assert await deps.database.read(sites.summaries, job_id, SiteState.FAILED) == []


class Hurried(BoundProspect):
    """Prospecting with a visit's time limit of a second."""

    def policy(self, step: str = FIRST_STEP) -> CrawlPolicy:
        return replace(super().policy(step), visit_time=timedelta(seconds=1))


async def test_a_visit_whose_time_is_over_keeps_what_it_has_and_says_so(tmp_path: Path) -> None:
    links = "".join(f'<a href="/{number}">{number}</a>' for number in range(40))

    def answer(_host: str, path: str) -> tuple[int, dict[str, str], str]:
        return (404, {}, "") if path.endswith((".txt", ".xml")) else (200, {}, PAGE.replace("<p>", f"<p>{links}"))

    site = Site(answer)
    async with kit_for(tmp_path, site, rate=10) as deps:
        deps = replace(deps, recipes={**deps.recipes, "prospect": replace(PROSPECT, bind=Hurried)})
        job_id = await submit_job(deps, "long.test")
        await work_until_over(deps, job_id)
        (summary,) = await deps.database.read(sites.summaries, job_id)
        assert summary.state is SiteState.PARTIAL
        assert summary.trouble
        assert summary.trouble.reason is Reason.PARTIAL_TIME
        progress = await deps.database.read(counters.progress, job_id)
        assert 3 <= progress.pages_done < 20
        assert progress.records == progress.pages_done
        assert progress.pages_open == 0
        assert progress.pages_done + progress.pages_skipped == 41


async def test_a_site_that_moved_to_a_folder_of_another_is_walked_there(tmp_path: Path) -> None:
    """The old name leads to the new one's /en/, and so does the new one's own homepage."""

    def answer(host: str, path: str) -> tuple[int, dict[str, str], str]:
        if path.endswith((".txt", ".xml")):
            return 404, {}, ""
        if host == "old.test":
            return 301, {"location": "http://new.test/en/"}, ""
        if path == "/":
            return 302, {"location": "/en/"}, ""
        links = "".join(f'<a href="/en/{number}">{number}</a>' for number in range(5))
        return 200, {}, PAGE.replace("<p>", f"<p>{links if path == '/en/' else ''}")

    site = Site(answer)
    async with kit_for(tmp_path, site) as deps:
        job_id = await submit_job(deps, "old.test")
        await work_until_over(deps, job_id)
        progress = await deps.database.read(counters.progress, job_id)
        assert progress.pages_done == progress.records == 6


async def test_a_front_page_that_every_page_names_as_its_canonical_is_not_believed(tmp_path: Path) -> None:
    """Neither where the site begins in a folder, nor where its front page goes by another name."""

    def answer(host: str, path: str) -> tuple[int, dict[str, str], str]:
        front = "/en/" if host == "folder.test" else "/start.php"
        if path.endswith((".txt", ".xml")):
            return 404, {}, ""
        if path == "/" and front == "/en/":
            return 302, {"location": front}, ""
        links = f'<a href="{front}">front</a>' + "".join(f'<a href="/en/{n}">{n}</a>' for n in range(5))
        named = f'<link rel="canonical" href="{front}">'
        return 200, {}, PAGE.replace("<title>", f"{named}<title>").replace("<p>", f"<p>{links}")

    site = Site(answer)
    async with kit_for(tmp_path, site) as deps:
        job_id = await submit_job(deps, "folder.test", "file.test")
        await work_until_over(deps, job_id)
        progress = await deps.database.read(counters.progress, job_id)
        assert progress.pages_done == progress.records == 12
