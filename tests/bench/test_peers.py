"""What the peers count is what we count, as far as plain words go, so that all do the same work."""

from pathlib import Path

import pytest

from bench.figure import BenchSkipped
from bench.markdown import measure, scores, words
from bench.peer import PEERS, peer_versions
from bench.peers.work import KeywordCounter, absolute
from gossamer.analyze.keywords import KeywordMatcher

WORDS = ["CRM", "help desk", "C++", ".NET"]


@pytest.mark.parametrize(
    "text",
    [
        "A crm, a CRM; no scrm, no crms.",
        "Our help desk is no helpdesk. HELP DESK!",
        "Written in C++ and C++, hardly in C.",
        "Nothing of all this.",
    ],
)
def test_peers_count_whole_words_in_any_case_as_we_do(text: str) -> None:
    ours = {mention.keyword: mention.frequency for mention in KeywordMatcher(WORDS).matches("", text)}
    assert KeywordCounter(WORDS).count(text) == ours


def test_links_of_peers_are_absolute_and_each_is_there_once() -> None:
    hrefs = ["a.html", "a.html#x", "/b", "#top", "", "mailto:a@b.example", "https://c.example/"]
    assert absolute(hrefs, "http://some.test/doc/") == {
        "http://some.test/doc/a.html",
        "http://some.test/b",
        "https://c.example/",
    }


def test_packages_of_peers_are_pinned_and_name_no_registry() -> None:
    lists = sorted(PEERS.glob("*.txt"))
    assert {path.stem for path in lists} == {"articles", "crawlee", "scrapy"}
    assert set(peer_versions()) == {"crawlee", "scrapy", "trafilatura", "readability-lxml"}
    for path in lists:
        lines = [line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
        assert lines
        assert all("==" in line and "/" not in line for line in lines), path.name


def test_addresses_in_markdown_are_no_words_of_it() -> None:
    text = (
        'One [two](https://a.test/x_(y) "three") ![four](/five.png) [six](<https://a.test/a b>) <https://a.test/seven>'
    )
    assert words(text) == {"one": 1, "two": 1, "six": 1}


def test_scores_are_means_over_pages_and_one_over_all_words() -> None:
    truth = {"long": "a " * 9 + "b", "short": "c"}
    found = scores({"long": "a " * 9 + "b", "short": "c d e"}, truth, truth)
    assert found.precision == pytest.approx(2 / 3)
    assert found.recall == 1
    assert found.f1 == pytest.approx((1 + 0.5) / 2)
    assert found.overall == pytest.approx(2 * 11 / (13 + 11))


def test_without_pages_to_compare_with_there_is_nothing_to_measure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOSSAMER_ARTICLES", str(tmp_path))
    with pytest.raises(BenchSkipped, match="GOSSAMER_ARTICLES"):
        measure(tmp_path, quick=True)
