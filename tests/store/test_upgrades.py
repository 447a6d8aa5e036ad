"""Upgrades: with unfinished jobs in the rows, whole or not at all, and never under a runner.

A later release is made up (`tests/later.py`), so that the present revision is an earlier one.
"""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from shutil import copyfile

import pytest
from sqlalchemy import inspect, text

from gossamer.clock import SystemClock
from gossamer.db import schema
from gossamer.db.database import open_database
from gossamer.db.schema import ready_database, revision, upgrade, upgrade_database
from gossamer.db.transactions import Tx
from gossamer.errors import UserError
from gossamer.model.page import Page
from gossamer.model.states import PageState, SiteState
from gossamer.model.worker import Worker
from gossamer.settle.step import Finished, PageStep, Step
from gossamer.store import counters, jobs, named_slots, pages, reclaim, sites, workers
from tests import later
from tests.conftest import AnyDatabase
from tests.jobs import claim_all, done, make_job, matches_of, settle
from tests.later import LATER, NOW
from tests.stories.program import Terminal, quick_web

HOME = "home-0ld"  # whose worker had a visit in hand when its machine was switched off

_UPGRADE = """
import asyncio, pathlib, sys
from gossamer.clock import SystemClock
from gossamer.db.schema import upgrade_database
from tests import later
later.become(pathlib.Path(sys.argv[2]))
asyncio.run(upgrade_database(sys.argv[1], SystemClock()))
"""


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        copyfile(request.getfixturevalue("sqlite_file"), tmp_path / "gossamer.db")
        return f"sqlite:///{tmp_path}/gossamer.db"
    make: Callable[[], str] = request.getfixturevalue("new_postgres")
    return make()


@pytest.fixture
async def rows(url: str) -> AsyncIterator[AnyDatabase]:
    """A database at the present revision, with a job."""
    database = open_database(url, SystemClock())
    await database.write(make_job, "a.test", "b.test")
    yield database
    await database.close()


async def shouts(rows: AnyDatabase) -> list[str] | None:
    """What the later revision writes into each job; None if it has not been applied."""

    def look(tx: Tx) -> list[str] | None:
        if "shout" not in {column["name"] for column in inspect(tx.conn).get_columns("jobs")}:
            return None
        return [str(one) for one in tx.run(text("SELECT shout FROM jobs")).scalars()]

    return await rows.read(look)


async def test_an_unfinished_job_goes_on_after_an_upgrade(rows: AnyDatabase, url: str, later_program: Path) -> None:
    (job,) = await rows.read(jobs.recent, 10)
    held = {visit.host: visit for visit in await rows.write(claim_all, f"{HOME}/0-4711")}
    first = held["a.test"]
    waiting = tuple(Page.at(f"http://a.test/{path}", 1) for path in ("about", "blog"))
    await settle(rows, done(first, "http://a.test/", "CRM"), Step(first, chosen=waiting))

    assert await upgrade_database(url, SystemClock()) == NOW
    assert await rows.read(revision) == LATER
    assert await shouts(rows) == [job.name.upper()]
    assert await rows.read(jobs.get, job.id) == job
    progress = await rows.read(counters.progress, job.id)
    assert (progress.sites_total, progress.pages_done, progress.records) == (2, 1, 1)
    begun = [site.host for site in await rows.read(sites.summaries, job.id, SiteState.OPEN)]
    assert sorted(begun) == ["a.test", "b.test"]

    await rows.write(reclaim.void_home, HOME)
    leased = {visit.host: visit for visit in await rows.write(claim_all)}
    assert set(leased) == {"a.test", "b.test"}
    visit = leased["a.test"]
    open_pages, ended, _ = await rows.read(pages.of_visit, job.id, visit.id, waiting[0].key[:4])
    assert [page.url for page in open_pages] == [page.url for page in waiting]
    assert [known.state for known in ended] == [PageState.DONE]
    for page in waiting:
        step = done(visit, page.url, "CRM").page
        assert isinstance(step, PageStep)
        await settle(rows, Step(visit, step))
    for visit in leased.values():
        await settle(rows, Step(visit, ending=Finished(SiteState.DONE)))
    progress = await rows.read(counters.progress, job.id)
    assert (progress.sites_done, progress.pages_done, progress.records) == (2, 3, 3)
    kept = await rows.read(matches_of, job.id, first.site_id)
    assert {"http://a.test/", "http://a.test/about", "http://a.test/blog"} == {row["url"] for row in kept}


