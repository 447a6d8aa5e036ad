"""A site that stops answering in the middle is left alone by everybody, and given up when it does not come back."""

import asyncio
from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import select

from gossamer.app import open_deps
from gossamer.clock import FrozenClock
from gossamer.crawl import crawl_setup
from gossamer.crawl.site_breaker import SiteBreaker
from gossamer.db.schema import upgrade
from gossamer.db.tables import pages
from gossamer.gate import NOW
from gossamer.gate.breakers import MemoryBreakers
from gossamer.intake.submit import submit
from gossamer.model.breaker import SITE, BreakerRule
from gossamer.model.job import JobRequest, Target
from gossamer.model.page import Attempt, Page
from gossamer.model.rungs import DIRECT, RUNGS, Ladder
from gossamer.model.states import JobState, SiteState
from gossamer.model.trouble import Reason, Trouble
from gossamer.runtime.worker import ShardWorker
from gossamer.settings import Settings
from gossamer.store import sites
from tests.auditing import assert_clean
from tests.fetch.loopback import Site, answer
from tests.jobs import state_of

SILENCE = Trouble(Reason.TIMEOUT, "15s")
FOUND_NOTHING = Trouble(Reason.NOT_FOUND, http_status=404)
FREE = Ladder((DIRECT,))


def page(number: int, *, tries: int = 1, depth: int = 1) -> Page:
    one = Page.at(f"http://a.test/{number}", depth)
    for _ in range(tries):
        one = one.tried(Attempt(DIRECT.name, None, "TIMEOUT", 1, 1))
    return one


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock()


@pytest.fixture
def breakers(clock: FrozenClock) -> MemoryBreakers:
    return MemoryBreakers(clock)


def of_a_visit(breakers: MemoryBreakers, ladder: Ladder = FREE) -> SiteBreaker:
    return SiteBreaker(breakers, "a.test", ladder, SITE)


def given_up(site: SiteBreaker) -> str:
    """Why, if it is."""
    return site.gone.sentence if site.gone else ""


async def test_five_different_pages_in_a_row_make_a_site_that_rests(breakers: MemoryBreakers) -> None:
    site = of_a_visit(breakers)
    assert [await site.note(page(number), SILENCE) for number in range(5)] == [NOW] * 4 + [SITE.rest]
    assert not given_up(site)


async def test_one_page_that_fails_and_fails_says_nothing_about_its_site(breakers: MemoryBreakers) -> None:
    site = of_a_visit(breakers)
    assert {await site.note(page(1, tries=tries), SILENCE) for tries in range(1, 9)} == {NOW}
    for number in range(30):
        assert await site.note(page(number), SILENCE if number % 3 else FOUND_NOTHING) == NOW


async def test_the_way_in_and_what_can_still_climb_have_rules_of_their_own(breakers: MemoryBreakers) -> None:
    climbing = of_a_visit(breakers, Ladder((DIRECT, RUNGS["scrapingbee-js"])))
    waits = [await climbing.note(page(number), SILENCE) for number in range(9)]
    waits += [await of_a_visit(breakers).note(page(number, depth=0), SILENCE) for number in range(9)]
    assert set(waits) == {NOW}


async def test_another_visit_knows_it_and_a_site_that_does_not_come_back_is_given_up(
    breakers: MemoryBreakers, clock: FrozenClock
) -> None:
    first = of_a_visit(breakers)
    for number in range(5):
        await first.note(page(number), SILENCE)
    clock.advance(61)
    second = of_a_visit(breakers)
    assert await second.note(page(7), SILENCE) == SITE.rest, "one probe in vain is enough"
    clock.advance(61)
    # From here on every try is a probe.
    assert await second.note(page(7, tries=2), SILENCE) == SITE.rest
    assert not given_up(second)
    clock.advance(61)
    assert await second.note(page(8), SILENCE) == SITE.rest
    assert given_up(second) == "The site has stopped answering (4 minutes: Timeout after 15s)"


async def test_two_good_probes_and_all_is_as_before(breakers: MemoryBreakers, clock: FrozenClock) -> None:
    site = of_a_visit(breakers)
    for number in range(5):
        await site.note(page(number), SILENCE)
    clock.advance(61)
    for number in (5, 6):
        assert await site.note(page(number), FOUND_NOTHING) == NOW
    assert [await site.note(page(number), SILENCE) for number in range(7, 11)] == [NOW] * 4


async def test_a_site_that_breaks_down_costs_few_requests_and_its_pages_can_be_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rest = timedelta(seconds=0.3)
    monkeypatch.setattr(crawl_setup, "SITE", BreakerRule(5, 0.8, timedelta(seconds=60), 12, rest, 2))
    links = b"".join(b'<a href="/p%d">page %d</a> ' % (number, number) for number in range(30))
    home = b"<html><title>Shop</title><p>" + b"Our CRM is the one we sell to every shop. " * 20 + links + b"</html>"
    async with Site() as site:
        broken = answer(b"broken", status=b"500 Internal Server Error")
        site.pages |= {f"/p{number}": broken for number in range(30)}
        site.pages["/"] = answer(home, b"Content-Type: text/html")
        rules = f"a.test=127.0.0.1:{site.port}"
        async with open_deps(Settings(home=tmp_path, domain_rate=500, connect_to=rules), 1) as deps:
            await deps.database.write(upgrade)
            target = Target("a.test", ("http://a.test/",), "a.test")
            asked = {"keywords": ["CRM"], "mode": "free-only"}
            job = await submit(deps.database, deps.recipes, JobRequest("test", "prospect", asked, (target,)))
            shard = ShardWorker(deps, 0, 1, "home/0-1")
            running = asyncio.create_task(shard.run())
            try:
                async with asyncio.timeout(60):
                    while await state_of(deps.database, job.id) is not JobState.COMPLETED:
                        await asyncio.sleep(0.05)
            finally:
                shard.stop()
                await running
            (found,) = await deps.database.read(sites.summaries, job.id)
            reasons = select(pages.c.reason).where(pages.c.state == "failed")
            failed = Counter(await deps.database.read(lambda tx: tx.run(reasons).scalars().all()))
            await assert_clean(deps.database, job.id)
    assert found.state is SiteState.PARTIAL
    assert found.trouble
    assert "The site has stopped answering" in found.trouble.sentence
    assert failed["SITE_DOWN"] > 20
    assert sum(seen.target.startswith("/p") for seen in site.seen) < 20
