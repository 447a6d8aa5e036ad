"""For every check of the audit rows that it must find fault with, and that no other check may mind."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from sqlalchemy import ColumnElement, insert, select, update

from gossamer.db.tables import checkpoints as checkpoint_rows
from gossamer.db.tables import jobs as job_rows
from gossamer.db.tables import pages, records, sites
from gossamer.db.tables import visits as visit_rows
from gossamer.db.transactions import Tx
from gossamer.model.job import CheckpointCause
from gossamer.model.page import Page
from gossamer.model.states import JobState, PageState, SiteState, VisitState
from gossamer.store import counters, jobs
from gossamer.store.counters import NAMES, CounterChange
from tests.auditing import assert_clean, audited, finished, worked
from tests.conftest import AnyDatabase
from tests.jobs import claim_all, make_job


async def failing(database: AnyDatabase, job_id: UUID) -> list[str]:
    """The names of the checks that fail."""
    return [check.name for check in (await audited(database, job_id)).checks if check.faults]


def count(tx: Tx, /, job_id: UUID, **change: int) -> None:
    """Set the counters right after rows were damaged, so that they are not what is found."""
    counters.add(tx, 0, {job_id: CounterChange(**change)})


def of(host: str, job_id: UUID) -> ColumnElement[UUID]:
    return select(sites.c.id).where(sites.c.job_id == job_id, sites.c.host == host).scalar_subquery()


def visit_of(host: str, job_id: UUID) -> ColumnElement[bool]:
    return visit_rows.c.site_id == of(host, job_id)


def at(url: str) -> ColumnElement[bool]:
    return pages.c.key == Page.at(url).key


def page_in_an_unknown_state(tx: Tx, job_id: UUID) -> None:
    tx.run(update(pages).where(at("http://c.test/next")).values(state="lost"))
    tx.run(update(sites).where(sites.c.id == of("c.test", job_id)).values(open_pages=0))
    tx.run(update(visit_rows).where(visit_of("c.test", job_id)).values(open_pages=0))
    count(tx, job_id, pages_open=-1)


def domain_missing(tx: Tx, job_id: UUID) -> None:
    tx.run(update(job_rows).values(sites_total=4))


def domain_in_an_unknown_state(tx: Tx, job_id: UUID) -> None:
    tx.run(update(sites).where(sites.c.id == of("a.test", job_id)).values(state="lost"))
    count(tx, job_id, sites_done=-1)


def page_without_visit(tx: Tx, job_id: UUID) -> None:
    tx.run(update(pages).where(at("http://a.test/x")).values(visit_id=uuid4()))


def page_with_the_visit_of_another_domain(tx: Tx, job_id: UUID) -> None:
    other = select(visit_rows.c.id).where(visit_of("b.test", job_id)).scalar_subquery()
    tx.run(update(pages).where(at("http://a.test/x")).values(visit_id=other))


def page_with_the_domain_of_another_job(tx: Tx, job_id: UUID) -> None:
    other = make_job(tx, "a.test")
    visit = select(visit_rows.c.id).where(visit_of("a.test", other.id)).scalar_subquery()
    values = {"site_id": of("a.test", other.id), "visit_id": visit}
    tx.run(update(pages).where(pages.c.job_id == job_id, at("http://c.test/same")).values(**values))


def visit_with_the_domain_of_another_job(tx: Tx, job_id: UUID) -> None:
    other = make_job(tx, "a.test")
    moved = {"site_id": of("a.test", other.id), "lane": "stealth"}
    tx.run(update(visit_rows).where(visit_of("b.test", job_id)).values(**moved))


def open_pages_of_a_domain(tx: Tx, job_id: UUID) -> None:
    tx.run(update(sites).where(sites.c.id == of("c.test", job_id)).values(open_pages=2))


def open_pages_of_a_visit(tx: Tx, job_id: UUID) -> None:
    tx.run(update(visit_rows).where(visit_of("a.test", job_id)).values(open_pages=1))


def pages_read_of_a_domain(tx: Tx, job_id: UUID) -> None:
    tx.run(update(sites).where(sites.c.id == of("b.test", job_id)).values(pages_done=sites.c.pages_done + 900))


def page_read_without_identity(tx: Tx, job_id: UUID) -> None:
    tx.run(update(pages).where(at("http://a.test/x")).values(identity=None))


def visit_done_in_a_failed_domain(tx: Tx, job_id: UUID) -> None:
    tx.run(update(visit_rows).where(visit_rows.c.state == VisitState.FAILED).values(state=VisitState.DONE))


def visit_dead_in_a_done_domain(tx: Tx, job_id: UUID) -> None:
    tx.run(update(visit_rows).where(visit_of("a.test", job_id)).values(state=VisitState.DEAD))


def page_waits_in_an_ended_domain(tx: Tx, job_id: UUID) -> None:
    tx.run(update(sites).where(sites.c.id == of("c.test", job_id)).values(state=SiteState.PARTIAL))
    tx.run(update(visit_rows).where(visit_of("c.test", job_id)).values(state=VisitState.DONE))
    count(tx, job_id, sites_partial=1)


def page_waits_in_an_ended_visit(tx: Tx, job_id: UUID) -> None:
    row = tx.run(select(visit_rows).where(visit_of("c.test", job_id))).one()
    tx.run(update(visit_rows).where(visit_of("c.test", job_id)).values(state=VisitState.DEAD))
    tx.run(insert(visit_rows), {**row._mapping, "id": uuid4(), "lane": "browser", "open_pages": 0})


def open_domain_without_a_visit_to_come(tx: Tx, job_id: UUID) -> None:
    tx.run(update(sites).where(sites.c.id == of("a.test", job_id)).values(state=SiteState.OPEN))
    count(tx, job_id, sites_done=-1)


def visit_to_come_to_an_ended_domain(tx: Tx, job_id: UUID) -> None:
    tx.run(update(visit_rows).where(visit_of("a.test", job_id)).values(state=VisitState.READY))


def open_domain_in_a_completed_job(tx: Tx, job_id: UUID) -> None:
    tx.run(update(job_rows).values(state=JobState.COMPLETED))


def visit_to_come_in_a_completed_job(tx: Tx, job_id: UUID) -> None:
    open_domain_in_a_completed_job(tx, job_id)
    tx.run(update(pages).where(at("http://c.test/next")).values(state=PageState.SKIPPED))
    tx.run(update(sites).where(sites.c.id == of("c.test", job_id)).values(state=SiteState.DONE, open_pages=0))
    tx.run(update(visit_rows).where(visit_of("c.test", job_id)).values(open_pages=0))
    count(tx, job_id, sites_done=1, pages_open=-1, pages_skipped=1)


def visit_in_hand_in_a_paused_job(tx: Tx, job_id: UUID) -> None:
    claim_all(tx)
    tx.run(update(job_rows).values(state=JobState.PAUSED))


def visit_in_hand_long_after_a_cancel(tx: Tx, job_id: UUID) -> None:
    claim_all(tx, lease=timedelta(seconds=-1))
    jobs.move(tx, job_id, JobState.CANCELLED)


def copy_record(tx: Tx, job_id: UUID, **changes: Any) -> None:
    row = tx.run(select(records).where(records.c.page_key == Page.at("http://a.test/x").key)).one()
    tx.run(insert(records), {**row._mapping, "key": bytes(row.key)[:4] + b"\0" * 12, **changes})
    count(tx, job_id, records=1)


def record_twice(tx: Tx, job_id: UUID) -> None:
    copy_record(tx, job_id)


def records_that_say_nothing(tx: Tx, job_id: UUID) -> None:
    tx.run(update(records).values(data={}))


def page_twice(tx: Tx, job_id: UUID) -> None:
    tx.run(update(pages).where(at("http://c.test/same")).values(url="http://c.test/gone"))


def record_without_page(tx: Tx, job_id: UUID) -> None:
    copy_record(tx, job_id, data={"url": "http://a.test/y", "keyword": "CRM"}, page_key=b"\0" * 12)


def record_of_a_failed_page(tx: Tx, job_id: UUID) -> None:
    failed = Page.at("http://c.test/gone").key
    place = {"key": failed + b"\0" * 4, "page_key": failed, "site_id": tx.run(select(of("c.test", job_id))).scalar()}
    copy_record(tx, job_id, data={"url": "http://c.test/gone", "keyword": "CRM"}, **place)


def record_of_another_domain_s_page(tx: Tx, job_id: UUID) -> None:
    place = {"page_key": Page.at("http://c.test/").key}
    copy_record(tx, job_id, data={"url": "http://c.test/", "keyword": "ERP"}, **place)


def checkpoint_above_the_rows(tx: Tx, job_id: UUID) -> None:
    counters.take(tx, job_id, CheckpointCause.VISITS)
    tx.run(update(checkpoint_rows).values(pages_skipped=2))


DAMAGE: list[tuple[str, Callable[[Tx, UUID], None]]] = [
    ("pages", page_in_an_unknown_state),
    ("domains", domain_missing),
    ("domains", domain_in_an_unknown_state),
    ("belonging", page_without_visit),
    ("belonging", page_with_the_visit_of_another_domain),
    ("belonging", page_with_the_domain_of_another_job),
    ("belonging", visit_with_the_domain_of_another_job),
    ("read", pages_read_of_a_domain),
    ("read", page_read_without_identity),
    ("open pages", open_pages_of_a_domain),
    ("open pages", open_pages_of_a_visit),
    ("endings", visit_done_in_a_failed_domain),
    ("endings", visit_dead_in_a_done_domain),
    ("endings", page_waits_in_an_ended_domain),
    ("endings", page_waits_in_an_ended_visit),
    ("to come", open_domain_without_a_visit_to_come),
    ("to come", visit_to_come_to_an_ended_domain),
    ("to come", open_domain_in_a_completed_job),
    ("to come", visit_to_come_in_a_completed_job),
    ("leases", visit_in_hand_in_a_paused_job),
    ("leases", visit_in_hand_long_after_a_cancel),
    ("doubles", record_twice),
    ("doubles", records_that_say_nothing),
    ("doubles", page_twice),
    ("sources", record_without_page),
    ("sources", record_of_a_failed_page),
    ("sources", record_of_another_domain_s_page),
    ("checkpoint", checkpoint_above_the_rows),
]


@pytest.mark.parametrize(("check", "damage"), [pytest.param(*one, id=one[1].__name__) for one in DAMAGE])
async def test_damage_is_seen_by_its_check_and_by_no_other(
    database: AnyDatabase, check: str, damage: Callable[[Tx, UUID], None]
) -> None:
    job_id = await worked(database)
    await assert_clean(database, job_id)
    await database.write(damage, job_id)
    assert await failing(database, job_id) == [check]


async def test_each_counter_is_held_against_the_rows(database: AnyDatabase) -> None:
    job_id = await worked(database)
    for name in NAMES:
        await database.write(count, job_id, **{name: 1})
        report = await audited(database, job_id)
        (check,) = (check for check in report.checks if check.faults)
        assert (check.name, [fault.partition(":")[0] for fault in check.faults]) == ("counters", [name])
        await database.write(count, job_id, **{name: -1})
    await assert_clean(database, job_id)


async def test_at_rest_the_last_checkpoint_says_what_the_rows_say(database: AnyDatabase) -> None:
    job_id = await finished(database)

    def shift(tx: Tx, name: str, by: int) -> None:
        tx.run(update(checkpoint_rows).values({name: checkpoint_rows.c[name] + by}))

    for name in ("sites_done", "sites_failed", "sites_partial", "pages_done", "pages_failed", "records"):
        await database.write(shift, name, -1)
        assert await failing(database, job_id) == ["checkpoint"]
        await database.write(shift, name, 1)
    await assert_clean(database, job_id)


async def test_a_record_that_says_nothing_has_no_name(database: AnyDatabase) -> None:
    job_id = await worked(database)
    await database.write(records_that_say_nothing, job_id)
    assert "records of kind match that are there already: 2 (?, ...)" in (await audited(database, job_id)).sentence


async def test_the_first_few_offenders_are_named_and_all_are_counted(database: AnyDatabase) -> None:
    job = await database.write(make_job, *(f"s{number}.test" for number in range(5)))
    await database.write(lambda tx: tx.run(update(sites).values(open_pages=1)).rowcount)
    report = await audited(database, job.id)
    (fault,) = (fault for check in report.checks for fault in check.faults)
    assert fault.startswith("domains whose number of open pages is not that of their pending pages: 5 (s")
    assert fault.count(".test") == 3
    assert fault.endswith(", ...)")
    assert report.sentence == fault
