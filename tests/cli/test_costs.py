"""What a job has cost, wherever people look for it."""

import csv
import os
import subprocess
import sys
from pathlib import Path

import openpyxl
import orjson
import pytest
from sqlalchemy import update

from gossamer.app import App, caps_of, open_app, prices_of
from gossamer.billing.bill import Bill, Method
from gossamer.billing.reservations import Treasurer
from gossamer.cli import costs, report
from gossamer.cli.commands.job import resume
from gossamer.cli.export import ExportOptions, export_files
from gossamer.cli.here import LocalHome
from gossamer.cli.job_show import show_list, show_status
from gossamer.cli.job_summary import show_summary
from gossamer.cli.spending import show_cost_report, show_spending
from gossamer.cli.system import metrics
from gossamer.crawl.audit import audit
from gossamer.db.tables import budgets as rows
from gossamer.errors import UserError
from gossamer.exports.orders import order_of, request_of
from gossamer.intake import control
from gossamer.model.alert import AlertKind
from gossamer.model.ids import short
from gossamer.model.job import Job
from gossamer.model.money import Amount, Cap, Reservation, Scope
from gossamer.model.page import Attempt, Page, Visit
from gossamer.model.rungs import Experience
from gossamer.model.states import JobState, PageState, SiteState
from gossamer.questions.files import Exportable
from gossamer.questions.jobs import ended
from gossamer.questions.system import figures
from gossamer.questions.view import View
from gossamer.settings import Settings
from gossamer.settle.step import Finished, PageStep, Step
from gossamer.store import budgets, counters, exports, jobs, rung_stats
from gossamer.store.jobs import pause_automatically
from gossamer.store.result_rows import Rendered
from tests.jobs import settle, state_of
from tests.ledger.request_budget import make_capped


async def spend(app: App, visit: Visit, *rungs: str, cost: int | None = None) -> None:
    """A site whose pages were asked for directly, and then once more on each of these rungs."""
    treasurer = Treasurer(app.database, app.clock, app.prices, app.caps)
    charges, tried = [], [Attempt("direct", 403, "FORBIDDEN", 10, 1_700_000_000_000, (1_700_000_000_000,))]
    page = Page.at(f"http://{visit.host}/")
    for rung in rungs:
        granted = await treasurer.reserve(visit, rung, page=page.key)
        assert isinstance(granted, Reservation), granted
        charges.append(granted.charge(granted.price.usual if cost is None else cost))
        tried.append(Attempt(rung, 200, "", 10, 1_700_000_001_000, (1_700_000_001_000,)))
        page = page.on(rung)
    for attempt in tried:
        page = page.tried(attempt)
    done = PageStep(page, PageState.DONE, http_status=200, identity=page.key, bytes_in=10)
    await settle(app.database, Step(visit, done, charges=tuple(charges)))
    await settle(app.database, Step(visit, ending=Finished(SiteState.DONE)))


async def a_job(app: App, cap: Cap = Cap(5_000)) -> Job:  # noqa: B008 - a frozen value
    """Three sites: one was free, one needed a provider, one its JavaScript too."""
    job, held = await app.database.write(make_capped, cap, "free.test", "paid.test", "rendered.test")
    visits = {visit.host: visit for visit in held}
    await spend(app, visits["free.test"])
    await spend(app, visits["paid.test"], "scrapingbee-standard")
    await spend(app, visits["rendered.test"], "scrapingbee-standard", "scrapingbee-js")
    return job