@pytest.mark.story
def test_the_program_shows_and_resumes_a_job_of_an_earlier_revision(tmp_path: Path) -> None:
    arguments = ("--sites", "4", "--seed", "3", "--nasty", "0", "--size-min", "5", "--size-max", "9")
    with quick_web(tmp_path / "web", *arguments) as web:
        first, second = web.domains.read_text().split()[:2]
        keywords = web.keywords.read_text().splitlines()
        before = Terminal(tmp_path / "home", web, {"GOSSAMER_DOMAIN_RATE": "200"})

        async def make() -> str:
            database = await ready_database(f"sqlite:///{before.home}/gossamer.db", SystemClock())
            job = await database.write(make_job, first, second, keywords=keywords)
            await database.close()
            return str(job.id)

        job = asyncio.run(make())
        folder = later.make_migrations(tmp_path / "later")
        after = Terminal(before.home, web, {**before.settings, **later.settings_of(folder)})
        assert after.ask("job", "status", job)["shown_state"] == "stopped: no worker"
        assert "newer gossamer" in before.type("job", "status", job, check=False).stderr
        assert f"up to date (revision {LATER})" in after.type("db", "upgrade").stdout
        assert "Completed: 2 succeeded, 0 failed." in after.type("job", "resume", job).stdout
        assert {row["domain"] for row in after.rows(job)} == {first, second}
        after.type("job", "audit", job)


