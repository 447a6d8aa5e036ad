"""What a client reads: verdicts in words, dates as dates, names of domains as people write them."""

from dataclasses import replace
from datetime import datetime
from pathlib import Path

import openpyxl
import pytest

from gossamer.analyze.backlinks import Verdict
from gossamer.exports.readable import day_number, readable_host, readable_url
from gossamer.exports.workbook import write_workbook
from gossamer.model.job import Job
from gossamer.recipes.base import Looks, TableQuery
from gossamer.recipes.prospect import MATCH
from gossamer.recipes.prospect.tables import RESULTS
from gossamer.recipes.prospect.verdicts import VERDICTS as WORDS
from gossamer.recipes.prospect.verdicts import verdict_words
from tests.conftest import AnyDatabase
from tests.exports.matches import job_with, match
from tests.exports.test_bill import hybrid_job
from tests.exports.test_report_page import Elements, page_of

BOOKS = "xn--bcher-kva.test"


async def a_job(database: AnyDatabase) -> Job:
    rows = [
        match("a.test", verdict="linked", page_date="2025-02-03"),
        match(BOOKS, "shop", verdict="unlinked"),
        match("c.test", verdict="links-elsewhere"),
    ]
    job = await job_with(database, rows, failed=["down.test"])
    return replace(job, params={**job.params, "client_domains": ["acme.test"]})


async def book_of(database: AnyDatabase, job: Job, folder: Path, looks: Looks = Looks()) -> openpyxl.Workbook:  # noqa: B008
    await write_workbook(folder / "client.xlsx", database, RESULTS, TableQuery(job, MATCH.columns), looks)
    return openpyxl.load_workbook(folder / "client.xlsx")


async def test_a_workbook_is_in_words_with_dates_and_readable_names(database: AnyDatabase, tmp_path: Path) -> None:
    book = await book_of(database, await a_job(database), tmp_path)
    matches = book["Matches"]
    titles = [cell.value for cell in matches[1]]
    row = {title: matches.cell(3, at) for at, title in enumerate(titles, 1)}
    assert {matches.cell(line, titles.index("Verdict") + 1).value for line in (2, 3, 4)} == {
        "Linked",
        "Links to others",
        "No link yet",
    }
    prospects = {line[1].value: line for line in book["Prospects"].iter_rows(min_row=2)}
    assert "bücher.test" in prospects
    url = next(line for line in matches.iter_rows(min_row=2) if line[0].value == "bücher.test")[1]
    assert url.value == "https://bücher.test/shop"
    assert url.hyperlink
    assert url.hyperlink.target == f"https://{BOOKS}/shop"
    assert row["Timestamp"].value == datetime(2026, 3, 4, 5, 6, 7)  # noqa: DTZ001 - as spreadsheets have it
    newest = [cell.value for cell in book["Prospects"][1]].index("Newest date")
    assert prospects["a.test"][newest].value == datetime(2025, 2, 3)  # noqa: DTZ001
    said = "\n".join(str(cell.value) for line in book["Summary"].iter_rows() for cell in line if cell.value is not None)
    for name, meaning in WORDS.values():
        assert f"{name}: {meaning}." in said
    book.close()


async def test_failures_come_last(database: AnyDatabase, tmp_path: Path) -> None:
    book = await book_of(database, await hybrid_job(database), tmp_path)
    assert book.sheetnames[-1] == "Failed"
    book.close()
    job = await a_job(database)
    page = await page_of(database, job, ["All was polite."])
    assert page.index("All was polite.") < page.index("Why domains failed")
    assert page.index("The best prospects") < page.index("Why domains failed")


async def test_title_and_client_can_be_set(database: AnyDatabase, tmp_path: Path) -> None:
    job = await a_job(database)
    book = await book_of(database, job, tmp_path, Looks(title="Links for Acme", client="Acme GmbH"))
    summary = {line[1].value: line[2].value for line in book["Summary"].iter_rows(max_col=3)}
    assert book["Summary"]["B1"].value == "Links for Acme"
    assert summary["Client"] == "Acme GmbH (acme.test)"
    assert isinstance(summary["Started (UTC)"], datetime)
    assert book.properties.title == "Links for Acme"
    book.close()
    page = Elements(await page_of(database, job, [], "Links & more", "Acme <GmbH>"))
    assert "Links & more" in page.words
    assert "Acme <GmbH> (acme.test)" in page.words


async def test_the_report_is_in_words_too(database: AnyDatabase) -> None:
    page = await page_of(database, await a_job(database))
    assert "bücher.test" in page
    assert f'href="https://{BOOKS}/shop"' in page
    found = Elements(page).words
    for name in ("unlinked", "links-elsewhere", "linked"):
        assert WORDS[name][1] in found
    assert "links-elsewhere" not in found


def test_every_verdict_has_words() -> None:
    assert set(WORDS) == {str(verdict.value) for verdict in Verdict}
    assert verdict_words("new-one") == "new-one"


@pytest.mark.parametrize(
    ("host", "shown"),
    [
        ("example.com", "example.com"),
        ("xn--bcher-kva.example", "bücher.example"),
        ("shop.xn--mnchen-3ya.de", "shop.münchen.de"),
        ("xn--r8jz45g.jp", "例え.jp"),
        ("xn--80aswg.xn--p1ai", "сайт.рф"),
        ("xn--80ak6aa92e.com", "xn--80ak6aa92e.com"),  # looks like apple.com
        ("xn--pple-43d.com", "xn--pple-43d.com"),  # letters of two scripts
        ("xn--.com", "xn--.com"),
        ("xn--\u00e4.com", "xn--\u00e4.com"),
    ],
)
def test_international_names_are_readable_unless_they_may_deceive(host: str, shown: str) -> None:
    assert readable_host(host) == shown
    assert readable_url(f"https://{host}/a?b=xn--bcher-kva") == f"https://{shown}/a?b=xn--bcher-kva"


def test_what_is_no_date_stays_text() -> None:
    assert day_number("2026-03-04") == 46085
    assert day_number("2026-03-04T12:00:00Z") == 46085.5
    assert [day_number(text) for text in ("", "soon", "2026-13-01", "2026-03-04Tnoon")] == [
        "",
        "soon",
        "2026-13-01",
        "2026-03-04Tnoon",
    ]


def test_flags_are_words() -> None:
    flags = next(column for column in MATCH.columns if column.name == "flags")
    assert flags.in_words("navigation-only;nearly every page") == "only in menus, nearly every page"
    assert flags.in_words("") == ""
