"""A home may hold jobs of a program that knew more: what can be done with them is done, the rest is refused."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select, update

from gossamer.app import App, open_app
from gossamer.cli.export import ExportOptions, export_files
from gossamer.cli.here import LocalHome
from gossamer.cli.history import show_explanation
from gossamer.cli.home import Home
from gossamer.cli.job_results import show_results
from gossamer.cli.job_show import show_status
from gossamer.cli.retention import forget_mentions
from gossamer.crawl.audit import audit
from gossamer.db import tables
from gossamer.db.transactions import Tx
from gossamer.errors import UserError
from gossamer.model.ids import short
from gossamer.model.job import Job
from gossamer.questions.found import Conditions
from gossamer.settings import Settings
from tests.retention.finished import finished_job


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[App]:
    async with open_app(Settings(home=tmp_path)) as app:
        yield app


async def changed(app: App, **values: Any) -> Job:
    """A completed job with one page and its match, made by another program."""
    job = await finished_job(app.database, "a.test", pages=1)

    def change(tx: Tx) -> None:
        tx.run(update(tables.jobs).values(**values))

    await app.database.write(change)
    return job


@pytest.mark.parametrize(
    "command",
    [
        lambda home, job: show_results(home, job, Conditions(), 1, 5, as_json=False),
        lambda home, job: export_files(
            home, job, ExportOptions("results", "csv"), Path("-"), wait=False, as_json=False
        ),
        lambda home, job: show_explanation(home, "a.test", job, as_json=False),
    ],
)
async def test_what_needs_the_recipe_says_that_it_is_not_known(
    app: App, command: Callable[[Home, str], Awaitable[int]]
) -> None:
    job = await changed(app, recipe="places")
    with pytest.raises(UserError, match=f"Job {short(job.id)} is of the recipe 'places', which") as refused:
        await command(LocalHome(app), short(job.id))
    assert (refused.value.code, "program that created it" in refused.value.hint) == ("job.recipe", True)


async def test_parameters_of_another_version_are_named(app: App) -> None:
    job = await changed(app, params={"keywords": ["CRM"], "depth": "deep"})
    with pytest.raises(UserError, match="depth") as refused:
        await show_explanation(LocalHome(app), "a.test", short(job.id), as_json=False)
    assert refused.value.code == "job.unusable"


async def test_a_status_is_shown_all_the_same(app: App, capsys: pytest.CaptureFixture[str]) -> None:
    job = await changed(app, recipe="places")
    await show_status(LocalHome(app), short(job.id), as_json=False)
    assert "Recipe: places, which this program does not know." in capsys.readouterr().out


async def test_what_is_to_be_forgotten_is_forgotten_all_the_same(app: App) -> None:
    job = await changed(app, recipe="places")
    await forget_mentions(LocalHome(app), None, "a.test", short(job.id), yes=True, dry_run=False, as_json=False)
    left = select(func.count()).select_from(tables.records).where(tables.records.c.job_id == job.id)
    assert await app.database.read(lambda tx: tx.run(left).scalar_one()) == 0
    assert (await audit(app.database, job.id, app.recipes)).clean
