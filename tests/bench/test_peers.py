"""What the peers count is what we count, as far as plain words go, so that all do the same work."""

import pytest

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
    assert {path.stem for path in lists} == set(peer_versions()) == {"crawlee", "scrapy"}
    for path in lists:
        lines = [line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
        assert lines
        assert all("==" in line and "/" not in line for line in lines), path.name
