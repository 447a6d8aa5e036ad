"""`system workers`, `queue-status`, `backlog` and `metrics` on a home of rows."""

from datetime import UTC, datetime
from pathlib import Path

from gossamer.clock import SystemClock
from gossamer.model.worker import Worker
from gossamer.store import workers
from gossamer.store.database import SqliteDatabase
from gossamer.store.schema import upgrade
from tests.jobs import claim_all, make_job
from tests.stories.program import Terminal


async def fill(home: Path) -> None:
    database = SqliteDatabase(home / "gossamer.db", SystemClock())
    await database.write(upgrade)
    await database.write(make_job, "a.test", "b.test")
    now = datetime.now(UTC)
    await database.write(claim_all, "box/0-7")
    await database.write(make_job, "c.test")
    await database.write(workers.beat, Worker("box/0-7", "box", 7, {"http": 95, "desk": 5}, "1.2", now, now))
    await database.close()


async def test_who_works_and_what_waits(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path / "home")
    assert "No workers." in terminal.type("system", "workers").stdout
    assert "Nothing waits" in terminal.type("system", "queue-status").stdout
    (terminal.home / "gossamer.db").unlink()
    await fill(terminal.home)
    (found,) = terminal.ask("system", "workers")
    assert (found["id"], found["lanes"], found["holds"]) == ("box/0-7", {"desk": 5, "http": 95}, 2)
    assert "desk:5,http:95" in terminal.type("system", "workers").stdout
    lines = terminal.ask("system", "queue-status")
    assert [(one["ready"], one["running"]) for one in lines] == [(0, 2), (1, 0)]
    assert terminal.type("system", "backlog", "--lane", "http").stdout == "3\n"
    assert terminal.ask("system", "backlog", "--lane", "desk") == {"lane": "desk", "backlog": 0}
    metrics = terminal.ask("system", "metrics")
    assert (metrics["workers"], metrics["room"]) == (1, {"http": 95, "desk": 5})
    assert metrics["visits"] == {"ready": 1, "later": 0, "issued": 0, "running": 2}