async def test_a_status_says_what_a_job_has_cost_and_by_which_methods(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with open_app(Settings(home=tmp_path)) as app:
        job = await a_job(app)
        await show_status(LocalHome(app), short(job.id), as_json=False)
        said = capsys.readouterr().out.splitlines()
        assert "Cost so far: 7 ScrapingBee credits used ($0.07)" in said
        assert "Limits: 5,000 credits (--max-credits)" in said
        breakdown = (
            "Breakdown: Direct (free): 1 domain | ScrapingBee (standard): 1 domain"
            " | ScrapingBee (JS rendering): 1 domain"
        )
        assert breakdown in said
        spent = (await ended(View(app), str(job.id))).costs
        assert costs.ending_lines(spent) == ["ScrapingBee credits used: 7 ($0.07)", breakdown]
        await show_status(LocalHome(app), short(job.id), as_json=True)
        answer = orjson.loads(capsys.readouterr().out)["cost"]
        assert (answer["credits"], answer["usd"], answer["limits"]["credits"]) == (7, 0.07, 5_000)
        assert [(one["method"], one["pages"], one["requests"], one["credits"]) for one in answer["methods"]] == [
            ("direct", 1, 0, 0),
            ("scrapingbee-standard", 1, 2, 2),
            ("scrapingbee-js", 1, 1, 5),
        ]
        assert answer["domains_by_method"] == {"direct": 1, "scrapingbee-standard": 1, "scrapingbee-js": 1}


async def test_a_free_job_costs_nothing_and_says_nothing_at_its_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with open_app(Settings(home=tmp_path)) as app:
        job, (visit,) = await app.database.write(make_capped, Cap(10))
        await spend(app, visit)
        assert costs.ending_lines((await ended(View(app), str(job.id))).costs) == []
        await show_status(LocalHome(app), short(job.id), as_json=False)
        assert "Cost so far: 0 credits used ($0.00)" in capsys.readouterr().out.splitlines()


async def test_the_list_has_dollars(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async with open_app(Settings(home=tmp_path)) as app:
        await a_job(app)
        await show_list(LocalHome(app), 10, archived=False, as_json=False)
        assert "$0.07" in capsys.readouterr().out
        await show_list(LocalHome(app), 10, archived=False, as_json=True)
        (listed,) = orjson.loads(capsys.readouterr().out)
        assert listed["cost"]["credits"] == 7


async def test_the_cost_report_has_these_columns_and_every_domain(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_app(Settings(home=tmp_path)) as app:
        job = await a_job(app)
        file = tmp_path / "costs.csv"
        await show_cost_report(LocalHome(app), short(job.id), 50, None, file, as_json=False)
        header, *lines = csv.reader(file.read_text(encoding="utf-8").splitlines())
        assert ",".join(header) == (
            "domain,urls_crawled,direct_requests,scrapingbee_requests,js_rendering_requests,"
            "total_credits,estimated_cost_usd"
        )
        assert lines == [
            ["free.test", "1", "1", "0", "0", "0", "0.0"],
            ["paid.test", "1", "1", "1", "0", "1", "0.01"],
            ["rendered.test", "1", "1", "1", "1", "6", "0.06"],
        ]
        capsys.readouterr()
        for form in ("csv", None):  # as it was asked for, and piped to another program
            await show_cost_report(LocalHome(app), short(job.id), 1, form, None, as_json=False)
            assert capsys.readouterr().out == file.read_bytes().decode("utf-8-sig")
        monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
        await show_cost_report(LocalHome(app), short(job.id), 2, None, None, as_json=False)
        shown = capsys.readouterr().out
        assert shown.index("rendered.test") < shown.index("paid.test")
        assert "2 of 3 domains, sorted by cost. More of them: --limit." in shown
        assert "Total: 7 credits ($0.07)." in shown
        await show_cost_report(LocalHome(app), short(job.id), 1, None, None, as_json=True)
        (dearest,) = orjson.loads(capsys.readouterr().out)
        assert (dearest["domain"], dearest["total_credits"]) == ("rendered.test", 6)


async def test_system_credits_today_this_month_by_provider_and_job(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with open_app(Settings(home=tmp_path, daily_credits=100, account_usd=5.0)) as app:
        first, second = await a_job(app), await a_job(app)
        await show_spending(LocalHome(app), 20, as_json=False)
        said = capsys.readouterr().out
        today, month, prices, *rest = said.splitlines()
        assert today.endswith(", UTC): 14 credits ($0.14), of at most 100 credits")
        assert month.endswith("): 14 credits ($0.14), of at most $5.00")
        assert prices == "Prices as of 2026-08-21; a credit costs $0.01."
        assert any(line.split()[:1] == ["ScrapingBee"] and line.split()[-1] == "$0.14" for line in rest)
        assert short(first.id) in said
        assert short(second.id) in said
        await show_spending(LocalHome(app), 20, as_json=True)
        answer = orjson.loads(capsys.readouterr().out)
        assert answer["today"]["providers"]["scrapingbee"]["requests"] == 6
        assert answer["month"]["max_usd"] == 5.0
        assert [one["credits"] for one in answer["jobs"]] == [7, 7]
        assert answer["prices"]["scrapingbee-js"]["worst_credits"] == 5
        assert answer["month_by_account"] == {
            "default": {"credits": 14, "usd": 0.14, "residential_bytes": 0, "reserved_credits": 0}
        }
        # Where others have accounts, each has a line, and a limit of its own.
        others = update(rows).where(rows.c.scope == Scope.ACCOUNT)
        await app.database.write(lambda tx: tx.run(others.values(subject="acme")))
        await show_spending(LocalHome(app), 20, as_json=False)
        _, total, acme, *_ = capsys.readouterr().out.splitlines()
        assert total.endswith("), all accounts: 14 credits ($0.14)")
        assert acme == "  acme: 14 credits ($0.14), of at most $5.00"


async def test_a_job_at_its_limit_goes_on_with_a_higher_one(tmp_path: Path) -> None:
    async with open_app(Settings(home=tmp_path)) as app:
        job, (visit,) = await app.database.write(make_capped, Cap(6), "a.test")
        treasurer = Treasurer(app.database, app.clock, app.prices, app.caps)
        granted = await treasurer.reserve(visit, "scrapingbee-js")
        assert isinstance(granted, Reservation)
        await settle(app.database, Step(visit, charges=(granted.charge(5),)))
        assert not isinstance(await treasurer.reserve(visit, "scrapingbee-js"), Reservation)
        paused = await app.database.read(jobs.get, job.id)
        assert paused
        assert paused.state is JobState.PAUSING
        progress = await app.database.read(counters.progress, job.id)
        (last,) = report.ending_lines(paused, progress)
        assert "Budget limit reached (5 credits used). Job paused." in last
        assert f"gossamer job resume {short(job.id)} --max-credits N" in last
        with pytest.raises(UserError, match="has used 5 credits already, so --max-credits cannot be less") as refused:
            await control.resume(app.database, paused, Cap(4))
        assert refused.value.code == "budget.too_low"
        assert await state_of(app.database, job.id) is JobState.PAUSING
        for cap in (Cap(), Cap(6), Cap(traffic=10**9)):
            with pytest.raises(
                UserError, match="has used 5 credits, and its limit is 6 credits: it would pause"
            ) as same:
                await control.resume(app.database, paused, cap)
            assert same.value.code == "budget.spent"
            assert f"'gossamer job resume {short(job.id)} --max-credits N'" in same.value.hint
            assert await state_of(app.database, job.id) is JobState.PAUSING
        assert (await app.database.read(budgets.of_job, job.id)).cap == Cap(6)
        await control.resume(app.database, paused, Cap(20))
        assert await state_of(app.database, job.id) is JobState.RUNNING
        assert isinstance(await treasurer.reserve(visit, "scrapingbee-js"), Reservation)
        assert (await app.database.read(budgets.of_job, job.id)).cap == Cap(20)


async def test_the_command_is_refused_with_the_next_step(tmp_path: Path) -> None:
    async with open_app(Settings(home=tmp_path)) as app:
        job, _ = await app.database.write(make_capped, Cap(6), "a.test")
        await app.database.write(pause_automatically, job.id, AlertKind.BUDGET, "Budget limit reached.")
    command = (sys.executable, "-m", "gossamer", "job", "resume", str(job.id))
    refused = subprocess.run(
        command, env={**os.environ, "GOSSAMER_HOME": str(tmp_path)}, capture_output=True, text=True
    )
    assert refused.returncode == 2, refused.stderr
    assert "it would pause again at once" in refused.stderr
    assert f"gossamer job resume {short(job.id)} --max-credits N" in " ".join(refused.stderr.split())


async def test_traffic_already_taken_in_is_no_limit(tmp_path: Path) -> None:
    async with open_app(Settings(home=tmp_path)) as app:
        job = await a_job(app)
        with pytest.raises(UserError, match="--max-mb cannot be less"):
            await control.resume(app.database, job, Cap(traffic=0))


async def test_an_audit_holds_the_budgets_against_the_charges(tmp_path: Path) -> None:
    async with open_app(Settings(home=tmp_path)) as app:
        job = await a_job(app)
        checks = {check.name: check for check in (await audit(app.database, job.id)).checks}
        assert checks["money"].figures == {"charged": 7, "reserved": 0, "spent": 7}
        assert checks["money"].faults == ()
        wrong = update(rows).where(rows.c.job_id == job.id).values(spent_credits=8)
        await app.database.write(lambda tx: tx.run(wrong))
        checks = {check.name: check for check in (await audit(app.database, job.id)).checks}
        assert checks["money"].faults == (
            f"budget of job {short(job.id)}: it says 8 credits, $0.07, 0 MB of residential traffic spent, "
            "the rows say 7 credits, $0.07, 0 MB of residential traffic",
        )


def test_limits_are_those_of_one_job() -> None:
    nothing = {"max_usd": None, "max_mb": None, "max_residential_mb": None, "processes": None}
    with pytest.raises(UserError, match=r"Limits can only be set for one job\."):
        resume.function(None, everything=True, max_credits=5, **nothing, detach=False, as_json=False)


async def test_a_summary_has_the_costs_of_a_job_that_had_some(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with open_app(Settings(home=tmp_path)) as app:
        job = await a_job(app)
        await show_summary(LocalHome(app), short(job.id), None, "", None, as_json=False)
        said = capsys.readouterr().out
        assert "Costs" in said
        assert "ScrapingBee credits used: 7 ($0.07)" in said
        await show_summary(LocalHome(app), short(job.id), None, "", None, as_json=True)
        assert orjson.loads(capsys.readouterr().out)["cost"]["credits"] == 7


def test_prices_and_caps_are_the_operators(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOSSAMER_PRICES", "scrapingbee-js=7@0.002, residential=8/GB")
    settings = Settings(credit_usd=0.001, daily_usd=12.5, max_credits=99)
    prices, caps = prices_of(settings), caps_of(settings)
    rendered, plain, proxy = (prices.priced(rung) for rung in ("scrapingbee-js", "scrapingbee-standard", "residential"))
    assert (rendered.worst, rendered.micros_per_credit) == (7, 2_000)
    assert (plain.worst, plain.micros_per_credit) == (1, 1_000)
    assert (proxy.worst, proxy.micros_per_gigabyte) == (0, 8_000_000)
    assert prices.of("direct") is None
    assert caps == {Scope.SYSTEM: Cap(None, 12_500_000), Scope.ACCOUNT: Cap(), Scope.JOB: Cap(99)}
    for wrong in ("scrapingbee-js", "scrapingbee-js=cheap", "=5", "scrapingbee-js=5@"):
        monkeypatch.setenv("GOSSAMER_PRICES", wrong)
        with pytest.raises(UserError, match=r"GOSSAMER_PRICES is .*, expected prices such as"):
            Settings()


def _bill(*methods: Method) -> Bill:
    return Bill(could_cost=True, methods=methods, rendered=(Rendered("example.com", 3, 47),), more_rendered=True)


def test_methods_are_a_table_that_fits() -> None:
    bill = _bill(
        Method("direct", "", 1_204),
        Method("scrapingbee-standard", "scrapingbee", 0, 34, 0, Amount(34, 340_000)),
        Method("scrapingbee-js", "scrapingbee", 31, 31, 0, Amount(155, 1_550_000)),
    )
    assert costs.method_lines(bill, 80) == [
        "Read with                     Pages  of pages  Credits   Cost  of cost",
        "  Direct (free)               1,204      97 %        0  $0.00      0 %",
        "  ScrapingBee (standard)          0       0 %       34  $0.34     18 %",
        "  ScrapingBee (JS rendering)     31       3 %      155  $1.55     82 %",
        "  example.com: 3/47 pages required JS rendering",
        "  and more domains",
    ]
    assert max(map(len, costs.method_lines(bill, 60))) == 60
    free = costs.method_lines(_bill(Method("direct", "", 2), Method("browser", "", 1)), 80)
    assert free[:3] == [
        "Read with         Pages  of pages",
        "  Direct (free)       2      67 %",
        "  Browser (free)      1      33 %",
    ]
    assert costs.method_lines(Bill(could_cost=True), 80) == []


async def test_costs_stay_out_of_what_is_asked_for_without_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with open_app(Settings(home=tmp_path)) as app:
        job, page, book = await a_job(app), tmp_path / "page.html", tmp_path / "book.xlsx"
        for costs_too in (True, False):
            await show_summary(LocalHome(app), short(job.id), page, "", None, as_json=False, with_costs=costs_too)
            asking = ExportOptions("results", "xlsx", costs=costs_too)
            await export_files(LocalHome(app), short(job.id), asking, book, wait=False, as_json=False)
            assert ("What it cost" in page.read_text(encoding="utf-8")) is costs_too
            assert ("Costs" in openpyxl.load_workbook(book).sheetnames) is costs_too
        (order,) = asking.orders(Exportable(job, None, None), None)
        (made,) = await app.database.write(exports.add, job.id, [request_of(order)], app.export_store().owner)
        assert not order_of(job, made).looks.costs
        capsys.readouterr()
        await show_summary(LocalHome(app), short(job.id), None, "", None, as_json=True, with_costs=False)
        assert "cost" not in orjson.loads(capsys.readouterr().out)
        with pytest.raises(UserError, match="--without-costs only affects the workbook"):
            ExportOptions("results", "csv", costs=False).orders(Exportable(job, None, None), None)


async def test_the_figures_of_the_system_have_calls_to_providers_and_what_failed(tmp_path: Path) -> None:
    async with open_app(Settings(home=tmp_path)) as app:
        assert metrics(await figures(View(app)))["flaresolverr_success_rate"] is None
        await a_job(app)
        await app.database.write(
            rung_stats.learn,
            {("a.test", "flaresolverr"): Experience(3, 2), ("b.test", "flaresolverr"): Experience(1, 1)},
        )
        told = metrics(await figures(View(app)))
        assert told["provider_requests_per_second"] == {"scrapingbee": round(3 / 300, 3)}
        assert (told["error_rate"], told["flaresolverr_success_rate"]) == (0, 0.75)
