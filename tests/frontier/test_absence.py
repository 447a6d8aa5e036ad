"""Why an address is no page: every way a walk can pass one by has its name."""

from dataclasses import replace

import pytest

from gossamer.frontier.notes import Candidate, Notes
from gossamer.history.explain import Walked, why_absent
from gossamer.model.job import CrawlPolicy
from gossamer.model.states import SiteState

POLICY = CrawlPolicy(pages_per_site=20, top_pages=8, depth=3)
HOME = "http://a.test/"
DONE = Walked(SiteState.DONE, "", True, Notes())


def names(path: str, walked: Walked = DONE, policy: CrawlPolicy = POLICY) -> list[str]:
    return [absence.name for absence in why_absent(f"http://a.test{path}", walked, policy)]


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/brochure.pdf", "binary"),
        ("/a/b/a/b/a/b", "endless"),
        ("/x?tag=1&tag=2&tag=3&tag=4", "endless"),
        ("/about", "not-linked"),
    ],
)
def test_what_an_address_looks_like(path: str, name: str) -> None:
    assert names(path) == [name]


def test_patterns_are_named() -> None:
    policy = replace(POLICY, include=("/blog/*",), exclude=("*/tag/*", "*/page/*"))
    assert names("/shop", policy=policy) == ["not-included"]
    absences = why_absent("http://a.test/blog/tag/x", DONE, policy)
    assert [absence.name for absence in absences] == ["excluded"]
    assert "*/tag/*" in absences[0].sentence


def test_a_calendar_that_was_full() -> None:
    notes = Notes(calendars={"/events/0/0": 24})
    assert names("/events/2031/05", DONE._replace(notes=notes)) == ["calendar"]
    assert names("/events/2031/05") == ["not-linked"]


def test_an_address_that_was_met_and_not_chosen() -> None:
    candidates = {
        "http://a.test/met": Candidate(3, 0.8, 2, HOME),
        "http://a.test/deep": Candidate(1, 0.0, 4, HOME),
    }
    full = DONE._replace(state=SiteState.PARTIAL, notes=Notes(candidates))
    assert names("/met", full) == ["not-chosen"]
    assert names("/deep", full) == ["too-deep"]
    assert names("/met", full._replace(state=SiteState.OPEN)) == ["waiting"]
    large = full._replace(notes=Notes(candidates, large=True))
    sentence = why_absent("http://a.test/met", large, POLICY)[0].sentence
    assert "3 pages link to it, sitemap priority 0.8" in sentence
    assert "--top-pages 8" in sentence
    assert "--max-pages-per-domain" in why_absent("http://a.test/met", full, POLICY)[0].sentence


@pytest.mark.parametrize(
    ("walked", "name"),
    [
        (DONE._replace(state=SiteState.FAILED, reason="Could not connect"), "site-failed"),
        (DONE._replace(whole=False), "not-whole"),
        (DONE._replace(notes=Notes(crowded=True)), "crowded"),
        (DONE._replace(state=SiteState.OPEN), "not-met-yet"),
    ],
)
def test_a_site_that_was_not_read_to_its_end(walked: Walked, name: str) -> None:
    assert names("/about", walked) == [name]
