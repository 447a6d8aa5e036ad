"""Tables fit the terminal they are shown in, and cut what matters least."""

import io
from typing import Any

import pytest
from rich.console import Console
from rich.table import Table

from gossamer.cli import tables
from gossamer.cli.politeness import summary
from gossamer.model.states import SiteState
from gossamer.model.trouble import Reason, Trouble
from gossamer.store.sites import SiteSummary
from gossamer.work.manners import DomainManners, Gap

LONG = "https://a-rather-long-name-of-a-site.example/and/a/rather/long/way/to/the/page"


def row(**more: Any) -> dict[str, Any]:
    return {
        "domain": "a-rather-long-name-of-a-site.example",
        "url": LONG,
        "keyword": "customer relationship management",
        "frequency": 12,
        "context_snippet": "...what customer relationship management is good for in a small office...",
        "verdict": "links-elsewhere",
        **more,
    }


def site(state: SiteState, reason: Reason | None = None) -> SiteSummary:
    trouble = Trouble(reason, "Cloudflare") if reason else None
    return SiteSummary("a-rather-long-name-of-a-site.example", state, trouble, 42, 1234, "sitemap", 0, None)


def shown(table: Table, width: int) -> list[str]:
    out = io.StringIO()
    Console(width=width, file=out).print(table)
    return [line.rstrip() for line in out.getvalue().splitlines()]


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_results_are_one_line_a_row_and_never_lose_the_verdict(width: int) -> None:
    lines = shown(tables.matches([row(), row(verdict="unlinked")], width), width)
    assert len(lines) == 3
    assert all(len(line) <= width for line in lines)
    assert "links-elsewhere" in lines[1]
    assert "unlinked" in lines[2]
    assert all("12" in line for line in lines[1:])


def test_the_context_is_shown_only_where_there_is_room() -> None:
    assert "Context" not in shown(tables.matches([row()], 80), 80)[0]
    wide = shown(tables.matches([row()], 160), 160)
    assert "Context" in wide[0]
    assert "relationship management is" in wide[1]


def test_a_job_without_a_client_has_no_column_for_the_verdict() -> None:
    lines = shown(tables.matches([row(verdict="")], 120), 120)
    assert "Verdict" not in lines[0]


@pytest.mark.parametrize("width", [60, 80, 120])
def test_domains_are_one_line_each_with_size_and_source(width: int) -> None:
    found = [site(SiteState.DONE), site(SiteState.FAILED, Reason.BLOCKED)]
    lines = shown(tables.domains(found, width), width)
    assert len(lines) == 3
    assert all(len(line) <= width for line in lines)
    assert "1,234" in lines[1]
    assert "site" in lines[1]
    assert "Blocked by" in lines[2]


def test_the_widest_columns_give_way_first() -> None:
    cells = [["a" * 20, "b" * 10]]
    assert tables.fit(["A", "B"], cells, [30, 30], [5, 5], 40) == [20, 10]
    assert tables.fit(["A", "B"], cells, [30, 30], [5, 5], 26) == [14, 10]
    assert tables.fit(["A", "B"], cells, [30, 30], [5, 5], 4) == [5, 5]
    assert tables.fit(["A", "B"], cells, [8, 30], [5, 5], 40) == [8, 10]


def treated(domain: str, gap: int, **more: Any) -> DomainManners:
    facts: dict[str, Any] = {
        "hosts": (domain,),
        "pages": 1_230,
        "errands": 4,
        "unanswered": 0,
        "gap": Gap(gap, 1_000, 0),
        "delay": 0,
        "files": (200, 404),
        "allowed": 1_200,
        "refused": 3,
        "forbidden": 0,
        "forbidden_urls": (),
        "strained": 0,
        "longest_wait": None,
    }
    return DomainManners(domain, **{**facts, **more})


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_proof_is_one_line_a_domain_and_never_loses_the_gap(width: int) -> None:
    strained = treated("a-rather-long-name-of-a-site.example", 1_020, strained=2, longest_wait=61_000, delay=5_000)
    lines = shown(tables.manners([strained, treated("b.example", 1_050)], width), width)
    assert len(lines) == 3
    assert all(len(line) <= width for line in lines)
    assert "1,234" in lines[1]
    assert "1.02 s" in lines[1]
    assert "1.05 s" in lines[2]
    assert ("2, 61.0 s" in lines[1], "5.00 s" in lines[1]) == (width == 120, width > 60)


def test_the_summary_says_what_was_kept_and_what_was_not() -> None:
    kept = summary([treated("a.example", 1_020), treated("b.example", 2_000, unanswered=2)], 1)
    assert kept == [
        "2,468 requests to 2 domains (2 not answered); smallest gap 1.02 s (a.example); "
        "no disallowed address was requested. 1 more domain: --limit."
    ]
    url = "https://b.example/private"
    broken = summary([treated("a.example", 400), treated("b.example", 2_000, forbidden=1, forbidden_urls=(url,))], 20)
    assert "1 disallowed address requested." in broken[0]
    assert broken[1:] == [
        "Too close: a.example was asked 400 ms after the request before, 1.00 s were due.",
        f"Disallowed by robots.txt, and requested: {url}",
    ]