async def test_an_upgrade_that_fails_changes_nothing(
    rows: AnyDatabase, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(schema, "SCRIPTS", later.make_migrations(tmp_path / "bad", "raise RuntimeError('mid-way')"))
        patched.setattr(schema, "HEAD", LATER)
        with pytest.raises(RuntimeError, match="mid-way"):
            await upgrade_database(url, SystemClock())
    assert (await rows.read(revision), await shouts(rows)) == (NOW, None)
    monkeypatch.setattr(schema, "SCRIPTS", later.make_migrations(tmp_path / "good"))
    monkeypatch.setattr(schema, "HEAD", LATER)
    assert await upgrade_database(url, SystemClock()) == NOW
    assert (await rows.read(revision), await shouts(rows)) == (LATER, ["TEST"])


async def test_an_upgrade_that_is_killed_changes_nothing(
    rows: AnyDatabase, url: str, tmp_path: Path, later_program: Path
) -> None:
    folder = later.make_migrations(tmp_path / "bad", "os.kill(os.getpid(), signal.SIGKILL)")
    command = [sys.executable, "-c", _UPGRADE, url, str(folder)]
    killed = subprocess.run(command, check=False, capture_output=True)
    assert killed.returncode == -9, killed.stderr
    assert (await rows.read(revision), await shouts(rows)) == (NOW, None)
    assert await upgrade_database(url, SystemClock()) == NOW


async def test_a_database_that_is_being_worked_is_not_upgraded(
    rows: AnyDatabase, url: str, later_program: Path
) -> None:
    await rows.write(named_slots.enter, "runner", HOME, 1, timedelta(seconds=30))
    with pytest.raises(UserError, match=f"in use by {HOME}") as refused:
        await upgrade_database(url, SystemClock())
    assert refused.value.code == "database.in_use"
    assert await rows.read(revision) == NOW
    await rows.write(named_slots.leave, "runner", HOME)
    assert await upgrade_database(url, SystemClock()) == NOW
    assert await rows.read(revision) == LATER


@pytest.mark.parametrize("url", ["postgres"], indirect=True)
async def test_a_cluster_is_upgraded_when_all_have_ended_and_until_then_it_is_said_who_works(
    tmp_path: Path, rows: AnyDatabase, url: str
) -> None:
    """As the operator does it: look who is at work, end them all, upgrade."""
    now = datetime.now(UTC)
    await rows.write(workers.beat, Worker("box/0-4711", "box", 4711, {"http": 24}, "0.1", now, now))
    await rows.write(named_slots.enter, "runner", "cluster", 1, timedelta(minutes=5))
    folder = later.make_migrations(tmp_path / "later")
    settings = {"GOSSAMER_DATABASE_URL": url, **later.settings_of(folder)}
    terminal = Terminal(tmp_path / "home", settings=settings)
    said = terminal.type("system", "workers").stdout
    (worker,) = terminal.ask("system", "workers")
    assert worker["id"] in said
    assert f"The database is at revision {NOW} and is yet to be upgraded for this program" in said
    refused = terminal.type("db", "upgrade", check=False)
    assert (refused.returncode, "in use by cluster" in refused.stderr) == (2, True)
    assert "'gossamer system workers' lists the running workers." in refused.stderr
    assert terminal.type("job", "list", check=False).returncode == 2, "anything else wants the upgrade first"
    await rows.write(lambda tx: tx.run(text("DELETE FROM workers")))
    await rows.write(named_slots.leave, "runner", "cluster")
    assert f"revision {NOW}" in terminal.type("system", "workers").stdout
    assert f"is now at revision {LATER} (was {NOW})" in terminal.type("db", "upgrade").stdout
    assert "yet to be upgraded" not in terminal.type("system", "workers").stdout


async def test_a_command_does_not_upgrade_the_file_of_a_working_runner(tmp_path: Path, later_program: Path) -> None:
    url = f"sqlite:///{tmp_path}/gossamer.db"
    database = open_database(url, SystemClock())
    await database.write(upgrade, NOW)
    await database.write(named_slots.enter, "runner", HOME, 1, timedelta(seconds=30))
    with pytest.raises(UserError, match="cannot be upgraded"):
        await ready_database(url, SystemClock())
    assert await database.read(revision) == NOW
    await database.close()


async def test_two_upgrades_at_once_are_one(rows: AnyDatabase, url: str, later_program: Path) -> None:
    found = await asyncio.gather(*(upgrade_database(url, SystemClock()) for _ in range(3)))
    assert sorted(str(one) for one in found) == [NOW, LATER, LATER]


async def test_an_older_program_refuses_a_newer_database(rows: AnyDatabase, url: str) -> None:
    await rows.write(lambda tx: tx.run(text("UPDATE alembic_version SET version_num = '9999'")))
    for use in (ready_database, upgrade_database):
        with pytest.raises(UserError, match=f"newer gossamer .revision 9999, this program knows {NOW}") as refused:
            await use(url, SystemClock())
        assert refused.value.code == "database.newer"
        assert "Update gossamer" in refused.value.hint


@pytest.mark.parametrize("unreleased", ["0001", "0021"])
async def test_a_database_of_a_revision_that_was_never_released_is_refused_and_left_alone(
    rows: AnyDatabase, url: str, later_program: Path, unreleased: str
) -> None:
    move = text("UPDATE alembic_version SET version_num = :to")
    await rows.write(lambda tx: tx.run(move, {"to": unreleased}))
    for use in (ready_database, upgrade_database):
        with pytest.raises(UserError) as refused:
            await use(url, SystemClock())
        assert refused.value.code == "database.unknown_revision"
        assert f" is at revision {unreleased}, which this program does not know." in refused.value.message
        assert f"databases of revision {NOW} and later." in refused.value.message
        assert "use a new database" in refused.value.hint
    assert (await rows.read(revision), await shouts(rows)) == (unreleased, None)
