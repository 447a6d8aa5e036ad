"""The prospect recipe: from a document to rows and to the links worth following."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from pydantic import ValidationError

from gossamer.model.page import Page
from gossamer.model.recipe import Bound
from gossamer.model.record import Record
from gossamer.model.url import is_binary
from gossamer.recipes.prospect import MATCH, PROSPECT
from gossamer.recipes.prospect.params import ProspectParams
from tests.parse.answers import URL, read


def bound(*keywords: str, **params: Any) -> Bound:
    return PROSPECT.bind(ProspectParams(keywords=list(keywords) or ["CRM"], **params))


def follows(body: str, url: str = URL, headers: dict[str, str] | None = None) -> list[str]:
    doc = read(body, url=url, headers=headers)
    return list(bound().harvest(Page.at(url), doc).links)


def test_snippets_capitals_and_plurals_are_the_jobs_own() -> None:
    doc = read("<title>x</title><p>It is our IT department that is in charge of all the lamps we sell.</p>")
    job = bound("IT", "it", "lamp", case_sensitive=True, plurals=True, snippet=12)
    rows = [record.data for record in job.harvest(Page.at(URL), doc).records]
    assert [(row["keyword"], row["frequency"], row["context_snippet"]) for row in rows] == [
        ("IT", 1, "It is our IT..."),
        ("lamp", 1, "...all the lamps we sell."),
    ]
    assert ProspectParams(keywords=["IT", "it"]).keywords == ["IT"]
    assert ProspectParams(keywords=["IT", "it", "IT"], case_sensitive=True).keywords == ["IT", "it"]
    for wrong in ({"snippet": 151}, {"snippet": -1}, {"keywords": ["a\x1bb"]}):
        with pytest.raises(ValidationError):
            ProspectParams.model_validate({"keywords": ["a"], **wrong})


def test_a_match_is_a_row_with_exactly_the_promised_columns() -> None:
    doc = read("<title>Our CRM</title><p>A <b>CRM</b> software for boats</p>")
    harvest = bound("crm", "CRM software", "sail").harvest(Page.at(URL), doc)
    first, second = harvest.records
    assert first == Record(
        kind="match",
        identity=(URL, "crm"),
        data={
            "domain": "shop.example",
            "url": URL,
            "keyword": "crm",
            "frequency": 2,
            "context_snippet": "A CRM software for boats",
            "crawl_method": "direct",
            "timestamp": "2026-03-04T05:06:07Z",
            "http_status": 200,
            "verdict": "",
            "link_url": "",
            "anchor_text": "",
            "position": "title",
            "page_date": "",
            "outbound_links": 0,
            "outbound_followed": 0,
        },
    )
    assert second.data["keyword"] == "CRM software"
    worked_out_later = ("flags", "keyword_pages", "site_pages")
    kept_besides = ("page_date", "outbound_links", "outbound_followed")
    assert (*first.data, *worked_out_later) == (*MATCH.names[:12], *kept_besides, *worked_out_later)
    header = "domain,url,keyword,frequency,context_snippet,crawl_method,timestamp,http_status"
    more = "verdict,link_url,anchor_text,position,flags,keyword_pages,site_pages"
    assert ",".join(MATCH.names) == f"{header},{more}"
    assert MATCH.key == ("url", "keyword")


def test_a_row_says_whether_the_page_links_to_the_client() -> None:
    doc = read('<p>CRM boats</p><nav>ferry</nav><a href="https://blog.acme.com/?utm_source=x">Acme</a>')
    recipe = bound("CRM", "ferry", client_domains=["acme.com"], competitor_domains=["rival.com"])
    crm, ferry = recipe.harvest(Page.at(URL), doc).records
    told = ("verdict", "link_url", "anchor_text", "position")
    assert [crm.data[name] for name in told] == ["linked", "https://blog.acme.com/?utm_source=x", "Acme", "body"]
    assert (ferry.data["verdict"], ferry.data["position"]) == ("linked", "navigation")


@pytest.mark.parametrize(
    ("body", "keyword", "told"),
    [
        ("<p>CRM <a rel='nofollow,noopener' href='https://acme.com/'>x</a></p>", "CRM", ("nofollow", "body", 1)),
        ("<section><header><p>The CRM.</p></header></section>", "CRM", ("unlinked", "body", 1)),
        ("<p>CRM<sup>1</sup></p><div role=contentinfo>CRM</div>", "CRM", ("unlinked", "body", 2)),
        ("<p>Mail jane@company.net</p><p>ASP.NET</p>", ".NET", ("unlinked", "body", 1)),
        ("<svg><metadata>CRM</metadata></svg><dialog>CRM</dialog><nav>CRM</nav>", "CRM", ("unlinked", "navigation", 1)),
        ("<table><tr><td>CRM<td>software</table>", "CRM software", ("unlinked", "body", 1)),
    ],
)
def test_what_a_row_says_of_a_page(body: str, keyword: str, told: tuple[str, str, int]) -> None:
    (record,) = bound(keyword, client_domains=["acme.com"]).harvest(Page.at(URL), read(body)).records
    assert (record.data["verdict"], record.data["position"], record.data["frequency"]) == told


def test_a_link_with_commas_in_its_rel_is_not_followed_either() -> None:
    assert follows('<a rel="nofollow,noopener" href="/a">1</a><a href="/b">2</a>') == follows('<a href="/b">2</a>')


def test_without_a_client_there_is_no_verdict() -> None:
    doc = read('<h2>CRM</h2><a href="https://acme.com/">Acme</a>')
    (record,) = bound("CRM").harvest(Page.at(URL), doc).records
    assert (record.data["verdict"], record.data["link_url"], record.data["position"]) == ("", "", "heading")


def test_pages_of_the_client_are_its_own() -> None:
    doc = read("<p>CRM</p>", url="https://www.acme.com/")
    (record,) = bound("CRM", client_domains=["acme.com"]).harvest(Page.at("https://www.acme.com/"), doc).records
    assert record.data["verdict"] == "own-site"


def test_the_row_names_the_page_as_it_was_found_after_redirects() -> None:
    doc = read("CRM", url="https://www.shop.example/new", requested="https://shop.example/old")
    (record,) = bound().harvest(Page.at("https://shop.example/old"), doc).records
    assert record.identity == ("https://www.shop.example/new", "CRM")
    assert record.data["domain"] == "shop.example"


def test_domains_stay_in_ascii() -> None:
    (record,) = bound().harvest(Page.at(URL), read("CRM", url="https://www.xn--bcher-kva.example/")).records
    assert record.data["domain"] == "xn--bcher-kva.example"


def test_times_are_whole_seconds_in_utc() -> None:
    doc = read("CRM")
    object.__setattr__(doc, "fetched_at", datetime(2026, 1, 1, 1, 30, 59, 999_999, tzinfo=timezone(timedelta(hours=2))))
    (record,) = bound().harvest(Page.at(URL), doc).records
    assert record.data["timestamp"] == "2025-12-31T23:30:59Z"
    assert datetime.fromisoformat(str(record.data["timestamp"])).tzinfo == UTC


def test_a_page_without_keywords_yields_no_rows_but_its_links() -> None:
    harvest = bound().harvest(Page.at(URL), read('<a href="/x">scramble</a>'))
    assert harvest.records == ()
    assert harvest.links == ["https://shop.example/x"]


def test_the_same_page_gives_the_same_harvest() -> None:
    recipe, doc = bound("CRM", "boats"), read('<p>CRM boats</p><a href="/a">a</a><a href="/b">b</a>')
    assert recipe.harvest(Page.at(URL), doc) == recipe.harvest(Page.at(URL), doc)


def test_only_links_of_the_same_site_are_followed() -> None:
    body = """<a href="/a">1</a><a href="https://www.shop.example/b">2</a><a href="http://shop.example/c">3</a>
    <a href="https://blog.shop.example/d">4</a><a href="https://other.example/?from=shop.example">5</a>
    <a href="https://shop.example.evil.test/">6</a><a href="https://myshop.example/">7</a>
    <a href="https://shop.example:8443/e">8</a>"""
    assert follows(body) == [
        "https://shop.example/a",
        "https://www.shop.example/b",
        "http://shop.example/c",
        "https://shop.example:8443/e",
    ]


def test_what_asks_not_to_be_followed_is_not() -> None:
    assert follows('<a href="/a" rel="nofollow">1</a><a href="/b" rel="ugc">2</a><a href="/c">3</a>') == [
        "https://shop.example/c"
    ]
    assert follows('<head><meta name=robots content=nofollow></head><a href="/a">1</a>') == []
    assert follows('<a href="/a">1</a>', headers={"x-robots-tag": "none"}) == []


def test_a_refresh_is_followed_first_and_even_where_links_are_not() -> None:
    head = '<head><meta http-equiv=refresh content="0;url=/next"><meta name=robots content=nofollow></head>'
    assert follows(f'{head}<a href="/a">1</a>') == ["https://shop.example/next"]
    assert follows('<head><meta http-equiv=refresh content="0;url=https://other.example/"></head>x') == []


def test_a_page_does_not_lead_to_itself() -> None:
    assert follows(f'<a href="{URL}#top">top</a><a href="/x">x</a>') == ["https://shop.example/x"]


@pytest.mark.parametrize(
    ("url", "binary"),
    [
        ("https://shop.example/file.pdf", True),
        ("https://shop.example/photo.JPG", True),
        ("https://shop.example/archive.tar.gz?v=2", True),
        ("https://shop.example/page.html", False),
        ("https://shop.example/page", False),
        ("https://shop.example/v1.2/page", False),
        ("https://shop.example/show?file=a.pdf", False),
        ("https://shop.zip/", False),
        ("https://shop.example/pdf", False),
        ("https://shop.example/about.me", False),
        ("https://shop.example/wiki/Node.js", False),
        ("https://shop.example/tag/package.json", False),
    ],
)
def test_files_that_are_no_pages_are_not_followed(url: str, binary: bool) -> None:
    assert is_binary(url) is binary


def test_the_policy_carries_the_limits() -> None:
    policy = bound(max_pages_per_domain=7, depth=3).policy()
    assert (policy.pages_per_site, policy.depth) == (7, 3)
    assert (bound().policy().pages_per_site, bound().policy().depth) == (500, 50)
    policy = bound(top_pages=9, include=["/blog/*"], exclude=["*/tag/*", "/x?*"]).policy()
    assert (policy.top_pages, policy.include, policy.exclude) == (9, ("/blog/*",), ("*/tag/*", "/x?*"))
    assert (bound().policy().top_pages, bound().policy().include, bound().policy().exclude) == (50, (), ())
    assert list(bound().seeds()) == []
    assert bound().accept(Page.at(URL), read("x")) is None


def test_keywords_are_tidied_and_distinct() -> None:
    params = ProspectParams(keywords=["  CRM ", "crm", "CRM\u00a0 software", "Cafe\u0301"])
    assert params.keywords == ["CRM", "CRM software", "Café"]
    assert ProspectParams.model_validate(params.model_dump(mode="json")) == params


def test_domains_are_read_as_those_of_a_list_are() -> None:
    given = ["https://www.Acme.com/", "acme.com", "bücher.example", " 'blog.acme.com' "]
    params = ProspectParams(keywords=["CRM"], client_domains=given, competitor_domains=["http://rival.com/x?y"])
    assert params.client_domains == ["acme.com", "xn--bcher-kva.example", "blog.acme.com"]
    assert params.competitor_domains == ["rival.com"]
    assert ProspectParams.model_validate(params.model_dump(mode="json")) == params


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"keywords": []},
        {"keywords": [" "]},
        {"keywords": ["CRM", "\u200b"]},
        {"keywords": [f"k{n}" for n in range(501)]},
        {"keywords": ["x" * 201]},
        {"keywords": ["CRM"], "max_pages_per_domain": 0},
        {"keywords": ["CRM"], "max_pages_per_domain": 50_001},
        {"keywords": ["CRM"], "depth": -1},
        {"keywords": ["CRM"], "unknown": 1},
        {"keywords": ["CRM"], "top_pages": 0},
        {"keywords": ["CRM"], "top_pages": 50_001},
        {"keywords": ["CRM"], "client_domains": ["info@acme.com"]},
        {"keywords": ["CRM"], "client_domains": [""]},
        {"keywords": ["CRM"], "client_domains": [f"a{n}.com" for n in range(51)]},
        {"keywords": ["CRM"], "competitor_domains": ["rival.com"]},
        {"keywords": ["CRM"], "client_domains": ["acme.com"], "competitor_domains": ["no domain"]},
        {"keywords": ["CRM"], "include": ["blog/*"]},
        {"keywords": ["CRM"], "include": [""]},
        {"keywords": ["CRM"], "exclude": ["/" + "x" * 200]},
        {"keywords": ["CRM"], "exclude": [f"/{n}" for n in range(51)]},
    ],
)
def test_bad_parameters_are_refused(params: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        ProspectParams.model_validate(params)
