"""A job through FlareSolverr, put together from settings: its browser is led inside, and gets nowhere."""

import asyncio
from pathlib import Path

from sqlalchemy import select

from gossamer.app import open_deps
from gossamer.db.schema import upgrade
from gossamer.db.tables import pages
from gossamer.db.transactions import Tx
from gossamer.intake.submit import submit
from gossamer.model.job import JobRequest, Target
from gossamer.model.states import JobState, PageState
from gossamer.model.trouble import Reason
from gossamer.runtime.worker import ShardWorker
from gossamer.settings import Settings
from gossamer.store import jobs
from gossamer_sandbox.providers import emulate
from tests.auditing import assert_clean
from tests.fetch.loopback import Name, NameServer, Site, answer

HTML = b"Content-Type: text/html"


def _ends(tx: Tx) -> dict[str, tuple[PageState, str]]:
    rows = tx.run(select(pages.c.url, pages.c.state, pages.c.reason))
    return {row.url: (PageState(row.state), row.reason) for row in rows}


def _requests(tx: Tx) -> dict[str, int]:
    rows = tx.run(select(pages.c.url, pages.c.attempts))
    return {row.url: sum(len(attempt[-1]) for attempt in row.attempts) for row in rows}


async def test_a_browser_that_is_led_inside_gets_nowhere_and_its_page_says_so(tmp_path: Path) -> None:
    names = await NameServer().start()
    names.names["inner.example"] = Name(["127.0.0.1"])
    async with Site() as site, Site() as inside:
        pulled = f"<img src='http://inner.example:{inside.port}/x.gif'><img src='/own.gif'>"
        home = f"<title>Shop</title><p>All about CRM and how to choose one.</p><a href='/led'>more</a>{pulled}"
        site.pages |= {
            "/robots.txt": answer(b"", b"Content-Type: text/plain"),
            "/": answer(home.encode(), HTML),
            "/led": answer(b"", f"Location: http://inner.example:{inside.port}/".encode(), status=b"302 Found"),
        }
        rules = f"*.test=127.0.0.1:{site.port}"
        async with emulate("flaresolverr", "") as solver:  # without a proxy there is no host it could reach
            settings = Settings(
                home=tmp_path,
                domain_rate=500,
                connect_to=rules,
                dns_servers=names.address,
                flaresolverr_url=solver.url,
            )
            async with open_deps(settings, 1) as deps:
                await deps.database.write(upgrade)
                target = Target("shop.test", ("http://shop.test/",), "shop.test")
                asked = {"keywords": ["CRM"], "mode": "own", "ladder": ["flaresolverr"]}
                job = await submit(deps.database, deps.recipes, JobRequest("t", "prospect", asked, (target,)))
                shard = ShardWorker(deps, 0, 1, "home/0-1")
                running = asyncio.create_task(shard.run())
                async with asyncio.timeout(30):
                    while (await deps.database.read(jobs.states, [job.id]))[job.id] is not JobState.COMPLETED:
                        await asyncio.sleep(0.05)
                shard.stop()
                await running
                ends = await deps.database.read(_ends)
                requests = await deps.database.read(_requests)
                await assert_clean(deps.database, job.id)
    names.close()
    assert ends == {
        "http://shop.test/": (PageState.DONE, ""),
        "http://shop.test/led": (PageState.FAILED, Reason.FORBIDDEN_ADDRESS.name),
    }
    assert "/own.gif" in [seen.target for seen in site.seen]
    assert requests == {"http://shop.test/": 1, "http://shop.test/led": 1}  # the site has met both
    assert inside.connections == 0
