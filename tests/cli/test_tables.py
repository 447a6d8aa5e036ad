"""Tables fit the terminal they are shown in, and cut what matters least."""

import io
import unicodedata
from collections.abc import AsyncIterator
from typing import Any

import orjson
import pytest
from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.text import Text

from gossamer.cli import formatting, job_audit, job_results, job_show, tables
from gossamer.cli.job_audit import politeness_summary
from gossamer.cli.runtime import say
from gossamer.history.politeness import DomainManners, Gap
from gossamer.model.states import SiteState
from gossamer.model.trouble import Reason, Trouble
from gossamer.recipes.prospect import PROSPECT
from gossamer.store.sites import SiteSummary

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


def results_table(rows: list[dict[str, Any]], room: int) -> RenderableType:
    return job_results.results_table(rows, PROSPECT, room)


def context(row: dict[str, Any], room: int) -> Text:
    return job_results.context(row, ("context_snippet", "keyword"), room)


def shown(table: RenderableType, width: int) -> list[str]:
    out = io.StringIO()
    Console(width=width, file=out).print(table)
    return [line.rstrip() for line in out.getvalue().splitlines()]


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_results_fit_and_never_lose_verdict_nor_context(width: int) -> None:
    lines = shown(results_table([row(), row(verdict="unlinked")], width), width)
    each = 1 if "Context" in lines[0] else 2
    assert len(lines) == 1 + 2 * each
    assert all(cell_len(line) <= width for line in lines)
    assert "links-elsewhere" in lines[1]
    assert "unlinked" in lines[1 + each]
    assert all("12" in line for line in lines[1::each])
    assert all("relationship management is" in line for line in lines[each::each])
    assert (each == 1) == (width > 120)


def test_nothing_a_page_says_steers_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    foreign = "a\x1b]0;owned\x07 b\x9b2J CRM \x1b[31mred\x7f\r\x08"
    tables.show(results_table([row(context_snippet=foreign, keyword="CRM", url=f"{LONG}\x1b[2J")], 200))
    tables.show(results_table([row(context_snippet=foreign, keyword="CRM", domain="a\x1b[2J.test")], 80))
    say(f"Title: {foreign}")
    out = capsys.readouterr().out
    assert "a]0;owned b2J CRM [31mred" in out
    assert [one for one in out if unicodedata.category(one) == "Cc" and one != "\n"] == []


def test_colours_of_our_own_are_printed() -> None:
    out = io.StringIO()
    tables.Printer(file=out, force_terminal=True, color_system="standard", width=80).print(
        context(row(keyword="CRM", context_snippet="a\x1b CRM"), 40)
    )
    assert out.getvalue() == "a \x1b[1;33mCRM\x1b[0m\n"


def test_wide_letters_take_the_room_they_need() -> None:
    wide = row(keyword="顧客関係管理", context_snippet="小さな会社のための顧客関係管理の話です" * 4)
    lines = shown(results_table([wide], 60), 60)
    assert len(lines) == 3
    assert all(cell_len(line) <= 60 for line in lines)


def test_the_keyword_stands_out_in_its_context() -> None:
    found = context(row(context_snippet="an E‑Commerce shop is e-commerce", keyword="e-commerce"), 60)
    marked = [found.plain[span.start : span.end] for span in found.spans if span.style == job_results.MENTIONED]
    assert marked == ["E‑Commerce", "e-commerce"]


def test_a_job_without_a_client_has_no_column_for_the_verdict() -> None:
    lines = shown(results_table([row(verdict="")], 120), 120)
    assert "Verdict" not in lines[0]


@pytest.mark.parametrize("width", [60, 80, 120])
def test_domains_are_one_line_each_with_size_and_source(width: int) -> None:
    found = [site(SiteState.DONE), site(SiteState.FAILED, Reason.BLOCKED)]
    lines = shown(job_show.domains_table(found, width), width)
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
    lines = shown(job_audit.manners_table([strained, treated("b.example", 1_050)], width), width)
    assert len(lines) == 3
    assert all(len(line) <= width for line in lines)
    assert "1,234" in lines[1]
    assert "1.02 s" in lines[1]
    assert "1.05 s" in lines[2]
    assert ("2, 61.0 s" in lines[1], "5.00 s" in lines[1]) == (width == 120, width > 60)


def test_the_summary_says_what_was_kept_and_what_was_not() -> None:
    kept = politeness_summary([treated("a.example", 1_020), treated("b.example", 2_000, unanswered=2)], 1)
    assert kept == [
        "2,468 requests to 2 domains (2 got no response); "
        "smallest gap 1.02 s (a.example); "
        "no disallowed address was requested. 1 more domain: --limit."
    ]
    url = "https://b.example/private"
    broken = politeness_summary(
        [treated("a.example", 400), treated("b.example", 2_000, forbidden=1, forbidden_urls=(url,))], 20
    )
    assert "1 disallowed address requested." in broken[0]
    assert broken[1:] == [
        "Too close: a.example was asked 400 ms after the request before, 1.00 s were due.",
        f"Disallowed by robots.txt, and requested: {url}",
    ]


def test_json_on_a_screen_steers_no_terminal() -> None:
    said = {"a": "\x1b[2J\x07\x7f\x9bK", "b": "é\t"}
    text = formatting.json_text(said)
    assert text == '{"a":"\\u001b[2J\\u0007\\u007f\\u009bK","b":"é\\t"}'
    assert orjson.loads(text) == said
    assert orjson.loads(formatting.json_text(said, indent=True)) == said


async def test_a_file_on_a_screen_steers_no_terminal() -> None:
    async def chunks() -> AsyncIterator[bytes]:
        whole = "é,\x1b[2J\x9bK\t\x07ü\r\n".encode()
        for at in range(len(whole)):
            yield whole[at : at + 1]

    assert b"".join([chunk async for chunk in formatting.printable_chunks(chunks())]).decode() == "é,[2JK\tü\n"


@pytest.mark.parametrize("width", [80, 200])
def test_what_speaks_against_a_match_is_shown_in_words(width: int) -> None:
    lines = shown(results_table([row(verdict="unlinked", flags="navigation-only"), row()], width), width)
    assert "Flags" in lines[0]
    assert any("only in menus" in line for line in lines)
    assert all(len(line) <= width for line in lines)
    assert "Flags" not in shown(results_table([row(flags="")], width), width)[0]
    narrow = shown(results_table([row(verdict="unlinked", flags="navigation-only")], 60), 60)
    assert all(len(line) <= 60 for line in narrow)
