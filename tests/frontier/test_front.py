"""What a walk takes for the site's front, and when it leaves a site that refuses: the same after a resume."""

import pytest

from gossamer.frontier.frontier import Frontier
from gossamer.model.job import CrawlPolicy
from gossamer.model.page import Page
from gossamer.model.states import PageState
from gossamer.model.trouble import Reason, Trouble
from tests.frontier.test_frontier import NOW, known, links, visit

ENTRY = Page.at("http://a.test/")
PASSED_ON = [Page.at(f"http://a.test/{name}")._replace(handed=1) for name in ("en", "de", "fr", "it")]
BUSY = Trouble(Reason.RATE_LIMITED, http_status=429)


@pytest.mark.parametrize("passed_on", PASSED_ON)
def test_the_front_is_the_entry_whoever_came_first(passed_on: Page) -> None:
    fronts = set()
    for order in ((ENTRY, passed_on), (passed_on, ENTRY)):
        frontier = Frontier(visit(), CrawlPolicy(), (), ())
        for page in order:
            frontier.done(page, page.key)
        fronts |= {frontier.front, Frontier(visit(), CrawlPolicy(), (), [known(page) for page in order]).front}
    assert fronts == {ENTRY.key}


def test_a_site_of_which_only_single_pages_are_wanted_has_none() -> None:
    frontier = Frontier(visit(entries=(PASSED_ON[0].url,), whole=False), CrawlPolicy(), (), ())
    frontier.done(PASSED_ON[0], PASSED_ON[0].key)
    assert frontier.front is None


@pytest.mark.parametrize("resumed_after", [0, 1, 2, 3])
def test_three_refused_in_a_row_are_enough(resumed_after: int) -> None:
    pages = [Page.at(url, 1, rank=rank) for rank, url in enumerate(links("/1", "/2", "/3", "/4"), start=1)]
    ended = [known(page, PageState.FAILED, BUSY) for page in pages[:resumed_after]]
    frontier = Frontier(visit(), CrawlPolicy(), pages[resumed_after:], [known(ENTRY), *ended])
    while frontier.refusal is None and (page := frontier.next(NOW)):
        frontier.failed(page, BUSY)
    assert frontier.refusal == Trouble(Reason.ASKED_TO_WAIT, "again and again")
    last = frontier.next(NOW)
    assert last
    assert last.url == pages[3].url
    assert frontier.refusal is None, "there is nothing left that it could be about"


@pytest.mark.parametrize("other", [None, Trouble(Reason.NOT_FOUND, http_status=404)])
def test_any_other_answer_begins_the_count_anew(other: Trouble | None) -> None:
    pages = [Page.at(url, 1, rank=rank) for rank, url in enumerate(links("/1", "/2", "/3", "/4", "/5"), start=1)]
    frontier = Frontier(visit(), CrawlPolicy(), pages, [known(ENTRY)])
    for answer in (BUSY, BUSY, other, BUSY):
        page = frontier.next(NOW)
        assert page
        if answer:
            frontier.failed(page, answer)
        else:
            frontier.done(page, page.key)
    assert frontier.refusal is None


@pytest.mark.parametrize(
    ("skipped", "left"),
    [
        (Trouble(Reason.SAME_AS, "http://a.test/x", 200), False),  # it was an answer
        (Trouble(Reason.ROBOTS), True),  # nobody was asked
    ],
)
def test_a_page_that_was_skipped_counts_by_whether_the_site_answered(skipped: Trouble, left: bool) -> None:
    pages = [Page.at(url, 1, rank=rank) for rank, url in enumerate(links("/1", "/2", "/3", "/4", "/5"), start=1)]
    busy = [known(page, PageState.FAILED, BUSY) for page in (pages[0], pages[1], pages[3])]
    ended = [known(ENTRY), *busy[:2], known(pages[2], PageState.SKIPPED, skipped), busy[2]]
    resumed = Frontier(visit(), CrawlPolicy(), pages[4:], ended)
    assert (resumed.refusal is not None) is left

    undisturbed = Frontier(visit(), CrawlPolicy(), pages, [known(ENTRY)])
    for trouble in (BUSY, BUSY, skipped, BUSY):
        page = undisturbed.next(NOW)
        assert page
        if trouble.reason is not Reason.ROBOTS:
            undisturbed.failed(page, trouble)
    assert undisturbed.refusal == resumed.refusal
