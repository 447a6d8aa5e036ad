"""Redirects that are part of a site's manners: back for a cookie, on with a session, in letters of its own."""

from pathlib import Path
from uuid import UUID

import pytest
from sqlalchemy import select

from gossamer.db.tables import records
from gossamer.db.transactions import Tx
from gossamer.model.states import SiteState
from gossamer.model.trouble import Reason
from gossamer.store import counters, sites
from tests.crawl.scripted import PAGE, Answer, Site, kit_for, walk

SESSION = "0123456789abcdef01"


def _found_at(tx: Tx, job_id: UUID) -> list[str]:
    return [row.data["url"] for row in tx.run(select(records.c.data).where(records.c.job_id == job_id))]


def leads(**ways: str) -> Answer:
    """A site of redirects; what is not among them is a page."""

    def answer(_host: str, path: str) -> tuple[int, dict[str, str], str]:
        if path.endswith((".txt", ".xml")):
            return 404, {}, ""
        return (302, {"location": ways[path]}, "") if path in ways else (200, {}, PAGE)

    return answer


def back_for_a_cookie(way: str, *, content: bool = True) -> Site:
    """Whoever comes without its cookie gets one, and is sent back by this way."""

    def answer(_host: str, path: str) -> tuple[int, dict[str, str], str]:
        if path.endswith((".txt", ".xml")):
            return 404, {}, ""
        if path != "/" and path == way:
            return 302, {"location": "/", "set-cookie": "seen=1; Path=/"}, ""
        if content and "seen=1" in site.asked[-1].cookie:
            return 200, {}, PAGE
        cookie = {"set-cookie": "seen=1; Path=/"} if way == "/" else {}
        return 302, {"location": way, **cookie}, ""

    site = Site(answer)
    return site


@pytest.mark.parametrize(("way", "asked"), [("/", ["/", "/"]), ("/cookie", ["/", "/cookie", "/"])])
async def test_a_site_that_wants_its_cookie_first_gets_it(tmp_path: Path, way: str, asked: list[str]) -> None:
    site = back_for_a_cookie(way)
    async with kit_for(tmp_path, site) as deps:
        job_id = await walk(deps, "shop.test")
        assert site.paths == asked
        (summary,) = await deps.database.read(sites.summaries, job_id)
        assert summary.state is SiteState.DONE
        assert (await deps.database.read(counters.progress, job_id)).records == 1


async def test_a_site_that_sends_everybody_round_is_a_loop(tmp_path: Path) -> None:
    """It sets its cookie each time, and that changes nothing."""
    site = back_for_a_cookie("/", content=False)
    async with kit_for(tmp_path, site) as deps:
        job_id = await walk(deps, "shop.test")
        (summary,) = await deps.database.read(sites.summaries, job_id)
        assert summary.trouble
        assert summary.trouble.reason is Reason.REDIRECT_LOOP
        assert site.paths.count("/") <= 4


@pytest.mark.parametrize("told", [f"/?sid={SESSION}", f"/;jsessionid={SESSION}", "/?utm_source=start"])
async def test_a_session_in_the_address_is_sent_and_not_kept(tmp_path: Path, told: str) -> None:
    site = Site(leads(**{"/": told}))
    async with kit_for(tmp_path, site) as deps:
        job_id = await walk(deps, "shop.test")
        assert site.paths == ["/", told]
        assert await deps.database.read(_found_at, job_id) == ["http://shop.test/"]


async def test_letters_beyond_ascii_in_a_location_are_utf_8(tmp_path: Path) -> None:
    site = Site(leads(**{"/": "/café"}))
    async with kit_for(tmp_path, site) as deps:
        await walk(deps, "shop.test")
        assert site.paths == ["/", "/caf%C3%A9"]
