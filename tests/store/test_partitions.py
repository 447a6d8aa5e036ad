"""Months of rows on Postgres: a partition for each, made ahead, dropped when its jobs are gone, and no row lost."""

import asyncio
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from gossamer.clock import SystemClock
from gossamer.crawl.sweep import PartitionUpkeep
from gossamer.db import postgres
from gossamer.db.database import PostgresDatabase, SqliteDatabase
from gossamer.db.migrations.partitioning import add_partitions
from gossamer.db.schema import upgrade, upgrade_database
from gossamer.db.tables import pages
from gossamer.db.transactions import Tx
from gossamer.model.alert import AlertKind
from gossamer.model.ids import new_id
from gossamer.retention import queries as retention_queries
from gossamer.retention.service import Retainer, Terms
from gossamer.store import alerts, events, jobs, result_rows
from tests.partitioned import Unbound, unbound, watch
from tests.retention.finished import finished_job, rows_of

FILLED = ("pages", "records", "events")  # by a job that costs nothing
TERMS = Terms(timedelta(days=90), timedelta(days=7))
_CHILDREN = text("""
    SELECT p.relname AS parent, c.relname AS name FROM pg_inherits i
    JOIN pg_class c ON c.oid = i.inhrelid JOIN pg_class p ON p.oid = i.inhparent
    WHERE p.relkind = 'p' ORDER BY c.relname
""")


@pytest.fixture
async def server(new_postgres: Callable[[], str]) -> AsyncIterator[PostgresDatabase]:
    database = PostgresDatabase(new_postgres(), SystemClock())
    watch(database)
    yield database
    await database.close()


class LaterClock(SystemClock):
    """By which hours pass as they are told."""

    def __init__(self) -> None:
        super().__init__()
        self.hours = 0.0

    def monotonic(self) -> float:
        return super().monotonic() + self.hours * 3600


def say(tx: Tx, /, sql: str, **values: Any) -> Any:
    """The first value of the answer, if there is one."""
    result = tx.conn.execute(text(sql), values)
    return result.scalar() if result.returns_rows else None


def children(tx: Tx) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for row in tx.run(_CHILDREN):
        found.setdefault(row.parent, []).append(row.name)
    return found


def month(ahead: int = 0, since: datetime | None = None) -> str:
    at = since or datetime.now(UTC)
    number = at.year * 12 + at.month - 1 + ahead
    return f"{number // 12}_{number % 12 + 1:02d}"


def usual(table: str) -> list[str]:
    return [*(f"{table}_{month(ahead)}" for ahead in range(3)), f"{table}_default"]


async def age(database: PostgresDatabase, job_id: UUID, by: timedelta) -> UUID:
    """The job as if it had been made so long ago, with all its rows."""
    old = new_id(datetime.now(UTC) - by)

    def change(tx: Tx) -> None:
        tx.run(text("SET LOCAL session_replication_role = replica"))  # what points to it changes with it
        for name in ("pages", "records", "events", "sites", "visits", "counters", "minutes", "checkpoints"):
            tx.run(text(f"UPDATE {name} SET job_id = :old WHERE job_id = :job"), {"old": old, "job": job_id})  # noqa: S608
        tx.run(text("UPDATE jobs SET id = :old WHERE id = :job"), {"old": old, "job": job_id})

    await database.write(change)
    return old


def where_rows_lie(tx: Tx, job_id: UUID) -> dict[str, set[str]]:
    return {
        name: set(
            tx.run(
                text(f"SELECT DISTINCT CAST(CAST(tableoid AS regclass) AS text) FROM {name} WHERE job_id = :job"),  # noqa: S608
                {"job": job_id},
            ).scalars()
        )
        for name in FILLED
    }


async def test_three_months_and_a_default_are_there_from_the_start(server: PostgresDatabase) -> None:
    assert await server.read(children) == {table: usual(table) for table in postgres.PARTITIONED}


async def test_rows_lie_in_the_month_of_their_job(server: PostgresDatabase) -> None:
    job = await finished_job(server)
    here = {table: {f"{table}_{month()}"} for table in FILLED}
    assert await server.read(where_rows_lie, job.id) == here


async def test_a_later_revision_adds_a_table_by_one_call(server: PostgresDatabase) -> None:
    def add(tx: Tx) -> None:
        columns = "job_id uuid REFERENCES jobs, id int, at int, PRIMARY KEY (job_id, id)"
        tx.run(text(f"CREATE TABLE tolls ({columns}) PARTITION BY RANGE (job_id)"))
        tx.run(text("CREATE INDEX ix_tolls_at ON tolls (at)"))
        add_partitions(tx.conn, "tolls")

    await server.write(add)
    assert (await server.read(children))["tolls"] == usual("tolls")
    job = await finished_job(server)
    put = "INSERT INTO tolls VALUES (:job, 1, 2) RETURNING CAST(CAST(tableoid AS regclass) AS text)"
    assert await server.write(say, put, job=job.id) == f"tolls_{month()}"
    assert await server.read(say, "SELECT count(*) FROM pg_indexes WHERE tablename LIKE 'tolls%'") == 2 * 5, (
        "two of the table and of each partition"
    )


