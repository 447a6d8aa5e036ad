"""The same request under the same key is the same job, however often and however fast it comes."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from gossamer.clock import SystemClock
from gossamer.db.database import open_database
from gossamer.errors import UserError
from gossamer.intake.submit import submit, submit_once
from gossamer.model.ids import short
from gossamer.model.job import JobRequest, Priority, Target
from gossamer.model.money import Cap
from gossamer.model.states import JobState
from gossamer.recipes.prospect import PROSPECT
from gossamer.store import budgets, counters, jobs
from tests.conftest import AnyDatabase

TARGETS = (Target("a.test", ("http://a.test/",), "a.test"), Target("b.test", ("http://b.test/",), "b.test"))
REQUEST = JobRequest("Nightly", "prospect", {"keywords": ["CRM"]}, TARGETS, submit_key="nightly-1")
RECIPES = {"prospect": PROSPECT}


async def all_jobs(database: AnyDatabase) -> int:
    return len(await database.read(jobs.recent, 100, jobs.JobFilter(archived=True)))


async def test_the_same_request_again_is_the_first_job_as_it_is_now(database: AnyDatabase) -> None:
    first = await submit_once(database, RECIPES, REQUEST)
    assert first.is_new
    await database.write(jobs.move, first.job.id, JobState.PAUSING)
    reordered = replace(REQUEST, targets=TARGETS[::-1], name=" Nightly ")
    again = await submit_once(database, RECIPES, reordered)
    assert (again.is_new, again.job.id, again.job.state) == (False, first.job.id, JobState.PAUSING)
    assert (await submit(database, RECIPES, REQUEST)).id == first.job.id
    assert await all_jobs(database) == 1


async def test_what_is_said_by_default_may_also_be_said_outright(database: AnyDatabase) -> None:
    first = await submit_once(database, RECIPES, REQUEST)
    spelled = replace(REQUEST, params={"keywords": ["CRM"], "depth": 50, "top_pages": 50})
    assert (await submit_once(database, RECIPES, spelled)).job.id == first.job.id


async def test_what_is_usual_here_may_change_between_the_two(database: AnyDatabase) -> None:
    first = await submit_once(database, RECIPES, replace(REQUEST, usual_credits=100))
    again = await submit_once(database, RECIPES, replace(REQUEST, usual_credits=200))
    assert (again.is_new, again.job.id) == (False, first.job.id)
    assert (await database.read(budgets.of_job, first.job.id)).cap == Cap(credits=100)


@pytest.mark.parametrize(
    "change",
    [
        {"name": "Weekly"},
        {"params": {"keywords": ["CRM", "ERP"]}},
        {"params": {"keywords": ["CRM"], "depth": 3}},
        {"targets": TARGETS[:1]},
        {"start": False},
        {"priority": Priority.HIGH},
        {"cap": Cap(credits=5)},
        {"cap": Cap(traffic=1_000_000)},
        {"max_concurrency": 3},
    ],
)
async def test_another_request_under_the_key_is_refused_naming_the_first(
    database: AnyDatabase, change: dict[str, Any]
) -> None:
    first = await submit(database, RECIPES, REQUEST)
    with pytest.raises(UserError, match=short(first.id)) as refused:
        await submit(database, RECIPES, replace(REQUEST, **change))
    assert refused.value.code == "job.key_taken"
    assert await all_jobs(database) == 1


async def test_without_a_key_or_under_another_each_request_is_a_job(database: AnyDatabase) -> None:
    requests = [replace(REQUEST, submit_key=key) for key in ("", "", "one", "two")]
    ids = {(await submit(database, RECIPES, request)).id for request in requests}
    assert len(ids) == 4


@pytest.mark.parametrize("key", ["x" * 201, "two words", "tab\there", "line\n", "nul\0"])
async def test_a_key_is_short_and_visible(database: AnyDatabase, key: str) -> None:
    with pytest.raises(UserError) as refused:
        await submit(database, RECIPES, replace(REQUEST, submit_key=key))
    assert refused.value.code == "job.submit_key"
    assert await all_jobs(database) == 0


async def test_many_at_the_same_moment_make_one_job(database: AnyDatabase, database_url: str) -> None:
    others = [open_database(database_url, SystemClock()) for _ in range(5)]
    try:
        found = await asyncio.gather(*(submit_once(one, RECIPES, REQUEST) for one in (database, *others) for _ in "ab"))
    finally:
        for one in others:
            await one.close()
    assert len({one.job.id for one in found}) == 1
    assert sum(one.is_new for one in found) == 1
    assert await all_jobs(database) == 1
    progress = await database.read(counters.progress, found[0].job.id)
    assert (progress.sites_total, progress.window) == (2, timedelta(minutes=15))
