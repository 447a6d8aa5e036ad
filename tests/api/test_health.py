"""How the server says that it lives, and how its database and its workers do."""

import asyncio
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

from sqlalchemy import update

from gossamer.api.vitals import Vitals, Workers
from gossamer.clock import SystemClock
from gossamer.db.database import Database, open_database
from gossamer.db.schema import ready_database
from gossamer.db.tables import visits
from gossamer.model.states import VisitState
from tests.api.conftest import Server, new_job, server

LEASE = timedelta(seconds=60)
LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)


def _until(look: Callable[[], Any], wanted: Any) -> None:
    end = time.monotonic() + 120
    while (seen := look()) != wanted:
        assert time.monotonic() < end, seen
        time.sleep(0.2)


def _change(home: Path, **values: Any) -> None:
    """As time, or a process that stands still, would have done it."""

    async def work() -> None:
        database = open_database(f"sqlite:///{home}/gossamer.db", SystemClock())
        try:
            await database.write(lambda tx: tx.run(update(visits).values(values)).rowcount)
        finally:
            await database.close()

    asyncio.run(work())


def _health(one: Server) -> dict[str, Any]:
    with one.stranger() as client:
        answer = client.get("/api/health")
        assert answer.status_code == 200
        return dict(answer.json())


def test_health_says_when_nobody_works_and_when_somebody_stands_still(tmp_path: Path) -> None:
    with server(tmp_path / "home", "--api-only") as one:
        _until(lambda: _health(one)["workers"], "idle")
        with one.client() as client:
            client.post("/v1/jobs", json=new_job())
        _until(lambda: _health(one)["workers"], "ok")  # nothing has waited for long
        _change(one.home, due_at=LONG_AGO)
        _until(lambda: _health(one)["workers"], "none")
        assert _health(one)["status"] == "degraded"
        _change(one.home, state=VisitState.RUNNING, lease=uuid4(), worker="w", lease_until=LONG_AGO)
        _until(lambda: _health(one)["workers"], "standing still")
        seen = _health(one)
        assert (seen["status"], seen["live"], seen["ready"], seen["database"]) == ("degraded", True, True, "ok")
        with one.stranger() as client:
            assert client.get("/api/ready").json() == {"status": "ready"}  # requests are taken as before


class Slow:
    """A database that takes its time, as one does on which somebody has a lock."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.waits = 0.0

    async def read(self, *given: Any) -> Any:
        await asyncio.sleep(self.waits)
        return await self._database.read(*given)


async def test_whoever_asks_does_not_wait_for_the_database(tmp_path: Path) -> None:
    database = await ready_database(f"sqlite:///{tmp_path}/gossamer.db", SystemClock())
    slow = Slow(database)
    vitals = Vitals(slow, LEASE, patience=0.3)  # type: ignore[arg-type]
    try:
        await vitals.look(workers=True)
        assert (vitals.storage, vitals.is_ready, vitals.workers) == ("ok", True, Workers.IDLE)
        slow.waits = 60.0
        await vitals.look(workers=True)
        assert not vitals.is_ready
        assert vitals.storage.startswith("away: no answer within")
        slow.waits = 0.0
        await vitals.look(workers=False)
        assert vitals.is_ready
    finally:
        await database.close()
