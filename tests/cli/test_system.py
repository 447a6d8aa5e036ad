"""`system workers`, `queue-status`, `backlog` and `metrics` on a home of rows, and the next step of an alert."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID, uuid4

from gossamer.cli.system import _no_workers_sentence, next_step
from gossamer.clock import SystemClock
from gossamer.db.database import SqliteDatabase
from gossamer.db.schema import upgrade
from gossamer.model.alert import SYSTEM, Alert, AlertKind
from gossamer.model.export import ExportRequest
from gossamer.model.worker import DeskKind, Worker
from gossamer.questions.system import Workers
from gossamer.store import exports, named_slots, workers
from gossamer.store.queue_status import background_slot
from tests.jobs import claim_all, make_job
from tests.stories.program import Terminal


async def fill(home: Path) -> None:
    database = SqliteDatabase(home / "gossamer.db", SystemClock())
    await database.write(upgrade)
    await database.write(make_job, "a.test", "b.test")
    now = datetime.now(UTC)
    await database.write(claim_all, "box/0-7")
    job = await database.write(make_job, "c.test")
    await database.write(exports.add, job.id, [ExportRequest("results", "csv", f"{n}.csv", {}) for n in range(3)], "")
    assert await database.write(exports.claim, "box/1", "", uuid4(), timedelta(minutes=1))
    assert await database.write(named_slots.enter, background_slot(DeskKind.EXPORT), "box/1", 3, timedelta(minutes=1))
    await database.write(workers.beat, Worker("box/0-7", "box", 7, {"http": 95, "desk": 5}, "1.2", now, now))
    await database.close()


async def test_who_works_and_what_waits(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path / "home")
    assert "No workers, and no process of this data folder runs jobs." in terminal.type("system", "workers").stdout
    assert "Nothing waits" in terminal.type("system", "queue-status").stdout
    (terminal.home / "gossamer.db").unlink()
    await fill(terminal.home)
    (terminal.home / "gossamer.toml").write_text('desk_limits = ["export=3"]\n')
    (found,) = terminal.ask("system", "workers")
    assert (found["id"], found["lanes"], found["holds"]) == ("box/0-7", {"desk": 5, "http": 95}, 2)
    assert "desk:5,http:95" in terminal.type("system", "workers").stdout
    lines = terminal.ask("system", "queue-status")
    assert [(one["ready"], one["running"]) for one in lines if one["lane"] == "http"] == [(0, 2), (1, 0)]
    at_desks = [one for one in lines if one["lane"] == "desk"]
    assert [(one["name"], one["priority"], one["limit"]) for one in at_desks] == [
        ("finish", 0, 50),
        ("webhook", 0, 20),
        ("export", 10, 3),
        ("cleanup", 20, 5),
    ]
    assert [(one["ready"], one["running"]) for one in at_desks] == [(0, 0), (0, 0), (2, 1), (0, 0)]
    assert [one["limit"] for one in lines if one["lane"] == "http"] == [95, 95]
    said = "1 process, at most desk 5, http 95 at a time."
    assert said in terminal.type("system", "workers").stdout
    assert said in terminal.type("system", "queue-status").stdout
    assert "export           10" in terminal.type("system", "queue-status").stdout
    assert terminal.type("system", "backlog", "--lane", "http").stdout == "3\n"
    assert terminal.ask("system", "backlog", "--lane", "desk") == {"lane": "desk", "backlog": 0}
    metrics = terminal.ask("system", "metrics")
    assert (metrics["workers"], metrics["room"]) == (1, {"http": 95, "desk": 5})
    assert metrics["visits"] == {"ready": 1, "later": 0, "issued": 0, "running": 2}


def test_workers_are_advised_where_there_is_a_cluster() -> None:
    now = datetime.now(UTC)
    advice = "Start a worker with 'gossamer worker'."
    for runner in (None, 0, 7):
        assert advice in _no_workers_sentence(Workers(now, (), runner, is_cluster=True))
        assert advice not in _no_workers_sentence(Workers(now, (), runner, is_cluster=False))
    assert "Process 7 runs the jobs of this data folder" in _no_workers_sentence(Workers(now, (), 7, is_cluster=False))
    assert "another process" in _no_workers_sentence(Workers(now, (), 0, is_cluster=False))


AT = datetime(2026, 1, 18, tzinfo=UTC)


def _alert(kind: AlertKind, job: UUID | None = None) -> Alert:
    return Alert(UUID(int=1), kind, SYSTEM, "Alert.", AT, job)


def test_an_alert_about_errors_names_the_command_that_shows_them() -> None:
    assert "'gossamer job errors last'" in next_step(_alert(AlertKind.ERRORS))
    assert "'gossamer job errors 000000ff'" in next_step(_alert(AlertKind.ERRORS, UUID(int=255)))
    assert next_step(_alert(AlertKind.DISK)) == ""
