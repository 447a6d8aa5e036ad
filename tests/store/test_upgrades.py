"""Upgrades: from every earlier revision with rows in all tables, whole or not at all, and never under a runner."""

import asyncio
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace

import asyncpg
import pytest
from sqlalchemy import inspect, text

import gossamer.db
from gossamer.clock import SystemClock
from gossamer.db.database import open_database
from gossamer.db.partitions import PARTITIONED
from gossamer.db.schema import HEAD, known_revisions, ready_database, revision, upgrade, upgrade_database
from gossamer.db.transactions import Tx
from gossamer.errors import UserError
from gossamer.model.page import Page
from gossamer.model.states import JobState, PageState, SiteState
from gossamer.settle.step import Finished, PageStep, Step
from gossamer.store import counters, events, jobs, pages, reclaim, sites, slots, usage
from tests.conftest import AnyDatabase
from tests.jobs import claim_all, done, matches_of, settle
from tests.store.former_rows import FILLED, HOME, JOB, fill, rows_of
from tests.stories.program import Terminal, quick_web

MIGRATIONS = Path(gossamer.db.__file__).parent / "migrations"

_REVISION = """
import os, signal
import sqlalchemy as sa
from alembic import op
revision, down_revision, branch_labels, depends_on = "9999", "{head}", None, None
def upgrade() -> None:
    op.add_column("jobs", sa.Column("half_done", sa.Text))
    op.execute("UPDATE jobs SET name = 'half done'")
    {ending}
"""

_UPGRADE = """
import asyncio, pathlib, sys
from gossamer.clock import SystemClock
from gossamer.db.database import open_database
from gossamer.db.schema import upgrade
async def main():
    await open_database(sys.argv[1], SystemClock()).write(upgrade, "head", pathlib.Path(sys.argv[2]))
asyncio.run(main())
"""


@pytest.fixture(params=["sqlite", "postgres"])
async def empty_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database without any table."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/gossamer.db"
    make: Callable[[], str] = request.getfixturevalue("new_postgres")
    url = make()
    connection = await asyncpg.connect(url)  # type: ignore[no-untyped-call]
    await connection.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
    await connection.close()
    return url


@pytest.fixture
async def empty(empty_url: str) -> AsyncIterator[AnyDatabase]:
    database = open_database(empty_url, SystemClock())
    yield database
    await database.close()


def make_former(tx: Tx, former: str) -> None:
    upgrade(tx, former)
    fill(tx, rows_of(former))


def test_every_earlier_revision_has_rows_to_upgrade() -> None:
    assert list(FILLED) == known_revisions()[:-1], "add the rows of the newest former revision to former_rows.py"


async def test_a_disk_without_room_for_the_upgrade_is_refused_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"sqlite:///{tmp_path}/gossamer.db"
    database = open_database(url, SystemClock())
    await database.write(make_former, "0012")
    data = '{"text": "' + "x" * 10_000_000 + '"}'
    await database.write(lambda tx: tx.run(text("UPDATE records SET data = :data"), {"data": data}))
    rows = await database.read(lambda tx: tx.run(text("SELECT count(*) FROM records")).scalar_one())
    await database.close()
    asked: list[Path] = []

    def nearly_full(folder: Path) -> SimpleNamespace:
        asked.append(folder)
        return SimpleNamespace(free=30_000_000 * rows)

    with monkeypatch.context() as patched:
        patched.setattr(shutil, "disk_usage", nearly_full)
        with pytest.raises(UserError, match="MB of free disk are needed for that, and there are") as refused:
            await ready_database(url, SystemClock())
    assert (refused.value.code, asked) == ("database.no_room", [tmp_path])
    assert refused.value.hint.startswith("Make room, ")
    untouched = open_database(url, SystemClock())
    assert await untouched.read(revision) == "0012"
    await untouched.close()
    upgraded = await ready_database(url, SystemClock())
    assert await upgraded.read(revision) == HEAD
    await upgraded.close()


@pytest.mark.parametrize("former", FILLED)
async def test_the_rows_fill_every_table_and_column_of_their_revision(empty: AnyDatabase, former: str) -> None:
    def columns(tx: Tx) -> dict[str, set[str]]:
        seen = inspect(tx.conn)
        months = tuple(f"{table}_" for table in PARTITIONED)
        names = [name for name in seen.get_table_names() if not name.startswith(("alembic_version", *months))]
        return {name: {column["name"] for column in seen.get_columns(name)} for name in names}

    await empty.write(make_former, former)
    filled = {table: set(some[0]) for table, some in rows_of(former).items()}
    assert filled == await empty.read(columns)


