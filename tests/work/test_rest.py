"""Whoever asks for rest gets it, from every visit of its domain and whatever becomes of the page that was refused."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import UUID

from gossamer.assembly import open_kit
from gossamer.intake.submit import submit
from gossamer.model.job import JobRequest, Target
from gossamer.model.states import JobState, SiteState
from gossamer.settings import Settings
from gossamer.store import counters, jobs, sites
from gossamer.store.schema import upgrade
from gossamer.work.kit import Kit
from gossamer.work.run import Shard

PAGE = "<html><title>CRM</title><body><p>All about CRM and how to choose one for a small business.</p></body></html>"
WALL = "<html><title>Just a moment...</title><body><p>Checking your browser</p></body></html>"
REST = 2.0  # seconds, as the header says


class Shop:
    """Two sites of pages that lead to all others. Some of the first ask for rest every time."""

    def __init__(self, refused: dict[str, tuple[int, str]], others: int = 6) -> None:
        self._refused = refused
        self._others = others
        self.asked: list[tuple[float, str]] = []

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                path = head.split(b" ", 2)[1].decode()
                self.asked.append((time.monotonic(), path))
                status, more, body = self._answer(path, refuses=b"a.shop.test" in head)
                said = f"content-type: text/html\r\ncontent-length: {len(body)}\r\n{more}"
                writer.write(f"HTTP/1.1 {status} x\r\n{said}\r\n{body}".encode())
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            return
        finally:
            writer.close()

    def _answer(self, path: str, *, refuses: bool) -> tuple[int, str, str]:
        if refuses and path in self._refused:
            status, body = self._refused[path]
            return status, f"retry-after: {REST:.0f}\r\n", body
        if path.endswith((".txt", ".xml")):
            return 404, "", ""
        refused = self._refused if refuses else ()
        links = "".join(f'<a href="{other}">x</a>' for other in (*refused, *(f"/{n}" for n in range(self._others))))
        return 200, "", PAGE.replace("</p>", f"</p>{links}")

    def disturbed(self) -> list[tuple[str, str, float]]:
        """What was asked for while it should have been left alone: the refused page, what came next, how soon."""
        return [
            (path, after, round(soon - at, 2))
            for (at, path), (soon, after) in zip(self.asked, self.asked[1:], strict=False)
            if path in self._refused and soon - at < REST
        ]

    def times(self, path: str) -> int:
        return sum(asked == path for _, asked in self.asked)


@asynccontextmanager
async def _kit(home: Path, shop: Shop) -> AsyncIterator[Kit]:
    server = await asyncio.start_server(shop, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with open_kit(Settings(home=home, domain_rate=50, connect_to=f"*.test=127.0.0.1:{port}"), 1) as kit:
        await kit.database.write(upgrade)
        try:
            yield kit
        finally:
            server.close()


async def _walk(kit: Kit, *hosts: str) -> UUID:
    targets = tuple(Target(host, (f"http://{host}/",), host) for host in hosts)
    job = await submit(kit.database, kit.recipes, JobRequest("t", "prospect", {"keywords": ["CRM"]}, targets))
    shard = Shard(kit, 0, 1, "home/0-1")
    running = asyncio.create_task(shard.run())
    async with asyncio.timeout(60):
        while (found := await kit.database.read(jobs.get, job.id)) and found.state is not JobState.COMPLETED:
            await asyncio.sleep(0.05)
    shard.stop()
    await running
    return job.id


async def test_a_domain_rests_after_the_last_try_too(tmp_path: Path) -> None:
    """Two visits share the domain. Neither comes again too soon, though nothing is left to try for the refused page."""
    shop = Shop({"/busy": (429, "")})
    async with _kit(tmp_path, shop) as kit:
        job_id = await _walk(kit, "a.shop.test", "b.shop.test")
        assert shop.disturbed() == []
        assert shop.times("/busy") == 4
        progress = await kit.database.read(counters.progress, job_id)
        assert (progress.pages_done, progress.pages_failed, progress.pages_open) == (14, 1, 0)
        assert [one.state for one in await kit.database.read(sites.summaries, job_id)] == [SiteState.DONE] * 2


async def test_a_wall_that_asks_for_rest_gets_it(tmp_path: Path) -> None:
    shop = Shop({"/wall": (503, WALL)})
    async with _kit(tmp_path, shop) as kit:
        job_id = await _walk(kit, "a.shop.test", "b.shop.test")
        assert shop.disturbed() == []
        assert shop.times("/wall") == 1
        assert (await kit.database.read(counters.progress, job_id)).pages_done == 14


async def test_nobody_waits_for_a_site_of_which_nothing_more_is_wanted(tmp_path: Path) -> None:
    """The last page of a site has failed and it wants rest: there is nobody who would come."""
    shop = Shop({"/last": (429, "")}, others=0)
    async with _kit(tmp_path, shop) as kit:
        await _walk(kit, "a.shop.test")
        assert shop.times("/last") == 4
        assert shop.disturbed() == []
        assert time.monotonic() - shop.asked[-1][0] < REST
