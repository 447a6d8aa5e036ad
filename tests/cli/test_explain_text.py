"""An explanation fits the terminal, and every part of it is a sentence."""

from datetime import UTC, datetime
from uuid import UUID

import pytest

from gossamer.cli import explain_text, formatting
from gossamer.cli.history import explanation_lines
from gossamer.frontier.robots import RuleLine
from gossamer.history.explain import Absence, Explanation, Ruling
from gossamer.model.job import Job
from gossamer.model.page import Attempt
from gossamer.model.states import JobState, PageState, SiteState
from gossamer.model.trouble import Reason, Trouble
from gossamer.store.history import PageHistory, SiteHistory

AT = datetime(2026, 1, 18, 14, 3, 7, 250_000, tzinfo=UTC)
MS = round(AT.timestamp() * 1000)
URL = "https://a-rather-long-name-of-a-site.example/and/a/rather/long/way/to/the/page"
JOB = Job(UUID(int=1), "Acme", "prospect", {}, JobState.COMPLETED, "", AT, AT, AT)


def site(state: SiteState = SiteState.DONE, trouble: Trouble | None = None) -> SiteHistory:
    return SiteHistory(
        *(UUID(int=2), "a.example", "a.example", "www.A.example", ("https://a.example/",), True, True, state, trouble),
        *(7, 20, "sitemap", None, {}, (), b"", AT),
    )


def page(state: PageState, trouble: Trouble | None, *attempts: Attempt, **more: int) -> PageHistory:
    found_on = "https://a.example/"
    depth, handed = more.get("depth", 1), more.get("handed", 0)
    return PageHistory(
        b"k" * 12, URL, state, trouble, 200, depth, 3, handed, found_on, attempts, None, b"k" * 12, 8_000, AT
    )


@pytest.mark.parametrize("width", [60, 80, 110])
def test_every_line_fits_and_no_address_is_broken(width: int) -> None:
    tries = [Attempt("direct", 503, "UNAVAILABLE", 40, MS, (MS,)), Attempt("direct", 200, "", 3_100, MS, (MS, MS, MS))]
    match = {
        "keyword": "CRM",
        "frequency": 3,
        "position": "heading",
        "verdict": "unlinked",
        "context_snippet": "a CRM b",
    }
    ruling = Ruling("https://a.example/robots.txt", 200, MS, True, RuleLine(12, "Allow: /and/"), 2.0)
    one = Explanation(
        "a.example/page", URL, site(), ruling, page(PageState.DONE, None, *tries), records=({**match, "url": URL},)
    )
    said = list(explanation_lines(one, JOB, width))
    assert all(len(line) <= width for line in said if URL not in line)
    assert said[0] == URL
    text = " ".join(" ".join(said).split())
    for part in (
        "a.example: done; 7 pages read of 20 known from its sitemap",
        "on https://a.example/ (depth 1)",
        "allowed by line 12: Allow: /and/; Crawl-delay 2 s (HTTP 200, asked",
        "direct: HTTP 503 Service Unavailable in 40 ms",
        "direct: HTTP 200; 3 requests (2 redirects) in 3.10 s",
        "done: read, 8,000 bytes",
        'CRM: 3 times, heading, unlinked: "a CRM b"',
    ):
        assert part in text


def test_an_address_that_is_no_page_says_why() -> None:
    one = Explanation(URL, URL, site(), absences=(Absence("binary", "It ends in .pdf."), Absence("x", "And so on.")))
    said = list(explanation_lines(one, JOB, 80))
    assert said[-3:] == [
        "Page        none: this address was never asked for",
        "Why         It ends in .pdf.",
        "            And so on.",
    ]


@pytest.mark.parametrize(
    ("attempt", "sentence"),
    [
        (Attempt("direct", None, "TIMEOUT", 3_000, MS, (MS,)), "Timeout after 3.00 s"),
        (Attempt("direct", 502, "SERVER_ERROR", 30, MS, (MS,)), "HTTP 502 server error in 30 ms"),
        (Attempt("direct", 200, "BLOCKED", 30, MS, (MS,)), "HTTP 200, Blocked by bot protection in 30 ms"),
        (Attempt("direct", 200, "", 2_082, MS, (MS + 2_070,)), "HTTP 200 in 12 ms (waited 2.07 s for its turn)"),
        (
            Attempt("direct", 200, "", 4_000, MS, (MS + 1_000, MS + 2_000)),
            "HTTP 200; 2 requests (1 redirect) in 3.00 s (waited 1.00 s for its turn)",
        ),
        (Attempt("direct", None, "ROBOTS", 0, MS, ()), "robots.txt disallowed; the page was not asked for"),
    ],
)
def test_a_try_in_words(attempt: Attempt, sentence: str) -> None:
    assert explain_text.attempt(attempt) == sentence


@pytest.mark.parametrize(
    ("ruling", "beginning"),
    [
        (Ruling("f"), "not known: f was not asked for"),
        (Ruling("f", 503, MS), "not known: f could not be read (HTTP 503, asked 2026-"),
        (Ruling("f", None, MS), "not known: f could not be read (no answer, asked 2026-"),
        (Ruling("f", 404, MS, True), "allowed: robots.txt answered HTTP 404, which counts as no rules (asked 2026-"),
        (Ruling("f", 200, None, True), "allowed, no rule blocks it (HTTP 200, known from another job)"),
        (Ruling("f", 200, None, False, RuleLine(4, "Disallow: /")), "disallowed by line 4: Disallow: / (HTTP 200"),
    ],
)
def test_what_robots_said_in_words(ruling: Ruling, beginning: str) -> None:
    assert explain_text.ruling(ruling).startswith(beginning)


def test_a_try_stands_at_the_moment_its_request_was_sent() -> None:
    """robots.txt was asked for while the page waited: a page that seems asked for before it would disprove our word."""
    one = page(PageState.DONE, None, Attempt("direct", 200, "", 2_082, MS, (MS + 2_070,)))
    shown = " ".join(
        explanation_lines(Explanation(URL, URL, site(), Ruling("f", 403, MS + 1_000, True), one), JOB, 110)
    )
    sent = formatting.local_time(datetime.fromtimestamp((MS + 2_070) / 1000, UTC))
    assert f"{sent}  direct: HTTP 200 in 12 ms" in shown
    assert formatting.local_time(AT) not in shown.partition("Settled")[0]
    (tried,) = explain_text.as_json(Explanation(URL, URL, site(), None, one), JOB)["page"]["attempts"]
    assert (tried["at"], tried["took_ms"], tried["waited_ms"]) == ("2026-01-18T14:03:09.320Z", 12, 2_070)


def test_how_a_site_ended_is_said_once() -> None:
    partial = site(SiteState.PARTIAL, Trouble(Reason.PARTIAL_PAGES, "7 of 20"))
    failed = site(SiteState.FAILED, Trouble(Reason.UNREACHABLE))
    assert explain_text.site(partial).startswith("a.example: Partially crawled (7 of 20); 7 pages")
    assert explain_text.site(failed).startswith("a.example: failed: Could not connect; 7 pages")


def test_where_a_page_was_found_in_words() -> None:
    done = page(PageState.DONE, None)
    assert explain_text.found(Explanation(URL, URL, site(), from_sitemap=True), done).startswith(
        "in the sitemap https://"
    )
    handed = page(PageState.DONE, None, handed=1)
    assert explain_text.found(Explanation(URL, URL, site()), handed).startswith(
        "behind a redirect from https://a.example/"
    )
