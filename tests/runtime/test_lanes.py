"""A job that climbs, in one process: the same rows whichever lane got the pages, and nothing that loops."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import select

from gossamer.app import open_deps, rungs_here
from gossamer.crawl.worker_deps import WorkerDeps
from gossamer.db.schema import upgrade
from gossamer.db.tables import charges, pages, records
from gossamer.db.transactions import Tx
from gossamer.errors import UserError
from gossamer.frontier.frontier import MOST_IN_VAIN
from gossamer.intake.submit import submit
from gossamer.model.job import JobRequest, Target
from gossamer.model.states import JobState
from gossamer.model.trouble import Reason, Trouble
from gossamer.runtime.worker import ShardWorker
from gossamer.settings import Settings
from gossamer.store import budgets, jobs, reservations, result_rows, sites
from gossamer_sandbox.stand_ins import Script, scripted
from gossamer_sandbox.web import Running, SampleWeb, serve
from tests.auditing import assert_clean

WEB = SampleWeb(sites=8, seed=4, nasty=0, size_min=6, size_max=9)
GUARDED = 0.4
RATE = 500


@asynccontextmanager
async def kit_of(home: Path, running: Running, *rungs: str) -> AsyncIterator[WorkerDeps]:
    settings = Settings(
        home=home,
        domain_rate=RATE,
        connect_to=f"*.test=127.0.0.1:{running.port}",
        test_rungs=dict.fromkeys(rungs, f"127.0.0.1:{running.back_port}"),
    )
    async with open_deps(settings, 1) as deps:
        await deps.database.write(upgrade)
        yield deps


async def run_job(
    deps: WorkerDeps, ladder: Iterable[str] = (), hosts: Iterable[str] | None = None, **params: Any
) -> UUID:
    """Submitted, worked to its end by one shard, and audited."""
    targets = tuple(Target(host, (f"http://{host}/",), host) for host in hosts or WEB.hosts())
    asked = {"keywords": list(WEB.keywords), "mode": "own", "ladder": list(ladder), **params}
    job = await submit(deps.database, deps.recipes, JobRequest("test", "prospect", asked, targets))
    shard = ShardWorker(deps, 0, 1, "home/0-1")
    running = asyncio.create_task(shard.run())
    try:
        async with asyncio.timeout(60):
            while (await deps.database.read(jobs.states, [job.id]))[job.id] is not JobState.COMPLETED:
                assert not running.done(), running.result()
                await asyncio.sleep(0.05)
    finally:
        shard.stop()
        await running
    await assert_clean(deps.database, job.id)
    return job.id


def found(tx: Tx, job_id: UUID) -> list[dict[str, Any]]:
    """The rows of a job, without how and when they were got."""
    rows = tx.run(select(records.c.data).where(records.c.job_id == job_id).order_by(records.c.key)).scalars()
    return [{name: row[name] for name in row if name not in ("timestamp", "crawl_method")} for row in rows]


def walked(tx: Tx, job_id: UUID) -> list[tuple[Any, ...]]:
    """The pages of a job, in the order they were chosen."""
    columns = (pages.c.url, pages.c.depth, pages.c.rank, pages.c.found_on, pages.c.state, pages.c.identity)
    query = select(*columns).where(pages.c.job_id == job_id).order_by(pages.c.site_id, pages.c.rank, pages.c.url)
    return sorted(tuple(row) for row in tx.run(query))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Any], list[Any]]:
    """What a web without a guard gives to direct requests."""

    async def read() -> tuple[list[Any], list[Any]]:
        async with serve(WEB) as running, kit_of(tmp_path_factory.mktemp("whole"), running) as deps:
            job_id = await run_job(deps)
            return await deps.database.read(found, job_id), await deps.database.read(walked, job_id)

    return asyncio.run(read())


@pytest.mark.parametrize(
    "ladder",
    [("direct", "stealth"), ("direct", "flaresolverr"), ("browser",), ("browser", "stealth")],
    ids=["another lane", "the same lane", "begins elsewhere", "two other lanes"],
)
async def test_the_rows_are_the_same_whichever_lane_got_the_pages(
    tmp_path: Path, whole: tuple[list[Any], list[Any]], ladder: tuple[str, ...]
) -> None:
    async with serve(WEB, guarded=GUARDED) as running, kit_of(tmp_path, running, *set(ladder) - {"direct"}) as deps:
        job_id = await run_job(deps, ladder)
        assert await deps.database.read(found, job_id) == whole[0]
        assert await deps.database.read(walked, job_id) == whole[1]
        by_rung = await deps.database.read(result_rows.pages_by_rung, job_id)
        if "direct" in ladder:
            assert list(by_rung) == list(ladder)
            assert all(pages > 5 for pages in by_rung.values())
            first, *_ = await deps.database.read(result_rows.rendered_pages, job_id, 5)
            assert 0 < first.rendered <= first.read
        else:
            assert list(by_rung) == [ladder[0]]


async def test_without_the_rung_the_same_pages_are_missing_and_say_why(
    tmp_path: Path, whole: tuple[list[Any], list[Any]]
) -> None:
    async with serve(WEB, guarded=GUARDED) as running, kit_of(tmp_path, running) as deps:
        job_id = await run_job(deps, ["direct"], mode="hybrid")
        assert len(await deps.database.read(found, job_id)) < len(whole[0])
        failed = await deps.database.read(sites.summaries, job_id)
        said = {one.trouble.sentence for one in failed if one.trouble and one.trouble.reason is Reason.NOT_CONFIGURED}
        assert said <= {
            "Needs a method that is not configured here (scrapingbee-standard: HTTP 403 Forbidden)",
            "Needs a method that is not configured here (scrapingbee-js: Page needs JavaScript)",
            "Needs a method that is not configured here (scrapingbee-js: Empty page)",
        }
        assert said


def counting(answers: dict[str, int], answer: tuple[int, bytes] | Trouble) -> Script:
    def script(url: str) -> tuple[int, bytes] | Trouble:
        answers[url] = answers.get(url, 0) + 1
        return answer

    return script


async def test_a_page_that_no_rung_gets_goes_up_the_ladder_once_and_fails(tmp_path: Path) -> None:
    asked: dict[str, int] = {}
    host = next(iter(WEB.hosts()))
    async with serve(WEB, guarded=1) as running, kit_of(tmp_path, running) as plain:
        refuse = counting(asked, (403, b"<p>No.</p>"))
        rungs = {**plain.rungs, **{name: scripted(name, refuse) for name in ("browser", "stealth")}}
        deps = replace(plain, rungs=rungs, lanes={**plain.lanes, "browser": 2, "stealth": 2})
        job_id = await run_job(deps, ("direct", "browser", "stealth"), [host])
        (page,) = await deps.database.read(lambda tx: tx.run(pages.select().where(pages.c.job_id == job_id)).all())
        assert (page.state, page.reason, page.rung) == ("failed", "FORBIDDEN", "stealth")
        assert [tried[0] for tried in page.attempts] == ["direct", "browser", "stealth"]
        assert asked == {f"http://{host}/": 2}
        (summary,) = await deps.database.read(sites.summaries, job_id)
        assert summary.trouble
        assert summary.trouble.reason is Reason.FORBIDDEN


def spent(tx: Tx, job_id: UUID) -> tuple[int, list[tuple[str, int, bool]]]:
    """What a job's budget says, and its charges."""
    mine = select(charges.c.rung, charges.c.credits, charges.c.assumed).where(charges.c.job_id == job_id)
    return budgets.of_job(tx, job_id).spent.credits, [tuple(row) for row in tx.run(mine)]


