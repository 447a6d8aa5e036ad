"""Zero overshoot: many processes, random prices and failures, one of them killed. More: `make ledger`."""

import pytest
from sqlalchemy import insert
from sqlalchemy.exc import DBAPIError

from gossamer.db.tables import charges
from gossamer.db.transactions import Tx
from gossamer.model.money import Cap
from gossamer.store import budgets
from gossamer.store import charges as charge_store
from tests.conftest import AnyDatabase
from tests.ledger.request_budget import granted, make_capped, treasurer
from tests.ledger.trial import check, spend
from tests.ledger.watch import begin_watch, watched


async def test_no_credit_above_the_cap_and_none_that_the_provider_charged_is_missing(
    database: AnyDatabase, database_url: str
) -> None:
    check(await spend(database_url, seed=7))


async def test_those_who_watch_see_a_credit_that_the_budgets_do_not_know_of(database: AnyDatabase) -> None:
    await database.write(begin_watch)
    job, (visit,) = await database.write(make_capped, Cap(100))
    held = await granted(treasurer(database), visit, "dear")

    def book_beside(tx: Tx) -> None:
        row = {"job_id": job.id, "id": visit.id, "site_id": visit.site_id, "rung": "dear", "provider": "bee"}
        tx.run(insert(charges).values(**row, credits=76, micros=0, bytes=0, assumed=False, day="2026-01-01", at=tx.now))

    with pytest.raises(DBAPIError, match="cap"):
        await database.write(book_beside)
    await database.write(charge_store.settle, [held.charge(25)])
    looks, most = await database.read(watched)
    assert (await database.read(budgets.of_job, job.id)).spent.credits == most == 25
    assert looks >= 3
