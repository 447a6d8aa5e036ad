"""Pages of sites that nobody holds: whole batches of them in one settle, each site and page once."""

from collections.abc import Callable, Iterable
from pathlib import Path
from uuid import UUID

import pytest
from sqlalchemy import event, select

from gossamer.clock import SystemClock
from gossamer.db import tables
from gossamer.db.database import SqliteDatabase
from gossamer.db.schema import set_up
from gossamer.db.transactions import Tx
from gossamer.model.job import CrawlPolicy
from gossamer.model.page import Page, Visit, asked_page
from gossamer.model.record import Follow
from gossamer.model.states import SiteState
from gossamer.model.url import site_of_url
from gossamer.settle.commit import commit
from gossamer.settle.step import Finished, Step
from gossamer.store import counters, pages, sites
from gossamer.store.openings import Opening, entry_of
from tests.auditing import assert_clean
from tests.conftest import AnyDatabase
from tests.jobs import claim_all, done, make_job, settle

SOURCE = "http://source.test/"
DONE = Finished(SiteState.DONE)


def opening(url: str, step: str = "shop", identity: str = "", *, lane: str = "http") -> Opening:
    follow = Follow(url, step, identity=identity, carry={"found": 1})
    return Opening(asked_page(follow, CrawlPolicy(), SOURCE, 1), site_of_url(url), lane, f"asked for by {SOURCE}")


def many(hosts: Iterable[int]) -> tuple[Opening, ...]:
    return tuple(opening(f"http://shop-{number}.test/") for number in hosts)


async def source(database: AnyDatabase) -> Visit:
    await database.write(make_job, "source.test")
    (visit,) = await database.write(claim_all)
    return visit


async def site_rows(database: AnyDatabase, job_id: UUID) -> dict[str, tuple[str, bool, bool, int, str | None]]:
    columns = [tables.sites.c[name] for name in ("host", "state", "listed", "whole", "open_pages", "step")]
    query = select(*columns).where(tables.sites.c.job_id == job_id)
    return {row[0]: tuple(row[1:]) for row in await database.read(lambda tx: tx.rows(query, {}))}


async def test_a_follow_opens_sites_that_count_in_the_progress(database: AnyDatabase) -> None:
    visit = await source(database)
    await settle(database, Step(visit, opened=(*many(range(3)), entry_of("http://whole.test/in", SOURCE))))
    progress = await database.read(counters.progress, visit.job_id)
    assert (progress.sites_total, progress.pages_open) == (5, 3)
    rows = await site_rows(database, visit.job_id)
    assert rows["shop-1.test"] == ("open", True, False, 1, "shop")
    assert rows["whole.test"] == ("open", True, True, 0, "page")
    assert [one.host for one in await database.read(sites.given, visit.job_id)] == ["source.test"]
    held = {one.host: one for one in await database.write(claim_all)}
    shop = held["shop-1.test"]
    ((page,), _, _) = await database.read(pages.of_visit, visit.job_id, shop.id, Page.at("http://shop-1.test/").key[:4])
    assert (page.step, page.carry, page.depth, page.found_on) == ("shop", {"found": 1}, 1, SOURCE)
    assert held["whole.test"].entries == ("http://whole.test/in",)
    await assert_clean(database, visit.job_id)


async def test_two_requests_to_one_address_are_two_pages(database: AnyDatabase) -> None:
    visit = await source(database)
    asked = tuple(opening("http://api.test/search", identity=one) for one in ("north", "south", "north"))
    await settle(database, Step(visit, opened=asked))
    progress = await database.read(counters.progress, visit.job_id)
    assert (progress.sites_total, progress.pages_open) == (2, 2)
    await assert_clean(database, visit.job_id)