async def test_money_is_put_aside_around_a_paid_request_and_around_no_other(tmp_path: Path) -> None:
    page = b"<!DOCTYPE html><title>CRM</title><p>CRM software " + b"for everybody who sells something. " * 20 + b"</p>"
    async with serve(WEB, guarded=1) as running, kit_of(tmp_path, running) as plain:
        name = "scrapingbee-js"
        rungs = {**plain.rungs, name: scripted(name, lambda url: (200, page))}
        deps = replace(plain, rungs=rungs)
        job_id = await run_job(deps, ("direct", name), [next(iter(WEB.hosts()))], max_pages_per_domain=1)
        # The script did not say what it cost, so it is the worst.
        assert await deps.database.read(spent, job_id) == (5, [(name, 5, True)])
        assert not await deps.database.read(reservations.any_left)
        assert await deps.database.read(result_rows.pages_by_rung, job_id) == {name: 1}


async def test_what_was_paid_for_is_booked_whatever_the_answer_led_to(tmp_path: Path) -> None:
    """A provider was asked before it was known that the page lies where nobody may go."""
    async with serve(WEB, guarded=1) as running, kit_of(tmp_path, running) as plain:
        name = "scrapingbee-js"
        rungs = {**plain.rungs, name: scripted(name, lambda url: Trouble(Reason.FORBIDDEN_ADDRESS, "10.0.0.1"))}
        job_id = await run_job(replace(plain, rungs=rungs), ("direct", name), [next(iter(WEB.hosts()))])
        assert await plain.database.read(spent, job_id) == (5, [(name, 5, True)])


