"""Providers follow redirects by themselves. Where they come to is held against the same rules as any hop of ours."""

import asyncio
from pathlib import Path

import pytest
from sqlalchemy import select

from gossamer.app import open_deps
from gossamer.db.schema import upgrade
from gossamer.db.tables import pages
from gossamer.db.transactions import Tx
from gossamer.intake.submit import submit
from gossamer.model.job import JobRequest, Target
from gossamer.model.money import Cap
from gossamer.model.states import JobState, PageState
from gossamer.model.trouble import Reason
from gossamer.runtime.worker import ShardWorker
from gossamer.settings import Settings
from gossamer.store import budgets, jobs
from gossamer_sandbox.providers import emulate
from tests.auditing import assert_clean
from tests.crawl.test_paid_rungs import mentions
from tests.fetch.loopback import Site, answer

HTML = b"Content-Type: text/html"
ROBOTS = b"User-agent: *\nDisallow: /private/\n"


def page(text: str, *links: str) -> bytes:
    anchors = "".join(f"<a href='{link}'>more</a>" for link in links)
    body = (
        f"<html><title>{text}</title><body><p>{text}: all about CRM and how to choose one.</p>{anchors}</body></html>"
    )
    return answer(body.encode(), HTML)


def moved(target: str) -> bytes:
    return answer(b"", b"Location: " + target.encode(), status=b"302 Found")


def _ends(tx: Tx) -> dict[str, tuple[PageState, str]]:
    rows = tx.run(select(pages.c.url, pages.c.state, pages.c.reason))
    return {row.url: (PageState(row.state), row.reason) for row in rows}


@pytest.mark.parametrize("rung", ["scrapingbee-js", "scraperapi", "firecrawl", "flaresolverr"])
async def test_what_robots_forbid_is_not_read_though_a_provider_was_led_there(tmp_path: Path, rung: str) -> None:
    listed = tmp_path / "never-send.txt"
    listed.write_text("partner.test\n", encoding="utf-8")
    async with Site() as site:
        site.pages |= {
            "/robots.txt": answer(ROBOTS, b"Content-Type: text/plain"),
            "/": page("Welcome", "/open", "/led", "/gone"),
            "/open": moved("/allowed"),
            "/allowed": page("Allowed"),
            "/led": moved("/private/offer"),
            "/private/offer": page("Private"),
            "/gone": moved("http://partner.test/partner"),
            "/partner": page("Partner"),
        }
        rules = f"*.test=127.0.0.1:{site.port}"
        name = rung.partition("-")[0]
        async with emulate(name, rules) as provider:
            reached = {f"{name}_url": provider.url} | ({} if name == "flaresolverr" else {f"{name}_key": provider.key})
            settings = Settings(home=tmp_path, domain_rate=500, connect_to=rules, never_send=listed, **reached)
            async with open_deps(settings, 1) as deps:
                await deps.database.write(upgrade)
                target = Target("shop.test", ("http://shop.test/",), "shop.test")
                asked = {"keywords": ["CRM"], "mode": "own", "ladder": [rung]}
                request = JobRequest("t", "prospect", asked, (target,), cap=Cap(1_000))
                job = await submit(deps.database, deps.recipes, request)
                shard = ShardWorker(deps, 0, 1, "home/0-1")
                running = asyncio.create_task(shard.run())
                async with asyncio.timeout(30):
                    while (await deps.database.read(jobs.states, [job.id]))[job.id] is not JobState.COMPLETED:
                        await asyncio.sleep(0.05)
                shard.stop()
                await running
                assert await deps.database.read(_ends) == {
                    "http://shop.test/": (PageState.DONE, ""),
                    "http://shop.test/open": (PageState.DONE, ""),
                    "http://shop.test/led": (PageState.SKIPPED, Reason.ROBOTS.name),
                    "http://shop.test/gone": (PageState.SKIPPED, Reason.MOVED.name),
                    "http://partner.test/partner": (PageState.FAILED, Reason.NEVER_SEND.name),
                }
                found = {url for url, _ in await deps.database.read(mentions, job.id)}
                assert found == {"http://shop.test/", "http://shop.test/allowed"}
                spent = (await deps.database.read(budgets.of_job, job.id)).spent.credits
                assert spent == provider.bill.total
                assert [entry.target for entry in provider.bill.entries].count("http://partner.test/partner") == 0
                await assert_clean(deps.database, job.id)
