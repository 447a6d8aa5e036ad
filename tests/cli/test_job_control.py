"""A job that is cancelled stands still when the command returns, unless somebody has no time for that."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gossamer.app import App, open_app
from gossamer.billing.reservations import Treasurer
from gossamer.cli import job_control
from gossamer.cli.here import LocalHome
from gossamer.model.ids import short
from gossamer.model.job import Job
from gossamer.model.money import Reservation
from gossamer.model.page import Visit
from gossamer.model.states import JobState
from gossamer.runtime.home_lock import HomeLock
from gossamer.settings import Settings
from gossamer.settle.commit import commit
from gossamer.settle.step import HandBack, Step
from gossamer.store import jobs, visits
from tests.jobs import claim_all, make_job

At = tuple[App, Job, Visit]


@pytest.fixture
async def at_work(tmp_path: Path) -> AsyncIterator[At]:
    """A job whose only visit is in the hands of a worker of the runner that holds the home."""
    runner = HomeLock(tmp_path)
    async with open_app(Settings(home=tmp_path)) as app:
        assert runner.take()
        job = await app.database.write(make_job, "a.test")
        (visit,) = await app.database.write(claim_all, f"{app.home_name}/0-1")
        yield app, job, visit
        runner.release()


async def hand_back(app: App, visit: Visit) -> None:
    await app.database.write(commit, [Step(visit, ending=HandBack(app.clock.now()))], 0)


async def test_a_cancel_waits_for_the_visits_in_flight(at_work: At, capsys: pytest.CaptureFixture[str]) -> None:
    app, job, visit = at_work
    cancelling = asyncio.create_task(job_control.cancel_job(LocalHome(app), short(job.id), as_json=False))
    while "Cancelling... 1 visit finishing\n" not in (said := capsys.readouterr().out):
        await asyncio.sleep(0.05)
    assert "Cancelled" not in said
    assert (await app.database.read(jobs.states, [job.id]))[job.id] is JobState.CANCELLED
    await hand_back(app, visit)
    assert await cancelling == 0
    assert await app.database.read(visits.busy_of_job, job.id) == 0
    assert capsys.readouterr().out == "Cancelled at 0/1 domains (0%). Results so far are kept.\n"


async def test_who_does_not_wait_is_told_what_still_finishes(at_work: At, capsys: pytest.CaptureFixture[str]) -> None:
    app, job, _ = at_work
    assert await job_control.cancel_job(LocalHome(app), short(job.id), wait=False, as_json=False) == 0
    said = "Cancelled at 0/1 domains (0%). 1 visit still finishing. Results so far are kept.\n"
    assert capsys.readouterr().out == said


async def test_a_pause_need_not_be_waited_for_either(at_work: At, capsys: pytest.CaptureFixture[str]) -> None:
    app, job, _ = at_work
    assert await job_control.pause_job(LocalHome(app), short(job.id), wait=False, as_json=False) == 0
    assert capsys.readouterr().out == "Pausing... 1 visit finishing\n"
    assert (await app.database.read(jobs.states, [job.id]))[job.id] is JobState.PAUSING


async def test_what_was_asked_for_money_is_named_while_it_is_waited_for(
    at_work: At, capsys: pytest.CaptureFixture[str]
) -> None:
    app, job, visit = at_work
    treasurer = Treasurer(app.database, app.clock, app.prices, app.caps)
    granted = await treasurer.reserve(visit, "scrapingbee-js")
    assert isinstance(granted, Reservation)
    assert await job_control.pause_job(LocalHome(app), short(job.id), wait=False, as_json=False) == 0
    assert capsys.readouterr().out == "Pausing... 1 visit finishing, 1 paid request under way\n"
    treasurer.release(granted)
    await treasurer.close()


async def test_nobody_is_waited_for_for_ever(
    at_work: At, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    app, job, _ = at_work
    monkeypatch.setattr(job_control, "_LONGEST_CANCEL", 0.0)
    assert await job_control.cancel_job(LocalHome(app), short(job.id), as_json=False) == 0
    assert "1 visit still finishing." in capsys.readouterr().out


async def test_a_job_that_is_resumed_meanwhile_is_said_to_be(at_work: At, capsys: pytest.CaptureFixture[str]) -> None:
    app, job, _ = at_work
    cancelling = asyncio.create_task(job_control.cancel_job(LocalHome(app), short(job.id), as_json=False))
    while "Cancelling... " not in capsys.readouterr().out:
        await asyncio.sleep(0.05)
    await app.database.write(jobs.move, job.id, JobState.RUNNING)
    assert await cancelling == 0
    assert capsys.readouterr().out == "The job is running by now.\n"
