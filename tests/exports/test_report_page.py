"""The report page: everything in it, nothing fetched from elsewhere, nothing of a site's that could act in it."""

import re
from collections.abc import Sequence
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

from gossamer.billing.prices import PriceList
from gossamer.exports.report_page import link, marked, report_page
from gossamer.model.job import Job
from gossamer.recipes.base import TableQuery
from gossamer.recipes.overview import by_size
from gossamer.recipes.prospect.survey import ProspectSurvey
from tests.conftest import AnyDatabase
from tests.exports.matches import job_with, match
from tests.exports.test_bill import hybrid_job

EVIL = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'&"


class Elements(HTMLParser):
    """All elements and attributes of a page, and what it says."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.words = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_data(self, data: str) -> None:
        self.words += data


async def page_of(
    database: AnyDatabase, job: Job, politeness: Sequence[str] = (), title: str = "", client: str = "", **asked: Any
) -> str:
    survey = ProspectSurvey(database, TableQuery(job, (), **asked))
    overview = await survey.read()
    return report_page(overview, survey.page(client), politeness, title)


async def test_it_fetches_nothing_and_runs_nothing(database: AnyDatabase) -> None:
    rows = [
        match("a.test", "x?a=1&b=%22", EVIL, context_snippet=f"about {EVIL} here"),
        match("b.test", "y", "ERP"),
    ]
    page = await page_of(database, await job_with(database, rows, failed=["f.test"]), [f"Told {EVIL}."])
    found = Elements(page)
    assert not {"script", "img", "link", "iframe", "object", "embed", "form", "base"} & set(found.tags)
    assert not [one for one in found.attributes if one[1].startswith("on") or one[1] in ("src", "srcset", "style")]
    assert {value for _, name, value in found.attributes if name == "href"} == {
        "https://a.test/x?a=1&b=%22",
        "https://b.test/y",
    }
    assert not re.search(r"url\(|@import", page)
    assert found.words.count(EVIL) >= 3
    assert f"Told {EVIL}." in found.words


async def test_it_says_what_was_found(database: AnyDatabase) -> None:
    earlier = await job_with(database, [match("old.test")])
    rows = [match(f"site{number}.test", f"{page}") for number in range(30) for page in range(3)] + [match("old.test")]
    job = await job_with(database, rows, failed=["f.test"])
    found = Elements(await page_of(database, job, ["All was polite."], since=earlier))
    for words in (
        "31 prospects",
        "91 matches",
        "DNS resolution failed",
        "f.test: DNS resolution failed",
        "And 6 more domains.",
        "All was polite.",
    ):
        assert words in found.words
    assert "workbook" not in found.words
    assert ("span", "class", "new") in found.attributes
    assert "Partial" in found.words  # nobody has closed the job


async def test_a_job_without_matches_has_a_page_too(database: AnyDatabase) -> None:
    page = await page_of(database, await job_with(database, [], empty=["a.test"]))
    assert "No page mentions a keyword yet." in page
    assert page.endswith("</html>\n")


def test_only_web_addresses_are_links() -> None:
    assert link("javascript:alert(1)") == "javascript:alert(1)"
    assert link('https://a.test/"><b>').count("<") == 2


def test_every_mention_is_marked() -> None:
    assert marked("CRM & crm", "CRM") == "<mark>CRM</mark> &amp; <mark>crm</mark>"
    assert marked("<b>", "") == "&lt;b&gt;"
    assert marked("a<b", "<") == "a<mark>&lt;</mark>b"


def test_domains_are_counted_by_their_size() -> None:
    assert by_size([0, 1, 2, 10, 11, 50, 500]) == (("none", 1), ("1", 1), ("2-10", 2), ("11-50", 2), ("51-500", 1))
    assert by_size([501])[-1] == ("over 500", 1)
    assert by_size([]) == ()


async def test_it_says_what_the_job_has_cost_where_that_is_asked_for(database: AnyDatabase) -> None:
    job = await hybrid_job(database)
    page = await page_of(database, job, prices=PriceList())
    words = Elements(page).words
    for wanted in (
        "What it cost",
        "ScrapingBee credits used: 7 ($0.07)",
        "Saved: 23 credits ($0.23).",
        "ScrapingBee (JS rendering)117 %5$0.0571 %",
        "In all6100 %7$0.07",
        "rendered.test: 1/1 pages required JS rendering",
    ):
        assert wanted in words
    assert "What it cost" not in await page_of(database, job)
    free = await job_with(database, [match("a.test")])
    page = await page_of(database, free, prices=PriceList())
    assert "What it cost" not in page


async def test_without_a_client_no_page_is_called_unlinked(database: AnyDatabase) -> None:
    job = await job_with(database, [match("a.test")])
    assert '<th class="number">Pages</th>' in await page_of(database, job)
    job = replace(job, params={**job.params, "client_domains": ["acme.test"]})
    assert '<th class="number">Unlinked pages</th>' in await page_of(database, job)


async def test_verdicts_are_explained_beside_their_chart_and_every_chart_has_letters_of_one_size(
    database: AnyDatabase,
) -> None:
    job = await job_with(database, [match("a.test", verdict="unlinked")], failed=["f.test"])
    job = replace(job, params={**job.params, "client_domains": ["acme.test"]})
    page = await page_of(database, job)
    by_verdict = next(one for one in re.findall(r"<figure>.*?</figure>", page) if "Matches by verdict" in one)
    assert "<dt>No link yet</dt>" in by_verdict
    assert page.count("<dt>No link yet</dt>") == 1
    assert {line.split()[2] for line in re.findall(r'viewBox="[^"]+', page)} == {"440"}
    assert "max-width: 440px" in page  # alone in its row a chart would be drawn larger
    assert page.index("A prospect is a domain") < page.index("<table>")