async def test_a_site_that_money_does_not_help_is_paid_for_three_times(tmp_path: Path) -> None:
    asked: dict[str, int] = {}
    links = "".join(f'<li><a href="/{number}">Page {number} of our catalogue</a></li>' for number in range(6))
    home = f"<!DOCTYPE html><title>Home</title><p>{'Welcome to our shop. ' * 30}</p><ul>{links}</ul>".encode()
    refused = (403, b"<p>No.</p>")
    async with serve(WEB) as running, kit_of(tmp_path, running) as plain:
        rungs = {
            "direct": scripted("direct", lambda url: (200, home) if url.endswith(".test/") else refused),
            "scrapingbee-js": scripted("scrapingbee-js", counting(asked, refused)),
        }
        deps = replace(plain, rungs=rungs)
        job_id = await run_job(deps, ("direct", "scrapingbee-js"), [next(iter(WEB.hosts()))])
        states = await deps.database.read(lambda tx: [row.state for row in tx.run(select(pages.c.state))])
        paid, _ = await deps.database.read(spent, job_id)
    assert sorted(states) == ["done", *["failed"] * 6]
    assert sum(asked.values()) == MOST_IN_VAIN
    assert paid == 5 * MOST_IN_VAIN


@pytest.mark.parametrize("given", [{"direct": "127.0.0.1:1"}, {"ladder": "127.0.0.1:1"}, {"stealth": "192.0.2.1:80"}])
def test_a_stand_in_is_a_rung_at_an_address_of_ours(tmp_path: Path, given: dict[str, str]) -> None:
    with pytest.raises(UserError, match="GOSSAMER_TEST_RUNGS"):
        rungs_here(Settings(home=tmp_path, test_rungs=given))


def test_a_stand_in_elsewhere_needs_leave(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path, test_rungs={"stealth": "192.0.2.1:80"}, allow_networks="192.0.2.0/24")
    assert list(rungs_here(settings)) == ["direct", "stealth"]


def tries(tx: Tx, job_id: UUID) -> list[str]:
    """The rungs of all tries of pages that were read."""
    mine = (pages.c.job_id == job_id) & (pages.c.state == "done")
    return [attempt[0] for row in tx.run(select(pages.c.attempts).where(mine)) for attempt in row.attempts]


async def test_the_next_job_begins_where_the_last_one_got_through(tmp_path: Path) -> None:
    """All but a few pages, which see whether less would do by now."""
    async with serve(WEB, guarded=1) as running, kit_of(tmp_path, running, "stealth") as deps:
        tried = []
        for _ in range(2):
            job_id = await run_job(deps, ("direct", "stealth"), max_pages_per_domain=8)
            tried.append(await deps.database.read(tries, job_id))
        first, second = tried
        assert second.count("stealth") == first.count("stealth") > 20
        assert second.count("direct") < first.count("direct") / 3
