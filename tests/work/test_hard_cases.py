"""Cases that once went wrong, against a small server that plays them."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from uuid import UUID

from gossamer.assembly import open_kit
from gossamer.intake.submit import submit
from gossamer.model.job import CrawlPolicy, JobRequest, Target
from gossamer.model.states import JobState, SiteState
from gossamer.model.trouble import Reason
from gossamer.recipes.prospect import Prospect, ProspectParams
from gossamer.recipes.prospecting import BoundProspect
from gossamer.settings import Settings
from gossamer.store import counters, jobs, sites
from gossamer.store.schema import upgrade
from gossamer.work.kit import Kit
from gossamer.work.run import Shard

Answer = Callable[[str, str], "tuple[int, dict[str, str], str]"]
PAGE = "<html><title>CRM</title><body><p>All about CRM and how to choose one for a small business.</p></body></html>"


class Site:
    """Answers by a function of host and path, and remembers who asked for what."""

    def __init__(self, answer: Answer, slow: dict[str, float] | None = None) -> None:
        self._answer = answer
        self._slow = slow or {}
        self.asked: list[tuple[str, str]] = []

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                lines = head.decode("latin-1").split("\r\n")
                path = lines[0].split(" ")[1]
                host = next(line.split(": ", 1)[1] for line in lines if line.lower().startswith("host: "))
                self.asked.append((host, path))
                await asyncio.sleep(self._slow.get(host, 0))
                status, headers, body = self._answer(host, path)
                headers = {"content-type": "text/html", "content-length": str(len(body)), **headers}
                said = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
                writer.write(f"HTTP/1.1 {status} x\r\n{said}\r\n{body}".encode())
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            return
        finally:
            writer.close()


@asynccontextmanager
async def _kit(tmp_path: Path, site: Site, rate: float = 500) -> AsyncIterator[Kit]:
    server = await asyncio.start_server(site, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    settings = Settings(home=tmp_path, domain_rate=rate, connect_to=f"*.test=127.0.0.1:{port}")
    async with open_kit(settings, 1) as kit:
        await kit.database.write(upgrade)
        yield kit
    server.close()


async def _job(kit: Kit, *hosts: str) -> UUID:
    targets = tuple(Target(host, (f"http://{host}/",), host) for host in hosts)
    return (await submit(kit.database, kit.recipes, JobRequest("t", "prospect", {"keywords": ["CRM"]}, targets))).id


async def _work_until_over(kit: Kit, job_id: UUID, seconds: float = 60) -> None:
    shard = Shard(kit, 0, 1, "home/0-1")
    running = asyncio.create_task(shard.run())
    async with asyncio.timeout(seconds):
        while True:
            job = await kit.database.read(jobs.get, job_id)
            assert job
            if job.state is JobState.COMPLETED:
                break
            await asyncio.sleep(0.05)
    shard.stop()
    await running


async def test_a_redirect_under_a_long_crawl_delay_comes_to_its_end(tmp_path: Path) -> None:
    def answer(_host: str, path: str) -> tuple[int, dict[str, str], str]:
        if path == "/robots.txt":
            return 200, {"content-type": "text/plain"}, "User-agent: *\nCrawl-delay: 5.5\n"
        return (301, {"location": "/home"}, "") if path == "/" else (200, {}, PAGE)

    site = Site(answer)
    async with _kit(tmp_path, site) as kit:
        job_id = await _job(kit, "slow.test")
        await _work_until_over(kit, job_id)
        assert [path for _, path in site.asked] == ["/robots.txt", "/", "/home", "/sitemap.xml"]
        assert (await kit.database.read(counters.progress, job_id)).records == 1


async def test_a_chain_of_redirects_from_site_to_site_ends(tmp_path: Path) -> None:
    def answer(host: str, path: str) -> tuple[int, dict[str, str], str]:
        if path == "/robots.txt":
            return 404, {}, ""
        number = int(host.removeprefix("h").partition(".")[0])
        return 301, {"location": f"http://h{number + 1}.trap{number + 1}.test/"}, ""

    site = Site(answer)
    async with _kit(tmp_path, site) as kit:
        job_id = await _job(kit, "h0.trap0.test")
        await _work_until_over(kit, job_id)
        hosts = await kit.database.read(sites.hosts, job_id, "", 100)
        assert len(hosts) == 6  # the listed one and five hand-overs
        progress = await kit.database.read(counters.progress, job_id)
        assert (progress.sites_done, progress.pages_failed, progress.pages_open) == (1, 1, 0)


async def test_a_worker_that_is_stopping_begins_nothing_new(tmp_path: Path) -> None:
    def answer(_host: str, path: str) -> tuple[int, dict[str, str], str]:
        if path == "/robots.txt":
            return 404, {}, ""
        links = "".join(f'<a href="/{number}">x</a>' for number in range(40))
        return 200, {}, PAGE.replace("</p>", f"</p>{links}")

    site = Site(answer, slow={"late.test": 6.0})
    async with _kit(tmp_path, site, rate=20) as kit:
        await _job(kit, "late.test", *(f"quick{number}.test" for number in range(8)))
        shard = Shard(kit, 0, 1, "home/0-1")
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
    async with _kit(tmp_path, site) as kit:
        job_id = await _job(kit, "a.test", "b.test")
        await _work_until_over(kit, job_id)
        assert not [host for host, _ in site.asked if host == "elsewhere.test"]
        assert await kit.database.read(sites.summaries, job_id, SiteState.FAILED) == []


class Hurried(Prospect):
    """Prospecting with a visit's time limit of a second."""

    def bind(self, params: ProspectParams) -> BoundProspect:
        return HurriedBound(params)


class HurriedBound(BoundProspect):
    def policy(self) -> CrawlPolicy:
        return replace(super().policy(), visit_time=timedelta(seconds=1))


async def test_a_visit_whose_time_is_over_keeps_what_it_has_and_says_so(tmp_path: Path) -> None:
    links = "".join(f'<a href="/{number}">{number}</a>' for number in range(40))

    def answer(_host: str, path: str) -> tuple[int, dict[str, str], str]:
        return (404, {}, "") if path.endswith((".txt", ".xml")) else (200, {}, PAGE.replace("<p>", f"<p>{links}"))

    site = Site(answer)
    async with _kit(tmp_path, site, rate=10) as kit:
        kit = replace(kit, recipes={**kit.recipes, "prospect": Hurried()})
        job_id = await _job(kit, "long.test")
        await _work_until_over(kit, job_id)
        (summary,) = await kit.database.read(sites.summaries, job_id)
        assert summary.state is SiteState.PARTIAL
        assert summary.trouble
        assert summary.trouble.reason is Reason.PARTIAL_TIME
        progress = await kit.database.read(counters.progress, job_id)
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
    async with _kit(tmp_path, site) as kit:
        job_id = await _job(kit, "old.test")
        await _work_until_over(kit, job_id)
        progress = await kit.database.read(counters.progress, job_id)
        assert progress.pages_done == progress.records == 6