async def test_sweep_makes_months_ahead_and_says_so_once(server: PostgresDatabase) -> None:
    for table in FILLED:
        await server.write(say, f"DROP TABLE {table}_{month(2)}")
    clock = LaterClock()
    months = PartitionUpkeep(server, clock)
    await months.look()
    assert await server.read(children) == {table: usual(table) for table in postgres.PARTITIONED}
    await server.write(say, f"DROP TABLE pages_{month(2)}")
    await months.look()
    assert len((await server.read(children))["pages"]) == 3, "not before an hour has passed"
    clock.hours = 1.1
    await months.look()
    assert (await server.read(children))["pages"] == usual("pages")


async def test_an_upgrade_of_what_is_up_to_date_makes_them_too(server: PostgresDatabase) -> None:
    await server.write(say, f"DROP TABLE events_{month(1)}")
    url = server._engine.url.set(drivername="postgresql").render_as_string(hide_password=False)
    await upgrade_database(url, SystemClock())
    assert (await server.read(children))["events"] == usual("events")


async def test_rows_that_came_before_their_month_are_moved_into_it(server: PostgresDatabase) -> None:
    for table in FILLED:
        await server.write(say, f"DROP TABLE {table}_{month()}")
    job = await finished_job(server)
    before = await server.read(rows_of, job.id)
    strays = {table: {f"{table}_default"} for table in FILLED}
    assert await server.read(where_rows_lie, job.id) == strays
    assert await server.read(postgres.strays) == ["events", "pages", "records"]
    await PartitionUpkeep(server, SystemClock()).look()
    assert await server.read(where_rows_lie, job.id) == {table: {f"{table}_{month()}"} for table in FILLED}
    assert await server.read(rows_of, job.id) == before
    assert await server.read(alerts.recent, 5) == []


async def test_rows_of_no_possible_month_are_an_alert_until_they_are_gone(server: PostgresDatabase) -> None:
    job = await finished_job(server)
    far = await age(server, job.id, timedelta(days=-3650))
    clock = LaterClock()
    months = PartitionUpkeep(server, clock)
    for hours in (0.0, 1.1):
        clock.hours = hours
        await months.look()
        found = await server.read(alerts.recent, 5)
        assert [(one.kind, one.subject) for one in reversed(found)] == [
            (AlertKind.PARTITIONS, table) for table in FILLED
        ]
    assert "pages_default" in found[-1].sentence
    for name in FILLED:
        await server.write(say, f"DELETE FROM {name} WHERE job_id = :job", job=far)  # noqa: S608
    clock.hours = 2.2
    await months.look()
    assert await server.read(alerts.recent, 5) == []


async def test_whoever_is_in_the_way_is_not_waited_for(server: PostgresDatabase) -> None:
    name = f"pages_{month(2)}"
    await server.write(say, f"DROP TABLE {name}")
    clock = LaterClock()
    months = PartitionUpkeep(server, clock)
    held, go_on = asyncio.Event(), asyncio.Event()

    async def hold() -> None:
        async with server._engine.begin() as conn:
            await conn.execute(text("LOCK TABLE pages_default IN ROW EXCLUSIVE MODE"))
            held.set()
            await go_on.wait()

    holding = asyncio.create_task(hold())
    await held.wait()
    await months.look()
    assert name not in (await server.read(children))["pages"]
    go_on.set()
    await holding
    clock.hours = 0.02
    await months.look()
    assert name in (await server.read(children))["pages"], "a minute later"


@pytest.mark.parametrize("ahead", [-1, 13, None])
async def test_only_months_near_by_are_made(server: PostgresDatabase, ahead: int | None) -> None:
    with pytest.raises(DBAPIError, match="0 to 12 months ahead"):
        await server.write(say, "SELECT gossamer_make_partition(CAST(:ahead AS integer))", ahead=ahead)


