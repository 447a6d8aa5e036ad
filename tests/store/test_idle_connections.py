"""A connection that has lain idle is asked whether it is still there; one that was just used is not."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import text

from gossamer.clock import SystemClock
from gossamer.db import postgres
from gossamer.db.database import PostgresDatabase
from gossamer.db.transactions import Tx
from gossamer.errors import StorageAway


def who(tx: Tx) -> int:
    return int(tx.run(text("SELECT pg_backend_pid()")).scalar_one())


async def test_a_connection_the_server_has_closed_is_replaced(
    new_postgres: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    url = new_postgres()
    database, other = PostgresDatabase(url, SystemClock(), pool=1), PostgresDatabase(url, SystemClock(), pool=1)
    end = text("SELECT pg_terminate_backend(:pid, 5000)")
    try:
        first = await database.write(who)
        assert await database.write(who) == first
        assert await other.read(lambda tx: tx.run(end, {"pid": first}).scalar_one())
        with pytest.raises(StorageAway):  # whoever works on its own has patience, and tries again
            await database.write(who)
        second = await database.write(who)
        assert second != first
        # Whoever only looks is not told.
        assert await other.read(lambda tx: tx.run(end, {"pid": second}).scalar_one())
        second = await database.read(who)
        database.retries.limit = timedelta(seconds=20)
        assert await other.read(lambda tx: tx.run(end, {"pid": second}).scalar_one())
        third = await database.write(who)
        assert third != second
        # Idle for longer: nobody notices anything.
        database.retries.limit = timedelta()
        monkeypatch.setattr(postgres, "_FRESH", 0.0)
        assert await other.read(lambda tx: tx.run(end, {"pid": third}).scalar_one())
        assert await database.write(who) != third
    finally:
        await database.close()
        await other.close()


async def test_a_busy_connection_is_not_asked_before_every_transaction(
    new_postgres: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    database = PostgresDatabase(new_postgres(), SystemClock(), pool=1)
    dialect = database._engine.sync_engine.dialect
    ping = dialect.do_ping
    pings: list[Any] = []

    def count(connection: Any) -> bool:
        pings.append(connection)
        return ping(connection)

    monkeypatch.setattr(dialect, "do_ping", count)
    try:
        for _ in range(5):
            await database.write(who)
        assert pings == []
        monkeypatch.setattr(postgres, "_FRESH", 0.0)
        await database.write(who)
        assert len(pings) == 1
    finally:
        await database.close()
