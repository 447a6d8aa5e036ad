"""A machine that is cut off in the middle of something harms neither itself for ever nor the others for long."""

import socket
from collections.abc import AsyncIterator, Callable
from datetime import timedelta

import pytest
from sqlalchemy import text

from gossamer.clock import SystemClock
from gossamer.store import places
from gossamer.store.database import PostgresDatabase
from gossamer.store.tx import Tx


@pytest.fixture
async def server(new_postgres: Callable[[], str]) -> AsyncIterator[PostgresDatabase]:
    database = PostgresDatabase(new_postgres(), SystemClock())
    yield database
    await database.close()


async def test_who_falls_silent_while_entering_a_place_keeps_the_others_out_for_seconds_only(
    server: PostgresDatabase,
) -> None:
    def patience(tx: Tx) -> str:
        return str(tx.run(text("SHOW idle_in_transaction_session_timeout")).scalar())

    def entering(tx: Tx) -> str:
        assert places.enter(tx, "issuer", "a", 1, timedelta(seconds=10))
        return patience(tx)

    assert await server.write(entering) == "10s"
    assert await server.read(patience) == "0", "only while the others wait for it"


async def test_a_connection_whose_other_end_is_gone_is_found_out(server: PostgresDatabase) -> None:
    async with server._engine.connect() as connection:
        raw = await connection.get_raw_connection()
        assert raw.driver_connection
        found = raw.driver_connection._transport.get_extra_info("socket")
        assert found.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        if hasattr(socket, "TCP_USER_TIMEOUT"):
            assert found.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 25_000
            assert found.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) == 10
