"""The walk: level by level, by in-links and key, the same after a resume as without one."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from gossamer.frontier.frontier import Frontier
from gossamer.frontier.notes import MOST_CANDIDATES, Notes
from gossamer.model.job import CrawlPolicy
from gossamer.model.page import Page, Visit
from gossamer.model.states import PageState, SiteState
from gossamer.model.trouble import Reason, Trouble
from gossamer.model.url import url_key
from gossamer.parse.sitemap import Entry
from gossamer.store.pages import EndedPage

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


def links(*paths: str) -> list[str]:
    return [f"http://a.test{path}" for path in paths]


def known(
    page: Page, state: PageState = PageState.DONE, trouble: Trouble | None = None, *, links: bytes = b""
) -> EndedPage:
    return EndedPage(
        page.key,
        page.url,
        page.depth,
        state,
        trouble.reason.name if trouble else "",
        trouble.detail if trouble else "",
        trouble.http_status if trouble else None,
        page.key if state is PageState.DONE else None,
        1,
        page.handed,
        page.rank,
        links,
    )


def walk(frontier: Frontier, site: dict[str, list[str]]) -> list[str]:
    """Walk a little site to its end and say in which order."""
    order: list[str] = []
    while True:
        page = frontier.next(NOW)
        if page is None:
            if not frontier.deepen():
                return order
            continue
        order.append(page.url.removeprefix("http://a.test"))
        read(frontier, page, site)


def read(frontier: Frontier, page: Page, site: dict[str, list[str]]) -> bytes:
    frontier.done(page, page.key)
    return frontier.found(page, links(*site.get(page.url.removeprefix("http://a.test"), [])))


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


HUB = {
    "/": [f"/{number:03d}" for number in range(300)],
    **{f"/{number:03d}": ["/299", "/298"] for number in range(200)},
}


@pytest.mark.parametrize(("site", "most"), [(SITE, 100), (SITE, 5), (HUB, 100)])
def test_a_resumed_walk_chooses_what_an_undisturbed_one_does(site: dict[str, list[str]], most: int) -> None:
    policy = CrawlPolicy(pages_per_site=most, top_pages=40)
    whole = walk(Frontier(visit(), policy, (), ()), site)
    for stop_after in range(1, len(whole)):
        frontier = Frontier(visit(), policy, (), ())
        rows: dict[bytes, Page] = {}
        ended: list[EndedPage] = []
        notes = b""
        while len(ended) < stop_after:
            page = frontier.next(NOW)
            if page is None:
                for chosen in frontier.deepen():
                    rows[chosen.key] = chosen
            else:
                del rows[page.key]
                ended.append(known(page, links=read(frontier, page, site)))
            snapshot = frontier.notes()
            notes = snapshot.pack() if snapshot else notes
        waiting = sorted(rows.values(), key=lambda page: (page.rank, page.key))
        resumed = Frontier(visit(notes=notes), policy, waiting, ended)
        first = [one.url.removeprefix("http://a.test") for one in ended]
        assert first + walk(resumed, site) == whole


def test_the_order_in_which_pages_come_in_changes_nothing() -> None:
    """Parked pages come late. What a level leads to is worked out when all of it is there."""
    orders = []
    for late in (0, 1, 2):
        frontier = Frontier(visit(), CrawlPolicy(), (), ())
        frontier.deepen()
        first = frontier.next(NOW)
        assert first
        read(frontier, first, SITE)
        level = list(frontier.deepen())
        for _ in level:
            frontier.next(NOW)
        for page in level[late:] + level[:late]:
            read(frontier, page, SITE)
        orders.append([(page.url, page.rank, page.found_on) for page in frontier.deepen()])
    assert orders[0] == orders[1] == orders[2] != []


def test_a_large_site_is_read_by_what_its_pages_link_to() -> None:
    """300 pages, 100 allowed: it is large, so 40 are read, and the two that everybody links to are among them."""
    frontier = Frontier(visit(), CrawlPolicy(pages_per_site=100, top_pages=40), (), ())
    order = walk(frontier, HUB)
    assert len(order) == 40
    assert {"/299", "/298"} <= set(order[:14])
    state, trouble = frontier.outcome()
    assert state is SiteState.PARTIAL
    assert trouble
    assert trouble.sentence == "Partially crawled (large site: 40 of at least 301 pages)"
    assert (frontier.size, frontier.size_source) == (301, "links")


def test_a_site_of_just_the_threshold_is_read_whole() -> None:
    frontier = Frontier(visit(), CrawlPolicy(pages_per_site=301, top_pages=40), (), ())
    assert len(walk(frontier, HUB)) == 301
    assert frontier.outcome() == (SiteState.DONE, None)


def test_a_site_found_large_too_late_stops_where_it_is() -> None:
    site = {"/": [f"/a{number}" for number in range(60)], "/a3": [f"/b{number}" for number in range(60)]}
    frontier = Frontier(visit(), CrawlPolicy(pages_per_site=100, top_pages=20), (), ())
    assert len(walk(frontier, site)) == 61
    _, trouble = frontier.outcome()
    assert trouble
    assert trouble.detail == "large site: 61 of at least 121 pages"


def fail(frontier: Frontier, site: dict[str, list[str]], reasons: dict[str, Reason]) -> None:
    """Walk a site some of whose pages fail."""
    while True:
        page = frontier.next(NOW)
        if page is None:
            if not frontier.deepen():
                return
            continue
        reason = reasons.get(page.url.removeprefix("http://a.test"))
        if reason:
            frontier.failed(page, Trouble(reason))
        else:
            read(frontier, page, site)


@pytest.mark.parametrize(
    ("failing", "reason", "sentence"),
    [
        (4, Reason.UNREACHABLE, ""),
        (5, Reason.NOT_FOUND, ""),
        (5, Reason.UNREACHABLE, "Partially crawled: 5 of 21 pages failed, 5 of them: Could not connect"),
        (
            1,
            Reason.NEVER_VISIT,
            "Partially crawled: 1 of 21 pages failed, 1 of them: On the operator's never-visit list",
        ),
    ],
)
def test_a_site_that_went_away_is_not_called_read(failing: int, reason: Reason, sentence: str) -> None:
    site = {"/": [f"/{number}" for number in range(20)]}
    frontier = Frontier(visit(), CrawlPolicy(), (), ())
    fail(frontier, site, {f"/{number}": reason for number in range(failing)})
    state, trouble = frontier.outcome()
    assert (trouble.sentence if trouble else "") == sentence
    assert state is (SiteState.PARTIAL if sentence else SiteState.DONE)


def sitemap(frontier: Frontier, *entries: Entry) -> None:
    frontier.begin_sitemaps(())
    assert frontier.sitemaps.next() == "http://a.test/sitemap.xml"
    frontier.sitemaps.take(entries)
    frontier.sitemaps.close(again=False)


def entry(path: str, priority: float | None = None) -> Entry:
    return Entry(f"http://a.test{path}", priority, False)


def test_a_sitemap_gives_size_and_pages_and_breaks_ties() -> None:
    frontier = Frontier(visit(), CrawlPolicy(), (), ())
    frontier.deepen()
    page = frontier.next(NOW)
    assert page
    read(frontier, page, {"/": ["/linked"]})
    assert frontier.wants_sitemaps
    other = Entry("http://b.test/elsewhere", None, False)
    sitemap(frontier, entry("/low", 0.1), entry("/"), entry("/usual"), entry("/usual"), entry("/picture.jpg"), other)
    assert (frontier.size, frontier.size_source) == (4, "sitemap")
    chosen = frontier.deepen()
    assert [page.url.removeprefix("http://a.test") for page in chosen] == ["/linked", "/usual", "/low"]
    assert [page.found_on.removeprefix("http://a.test") for page in chosen] == ["/", "/sitemap.xml", "/sitemap.xml"]
    assert not frontier.wants_sitemaps


def test_what_is_linked_is_not_crowded_out_by_a_long_sitemap_and_counts_as_listed() -> None:
    frontier = Frontier(visit(), CrawlPolicy(pages_per_site=10, top_pages=10), (), ())
    frontier.deepen()
    page = frontier.next(NOW)
    assert page
    read(frontier, page, {"/": ["/linked", "/both"]})
    sitemap(frontier, *(entry(f"/{number}") for number in range(3_000)), entry("/both", 0.0), entry("/both"))
    assert frontier.size == 3_002
    chosen = [page.url.removeprefix("http://a.test") for page in frontier.deepen()]
    assert chosen[:2] == ["/both", "/linked"]


def test_a_sitemap_beyond_the_threshold_makes_the_site_large_at_once() -> None:
    frontier = Frontier(visit(), CrawlPolicy(pages_per_site=100, top_pages=20), (), ())
    frontier.deepen()
    page = frontier.next(NOW)
    assert page
    read(frontier, page, SITE)
    sitemap(frontier, *(entry(f"/{number}") for number in range(50_000)))
    notes = frontier.notes()
    assert notes
    assert len(notes.candidates) == MOST_CANDIDATES
    assert len(notes.pack()) < 30_000
    assert 1 + len(walk(frontier, SITE)) == 20
    _, trouble = frontier.outcome()
    assert trouble
    assert trouble.detail == "large site: 20 of at least 50,001 pages"


def test_indexes_lead_to_files_but_not_for_ever_and_not_elsewhere() -> None:
    frontier = Frontier(visit(), CrawlPolicy(), (), ())
    queue = frontier.sitemaps
    queue.begin(["http://a.test/one.xml", "http://b.test/two.xml", "/three.xml"], "http://a.test/")
    asked = []
    while file := queue.next():
        asked.append(file.removeprefix("http://a.test"))
        queue.take([Entry(f"{file}/next", None, True), Entry("http://a.test/one.xml", None, True)])
        queue.close(again=False)
    assert asked == [
        *("/one.xml", "/three.xml", "/one.xml/next", "/three.xml/next"),
        *("/one.xml/next/next", "/three.xml/next/next", "/one.xml/next/next/next", "/three.xml/next/next/next"),
    ]


def test_a_file_that_could_not_be_had_is_asked_for_once_more_after_the_others() -> None:
    queue = Frontier(visit(), CrawlPolicy(), (), ()).sitemaps
    queue.begin(["/one.xml", "/two.xml"], "http://a.test/")
    asked = []
    while file := queue.next():
        asked.append(file.removeprefix("http://a.test"))
        queue.close(again=file.endswith("one.xml"))
    assert asked == ["/one.xml", "/two.xml", "/one.xml"]


def test_patterns_decide_what_is_chosen_but_never_the_entry() -> None:
    site = {"/": ["/blog/", "/shop/", "/blog/tag/x"], "/blog/": ["/blog/one?page=2", "/about"]}
    policy = CrawlPolicy(include=("/blog/*",), exclude=("*/tag/?",))
    frontier = Frontier(visit(), policy, (), ())
    assert walk(frontier, site) == ["/", "/blog/", "/blog/one?page=2"]
    assert frontier.outcome() == (SiteState.DONE, None)


@pytest.mark.parametrize(
    ("first", "following", "read_of_it"),
    [
        ("/browse/", lambda path: f"{path}more/items/", 3),
        ("/filter?tag=0", lambda path: f"{path}&tag={path.count('tag')}", 3),
        ("/calendar/2026/01", lambda path: f"/calendar/{int(path[10:14]) + 1}/01", 24),
        ("/events?month=2026-01", lambda path: f"/events?month={int(path[14:18]) + 1}-01", 24),
    ],
)
def test_a_trap_ends_and_is_told(first: str, following: Callable[[str], str], read_of_it: int) -> None:
    site, path = {"/": [first, "/real"]}, first
    for _ in range(100):
        site[path] = [following(path)]
        path = site[path][0]
    frontier = Frontier(visit(), CrawlPolicy(), (), ())
    order = walk(frontier, site)
    assert len(order) == 2 + read_of_it
    state, trouble = frontier.outcome()
    assert state is SiteState.PARTIAL
    assert trouble
    assert trouble.reason is Reason.PARTIAL_TRAP
    assert trouble.detail.endswith(f", {len(order)} pages read")


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
    frontier.done(handed, handed.key)
    frontier.found(handed, links("/more"))
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


PASSED_ON = {**SITE, "/landing": ["/a", "/only-here"]}


def test_what_a_passed_on_page_leads_to_is_read_whenever_it_comes() -> None:
    """Before the walk begins, in the middle of it, after a kill: the same pages in the end."""
    handed = Page.at("http://a.test/landing", 1, handed=1)
    before = walk(Frontier(visit(), CrawlPolicy(), [handed], ()), PASSED_ON)
    assert sorted(before) == sorted([*walk(Frontier(visit(), CrawlPolicy(), (), ()), SITE), "/landing", "/only-here"])
    frontier = Frontier(visit(), CrawlPolicy(), [handed], ())
    landing = frontier.next(NOW)
    assert landing == handed
    ended = [known(landing, links=read(frontier, landing, PASSED_ON))]
    (home,) = frontier.deepen()
    assert frontier.next(NOW) == home
    ended.append(known(home, links=read(frontier, home, PASSED_ON)))
    waiting = list(frontier.deepen())
    notes = frontier.notes()
    assert notes
    resumed = Frontier(visit(notes=notes.pack()), CrawlPolicy(), waiting, ended)
    assert sorted(["/landing", "/", *walk(resumed, PASSED_ON)]) == sorted(before)


def test_links_of_a_passed_on_page_of_an_earlier_level_take_no_others_place_after_a_kill() -> None:
    """It was read in the first level; the kill comes in the second, when some of that have told their links."""
    site = {"/": ["/a", "/b"], "/landing": ["/a", "/x", "/y"], "/a": ["/p", "/q"], "/b": ["/r"]}
    handed = Page.at("http://a.test/landing", 1, handed=1)
    before = walk(Frontier(visit(), CrawlPolicy(), [handed], ()), site)
    assert sorted(before) == ["/", "/a", "/b", "/landing", "/p", "/q", "/r", "/x", "/y"]
    frontier = Frontier(visit(), CrawlPolicy(), [handed], ())
    ended: list[EndedPage] = []
    rows: list[Page] = [handed]
    notes = b""
    while len(ended) < 4:
        page = frontier.next(NOW)
        if page is None:
            rows += frontier.deepen()
        else:
            rows.remove(page)
            ended.append(known(page, links=read(frontier, page, site)))
        snapshot = frontier.notes()
        notes = snapshot.pack() if snapshot else notes
    resumed = Frontier(visit(notes=notes), CrawlPolicy(), rows, ended)
    first = [one.url.removeprefix("http://a.test") for one in ended]
    assert sorted(first + walk(resumed, site)) == sorted(before)


def test_passed_on_pages_that_fail_make_no_room_for_others() -> None:
    handed = [Page.at(f"http://a.test/gone-{number}", 0, handed=1) for number in range(4)]
    frontier = Frontier(visit(), CrawlPolicy(pages_per_site=3), handed, ())
    for _ in handed:
        page = frontier.next(NOW)
        assert page
        frontier.failed(page, Trouble(Reason.TIMEOUT))
    assert len(walk(frontier, SITE)) == 3


def test_only_what_is_kept_fills_a_calendar() -> None:
    full = [f"/{number}" for number in range(MOST_CANDIDATES)]
    site = {"/": [*full, *(f"/calendar/{year}/01" for year in range(2000, 2030))]}
    frontier = Frontier(visit(), CrawlPolicy(), (), ())
    walk(frontier, site)
    _, trouble = frontier.outcome()
    assert trouble
    assert trouble.reason is Reason.PARTIAL_PAGES
    notes = Frontier(visit(), CrawlPolicy(), (), ())
    notes.deepen()
    page = notes.next(NOW)
    assert page
    read(notes, page, {"/": [f"/{'x' * number}/2026/01" for number in range(1, 1_000)]})
    notes.deepen()
    written = notes.notes()
    assert written
    assert len(written.calendars) == 100


def test_a_verdict_survives_a_resume() -> None:
    failed = known(Page.at("http://a.test/"), PageState.FAILED, Trouble(Reason.TIMEOUT, "15s"))
    frontier = Frontier(visit(), CrawlPolicy(), (), [failed])
    state, trouble = frontier.outcome()
    assert state is SiteState.FAILED
    assert trouble
    assert trouble.sentence == "Timeout after 15s"


def test_candidates_are_bounded_and_the_rest_is_a_number() -> None:
    site = {"/": [f"/{number}" for number in range(MOST_CANDIDATES + 10)]}
    frontier = Frontier(visit(), CrawlPolicy(), (), ())
    assert len(walk(frontier, site)) == 50
    assert frontier.size == MOST_CANDIDATES + 11
    notes = frontier.notes()
    assert notes is None or len(notes.candidates) <= MOST_CANDIDATES
    assert frontier.outcome()[0] is SiteState.PARTIAL


def test_notes_come_back_as_they_were() -> None:
    notes = Notes(as_of=7, large=True, trapped=2, trap="/x", reached=9, calendars={"/0/0": 3}, crowded=True)
    notes.see("http://a.test/1", 1, 0.5, 2, "http://a.test/", 10)
    notes.sitemaps.left.append(("http://a.test/s.xml", 1))
    assert Notes.unpack(notes.pack()) == notes


HTTPS, HTTP = "https://a.test/", "http://a.test/"


@pytest.mark.parametrize("reason", [Reason.UNREACHABLE, Reason.TIMEOUT])
@pytest.mark.parametrize("resumed", [False, True])
def test_a_site_of_which_a_spelling_was_not_reached_does_not_end_as_a_404(reason: Reason, *, resumed: bool) -> None:
    away, missing = Trouble(reason, "x"), Trouble(Reason.NOT_FOUND, http_status=404)
    first, second = Page.at(HTTPS), Page.at(HTTP, rank=1)
    entries = visit(entries=(HTTPS, HTTP))
    if resumed:
        ended = [known(first, PageState.SKIPPED, away), known(second, PageState.FAILED, missing)]
        frontier = Frontier(entries, CrawlPolicy(), [], ended)
    else:
        frontier = Frontier(entries, CrawlPolicy(), [], [])
        frontier.deepen()
        assert frontier.next(NOW) == first
        frontier.failed(first, away)
        assert frontier.next(NOW) == second
        frontier.failed(second, missing)
    assert frontier.outcome() == (SiteState.FAILED, away)
    assert frontier.size == 0, "nothing is known of a site that was not reached"


def test_a_spelling_without_an_address_leaves_a_404_as_it_is() -> None:
    nowhere, missing = Trouble(Reason.DNS, "no such name"), Trouble(Reason.NOT_FOUND, http_status=404)
    entries = visit(entries=("https://www.a.test/", HTTP))
    ended = [
        known(Page.at("https://www.a.test/"), PageState.SKIPPED, nowhere),
        known(Page.at(HTTP, rank=1), PageState.FAILED, missing),
    ]
    assert Frontier(entries, CrawlPolicy(), [], ended).outcome() == (SiteState.FAILED, missing)
