"""The walk: level by level, by in-links and key, the same after a resume as without one."""

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from gossamer.frontier.frontier import Frontier
from gossamer.frontier.notes import MOST_CANDIDATES, Notes
from gossamer.model.job import CrawlPolicy
from gossamer.model.page import Page, Visit
from gossamer.model.record import Follow
from gossamer.model.states import PageState, SiteState
from gossamer.model.trouble import Reason, Trouble
from gossamer.model.url import url_key
from gossamer.store.pages import Known

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def visit(*, entries: tuple[str, ...] = ("http://a.test/",), notes: bytes = b"", whole: bool = True) -> Visit:
    return Visit(
        id=uuid4(),
        job_id=uuid4(),
        site_id=uuid4(),
        host="a.test",
        domain="a.test",
        entries=entries,
        lane="http",
        lease=uuid4(),
        deaths=0,
        walked=timedelta(),
        not_before=None,
        whole=whole,
        notes=notes,
        robots={},
    )


def follows(*paths: str) -> list[Follow]:
    return [Follow(f"http://a.test{path}") for path in paths]


def known(page: Page, state: PageState = PageState.DONE, trouble: Trouble | None = None) -> Known:
    return Known(
        page.key,
        page.url,
        page.depth,
        state,
        trouble.reason.name if trouble else "",
        trouble.detail if trouble else "",
        trouble.http_status if trouble else None,
        page.key if state is PageState.DONE else None,
        1,
    )


def walk(frontier: Frontier, links: dict[str, list[str]]) -> list[str]:
    """Walk a little site to its end and say in which order."""
    order: list[str] = []
    while True:
        page = frontier.next(NOW)
        if page is None:
            if not frontier.deepen():
                return order
            continue
        order.append(page.url.removeprefix("http://a.test"))
        frontier.claim_identity(page.key)
        frontier.done()
        frontier.found(page, follows(*links.get(order[-1], [])))


SITE = {"/": ["/a", "/b", "/c"], "/a": ["/x", "/y"], "/b": ["/y", "/z"], "/c": ["/y", "/x"]}


def test_levels_come_in_order_and_the_most_linked_first() -> None:
    order = walk(Frontier(visit(), CrawlPolicy(), (), ()), SITE)
    assert order[0] == "/"
    assert sorted(order[1:4]) == ["/a", "/b", "/c"]
    assert order[4:] == ["/y", "/x", "/z"]


def test_equals_are_ordered_by_key() -> None:
    order = walk(Frontier(visit(), CrawlPolicy(), (), ()), SITE)
    assert order[1:4] == sorted(["/a", "/b", "/c"], key=lambda path: url_key(f"http://a.test{path}"))


@pytest.mark.parametrize("pages", [1, 2, 3, 5, 7, 100])
def test_the_cap_is_kept_and_said(pages: int) -> None:
    frontier = Frontier(visit(), CrawlPolicy(pages_per_site=pages), (), ())
    assert len(walk(frontier, SITE)) == min(pages, 7)
    state, trouble = frontier.outcome()
    assert state is (SiteState.DONE if pages >= 7 else SiteState.PARTIAL)
    assert (trouble is None) == (pages >= 7)


def test_a_resumed_walk_chooses_what_an_undisturbed_one_does() -> None:
    whole = walk(Frontier(visit(), CrawlPolicy(), (), ()), SITE)
    for stop_after in range(1, len(whole)):
        frontier = Frontier(visit(), CrawlPolicy(), (), ())
        rows: dict[bytes, Page] = {}
        ended: list[Known] = []
        notes = b""
        while len(ended) < stop_after:
            page = frontier.next(NOW)
            if page is None:
                for chosen in frontier.deepen():
                    rows[chosen.key] = chosen
            else:
                del rows[page.key]
                frontier.claim_identity(page.key)
                frontier.done()
                frontier.found(page, follows(*SITE.get(page.url.removeprefix("http://a.test"), [])))
                ended.append(known(page))
            snapshot = frontier.notes()
            notes = snapshot.pack() if snapshot else notes
        waiting = sorted(rows.values(), key=lambda page: (page.depth, page.rank, page.key))
        resumed = Frontier(visit(notes=notes), CrawlPolicy(), waiting, ended)
        first = [one.url.removeprefix("http://a.test") for one in ended]
        assert first + walk(resumed, SITE) == whole


