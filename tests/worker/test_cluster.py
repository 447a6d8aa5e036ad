"""How a cluster is put together: slots dealt over processes, connections counted, one at a time who keeps it."""

import re
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import text as sql

from gossamer.clock import SystemClock
from gossamer.db import health
from gossamer.db.database import PostgresDatabase
from gossamer.db.transactions import Tx
from gossamer.errors import StorageAway, UserError
from gossamer.model.alert import AlertKind
from gossamer.model.worker import Worker
from gossamer.runtime.cluster import enter, leave
from gossamer.runtime.home_lock import CLUSTER, RUNNER, RUNNER_KEPT
from gossamer.runtime.services import count_connections
from gossamer.settings import Settings
from gossamer.store import alerts, named_slots, workers
from gossamer.worker.cluster import (
    broker_url,
    check,
    join,
    parts,
    pool_size,
    read_lanes,
    refuse_differences,
    shared_values,
)
from tests.conftest import AnyDatabase

NOW = datetime.now(UTC)


@pytest.mark.parametrize(
    ("text", "concurrency", "lanes"),
    [
        ("http,desk", 100, {"http": 95, "desk": 5}),
        ("http", 100, {"http": 100}),
        ("desk", 7, {"desk": 7}),
        ("http:95,desk:5", 100, {"http": 95, "desk": 5}),
        (" http : 30 , desk : 2 ", 1, {"http": 30, "desk": 2}),
        ("http,desk:10", 50, {"http": 40, "desk": 10}),
        ("http,desk", 2, {"http": 1, "desk": 1}),
        ("http,stealth,desk", 100, {"http": 48, "stealth": 47, "desk": 5}),
        ("http,stealth:5,desk", 100, {"http": 91, "stealth": 5, "desk": 4}),
        ("stealth,desk", 20, {"stealth": 19, "desk": 1}),
    ],
)
def test_lanes_are_read_as_they_are_written(text: str, concurrency: int, lanes: dict[str, int]) -> None:
    assert read_lanes(text, concurrency) == lanes


@pytest.mark.parametrize("text", ["", "http:", "http:0", "http:x", "http:-1", "http,http", "attic", "http:5;desk:1"])
def test_other_lanes_are_refused(text: str) -> None:
    with pytest.raises(UserError, match="cannot be used at"):
        read_lanes(text, 100)


def test_a_lane_without_any_slot_is_refused() -> None:
    with pytest.raises(UserError, match="leaves nothing"):
        read_lanes("http,desk", 1)


@pytest.mark.parametrize("processes", [1, 3, 4, 7, 200])
def test_all_slots_are_dealt_and_no_process_is_without(processes: int) -> None:
    dealt = parts({"http": 95, "desk": 5}, processes)
    assert len(dealt) == min(processes, 95)
    assert all(one["http"] >= 1 for one in dealt)
    for lane, slots in (("http", 95), ("desk", 5)):
        assert sum(one.get(lane, 0) for one in dealt) == slots
    assert max(one["http"] for one in dealt) - min(one["http"] for one in dealt) <= 1


def test_the_broker_is_redis_unless_another_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    database = "postgresql://a@b/c"
    assert broker_url(Settings(database_url=database, redis_url="redis://box/0")) == "redis://box/0"
    socket = Settings(database_url=database, redis_url="unix:///run/redis.sock")
    assert broker_url(socket) == "redis+socket:///run/redis.sock"
    monkeypatch.setenv("CELERY_BROKER_URL", "amqp://guest@box//")
    both = Settings(database_url=database, redis_url="redis://box/0")
    assert broker_url(both) == "amqp://guest@box//"
    check(both)
    with pytest.raises(UserError, match="cannot be used, expected an address that Celery knows"):
        Settings(broker_url="no address")


