"""What endpoints are told is written with what has happened, for those who want it and for nobody else."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import orjson
import pytest
from sqlalchemy import func, select, update

from gossamer.db.tables import deliveries as rows
from gossamer.db.tables import endpoint_pages
from gossamer.db.transactions import Tx
from gossamer.model.alert import AlertKind
from gossamer.model.export import ExportRequest
from gossamer.model.money import ACCOUNT, Amount, Budget, BudgetKey, Cap, Scope
from gossamer.model.states import JobState
from gossamer.model.webhook import DeliveryState, Endpoint, EventType
from gossamer.model.worker import DESK_RULES, DeskKind
from gossamer.retention import queries as retention_queries
from gossamer.store import alerts, counters, exports, jobs, outbox, queue_status
from gossamer.store.counters import CounterChange
from gossamer.webhooks import queries as webhook_queries
from tests.conftest import AnyDatabase
from tests.jobs import make_job


def listen(tx: Tx, *events: EventType, account: str = ACCOUNT) -> Endpoint:
    return webhook_queries.add_endpoint(tx, account, "https://example.com/hooks", events, lambda _: b"k" * 32)


def told(tx: Tx, account: str = ACCOUNT) -> list[dict[str, Any]]:
    """Oldest first."""
    return [orjson.loads(one.body) for one in reversed(webhook_queries.delivery_log(tx, account, limit=1000))]


def types(said: Sequence[dict[str, Any]]) -> list[str]:
    return [one["type"] for one in said]


async def test_where_nobody_listens_nothing_is_written(database: AnyDatabase) -> None:
    await database.write(listen, account="another")
    job = await database.write(make_job, "a.test")
    await database.write(jobs.move, job.id, JobState.FAILED, "No.")
    await database.write(alerts.fire, AlertKind.DISK, "disk", "Full.")
    assert await database.read(told) == []
    assert await database.read(told, "another") == []
    assert await database.read(outbox.waiting) == (0, None)


async def test_each_hears_of_what_it_asked_for(database: AnyDatabase) -> None:
    usual = await database.write(listen)
    few = await database.write(listen, EventType.JOB_FAILED, EventType.JOB_CANCELLED)
    job = await database.write(make_job, "a.test")
    await database.write(jobs.move, job.id, JobState.FAILED, "It could not be.")
    heard = {one.id: await database.read(webhook_queries.delivery_log, ACCOUNT, one.id) for one in (usual, few)}
    assert [one.type for one in heard[usual.id]] == [EventType.JOB_FAILED, EventType.JOB_STARTED]
    assert [one.type for one in heard[few.id]] == [EventType.JOB_FAILED]
    said = orjson.loads(heard[few.id][0].body)["data"]
    assert (said["state"], said["reason"], said["name"]) == ("failed", "It could not be.", "test")
    assert len({one.id for some in heard.values() for one in some}) == 3
    assert (await database.read(outbox.waiting))[0] == 3
    lines = {line.kind: line.ready for line in await database.read(queue_status.background_lines, DESK_RULES)}
    assert lines[DeskKind.WEBHOOK] == 3


async def test_what_did_not_happen_is_not_told(database: AnyDatabase) -> None:
    """One transaction, or nothing: what is rolled back takes its message along."""

    def half(tx: Tx) -> None:
        make_job(tx, "a.test")
        raise LookupError

    await database.write(listen)
    with pytest.raises(LookupError):
        await database.write(half)
    assert await database.read(told) == []
    job = await database.write(make_job, "a.test")
    assert not await database.write(jobs.move, job.id, JobState.PAUSED)  # not from here
    assert types(await database.read(told)) == ["job.started"]


async def test_an_alert_is_told_as_often_as_it_is_said(database: AnyDatabase) -> None:
    await database.write(listen)
    for _ in range(2):
        await database.write(alerts.fire, AlertKind.DISK, "disk", "Full.")
    (one,) = await database.read(told)
    assert one["type"] == "alert.fired"
    assert one["data"] == {"kind": "disk", "sentence": "Full.", "job_id": None}


async def test_a_budget_is_told_with_its_figures(database: AnyDatabase) -> None:
    await database.write(listen, EventType.BUDGET_REACHED)
    key = BudgetKey(Scope.ACCOUNT, ACCOUNT, "2026-11")
    budget = Budget(key, Cap(credits=100), spent=Amount(credits=81, micros=2_500_000), told=80)
    await database.write(outbox.budget_reached, budget, "80 % of the budget is spent.")
    (one,) = await database.read(told)
    assert one["data"]["percent"] == 80
    assert one["data"]["spent"] == {"credits": 81, "usd": 2.5, "bytes": 0}
    assert one["data"]["limit"] == {"credits": 100, "usd": None, "bytes": None}


async def test_a_file_that_is_ready_is_told_once(database: AnyDatabase) -> None:
    job = await database.write(make_job, "a.test")
    await database.write(listen, EventType.EXPORT_READY)
    await database.write(exports.add, job.id, [ExportRequest("results", "csv", "results.csv", {})], "")
    claimed = await database.write(exports.claim, "w", "home", uuid4(), timedelta(minutes=1))
    assert claimed
    done = {"rows": 3, "size": 99, "sha256": "ab", "home": "", "spooled": False, "kept": timedelta(days=7)}
    for finished in (True, False):
        assert await database.write(lambda tx: exports.finish(tx, claimed, **done)) is finished  # type: ignore[arg-type]
    (one,) = await database.read(told)
    assert one["data"] | {"expires_at": ""} == {
        "export_id": str(claimed.id),
        "job_id": str(job.id),
        "type": "results",
        "format": "csv",
        "name": "results.csv",
        "partial": False,
        "rows": 3,
        "size": 99,
        "sha256": "ab",
        "expires_at": "",
    }


def read_pages(tx: Tx, job_id: UUID, pages: int) -> None:
    counters.add(tx, 0, {job_id: CounterChange(pages_done=pages - 1, pages_failed=1)})


def long_ago(tx: Tx) -> None:
    tx.run(update(endpoint_pages).values(at=tx.now - outbox.PAGES_AFTER))


async def test_pages_are_told_in_batches_to_those_who_follow_them(database: AnyDatabase) -> None:
    await database.write(listen)
    assert not await database.read(outbox.pages_wanted)
    follower = await database.write(listen, EventType.JOB_PAGES, EventType.JOB_COMPLETED)
    assert await database.read(outbox.pages_wanted)
    job = await database.write(make_job, "a.test")
    await database.write(read_pages, job.id, 99)
    assert await database.write(outbox.tell_pages) == 0  # not enough yet
    await database.write(read_pages, job.id, 2)
    assert await database.write(outbox.tell_pages) == 1
    assert await database.write(outbox.tell_pages) == 0
    await database.write(read_pages, job.id, 7)
    assert await database.write(outbox.tell_pages) == 0
    await database.write(long_ago)
    assert await database.write(outbox.tell_pages) == 1
    await database.write(read_pages, job.id, 5)
    await database.write(jobs.move, job.id, JobState.COMPLETED)
    heard = [orjson.loads(one.body) for one in await database.read(webhook_queries.delivery_log, ACCOUNT, follower.id)][
        ::-1
    ]
    assert [(one["type"], one["data"].get("batch")) for one in heard] == [
        ("job.pages", 101),
        ("job.pages", 7),
        ("job.pages", 5),
        ("job.completed", None),
    ]
    assert heard[-1]["data"]["pages"] == {"done": 109, "failed": 4, "skipped": 0}
    assert await database.write(outbox.tell_pages) == 0
    assert not await database.read(lambda tx: tx.run(select(func.count()).select_from(endpoint_pages)).scalar_one())


async def test_who_comes_in_the_middle_hears_of_what_follows(database: AnyDatabase) -> None:
    job = await database.write(make_job, "a.test")
    await database.write(read_pages, job.id, 500)
    await database.write(listen, EventType.JOB_PAGES)
    assert await database.write(outbox.tell_pages) == 0
    await database.write(read_pages, job.id, 100)
    assert await database.write(outbox.tell_pages) == 1
    assert [one["data"]["batch"] for one in await database.read(told)] == [100]
    # Tried again, there are fewer: the number goes along, and nothing is told.
    await database.write(counters.take_back, job.id, CounterChange(pages_done=-50))
    assert await database.write(outbox.tell_pages) == 0
    await database.write(read_pages, job.id, 100)
    assert await database.write(outbox.tell_pages) == 1


async def test_the_log_of_a_deleted_job_goes_with_it(database: AnyDatabase) -> None:
    await database.write(listen, EventType.JOB_STARTED, EventType.JOB_CANCELLED)
    job = await database.write(make_job, "a.test")
    await database.write(lambda tx: tx.run(update(rows).values(state=DeliveryState.DELIVERED)).rowcount)
    await database.write(jobs.move, job.id, JobState.CANCELLED)
    await database.write(lambda tx: retention_queries.archive(tx, job.id, tx.now, "", "user"))
    while await database.write(retention_queries.purge_step, job.id, 100):
        pass
    # What nobody has been told yet is still to be told.
    assert types(await database.read(told)) == ["job.cancelled"]


async def test_what_is_forgotten_is_forgotten_in_messages_too(database: AnyDatabase) -> None:
    await database.write(listen, EventType.JOB_STARTED, EventType.JOB_FAILED)
    job = await database.write(make_job, "a.test")
    await database.write(jobs.move, job.id, JobState.FAILED, "shop.example did not want it.")
    named = await database.read(retention_queries.texts_naming, job.id, "shop.example")
    assert len(named["webhook_deliveries"]) == 1
    await database.write(retention_queries.take_out_texts, job.id, {name: list(found) for name, found in named.items()})
    started, failed = await database.read(told)
    assert (started["type"], failed) == ("job.started", {"forgotten": True})
