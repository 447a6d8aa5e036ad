"""Jobs by their names, and what is listed of them; the same job once more, and under another name."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from gossamer.clock import SystemClock
from gossamer.db.database import SqliteDatabase
from gossamer.db.newest_jobs import newest_jobs
from gossamer.db.schema import upgrade
from gossamer.db.transactions import Tx
from gossamer.errors import UserError
from gossamer.intake import control
from gossamer.intake.submit import next_name, submit
from gossamer.model.ids import short
from gossamer.model.job import Extent, Job, JobRequest, Target
from gossamer.model.page import Page
from gossamer.model.rungs import DIRECT
from gossamer.model.states import JobState, PageState
from gossamer.model.trouble import Reason, Trouble
from gossamer.recipes.registry import RECIPES
from gossamer.recipes.scrape import SCRAPE
from gossamer.settle.step import PageStep, Step
from gossamer.store import given_pages, jobs, sites
from tests.conftest import AnyDatabase
from tests.jobs import claim_all
from tests.stories.program import Terminal

T = TypeVar("T")

PROSPECT: dict[str, Any] = {
    "keywords": ["CRM"],
    "mode": "free-only",
    "ladder": ["direct"],
    "max_pages_per_domain": 7,
    "top_pages": 5,
}


def prospect(tx: Tx, name: str, *hosts: str, account: str = "default") -> Job:
    job = jobs.create(tx, name, "prospect", PROSPECT, len(hosts), account=account)
    sites.create_many(tx, job.id, [Target(host, (f"https://{host}/",), f"www.{host}") for host in hosts])
    return job


def scrape(tx: Tx, *urls: str, name: str = "Scrape of a page") -> Job:
    params = {"formats": ["text"], "mode": "free-only", "ladder": ["direct"]}
    job = jobs.create(
        tx, name, SCRAPE.name, params, 1, pages_open=len(urls), extent=Extent(names_pages=True, in_pages=True)
    )
    targets = [Target("a.test", urls[:1], urls[0], urls)]
    created = sites.create_many(tx, job.id, targets)
    given_pages.give_pages(tx, job.id, targets, created, DIRECT)
    jobs.move(tx, job.id, JobState.RUNNING)
    return job


@pytest.fixture
def terminal(tmp_path: Path) -> Terminal:
    return Terminal(tmp_path / "home")


def at(terminal: Terminal, work: Callable[..., T], *arguments: Any, **more: Any) -> T:
    """Done in the database of a home."""

    async def write() -> T:
        terminal.home.mkdir(parents=True, exist_ok=True)
        database = SqliteDatabase(terminal.home / "gossamer.db", SystemClock())
        await database.write(upgrade)
        try:
            return await database.write(work, *arguments, **more)
        finally:
            await database.close()

    return asyncio.run(write())


async def test_a_job_is_found_by_its_name_and_the_newest_as_last(database: AnyDatabase) -> None:
    with pytest.raises(UserError, match="There is no job yet"):
        await control.find_job(database, "last")
    first = await database.write(prospect, "Acme Q1", "a.test")
    assert (await control.find_job(database, "acme q1")).id == first.id
    assert (await control.find_job(database, " Acme Q1 ")).id == first.id
    second = await database.write(prospect, "Other", "a.test")
    await database.write(scrape, "https://a.test/")
    assert (await control.find_job(database, "last")).id == second.id
    twin = await database.write(prospect, "Acme Q1", "a.test")
    with pytest.raises(UserError) as several:
        await control.find_job(database, "Acme Q1")
    assert several.value.code == "job.ambiguous"
    for one in (first, twin):
        assert f"{short(one.id)} (pending, " in str(several.value)
    await database.write(jobs.move, first.id, JobState.CANCELLED)
    await database.write(jobs.move, first.id, JobState.ARCHIVED)
    assert (await control.find_job(database, "Acme Q1")).id == twin.id
    with pytest.raises(UserError) as unknown:
        await control.find_job(database, "Acme Q")
    assert unknown.value.code == "job.bad_id"


async def test_an_id_comes_before_the_name_of_another_job(database: AnyDatabase) -> None:
    first = await database.write(prospect, "Acme Q1", "a.test")
    second = await database.write(prospect, "Other", "a.test")
    for part in (short(first.id), short(first.id)[:4], first.id.hex[-4:], str(first.id)[-15:]):
        assert await database.write(jobs.rename, second.id, part)  # as it could be called once
        assert (await control.find_job(database, part)).id == first.id, part
    assert await database.write(jobs.rename, first.id, "Last")
    assert (await control.find_job(database, "last")).id == second.id
    assert await database.write(jobs.rename, first.id, "abcd")
    assert (await control.find_job(database, "abcd")).id == first.id  # no id is like it


@pytest.mark.parametrize("name", ["1f95fd04", " CAFE ", "2026", "last", "Last", "019a9702-7c1f-7d2a-8b3c-5d6e7f809101"])
async def test_a_name_that_could_be_an_id_is_refused(database: AnyDatabase, name: str) -> None:
    job = await database.write(prospect, "Acme Q1", "a.test")
    with pytest.raises(UserError, match=r"cannot be a job's name: it (looks like an id|stands for the newest job)"):
        await control.rename(database, job, name)
    with pytest.raises(UserError) as refused:
        await submit(
            database,
            RECIPES,
            JobRequest(name, "prospect", PROSPECT, (Target("a.test", ("https://a.test/",), "a.test"),)),
        )
    assert refused.value.code == "job.name"


@pytest.mark.parametrize("name", ["2026-01-18", "Job 1f95fd04", "abc", "last week", "face-b00c"])
async def test_a_name_that_is_only_nearly_an_id_is_taken(database: AnyDatabase, name: str) -> None:
    job = await database.write(prospect, "Acme Q1", "a.test")
    await control.rename(database, job, name)
    assert (await control.find_job(database, name)).id == job.id


def test_a_refused_name_says_what_to_do(terminal: Terminal) -> None:
    job = at(terminal, prospect, "Acme Q1", "a.test")
    lists = ("--domain", "a.test", "--keyword", "CRM", "--no-auto-start")
    for command in (("job", "run", "--name", short(job.id), *lists), ("job", "rename", "last", short(job.id))):
        refused = terminal.type(*command, check=False)
        assert refused.returncode == 2
        assert refused.stderr.startswith(f"Error: '{short(job.id)}' cannot be a job's name: it looks like an id")
        assert f'such as "Job {short(job.id)}".' in refused.stderr
    assert [one["name"] for one in terminal.ask("job", "list")] == ["Acme Q1"]
    empty = terminal.type("job", "rename", "last", "", check=False).stderr
    assert empty.startswith("Error: A job's name has 1 to 200 characters, this one is empty.")
    assert "--name" not in empty


async def test_names_of_other_accounts_are_not_known(database: AnyDatabase) -> None:
    theirs = await database.write(prospect, "Acme Q1", "a.test", account="other")
    with pytest.raises(UserError):
        await control.find_job(database, "Acme Q1", "default")
    with pytest.raises(UserError):
        await control.find_job(database, "last", "default")
    assert (await control.find_job(database, "Acme Q1", "other")).id == theirs.id
    assert (await control.find_job(database, "last", "other")).id == theirs.id


async def test_single_scrapes_are_listed_only_if_something_is_asked_for(database: AnyDatabase) -> None:
    job = await database.write(prospect, "Acme Q1", "a.test")
    many = await database.write(scrape, "https://a.test/1", "https://a.test/2", name="A list")
    one = await database.write(scrape, "https://a.test/")

    async def listed_(wanted: jobs.JobFilter = jobs.JobFilter()) -> list[Job]:  # noqa: B008 - a frozen value
        return await database.read(jobs.recent, 10, wanted)

    assert [found.id for found in await listed_()] == [many.id, job.id]
    if isinstance(database, SqliteDatabase):
        assert [found.id for found in newest_jobs(database.path, 10)] == [many.id, job.id]
    assert [found.id for found in await listed_(jobs.JobFilter(recipe=SCRAPE.name))] == [one.id, many.id]
    assert [found.id for found in await listed_(jobs.JobFilter(name="of a PAGE"))] == [one.id]
    assert await listed_(jobs.JobFilter(name="%")) == []
    assert [found.id for found in await listed_(jobs.JobFilter(state=JobState.RUNNING))] == [one.id, many.id]


def fail(tx: Tx, job: Job) -> None:
    from gossamer.settle.commit import commit

    (visit,) = [visit for visit in claim_all(tx) if visit.job_id == job.id]
    page = Page.at("https://a.test/")
    commit(tx, [Step(visit, PageStep(page, PageState.FAILED, Trouble(Reason.DNS)))], 0)
    jobs.move(tx, job.id, JobState.COMPLETED)


def test_a_scrape_that_failed_says_so(terminal: Terminal) -> None:
    job = at(terminal, scrape, "https://a.test/")
    assert "No jobs but scrapes of single pages." in terminal.type("job", "list").stdout
    at(terminal, fail, job)
    (line,) = [
        line for line in terminal.type("job", "list", "--recipe", "scrape").stdout.splitlines() if "Scrape" in line
    ]
    assert "failed" in line
    assert "completed" not in line
    (told,) = terminal.ask("job", "list", "--state", "failed")
    assert (told["state"], told["shown_state"]) == ("completed", "failed")
    assert terminal.ask("job", "list", "--state", "completed") == []
    assert "Status: Failed" in terminal.type("job", "status", "scrape of a page").stdout
    refused = terminal.type("job", "list", "--state", "done", check=False)
    assert (refused.returncode, "'done' is not a state of a job." in refused.stderr) == (2, True)


def test_a_job_is_renamed_and_told_so(terminal: Terminal) -> None:
    job = at(terminal, prospect, "Acme Q1", "a.test")
    said = terminal.type("job", "rename", "Acme Q1", "Acme  Q2").stdout
    assert said == f"Job {short(job.id)} is called Acme Q2 now.\n"
    assert terminal.ask("job", "status", "acme q2")["name"] == "Acme Q2"
    assert terminal.ask("job", "rename", "last", "Third")["name"] == "Third"
    assert "it was called Acme Q2" in terminal.type("job", "history", "last").stdout
    refused = terminal.type("job", "rename", "last", " ", check=False)
    assert (refused.returncode, "A job's name has 1 to 200 characters" in refused.stderr) == (2, True)


def test_a_job_is_run_again_with_all_it_was_given(terminal: Terminal) -> None:
    first = at(terminal, prospect, "Acme Q1", "a.test", "b.test")
    again = terminal.ask("job", "rerun", "last", "--no-auto-start")
    assert (again["name"], again["state"], again["domains"]["total"]) == ("Acme Q1 (2)", "pending", 2)
    former, now = terminal.ask("job", "status", str(first.id)), terminal.ask("job", "status", again["id"])
    assert {name: now["params"][name] for name in PROSPECT} == former["params"]
    listed_ = [one["domain"] for one in terminal.ask("job", "sites", again["id"])]
    assert listed_ == ["a.test", "b.test"]
    assert terminal.ask("job", "rerun", "last", "--name", "Mine", "--no-auto-start")["name"] == "Mine"
    assert terminal.ask("job", "rerun", "Acme Q1", "--no-auto-start")["name"] == "Acme Q1 (3)"
    pages = at(terminal, scrape, "https://a.test/2", "https://a.test/1", name="Pages")
    copy = terminal.ask("job", "rerun", str(pages.id), "--no-auto-start")
    assert [one["url"] for one in terminal.ask("job", "pages", copy["id"])] == ["https://a.test/1", "https://a.test/2"]


def test_a_job_that_was_begun_in_the_background_is_running(terminal: Terminal) -> None:
    job = at(terminal, prospect, "Acme Q1", "a.invalid")
    told = terminal.ask("job", "start", short(job.id), "--detach")
    assert (told["state"], told["shown_state"]) == ("running", "running")


def test_the_next_name_is_numbered() -> None:
    assert next_name("Acme", ["Acme"]) == "Acme (2)"
    assert next_name("Acme (2)", ["Acme", "Acme (2)", "Acme (7)", "Acme North"]) == "Acme (8)"
    assert len(next_name("x" * 200, ["x" * 200])) == 200