async def test_connections_stay_under_four_fifths_of_what_the_server_has(new_postgres: Callable[[], str]) -> None:
    database = PostgresDatabase(new_postgres(), SystemClock())
    server = await database.read(health.server)
    assert server
    most = server.most_connections
    assert await database.read(pool_size, 4) == 4
    many = most // 3
    pool = await database.read(pool_size, many)
    assert 1 <= pool < 4
    assert many * (pool + 1) <= most * 0.8
    for number in range(4):
        row = Worker(f"box/{number}-1", "box", number, {"http": 5}, "1", NOW, NOW)
        await database.write(workers.beat, row)
    with pytest.raises(UserError, match=f"{most // 2} working processes .* are too many for a database with {most}"):
        await database.read(pool_size, most // 2 - 4)
    await database.write(count_connections, "cluster", 0.0)
    await database.write(count_connections, "cluster", 0.0)
    (alert,) = await database.read(alerts.recent, 5)
    assert alert.kind is AlertKind.CONNECTIONS
    assert f"of the {most} connections of the database are in use" in alert.sentence
    await database.write(count_connections, "cluster")
    assert await database.read(alerts.recent, 5) == []
    await database.close()


async def test_a_statement_that_takes_too_long_is_an_outage_and_no_mistake(new_postgres: Callable[[], str]) -> None:
    database = PostgresDatabase(new_postgres(), SystemClock(), longest=timedelta(milliseconds=50))
    with pytest.raises(StorageAway, match="statement timeout"):
        await database.read(lambda tx: tx.run(sql("SELECT pg_sleep(5)")))
    await database.close()


@pytest.mark.parametrize("pooled", [False, True])
async def test_a_long_read_may_take_longer(new_postgres: Callable[[], str], pooled: bool) -> None:
    limit = timedelta(milliseconds=500)
    database = PostgresDatabase(new_postgres(), SystemClock(), longest=limit, pooled=pooled)
    slowly = sql("SELECT pg_sleep(1.2)")
    with pytest.raises(StorageAway, match="statement timeout"):
        await database.read(lambda tx: tx.run(slowly).all())
    found = await database.read_together(*[lambda tx: tx.run(slowly).all()] * 3)
    assert len(found) == 3
    with pytest.raises(StorageAway, match="statement timeout"):
        await database.write(lambda tx: tx.run(slowly).all())
    await database.close()


@pytest.mark.parametrize("pooled", [False, True])
async def test_whoever_stops_in_the_middle_holds_no_locks_for_ever(
    new_postgres: Callable[[], str], pooled: bool
) -> None:
    url, limit = new_postgres(), timedelta(milliseconds=500)
    database = PostgresDatabase(url, SystemClock(), longest=limit, pooled=pooled)
    other = PostgresDatabase(url, SystemClock())

    def stop_in_the_middle(tx: Tx) -> None:
        tx.run(sql("LOCK TABLE robots"))
        time.sleep(1.5)  # as a process that is frozen: its event loop stands still too
        tx.run(sql("SELECT 1"))

    with pytest.raises(StorageAway):
        await database.write(stop_in_the_middle)
    await other.write(lambda tx: tx.run(sql("LOCK TABLE robots NOWAIT")))
    await other.close()
    await database.close()


def of_machine(**changed: Any) -> Settings:
    return Settings(
        **{"redis_prefix": "acme", "api_secret": "s" * 40, "domain_rates": {"slow.example": 0.1}, **changed}
    )


async def joined(database: AnyDatabase, settings: Settings, host: str) -> None:
    values = shared_values(settings)
    refuse_differences(settings, values, await database.write(join, values, host))


DIFFERENT: dict[str, tuple[dict[str, Any], str]] = {
    "prefix": ({"redis_prefix": "gossamer"}, "GOSSAMER_REDIS_PREFIX is gossamer here and acme on node-1"),
    "rate": ({"domain_rate": 5}, "GOSSAMER_DOMAIN_RATE is 5 here and 1 on node-1"),
    "rates": ({"domain_rates": {}}, "GOSSAMER_DOMAIN_RATES is not set here and slow.example=0.1 on node-1"),
    "secret": ({"api_secret": "t" * 40}, "GOSSAMER_API_SECRET is another one than on node-1"),
    "none": ({"api_secret": None}, "GOSSAMER_API_SECRET is not set here, and node-1 has one"),
    "pooling": (
        {"database_pooling": "transaction"},
        "GOSSAMER_DATABASE_POOLING is transaction here and session on node-1",
    ),
}


@pytest.mark.parametrize("name", DIFFERENT)
async def test_a_machine_whose_settings_differ_is_refused(database: AnyDatabase, name: str) -> None:
    changed, said = DIFFERENT[name]
    await joined(database, of_machine(), "node-1")
    await joined(database, of_machine(), "node-2")
    with pytest.raises(UserError, match=re.escape(f"does not fit into the cluster: {said}.")) as caught:
        await joined(database, of_machine(**changed), "node-3")
    assert caught.value.code == "cluster.settings"
    # What the others have stays as it was.
    await joined(database, of_machine(), "node-3")
    kept = await database.read(workers.shared_settings)
    assert {one.host for one in kept} == {"node-1"}
    assert "s" * 40 not in str(kept)
    # Where none of them is at work any more, or an operator says so, the next one decides.
    if name == "rate":
        await database.write(workers.forget_shared_settings)
    else:
        await database.write(named_slots.leave, RUNNER, CLUSTER)
    await joined(database, of_machine(**changed), "node-3")
    with pytest.raises(UserError, match="does not fit into the cluster"):
        await joined(database, of_machine(), "node-1")


async def test_one_instance_at_a_time_keeps_the_cluster_and_no_home_beside_it(database: AnyDatabase) -> None:
    assert await database.write(named_slots.enter, RUNNER, "home-1", 1, RUNNER_KEPT)
    assert not await database.write(enter, "box/1"), "a home works it"
    await database.write(named_slots.leave, RUNNER, "home-1")
    assert await database.write(enter, "box/1")
    assert await database.write(enter, "box/1"), "said again it is held for longer"
    assert not await database.write(enter, "other/2")
    assert not await database.write(named_slots.enter, RUNNER, "home-1", 1, RUNNER_KEPT), "now the cluster does"
    assert await database.read(health.working_home) == CLUSTER
    await database.write(workers.beat, Worker("box/0-1", "box", 1, {"http": 5}, "1", NOW, NOW))
    await database.write(leave, "box/1")
    assert await database.write(enter, "other/2")
    assert await database.read(health.working_home) == CLUSTER, "others still work"
    await database.write(workers.leave, "box/0-1")
    await database.write(leave, "other/2")
    assert await database.read(health.working_home) is None
