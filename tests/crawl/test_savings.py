"""A hybrid job against `premium-only`: the same matches for a part of the credits, and its reports say so."""

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from uuid import UUID

import openpyxl
import pytest

from gossamer.app import App, open_app
from gossamer.cli.here import LocalHome
from gossamer.cli.job_summary import show_summary
from gossamer.crawl.worker_deps import WorkerDeps
from gossamer.exports.formats import formats_named
from gossamer.exports.make import make_file
from gossamer.exports.orders import Wish
from gossamer.exports.write import write_file
from gossamer.model.ids import short
from gossamer.model.money import Cap
from gossamer.model.states import JobState
from gossamer.settings import Settings
from gossamer.store import budgets, jobs
from gossamer_sandbox.web import SampleWeb
from gossamer_sandbox.web.reach import Caps
from gossamer_sandbox.web.sites import Sites
from gossamer_sandbox.web.truth import site_truth
from gossamer_sandbox.web.visitors import JS, NOBODY, Visitor
from tests.auditing import assert_clean
from tests.crawl.test_paid_rungs import LADDER, Mentions, mentions, paying_kit, work

WEB = SampleWeb(sites=400, seed=3, nasty=0.25, size_min=4, size_max=6)
SCRIPTED = frozenset({"shell", "anubis"})  # shown to whoever runs scripts: an empty frame, and a test of the visitor
INNER = "anubis"  # on pages within a site
WALL = "cloudflare"  # neither of the two ways gets behind it
MOST = 0.35  # of the credits of premium-only


def hard_sites() -> Iterator[int]:
    """Sites with JavaScript, or that block: homepages, pages within a site, and a wall."""
    for number in WEB.sites.numbers:
        profile = WEB.sites.profile(number)
        if profile.home_quirk in SCRIPTED | {WALL} or INNER in profile.inner_quirks:
            yield number


def plain_sites() -> Iterator[int]:
    for number in WEB.sites.numbers:
        profile = WEB.sites.profile(number)
        if not profile.quirk and not WEB.sites.site(number).robots.crawl_delay:
            yield number


def there(numbers: list[int], visitor: Visitor = NOBODY) -> Mentions:
    """What such a visitor has to find."""
    sites = Sites(WEB.sites.settings, visitor=visitor)
    return {
        (page["url"], word)
        for number in numbers
        for page in site_truth(sites, number, Caps())["pages"]
        if page["reachable"]
        for word in page["keywords"]
    }


async def spent(deps: WorkerDeps, job_id: UUID) -> int:
    return (await deps.database.read(budgets.of_job, job_id)).spent.credits


async def test_hybrid_finds_what_premium_only_finds_for_a_third_of_it_and_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hard = list(islice(hard_sites(), 4))
    numbers = [*hard, *islice(plain_sites(), 3 * len(hard))]
    quirks = [WEB.sites.profile(number) for number in hard]
    assert any(profile.home_quirk in SCRIPTED for profile in quirks)
    assert any(profile.inner_quirks for profile in quirks)
    assert any(profile.home_quirk == WALL for profile in quirks)
    assert there(numbers, frozenset({JS})) > there(numbers)
    hosts = [WEB.sites.profile(number).name.start for number in numbers]
    async with paying_kit(tmp_path, WEB) as (deps, provider):
        hybrid = await work(deps, hosts, JobState.COMPLETED, Cap(5_000), web=WEB)
        cheap = provider.bill.total
        premium = await work(
            deps, hosts, JobState.COMPLETED, Cap(5_000), web=WEB, mode="premium-only", ladder=LADDER[-1:]
        )
        dear = provider.bill.total - cheap
        true = there(numbers, frozenset({JS}))
        for job_id, credits in ((hybrid, cheap), (premium, dear)):
            assert await deps.database.read(mentions, job_id) == true
            assert await spent(deps, job_id) == credits
            await assert_clean(deps.database, job_id)
        assert 0 < cheap < MOST * dear
    async with open_app(Settings(home=tmp_path)) as app:
        await _assert_said(app, hybrid, cheap, dear, tmp_path, capsys)
        await show_summary(LocalHome(app), str(premium), None, "", None, as_json=False)
        assert "Saved" not in capsys.readouterr().out


async def _assert_said(
    app: App, job_id: UUID, cheap: int, dear: int, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """On the screen, on the page and in the workbook; and what premium-only takes is never overstated."""
    await show_summary(LocalHome(app), short(job_id), None, "", None, as_json=False)
    await show_summary(LocalHome(app), short(job_id), folder / "report.html", "", None, as_json=False)
    job = await app.database.read(jobs.get, job_id)
    assert job
    (order,) = Wish("results", formats_named("xlsx")).orders(job)
    book = folder / "results.xlsx"
    await write_file(book, make_file(app.database, order, lambda _: None, folder=folder, prices=app.prices))
    sheet = openpyxl.load_workbook(book)["Summary"]
    cells = " ".join(str(cell) for row in sheet.iter_rows(values_only=True) for cell in row if cell)
    page = (folder / "report.html").read_text(encoding="utf-8")
    for text in (capsys.readouterr().out, page, cells):
        said = re.search(
            r"([\d,]+) credits \(\$[\d.]+\)\. The same [\d,]+ pages by premium-only take ([\d,]+) credits "
            r"\(\$[\d.]+\) at least; (\d+) % of that was spent\.",
            " ".join(text.split()),
        )
        assert said, text
        saved, least, share = (int(number.replace(",", "")) for number in said.groups())
        assert saved == least - cheap
        assert cheap / MOST < least <= dear
        assert share == round(100 * cheap / least) < 100 * MOST
