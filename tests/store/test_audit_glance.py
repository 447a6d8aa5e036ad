"""Of a job of one page it is seen at a glance that nothing is wrong, and never where something is."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any
from uuid import UUID, uuid4

import pytest
from sqlalchemy import Column, Executable, Integer, Table, delete, insert, select, update
from sqlalchemy.exc import DBAPIError, StatementError

from gossamer.crawl.audit import audit_now
from gossamer.db.tables import (
    budgets,
    charges,
    checkpoints,
    counters,
    expenses,
    jobs,
    pages,
    records,
    reservations,
    sites,
    visits,
)
from gossamer.db.transactions import Tx
from gossamer.errors import UserError
from gossamer.model.job import Job
from gossamer.model.money import Cap
from gossamer.model.states import PageState, SiteState, VisitState
from gossamer.model.trouble import Reason, Trouble
from gossamer.recipes.registry import RECIPES
from gossamer.settle.step import Finished, PageStep, Step
from gossamer.store.audit import is_whole
from gossamer.store.budgets import open_job
from tests.conftest import AnyDatabase
from tests.jobs import claim_all, done, make_job, settle

ROWS = (jobs, sites, visits, pages, records, counters, budgets)
WORDS = ("lost", *(str(state) for kind in (SiteState, VisitState, PageState) for state in kind), "running", "paused")


def with_budget(tx: Tx) -> Job:
    job = make_job(tx, "a.test")
    open_job(tx, job.id, Cap(credits=100))
    return job


async def one_page(database: AnyDatabase, *keywords: str) -> UUID:
    """A job whose only page has been read, and that has not been closed."""
    job = await database.write(with_budget)
    (visit,) = await database.write(claim_all)
    ending = Step(visit, ending=Finished(SiteState.DONE))
    await settle(database, done(visit, "http://a.test/", *keywords), ending)
    return job.id


async def one_failure(database: AnyDatabase) -> UUID:
    job = await database.write(with_budget)
    (visit,) = await database.write(claim_all)
    trouble = Trouble(Reason.TIMEOUT, "15s")
    page = done(visit, "http://a.test/").page
    assert page
    failed = PageStep(page.page, PageState.FAILED, trouble)
    await settle(database, Step(visit, failed), Step(visit, ending=Finished(SiteState.FAILED, trouble)))
    return job.id


def of_job(table: Table, job_id: UUID) -> Any:
    return (jobs.c.id if table is jobs else table.c.job_id) == job_id


def others(column: Column[Any], value: Any) -> list[Any]:
    """What else might stand in a column."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1, value - 1, 0, 7]
    if isinstance(value, str):
        return [word for word in WORDS if word != value]
    if value is None:
        return [1] if isinstance(column.type, Integer) else []
    nothing = [None] if column.nullable else []
    strange = {UUID: uuid4(), bytes: b"\1" * 16}.get(type(value))
    return nothing if strange is None else [strange, *nothing]


def damages(tx: Tx, job_id: UUID) -> Iterator[tuple[str, Executable]]:
    """Every value of every row changed, and every row gone or there twice."""
    for table in ROWS:
        keys = list(table.primary_key)
        for row in tx.run(select(table).where(of_job(table, job_id)).order_by(*keys)).all()[:2]:
            this = [key == getattr(row, key.key) for key in keys]
            yield f"no row of {table.name}", delete(table).where(*this)
            for column in table.c:
                for value in others(column, getattr(row, column.key)):
                    changed = update(table).where(*this).values({column.name: value})
                    yield f"{table.name}.{column.name} = {value!r}", changed
            doubled = {column.name: getattr(row, column.key) for column in table.c}
            for key in keys:
                fresh = {"key": b"\2" * 16, "id": uuid4(), "shard": 99}.get(key.name)
                if fresh is not None:
                    again = insert(table).values({**doubled, key.name: fresh})
                    yield f"another row of {table.name}", again


def paid(tx: Tx, job_id: UUID) -> Iterator[tuple[str, Executable]]:
    """Rows that a job of this kind has none of."""
    ids = dict.fromkeys(("site_id", "visit_id", "lease", "id"), uuid4())
    money = {"credits": 5, "micros": 0, "bytes": 0}
    common = {"job_id": job_id, "rung": "r", "provider": "p", "day": "2026-01-01", "at": tx.now, **money}
    rows: list[tuple[Table, dict[str, Any]]] = [
        (charges, {**common, **ids, "assumed": False}),
        (reservations, {**common, **ids}),
        (expenses, {**common, "requests": 1, "assumed": 0}),
        (checkpoints, {"job_id": job_id, "id": uuid4(), "at": tx.now, "cause": "visits", "state": "running"}),
    ]
    for table, values in rows:
        known = {column.name: values[column.name] for column in table.c if column.name in values}
        zero = {column.name: 9 for column in table.c if column.name not in values and not column.nullable}
        added = insert(table).values({**zero, **known})
        yield f"a row of {table.name}", added


def is_clean(tx: Tx, job_id: UUID) -> bool:
    # What cannot even be read is not clean.
    try:
        return audit_now(tx, job_id, RECIPES).clean
    except (ValueError, LookupError, UserError):
        return False


class _Undone(Exception):
    pass


def judged(tx: Tx, job_id: UUID) -> tuple[list[str], list[str]]:
    """Damages that the audit finds, and those of them that look whole."""
    found, missed = [], []
    for name, harm in [*damages(tx, job_id), *paid(tx, job_id)]:
        with (
            suppress(_Undone, DBAPIError, StatementError),
            tx.savepoint(),
        ):  # what the database itself refuses is no damage
            tx.conn.execute(harm)
            if not is_clean(tx, job_id):
                found.append(name)
                if is_whole(tx, job_id):
                    missed.append(name)
            raise _Undone
    return found, missed


@pytest.mark.parametrize("keywords", [(), ("CRM",)])
async def test_no_damage_looks_whole(database: AnyDatabase, keywords: tuple[str, ...]) -> None:
    job_id = await one_page(database, *keywords)
    assert await database.read(is_whole, job_id)
    found, missed = await database.write(judged, job_id)
    assert missed == []
    # In every table, or this would prove little.
    tables = {name.partition(".")[0] for name in found if "." in name}
    assert tables >= {"jobs", "sites", "visits", "pages", "counters", "budgets"}
    assert {"a row of charges", "a row of reservations", "a row of expenses", "a row of checkpoints"} <= {*found}
    assert len(found) > 100


async def test_a_page_that_failed_is_as_plain(database: AnyDatabase) -> None:
    job_id = await one_failure(database)
    assert await database.read(is_whole, job_id)
    found, missed = await database.write(judged, job_id)
    assert (missed, len(found) > 100) == ([], True)


async def test_of_any_other_job_nothing_is_plain(database: AnyDatabase) -> None:
    job = await database.write(make_job, "a.test", "b.test")
    first, second = await database.write(claim_all)
    ending = Finished(SiteState.DONE)
    await settle(database, done(first, f"http://{first.host}/"), Step(first, ending=ending))
    await settle(database, done(second, f"http://{second.host}/"), Step(second, ending=ending))
    assert not await database.read(is_whole, job.id)
    assert not await database.read(is_whole, uuid4())