@pytest.mark.parametrize("former", FILLED)
async def test_an_unfinished_job_goes_on_after_an_upgrade(empty: AnyDatabase, empty_url: str, former: str) -> None:
    await empty.write(make_former, former)
    assert await upgrade_database(empty_url, SystemClock()) == former
    assert await empty.read(revision) == HEAD
    rows = rows_of(former)

    def counts(tx: Tx) -> dict[str, int]:
        return {name: tx.run(text(f"SELECT count(*) FROM {name}")).scalar_one() for name in rows}  # noqa: S608

    assert await empty.read(counts) == {name: len(some) for name, some in rows.items()}

    if former >= "0010":
        assert await empty.read(usage.credits_of_month, "default", "2026-01") == 1
    (job,) = await empty.read(jobs.recent, 10)
    assert (job.id, job.name, job.state, job.params["keywords"]) == (
        JOB,
        "Kept over an upgrade",
        JobState.RUNNING,
        ["CRM"],
    )
    new = text("SELECT ran_ms, submit_key, submit_digest, hidden_at FROM jobs")
    assert tuple(await empty.read(lambda tx: tx.run(new).one())) == (0, None, None, None)
    progress = await empty.read(counters.progress, JOB)
    assert (progress.sites_total, progress.pages_done, progress.pages_open, progress.records) == (2, 1, 3, 1)
    assert [event.kind for event in await empty.read(events.of_job, JOB)] == ["job.created"]
    begun = [site.host for site in await empty.read(sites.summaries, JOB, SiteState.OPEN)]
    assert sorted(begun) == ["a.test", "b.test"]

    await empty.write(reclaim.void_home, HOME)
    leased = {visit.host: visit for visit in await empty.write(claim_all)}
    assert set(leased) == {"a.test", "b.test"}
    for host, paths in {"a.test": ("about", "blog"), "b.test": ("",)}.items():
        visit = leased[host]
        assert (visit.notes, visit.entries) == (b"", (f"http://{host}/",))
        prefix = Page.at(f"http://{host}/").key[:4]
        waiting, ended, _ = await empty.read(pages.of_visit, JOB, visit.id, prefix)
        assert [page.url for page in waiting] == [f"http://{host}/{path}" for path in paths]
        assert [known.state for known in ended] == ([PageState.DONE] if host == "a.test" else [])
        for page in waiting:
            step = done(visit, page.url, "CRM").page
            assert isinstance(step, PageStep)
            await settle(empty, Step(visit, step))
        await settle(empty, Step(visit, ending=Finished(SiteState.DONE)))
    progress = await empty.read(counters.progress, JOB)
    assert (progress.sites_done, progress.pages_done, progress.pages_open, progress.records) == (2, 4, 0, 4)
    kept = await empty.read(matches_of, JOB, leased["a.test"].site_id)
    assert {"http://a.test/", "http://a.test/about", "http://a.test/blog"} == {row["url"] for row in kept}


@pytest.mark.story
# Rows of every revision are brought up above; the program itself goes on with the oldest and the newest.
@pytest.mark.parametrize("former", [FILLED[0], FILLED[-1]])
def test_the_program_shows_and_resumes_a_job_of_an_earlier_revision(tmp_path: Path, former: str) -> None:
    arguments = ("--sites", "4", "--seed", "3", "--nasty", "0", "--size-min", "5", "--size-max", "9")
    with quick_web(tmp_path / "web", *arguments) as web:
        terminal = Terminal(tmp_path / "home", web, {"GOSSAMER_DOMAIN_RATE": "200"})
        first, second = web.domains.read_text().split()[:2]
        rows = rows_of(former, first, second)
        rows["jobs"][0]["params"] = {"keywords": web.keywords.read_text().splitlines()}

        async def make() -> None:
            database = open_database(f"sqlite:///{terminal.home}/gossamer.db", SystemClock())
            await database.write(upgrade, former)
            await database.write(fill, rows)
            await database.close()

        asyncio.run(make())
        status = terminal.ask("job", "status", str(JOB))
        assert (status["shown_state"], status["pages"]["open"]) == ("stopped: no worker", 3)
        assert "Completed: 2 succeeded, 0 failed." in terminal.type("job", "resume", str(JOB)).stdout
        assert {row["domain"] for row in terminal.rows(str(JOB))} == {first, second}
        terminal.type("job", "audit", str(JOB))


