"""A page moves only as the table says: what is over stays so, whatever a late step claims."""

from sqlalchemy import update

from gossamer.db.tables import pages as page_rows
from gossamer.db.transactions import Tx
from gossamer.model.page import Page
from gossamer.model.states import PAGE_MOVES, PageState
from gossamer.settle.commit import commit
from gossamer.settle.step import PageStep, Step
from gossamer.store import pages
from tests.conftest import AnyDatabase
from tests.jobs import claim_all, make_job, settle

PAGE = Page.at("http://a.test/")


async def test_a_page_moves_only_as_the_table_says(database: AnyDatabase) -> None:
    job = await database.write(make_job, "a.test")
    (visit,) = await database.write(claim_all)
    await settle(database, Step(visit, chosen=(PAGE,)))

    def attempt(tx: Tx, was: PageState, target: PageState) -> tuple[PageState, str]:
        row = page_rows.c.job_id == job.id
        tx.run(update(page_rows).where(row).values(state=was, rung="before"))
        commit(tx, [Step(visit, PageStep(PAGE._replace(rung="after"), target))], 0)
        rung = tx.run(page_rows.select().where(row)).one().rung
        return pages.states(tx, job.id, [PAGE.key])[PAGE.key], rung

    for was in PageState:
        for target in PageState:
            # One that waits for another try has moved nowhere, but its tries are kept.
            waits = was is target is PageState.PENDING
            legal = target in PAGE_MOVES[was] or waits
            result = await database.write(attempt, was, target)
            assert result == ((target, "after") if legal else (was, "before")), f"{was} > {target}"
