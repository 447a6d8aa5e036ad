"""Redirects that try to lead a visit behind the fence: every hop is checked, and the machine behind it hears nothing.

As in the tests of the guard, 127.0.0.2 plays the public web, because the operator allowed it, and 127.0.0.3 what must
not be reached. Both serve on the same port, so that only the address makes the difference.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

import pytest
from sqlalchemy import select

from gossamer.app import open_deps
from gossamer.crawl.worker_deps import WorkerDeps
from gossamer.db.schema import upgrade
from gossamer.db.tables import pages
from gossamer.db.transactions import Tx
from gossamer.intake.submit import submit
from gossamer.model.job import JobRequest, Target
from gossamer.model.states import PageState
from gossamer.model.trouble import Reason
from gossamer.settings import Settings
from tests.crawl.scripted import work_until_over
from tests.fetch.loopback import Name, NameServer, Site, answer

PAGE = (
    b"<html><title>CRM</title><body><p>All about CRM and how to choose one for a small business.</p>"
    b"<a href='/next'>next</a></body></html>"
)
HTML = b"Content-Type: text/html"


@dataclass
class Town:
    public: Site
    hidden: Site
    names: NameServer
    deps: WorkerDeps
    outcomes: dict[str, tuple[PageState, str]] = field(default_factory=dict)

    @property
    def origin(self) -> str:
        return f"http://shop.example:{self.public.port}"

    def redirect(self, path: str, target: str) -> None:
        location = target.replace("PORT", str(self.public.port)).encode()
        self.public.pages[path] = answer(b"", b"Location: " + location, status=b"302 Found")

    async def crawl(self) -> None:
        """Visit shop.example until there is nothing left to do."""
        target = Target("shop.example", (f"{self.origin}/",), "shop.example")
        request = JobRequest("t", "prospect", {"keywords": ["CRM", "secret"]}, (target,))
        job_id = (await submit(self.deps.database, self.deps.recipes, request)).id
        await work_until_over(self.deps, job_id, 30)
        self.outcomes = await self.deps.database.read(_outcomes, job_id)

    @property
    def asked(self) -> list[str]:
        return [seen.target for seen in self.public.seen if not seen.target.startswith(("/robots", "/sitemap"))]


def _outcomes(tx: Tx, job_id: UUID) -> dict[str, tuple[PageState, str]]:
    query = select(pages.c.url, pages.c.state, pages.c.reason).where(pages.c.job_id == job_id)
    return {row.url: (PageState(row.state), row.reason) for row in tx.run(query)}


@asynccontextmanager
async def _town(tmp_path: Path) -> AsyncIterator[Town]:
    names = await NameServer().start()
    for name in ("shop.example", "other.example"):
        names.names[name] = Name(["127.0.0.2"])
    for name in ("www.shop.example", "inner.example"):
        names.names[name] = Name(["127.0.0.3"])
    names.names["mixed.example"] = Name(["127.0.0.2", "127.0.0.3"])
    async with await Site().start("127.0.0.2") as public, await Site().start("127.0.0.3", public.port) as hidden:
        for path in ("/", "/secret", "/robots.txt", "/sitemap.xml"):
            hidden.pages[path] = answer(b"<title>secret</title><p>The secret of the CRM is this.", HTML)
        settings = Settings(home=tmp_path, domain_rate=500, allow_networks="127.0.0.2/32", dns_servers=names.address)
        async with open_deps(settings, 1) as deps:
            await deps.database.write(upgrade)
            yield Town(public, hidden, names, deps)
    names.close()


@pytest.fixture
async def town(tmp_path: Path) -> AsyncIterator[Town]:
    async with _town(tmp_path) as town:
        yield town


FENCED = [
    "http://127.0.0.3:PORT/secret",
    "http://2130706435:PORT/secret",
    "http://0x7f.0.0.3:PORT/secret",
    "http://0177.0.0.03:PORT/secret",
    "http://127.3:PORT/secret",
    "http://127.0.0.3.:PORT/secret",
    "//127.0.0.3:PORT/secret",
    "http://user:pw@127.0.0.3:PORT/secret",
    "http://[::ffff:127.0.0.3]:PORT/secret",
    "http://[::1]:PORT/secret",
    "http://inner.example:PORT/secret",
    "http://INNER.example.:PORT/secret",
    "http://mixed.example:PORT/secret",
    "http://www.shop.example:PORT/secret",
    "http://localhost:PORT/secret",
    "http://metadata.google.internal/computeMetadata/v1/",
    "http://169.254.169.254/latest/meta-data/",
    "http://[fd00:ec2::254]/latest/meta-data/",
    "http://shop.example:6379/",
    "https://other.example:22/",
]


@pytest.mark.parametrize("hops", [1, 2, 3])
@pytest.mark.parametrize("target", FENCED)
async def test_a_chain_is_followed_up_to_the_fence_and_no_further(town: Town, target: str, hops: int) -> None:
    way = ["/", "/one", "/two"][:hops]
    for here, there in zip(way, [*way[1:], target], strict=True):
        town.redirect(here, there)
    await town.crawl()
    assert town.asked == way
    assert town.hidden.connections == 0
    assert town.outcomes == {f"{town.origin}/": (PageState.FAILED, Reason.FORBIDDEN_ADDRESS.name)}


@pytest.mark.parametrize("target", ["file:///etc/passwd", "gopher://127.0.0.3:6379/_x", "http://", "javascript:x", ""])
async def test_a_redirect_to_no_web_address_is_no_redirect(town: Town, target: str) -> None:
    town.redirect("/", "/one")
    town.redirect("/one", target)
    await town.crawl()
    assert town.asked == ["/", "/one"]
    assert town.outcomes == {f"{town.origin}/": (PageState.FAILED, Reason.BAD_REDIRECT.name)}


async def test_a_page_handed_over_to_another_site_is_stopped_there(town: Town) -> None:
    elsewhere = f"http://other.example:{town.public.port}/a"
    town.redirect("/", elsewhere)
    town.redirect("/a", "/b")
    town.redirect("/b", "http://127.0.0.3:PORT/secret")
    await town.crawl()
    assert town.asked[:3] == ["/", "/a", "/b"]
    assert town.hidden.connections == 0
    assert town.outcomes[f"{town.origin}/"] == (PageState.SKIPPED, Reason.MOVED.name)
    assert town.outcomes[elsewhere] == (PageState.FAILED, Reason.FORBIDDEN_ADDRESS.name)


async def test_a_name_that_turns_round_between_two_hops_is_not_followed(town: Town) -> None:
    async def turn(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        town.names.names["shop.example"].addresses = ["127.0.0.3"]
        writer.write(answer(b"", b"Location: /next", b"Connection: close", status=b"302 Found"))
        await writer.drain()

    town.public.pages["/"] = turn
    town.public.pages["/next"] = answer(PAGE, HTML)
    await town.crawl()
    assert town.asked == ["/", "/next"]
    assert {seen.far for seen in town.public.seen} == {"127.0.0.2"}
    assert town.hidden.connections == 0
    assert town.outcomes == {f"{town.origin}/": (PageState.DONE, "")}


async def test_a_page_behind_the_front_page_is_guarded_as_well(town: Town) -> None:
    town.public.pages["/"] = answer(PAGE, HTML)
    town.redirect("/next", "http://www.shop.example:PORT/secret")
    await town.crawl()
    assert town.hidden.connections == 0
    assert town.outcomes == {
        f"{town.origin}/": (PageState.DONE, ""),
        f"{town.origin}/next": (PageState.FAILED, Reason.FORBIDDEN_ADDRESS.name),
    }


@pytest.mark.parametrize("target", ["http://127.0.0.3:PORT/robots.txt", "http://www.shop.example:PORT/robots.txt"])
async def test_robots_txt_leads_nobody_behind_the_fence(town: Town, target: str) -> None:
    town.redirect("/robots.txt", target)
    town.public.pages["/"] = answer(PAGE, HTML)
    await town.crawl()
    assert town.hidden.connections == 0


@pytest.mark.parametrize("target", ["http://127.0.0.3:PORT/sitemap.xml", "http://www.shop.example:PORT/sitemap.xml"])
@pytest.mark.parametrize("redirected", [True, False])
async def test_sitemaps_lead_nobody_behind_the_fence(town: Town, target: str, redirected: bool) -> None:
    named = f"{town.origin}/sitemap.xml" if redirected else target.replace("PORT", str(town.public.port))
    town.redirect("/sitemap.xml", target)
    town.public.pages["/robots.txt"] = answer(f"User-agent: *\nSitemap: {named}\n".encode())
    town.public.pages["/"] = answer(PAGE, HTML)
    await town.crawl()
    assert town.hidden.connections == 0
    assert town.outcomes[f"{town.origin}/"] == (PageState.DONE, "")