@pytest.fixture
def broken(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """Migrations with one more that does not come to its end."""
    folder = tmp_path / "migrations"
    shutil.copytree(MIGRATIONS, folder, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "versions" / "9999_broken.py").write_text(_REVISION.format(head=HEAD, ending=request.param))
    return folder


async def columns_and_names(database: AnyDatabase) -> tuple[bool, str]:
    def look(tx: Tx) -> tuple[bool, str]:
        columns = {column["name"] for column in inspect(tx.conn).get_columns("jobs")}
        return "half_done" in columns, str(tx.run(text("SELECT name FROM jobs")).scalar_one())

    return await database.read(look)


@pytest.mark.parametrize("broken", ["raise RuntimeError('mid-way')"], indirect=True)
async def test_an_upgrade_that_fails_changes_nothing(empty: AnyDatabase, broken: Path) -> None:
    await empty.write(make_former, "0001")
    with pytest.raises(RuntimeError, match="mid-way"):
        await empty.write(upgrade, "head", broken)
    assert await empty.read(revision) == "0001"
    assert await columns_and_names(empty) == (False, "Kept over an upgrade")
    await empty.write(upgrade)
    assert await empty.read(revision) == HEAD


@pytest.mark.parametrize("broken", ["os.kill(os.getpid(), signal.SIGKILL)"], indirect=True)
async def test_an_upgrade_that_is_killed_changes_nothing(empty: AnyDatabase, empty_url: str, broken: Path) -> None:
    await empty.write(make_former, "0002")
    killed = subprocess.run([sys.executable, "-c", _UPGRADE, empty_url, str(broken)], check=False, capture_output=True)
    assert killed.returncode == -9, killed.stderr
    assert await empty.read(revision) == "0002"
    assert await columns_and_names(empty) == (False, "Kept over an upgrade")
    assert await upgrade_database(empty_url, SystemClock()) == "0002"


async def test_a_database_that_is_being_worked_is_not_upgraded(empty: AnyDatabase, empty_url: str) -> None:
    await empty.write(make_former, "0002")
    await empty.write(slots.enter, "runner", HOME, 1, timedelta(seconds=30))
    with pytest.raises(UserError, match=f"being worked by {HOME}") as refused:
        await upgrade_database(empty_url, SystemClock())
    assert refused.value.code == "database.in_use"
    assert await empty.read(revision) == "0002"
    await empty.write(slots.leave, "runner", HOME)
    assert await upgrade_database(empty_url, SystemClock()) == "0002"
    assert await empty.read(revision) == HEAD


@pytest.mark.parametrize("empty_url", ["postgres"], indirect=True)
@pytest.mark.parametrize("former", ["0005", "0012", FILLED[-1]])
async def test_a_cluster_is_upgraded_when_all_have_ended_and_until_then_it_is_said_who_works(
    tmp_path: Path, empty: AnyDatabase, empty_url: str, former: str
) -> None:
    """As the operator does it: look who is at work, end them all, upgrade."""
    await empty.write(make_former, former)
    await empty.write(slots.enter, "runner", "cluster", 1, timedelta(minutes=5))
    terminal = Terminal(tmp_path / "home", settings={"GOSSAMER_DATABASE_URL": empty_url})
    said = terminal.type("system", "workers").stdout
    (worker,) = terminal.ask("system", "workers")
    assert worker["id"] in said
    assert f"The database is at revision {former} and is yet to be upgraded for this program" in said
    refused = terminal.type("db", "upgrade", check=False)
    assert (refused.returncode, "being worked by cluster" in refused.stderr) == (2, True)
    assert "'gossamer system workers' shows who is at work." in refused.stderr
    assert terminal.type("job", "list", check=False).returncode == 2, "anything else wants the upgrade first"
    await empty.write(lambda tx: tx.run(text("DELETE FROM workers")))
    await empty.write(slots.leave, "runner", "cluster")
    assert f"revision {former}" in terminal.type("system", "workers").stdout
    assert f"is now at revision {HEAD} (was {former})" in terminal.type("db", "upgrade").stdout
    assert "yet to be upgraded" not in terminal.type("system", "workers").stdout


async def test_a_command_does_not_upgrade_the_file_of_a_working_runner(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/gossamer.db"
    database = open_database(url, SystemClock())
    await database.write(make_former, "0001")
    await database.write(slots.enter, "runner", HOME, 1, timedelta(seconds=30))
    with pytest.raises(UserError, match="cannot be upgraded"):
        await ready_database(url, SystemClock())
    assert await database.read(revision) == "0001"
    await database.close()


async def test_two_upgrades_at_once_are_one(empty: AnyDatabase, empty_url: str) -> None:
    await empty.write(make_former, "0001")
    found = await asyncio.gather(*(upgrade_database(empty_url, SystemClock()) for _ in range(3)))
    assert sorted(str(one) for one in found) == ["0001", HEAD, HEAD]


async def test_an_older_program_refuses_a_newer_database(empty: AnyDatabase, empty_url: str) -> None:
    await empty.write(upgrade)
    await empty.write(lambda tx: tx.run(text("UPDATE alembic_version SET version_num = '9999'")))
    for use in (ready_database, upgrade_database):
        with pytest.raises(UserError, match=f"newer gossamer .revision 9999, this program knows {HEAD}") as refused:
            await use(empty_url, SystemClock())
        assert refused.value.code == "database.newer"
        assert "Update gossamer" in refused.value.hint