async def test_a_site_that_had_ended_is_opened_again_for_a_new_page_and_for_no_other(database: AnyDatabase) -> None:
    visit = await source(database)
    await settle(database, Step(visit, opened=many(range(2))))
    held = {one.host: one for one in await database.write(claim_all)}
    for number in range(2):
        shop = held[f"shop-{number}.test"]
        await settle(database, done(shop, f"http://shop-{number}.test/", depth=1), Step(shop, ending=DONE))
    assert (await database.read(counters.progress, visit.job_id)).sites_done == 2
    await settle(database, Step(visit, opened=(*many(range(2)), opening("http://shop-0.test/more"))))
    progress = await database.read(counters.progress, visit.job_id)
    assert (progress.sites_total, progress.sites_done, progress.pages_open) == (3, 1, 1)
    rows = await site_rows(database, visit.job_id)
    assert (rows["shop-0.test"][0], rows["shop-1.test"][0]) == ("open", "done")
    await assert_clean(database, visit.job_id)


async def test_a_page_for_another_lane_goes_to_a_visit_there(database: AnyDatabase) -> None:
    visit = await source(database)
    await settle(database, Step(visit, opened=(opening("http://shop.test/", lane="browser"),)))
    (there,) = await database.write(claim_all, lane="browser")
    assert there.host == "shop.test"
    await assert_clean(database, visit.job_id)


async def test_a_batch_written_again_changes_nothing(database: AnyDatabase) -> None:
    visit = await source(database)
    for _ in range(2):
        await settle(database, Step(visit, opened=many(range(5))))
    progress = await database.read(counters.progress, visit.job_id)
    assert (progress.sites_total, progress.pages_open) == (6, 5)
    await assert_clean(database, visit.job_id)


async def test_a_visit_that_lost_its_lease_opens_nothing(database: AnyDatabase) -> None:
    visit = await source(database)
    await database.write(lambda tx: tx.run(tables.visits.update().values(lease=UUID(int=1))))
    done_ = await settle(database, Step(visit, opened=many(range(5))))
    assert done_.lost == {visit.lease}
    assert list(await site_rows(database, visit.job_id)) == ["source.test"]


def _counted(tx: Tx, steps: list[Step]) -> int:
    return statements_of(tx, lambda: commit(tx, steps, 0))


def statements_of(tx: Tx, work: Callable[[], object]) -> int:
    """How many statements the database is given."""
    seen: list[str] = []
    if not tx.dialect.row_locks:
        driver = tx.conn.connection.driver_connection
        assert driver
        driver.set_trace_callback(seen.append)
        try:
            work()
        finally:
            driver.set_trace_callback(None)
        return len(seen)

    def note(_conn: object, _cursor: object, statement: str, *_: object) -> None:
        seen.append(statement)

    event.listen(tx.conn, "before_cursor_execute", note)
    try:
        work()
    finally:
        event.remove(tx.conn, "before_cursor_execute", note)
    return len(seen)


@pytest.mark.parametrize("again", [False, True], ids=["new sites", "known sites"])
async def test_the_number_of_statements_does_not_depend_on_the_number_of_sites(
    database: AnyDatabase, again: bool
) -> None:
    found = []
    for number in (20, 2_000):
        visit = await source(database)
        if again:
            first = tuple(opening(f"http://shop-{one}.test/first") for one in range(number))
            await settle(database, Step(visit, opened=first))
        steps = [Step(visit, opened=many(range(number)))]
        found.append(await database.write(_counted, steps))
        progress = await database.read(counters.progress, visit.job_id)
        assert progress.sites_total == number + 1
        assert progress.pages_open == number * (2 if again else 1)
        await assert_clean(database, visit.job_id)
        await database.write(lambda tx: tx.run(tables.jobs.update().values(state="cancelled")))
    assert found[0] == found[1]
    assert found[0] < 40


async def test_thousands_of_sites_are_opened_batch_after_batch(tmp_path: Path) -> None:
    """How long that takes is measured by `bench settle`."""
    database = SqliteDatabase(tmp_path / "gossamer.db", SystemClock())
    await database.write(set_up)
    visit = await source(database)
    for turn in range(3):
        await database.write(commit, [Step(visit, opened=many(range(turn * 2_000, turn * 2_000 + 2_000)))], 0)
    assert (await database.read(counters.progress, visit.job_id)).sites_total == 6_001
    await database.close()
