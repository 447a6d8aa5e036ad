"""A mistake on every page fails the job in one sentence; a mistake on some pages does not."""

from uuid import UUID

from gossamer.crawl.job_guards import ENOUGH, RecipeFailures
from gossamer.model.page import Page
from gossamer.model.states import JobState, PageState
from gossamer.model.trouble import Reason, Trouble
from gossamer.settle.step import PageStep
from gossamer.store import jobs
from tests.conftest import AnyDatabase
from tests.jobs import make_job, state_of

GOOD = PageStep(Page.at("http://a.test/", 0), PageState.DONE)
BAD = PageStep(Page.at("http://a.test/", 0), PageState.FAILED, Trouble(Reason.INTERNAL, "ZeroDivisionError", 200))
GONE = PageStep(Page.at("http://a.test/", 0), PageState.FAILED, Trouble(Reason.NOT_FOUND, http_status=404))


async def _after(database: AnyDatabase, *steps: PageStep) -> tuple[UUID, JobState, set[UUID]]:
    job = await database.write(make_job, "a.test")
    recipe_failures = RecipeFailures(database)
    for step in steps:
        recipe_failures.note(job.id, step)
    ended = await recipe_failures.look()
    return job.id, await state_of(database, job.id), ended


async def test_a_mistake_on_every_page_fails_the_job(database: AnyDatabase) -> None:
    job_id, state, ended = await _after(database, *[BAD] * ENOUGH)
    assert state is JobState.FAILED
    assert ended == {job_id}
    job = await database.read(jobs.get, job_id)
    assert job
    assert job.reason.startswith("The recipe prospect failed on every page (20 of 20): ZeroDivisionError.")


async def test_fewer_say_nothing_yet(database: AnyDatabase) -> None:
    _, state, ended = await _after(database, *[BAD] * (ENOUGH - 1), *[GONE] * ENOUGH)
    assert (state, ended) == (JobState.RUNNING, set())


async def test_one_page_that_was_read_proves_the_recipe(database: AnyDatabase) -> None:
    _, state, ended = await _after(database, GOOD, *[BAD] * 3 * ENOUGH)
    assert (state, ended) == (JobState.RUNNING, set())