def test_a_way_in_that_fails_gives_way_to_the_next_spelling() -> None:
    entries = ("https://a.test/", "http://a.test/", "https://www.a.test/")
    frontier = Frontier(visit(entries=entries), CrawlPolicy(), (), ())
    frontier.deepen()
    page = frontier.next(NOW)
    assert page
    assert frontier.has_other_entry(page, Trouble(Reason.TLS))
    (second,) = frontier.failed(page, Trouble(Reason.TLS))
    assert second.url == "http://a.test/"
    assert frontier.next(NOW) == second
    assert frontier.failed(second, Trouble(Reason.FORBIDDEN, http_status=403)) == ()
    assert frontier.outcome() == (SiteState.FAILED, Trouble(Reason.FORBIDDEN, http_status=403))


def test_a_name_without_an_address_is_not_asked_for_again() -> None:
    entries = ("https://a.test/", "http://a.test/", "https://www.a.test/")
    frontier = Frontier(visit(entries=entries), CrawlPolicy(), (), ())
    frontier.deepen()
    page = frontier.next(NOW)
    assert page
    (second,) = frontier.failed(page, Trouble(Reason.DNS))
    assert second.url == "https://www.a.test/"


def test_a_page_that_waits_holds_its_level_open() -> None:
    frontier = Frontier(visit(), CrawlPolicy(), (), ())
    frontier.deepen()
    page = frontier.next(NOW)
    assert page
    frontier.park(page.due(NOW + timedelta(seconds=3)))
    assert frontier.next(NOW) is None
    assert frontier.wait(NOW) == timedelta(seconds=3)
    assert frontier.deepen() == ()
    assert frontier.next(NOW + timedelta(seconds=3))


def test_a_site_that_only_received_pages_follows_no_links() -> None:
    handed = Page.at("http://a.test/landing", 2)
    frontier = Frontier(visit(whole=False), CrawlPolicy(), [handed], ())
    page = frontier.next(NOW)
    assert page == handed
    frontier.done()
    frontier.found(handed, follows("/more"))
    assert frontier.deepen() == ()
    assert frontier.outcome() == (SiteState.DONE, None)


def test_a_page_passed_on_by_another_site_moves_nothing_of_the_walk() -> None:
    """Neither does it count as a level, nor does it take the place of the site's own beginning."""
    handed = Page.at("http://a.test/landing", 3, handed=1)
    policy = CrawlPolicy(depth=3, pages_per_site=7)
    frontier = Frontier(visit(), policy, [handed], ())
    order = walk(frontier, SITE)
    assert order[0] == "/landing"
    assert sorted(order[1:]) == sorted(walk(Frontier(visit(), policy, (), ()), SITE))


def test_a_verdict_survives_a_resume() -> None:
    failed = known(Page.at("http://a.test/"), PageState.FAILED, Trouble(Reason.TIMEOUT, "15s"))
    frontier = Frontier(visit(), CrawlPolicy(), (), [failed])
    state, trouble = frontier.outcome()
    assert state is SiteState.FAILED
    assert trouble
    assert trouble.sentence == "Timeout after 15s"


def test_candidates_are_bounded_and_the_rest_is_a_number() -> None:
    notes = Notes()
    for number in range(MOST_CANDIDATES + 10):
        notes.see(f"http://a.test/{number}", "http://a.test/")
    kept = Notes.unpack(notes.pack())
    assert len(kept.candidates) == MOST_CANDIDATES
    assert kept.overflow == 10
    assert kept.candidates["http://a.test/5"].found_on == "http://a.test/"
