"""What a job was asked for, and what else its status says."""

from datetime import timedelta
from pathlib import Path

import orjson
import pytest
from sqlalchemy import update

from gossamer.app import open_app
from gossamer.cli.here import LocalHome
from gossamer.cli.job_show import asked_for, show_list, show_pages, show_status
from gossamer.db import tables
from gossamer.db.transactions import Tx
from gossamer.errors import UserError
from gossamer.model.alert import AlertKind
from gossamer.model.ids import short
from gossamer.model.job import Job
from gossamer.model.page import Page, Visit
from gossamer.model.states import JobState, PageState, SiteState
from gossamer.model.trouble import Reason, Trouble
from gossamer.recipes.prospect.params import ProspectParams
from gossamer.recipes.scrape.params import ScrapeParams
from gossamer.settings import Settings
from gossamer.settle.commit import commit
from gossamer.settle.step import Finished, PageStep, Step
from gossamer.store import alerts, history, jobs
from tests.conftest import AnyDatabase
from tests.jobs import claim_all, done, make_job, settle


def test_what_was_asked_for_is_said_in_two_lines() -> None:
    usual = ProspectParams(keywords=["CRM"])
    assert list(asked_for(usual.model_dump(), ProspectParams)) == ["Looks for: 1 keyword"]
    special = ProspectParams(
        keywords=["CRM", "ERP"],
        client_domains=["acme.com"],
        competitor_domains=["rival.com"],
        depth=3,
        include=["/blog/*"],
    )
    assert list(asked_for(usual.model_dump(), ProspectParams, 2))[1:] == ["With: --max-concurrency 2"]
    assert list(asked_for(special.model_dump(), ProspectParams)) == [
        "Looks for: 2 keywords, links to acme.com",
        "With: --competitor-domain rival.com --depth 3 --include '/blog/*'",
    ]
    flags = ProspectParams(keywords=["IT"], case_sensitive=True, plurals=True, snippet=20, lines_skipped=2)
    assert list(asked_for(flags.model_dump(), ProspectParams))[1:] == ["With: --case-sensitive --plurals --snippet 20"]
    page = ScrapeParams(formats=["markdown"], only_main_content=False)
    assert list(asked_for(page.model_dump(), ScrapeParams))[1:] == ["With: --whole-page"]


async def test_a_status_says_what_holds_and_until_when_results_are_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with open_app(Settings(home=tmp_path)) as app:
        job = await app.database.write(make_job, "a.test")

        def ended(tx: Tx) -> None:
            jobs.move(tx, job.id, JobState.CANCELLED)
            alerts.fire(tx, AlertKind.AUDIT, str(job.id), "It does not add up.", job_id=job.id)
            alerts.fire(tx, AlertKind.AUDIT, "another", "Another's.")
            long_ago = tx.now - timedelta(days=10)
            tx.run(update(tables.jobs).values(started_at=long_ago, created_at=long_ago, finished_at=long_ago))

        await app.database.write(ended)
        await show_status(LocalHome(app), short(job.id), as_json=False)
        said = capsys.readouterr().out.splitlines()
        assert "Status: Cancelled" in said
        assert "Looks for: 1 keyword" in said
        assert "Alert: It does not add up." in said
        assert any(line.startswith("Retention: results kept until ") for line in said)
        assert not any("Another's" in line for line in said)
        assert said[-1] == f"Resume anytime with 'gossamer job resume {short(job.id)}'."
        await show_status(LocalHome(app), short(job.id), as_json=True)
        told = orjson.loads(capsys.readouterr().out)
        assert told["alerts"] == [{"kind": "audit", "sentence": "It does not add up."}]
        assert told["params"] == {"keywords": ["CRM"]}
        assert told["results_until"] is not None


async def test_pages_are_listed_by_state_and_by_domain(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async with open_app(Settings(home=tmp_path)) as app:
        job = await app.database.write(make_job, "a.test", "b.test")
        steps = []
        for visit in await app.database.write(claim_all):
            steps += [done(visit, f"http://{visit.host}/"), _failed(visit), _over(visit)]
        await app.database.write(commit, steps, 0)
        await show_pages(LocalHome(app), short(job.id), "failed", "", 50, as_json=False)
        said = capsys.readouterr().out
        assert "http://a.test/slow" in said
        assert "Timeout after 15 s" in said
        assert "2 failed pages." in said
        await show_pages(LocalHome(app), short(job.id), "", "www.b.test", 50, as_json=True)
        told = orjson.loads(capsys.readouterr().out)
        assert {(page["url"], page["state"], page["reason_name"]) for page in told} == {
            ("http://b.test/", "done", None),
            ("http://b.test/slow", "failed", "TIMEOUT"),
        }
        for state, site, code in (("lost", "", "pages.state"), ("", "c.test", "pages.site")):
            with pytest.raises(UserError) as refused:
                await show_pages(LocalHome(app), short(job.id), state, site, 50, as_json=False)
            assert refused.value.code == code


async def test_pages_are_read_a_step_at_a_time(database: AnyDatabase) -> None:
    job = await database.write(make_job, "a.test")
    (visit,) = await database.write(claim_all)
    await settle(database, *(done(visit, f"http://a.test/{number}", depth=1) for number in range(7)))
    found, after = [], b""
    while some := await database.read(history.pages_by_key, job.id, after, 3, state=PageState.DONE):
        found += [page.url for page in some]
        after = some[-1].key
    assert sorted(found) == [f"http://a.test/{number}" for number in range(7)]


def _failed(visit: Visit) -> Step:
    page = Page.at(f"http://{visit.host}/slow", 1)
    return Step(visit, PageStep(page, PageState.FAILED, Trouble(Reason.TIMEOUT, "15 s")))


def _over(visit: Visit) -> Step:
    return Step(visit, ending=Finished(SiteState.DONE))


async def test_what_was_scraped_is_not_called_matches(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async with open_app(Settings(home=tmp_path)) as app:
        await app.database.write(make_job, "a.test")
        await show_list(LocalHome(app), 10, archived=False, as_json=False)
        assert "Matches" in capsys.readouterr().out.splitlines()[0]

        def scraped(tx: Tx) -> Job:
            job = make_job(tx, "b.test")
            tx.run(update(tables.jobs).where(tables.jobs.c.id == job.id).values(recipe="scrape", in_pages=True))
            jobs.move(tx, job.id, JobState.CANCELLED)
            return job

        job = await app.database.write(scraped)
        await show_list(LocalHome(app), 10, archived=False, as_json=False)
        title = capsys.readouterr().out.splitlines()[0]
        assert "Results" in title
        assert "Matches" not in title
        await show_status(LocalHome(app), short(job.id), as_json=False)
        labels = [line.partition(":")[0] for line in capsys.readouterr().out.splitlines() if ": " in line]
        assert len(labels) == len(set(labels)), "no two lines are called the same"
