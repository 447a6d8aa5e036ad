"""A request becomes rows whole or not at all; steering an existing job says what is possible."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from gossamer.errors import UserError
from gossamer.intake import control
from gossamer.intake.submit import submit
from gossamer.model.ids import short
from gossamer.model.job import JobRequest, Target
from gossamer.model.money import Cap
from gossamer.model.record import Follow
from gossamer.model.states import JobState
from gossamer.recipes.prospect import PROSPECT
from gossamer.recipes.prospect.harvest import BoundProspect
from gossamer.store import budgets, events, jobs, sites
from tests.conftest import AnyDatabase
from tests.jobs import claim_all, make_job, state_of

TARGETS = (Target("a.test", ("http://a.test/",), "a.test"), Target("b.test", ("http://b.test/",), "b.test"))
REQUEST = JobRequest("Acme  Q1 ", "prospect", {"keywords": ["CRM"]}, TARGETS)
RECIPES = {"prospect": PROSPECT}


async def test_a_job_is_created_running_with_its_sites(database: AnyDatabase) -> None:
    job = await submit(database, RECIPES, REQUEST)
    assert (job.name, job.state) == ("Acme Q1", JobState.RUNNING)
    assert [host for host, _ in await database.read(sites.hosts, job.id, "", 10)] == ["a.test", "b.test"]
    assert [event.kind for event in await database.read(events.of_job, job.id)] == ["job.created", "job.running"]


async def test_a_job_has_the_limits_it_was_given(database: AnyDatabase) -> None:
    cap = Cap(5_000, 50_000_000, 10**7, 10**8)
    job = await submit(database, RECIPES, replace(REQUEST, cap=cap))
    budget = await database.read(budgets.of_job, job.id)
    assert (budget.cap, bool(budget.reserved), bool(budget.spent)) == (cap, False, False)


async def test_a_job_may_wait_to_be_started(database: AnyDatabase) -> None:
    job = await submit(database, RECIPES, replace(REQUEST, start=False))
    assert job.state is JobState.PENDING
    await control.start(database, job)
    assert await state_of(database, job.id) is JobState.RUNNING


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"name": "  "}, "job.name"),
        ({"name": "x" * 201}, "job.name"),
        ({"params": {"keywords": []}}, "job.params"),
        ({"params": {"keywords": ["CRM"], "max_pages_per_domain": 0}}, "job.params"),
        ({"params": {"keywords": ["CRM"], "colour": "red"}}, "job.params"),
    ],
)
async def test_a_bad_request_creates_nothing(database: AnyDatabase, change: dict[str, Any], code: str) -> None:
    with pytest.raises(UserError) as refused:
        await submit(database, RECIPES, replace(REQUEST, **change))
    assert refused.value.code == code
    assert await database.read(jobs.recent, 10) == []


class _Seeded(BoundProspect):
    def seeds(self) -> Iterable[Follow]:
        return (Follow("http://a.test/news"), Follow("http://c.test/x"))


async def test_a_recipes_own_seeds_join_the_listed_sites(database: AnyDatabase) -> None:
    await submit(database, {"prospect": replace(PROSPECT, bind=_Seeded)}, REQUEST)
    entries = {visit.host: visit.entries for visit in await database.write(claim_all)}
    assert entries == {
        "a.test": ("http://a.test/", "http://a.test/news"),
        "b.test": ("http://b.test/",),
        "c.test": ("http://c.test/x",),
    }


async def test_a_job_is_found_by_the_beginning_or_the_end_of_its_id(database: AnyDatabase) -> None:
    job = await database.write(make_job, "a.test")
    for text in (str(job.id), job.id.hex, short(job.id), str(job.id)[:8], str(job.id).upper()):
        assert (await control.find_job(database, text)).id == job.id


@pytest.mark.parametrize(("verb", "state"), [("pause", "completed"), ("cancel", "completed"), ("resume", "completed")])
async def test_what_is_not_possible_is_refused_with_what_is(database: AnyDatabase, verb: str, state: str) -> None:
    job = await database.write(make_job, "a.test")
    await database.write(jobs.move, job.id, JobState(state))
    found = await control.find_job(database, str(job.id))
    with pytest.raises(UserError, match=f"is {state}: it cannot be {verb}") as refused:
        await getattr(control, verb)(database, found)
    assert "gossamer job retry-failed" in refused.value.hint


async def test_pause_resume_cancel_and_resume_again(database: AnyDatabase) -> None:
    job = await database.write(make_job, "a.test")
    for verb, expected in (
        ("pause", JobState.PAUSING),
        ("pause", JobState.PAUSING),
        ("resume", JobState.RUNNING),
        ("resume", JobState.RUNNING),
        ("cancel", JobState.CANCELLED),
        ("cancel", JobState.CANCELLED),
        ("resume", JobState.RUNNING),
    ):
        await getattr(control, verb)(database, await control.find_job(database, str(job.id)))
        assert await state_of(database, job.id) is expected