async def test_a_month_goes_with_the_last_of_its_jobs(server: PostgresDatabase) -> None:
    first, second = await finished_job(server), await finished_job(server, "c.test")
    long_ago = timedelta(days=200)
    ids = [await age(server, job.id, long_ago) for job in (first, second)]
    await PartitionUpkeep(server, SystemClock()).look()
    old = month(since=datetime.now(UTC) - long_ago)
    names = await server.read(children)
    assert all(f"{table}_{old}" in names[table] for table in FILLED)
    retainer = Retainer(server, TERMS)
    for job_id, dropped in zip(ids, [(), tuple(f"{t}_{old}" for t in ("events", "pages", "records"))], strict=True):
        assert await server.write(retention_queries.archive, job_id, datetime.now(UTC), "", "test")
        report = await retainer.pass_once(datetime.now(UTC))
        assert (report.deleted, report.dropped) == ((job_id,), dropped)
    names = await server.read(children)
    assert names["pages"] == usual("pages")
    assert names["records"] == usual("records")
    # What happened to the jobs themselves is kept, in a table of its size.
    assert names["events"] == sorted([*usual("events"), f"events_{old}_kept"])
    for job_id in ids:
        assert [one.kind for one in await server.read(events.of_job, job_id)][-1] == "job.archived"
        assert await server.read(retention_queries.deleted_at, job_id) is not None
    await server.write(events.add, ids[0], "job.forgot", "later")
    assert await server.read(postgres.strays) == []
    assert (await retainer.pass_once(datetime.now(UTC))).dropped == ()


async def test_an_empty_month_of_the_past_goes_and_the_present_stays(server: PostgresDatabase) -> None:
    await server.write(say, "SELECT gossamer_add_partition('events', '2024-03-01 UTC')")
    assert (await Retainer(server, TERMS).pass_once(datetime.now(UTC))).dropped == ("events_2024_03",)
    assert (await server.read(children))["events"] == usual("events")


async def test_a_file_has_no_partitions(tmp_path: Any) -> None:
    database = SqliteDatabase(tmp_path / "gossamer.db", SystemClock())
    await database.write(upgrade)
    assert await database.write(postgres.make_next_partition) is None
    assert await database.write(postgres.drop_next_partition) is None
    assert await database.read(postgres.strays) == []
    await PartitionUpkeep(database, SystemClock()).look()
    await database.close()


@pytest.mark.parametrize(
    ("sql", "table"),
    [
        ("SELECT pages.url FROM pages WHERE pages.job_id = $1", ""),
        ("SELECT pages.url FROM pages WHERE pages.key = $1", "pages"),
        ("UPDATE pages SET state = $1 WHERE pages.job_id = $2 AND pages.key = $3", ""),
        ("DELETE FROM records WHERE (records.job_id, records.key) IN (SELECT records.job_id, records.key FROM records "
         "WHERE records.job_id = $1)", "records"),
        ("SELECT a.at FROM events AS a WHERE a.job_id = $1", ""),
        ("SELECT 1 FROM records JOIN pages ON pages.key = records.page_key WHERE records.job_id = $1", "pages"),
        ("INSERT INTO events (job_id, id) VALUES ($1, $2)", ""),
        ("SELECT minutes.pages FROM minutes", ""),
        ("INSERT INTO counters (job_id, pages_open, records) VALUES ($1, $2, $3)", ""),
        ("SELECT 1 FROM sites, pages WHERE sites.job_id = $1", "pages"),
    ],
)  # fmt: skip
def test_a_question_without_its_job_is_noticed(sql: str, table: str) -> None:
    assert unbound(sql) == table


async def test_such_a_question_cannot_be_asked_unnoticed(
    server: PostgresDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = await finished_job(server)
    assert await server.read(events.of_job, job.id)
    by_kind = pages.select().where(pages.c.state == "done")
    assert await server.read(lambda tx: tx.run(by_kind).all()), "a test may ask as it likes"
    monkeypatch.setattr(jobs, "_READY_TO_REST", by_kind)
    with pytest.raises(Unbound, match="which job's pages"):
        await server.read(jobs.ready_to_rest)


def test_what_the_driver_is_asked_says_its_job_too() -> None:
    query = " ".join(result_rows._OF_SITES.split())
    assert query.count("FROM records r WHERE r.job_id = $1") == query.count("FROM records") == 2


async def test_a_question_reads_one_partition(server: PostgresDatabase) -> None:
    job = await finished_job(server)

    def plan(tx: Tx, sql: str, *values: Any) -> str:
        rows = tx.conn.exec_driver_sql(f"EXPLAIN {sql}", values).scalars()
        return "\n".join(rows)

    places = await server.read(result_rows.site_places, job.id)
    lows = [place.prefix for place in places]
    highs = [low + b"\xff" * 16 for low in lows]
    said = await server.read(
        plan, result_rows._OF_SITES, job.id, "match", lows, highs, [place.id for place in places], 2_500, 10_000
    )
    assert f"records_{month()}" in said
    assert "records_default" not in said
    assert f"records_{month(1)}" not in said
