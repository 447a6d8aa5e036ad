"""The rules of walking, on sites small enough to be walked in one's head."""

from collections.abc import Mapping
from itertools import pairwise

import pytest

from gossamer.model.trouble import Reason
from gossamer.model.url import url_key
from gossamer_sandbox.web.listing import Sitemap, SitemapFile
from gossamer_sandbox.web.reach import Caps, Reach, walk
from gossamer_sandbox.web.seeing import Href, Sight, refresh_target

HOME = "http://a.test/"
NO_CAPS = Caps()


def page(*hrefs: str, **more: object) -> Sight:
    return Sight(hrefs=tuple(Href(href) for href in hrefs), **more)  # type: ignore[arg-type]


def walked(
    site: Mapping[str, Sight],
    *,
    forbidden: tuple[str, ...] = (),
    caps: Caps = NO_CAPS,
    sitemap: tuple[str | tuple[str, float], ...] = (),
    handed_over: tuple[str, ...] = (),
) -> Reach:
    asked: list[str] = []

    def look(url: str) -> Sight:
        assert url not in forbidden, "a forbidden address was asked for"
        asked.append(url)
        return site.get(url.removeprefix("http://a.test"), Sight(404, reasons=(Reason.NOT_FOUND,)))

    pages = [(one, None) if isinstance(one, str) else one for one in sitemap]
    lists = Sitemap((), lambda url: SitemapFile(pages) if url == f"{HOME}sitemap.xml" else None)
    return walk(HOME, look, lambda url: url not in forbidden, caps, sitemap=lists, handed_over=handed_over)


def paths(reach: Reach) -> list[str]:
    return [reached.url.removeprefix("http://a.test") for reached in reach.pages if not reached.reasons]


def reasons(reach: Reach) -> dict[str, tuple[Reason, ...]]:
    return {page.url.removeprefix("http://a.test"): page.reasons for page in reach.pages if page.reasons}


def test_a_level_is_ordered_by_pages_linking_there_then_by_key() -> None:
    site = {"/": page("/b", "/c", "/d"), "/b": page("/x", "/y"), "/c": page("/y"), "/d": page("/z"),
            "/x": page(), "/y": page(), "/z": page()}  # fmt: skip
    by_key = sorted(("/b", "/c", "/d"), key=lambda path: url_key(f"http://a.test{path}"))
    last = sorted(("/x", "/z"), key=lambda path: url_key(f"http://a.test{path}"))
    assert paths(walked(site)) == ["/", *by_key, "/y", *last]


def test_two_links_on_one_page_count_once() -> None:
    site = {"/": page("/b", "/c"), "/b": page("/x", "/x#again", "/x?utm_source=z"), "/c": page("/y"),
            "/x": page(), "/y": page()}  # fmt: skip
    last = sorted(("/x", "/y"), key=lambda path: url_key(f"http://a.test{path}"))
    assert paths(walked(site))[3:] == last


def test_the_page_cap_counts_every_chosen_page_and_says_that_it_cut() -> None:
    site = {"/": page("/a", "/b", "/c"), "/a": page(), "/b": page(), "/c": page()}
    reach = walked(site, caps=Caps(pages_per_site=3))
    assert len(reach.pages) == 3
    assert (reach.cut, reach.size) == ("large", 4)
    failing = walked({"/": page("/a", "/b")}, caps=Caps(pages_per_site=3))
    assert (len(failing.pages), failing.cut) == (3, "")


def test_depth_is_levels_below_the_homepage() -> None:
    site = {f"/{n or ''}": page(f"/{n + 1}") for n in range(9)}
    reach = walked(site, caps=Caps(depth=2))
    assert paths(reach) == ["/", "/1", "/2"]
    assert reach.cut == "depth"
    assert walked({"/": page("/1"), "/1": page("/")}, caps=Caps(depth=1)).cut == ""


@pytest.mark.parametrize(
    "href",
    ["http://b.test/", "https://sub.a.test/", "mailto:x@a.test", "javascript:void(0)", "/file.pdf", "/PHOTO.JPG?size=2",
     "http://[broken"],
)  # fmt: skip
def test_what_is_no_link_is_not_followed(href: str) -> None:
    assert paths(walked({"/": page(href)})) == ["/"]
    assert reasons(walked({"/": page(href)})) == {}


def test_nofollow_by_link_and_by_page() -> None:
    site = {
        "/": Sight(hrefs=(Href("/no", nofollow=True), Href("/yes"))),
        "/no": page(),
        "/yes": page("/in", nofollow=True),
    }
    assert paths(walked(site)) == ["/", "/yes"]


def test_a_link_that_one_page_vouches_for_is_followed() -> None:
    site = {"/": Sight(hrefs=(Href("/x", nofollow=True), Href("/b"))), "/b": page("/x"), "/x": page()}
    assert paths(walked(site)) == ["/", "/b", "/x"]


def test_base_and_refresh_are_links_too() -> None:
    site = {
        "/": page("one", base="/deep/down/", refresh="3; url=two"),
        "/deep/down/one": page(),
        "/deep/down/two": page(),
    }
    assert set(paths(walked(site))) == {"/", "/deep/down/one", "/deep/down/two"}


@pytest.mark.parametrize(
    ("content", "target"),
    [
        ("0;url=/a", "/a"),
        ("10; URL='/a'", "/a"),
        ("11;url=/a", ""),
        ("soon;url=/a", ""),
        ("5", ""),
        ('2; url="/a b"', "/a b"),
    ],
)
def test_a_refresh_counts_up_to_ten_seconds(content: str, target: str) -> None:
    assert refresh_target(content) == target


def test_a_forbidden_page_is_chosen_but_never_asked_for() -> None:
    reach = walked({"/": page("/secret", "/b"), "/b": page()}, forbidden=("http://a.test/secret",))
    assert reasons(reach) == {"/secret": (Reason.ROBOTS,)}
    assert [page.requested for page in reach.pages if page.reasons] == [False]


def test_a_redirect_into_a_forbidden_place_stops_before_it() -> None:
    site = {"/": page("/go"), "/go": Sight(302, redirect="/secret"), "/secret": page()}
    reach = walked(site, forbidden=("http://a.test/secret",))
    assert reasons(reach) == {"/go": (Reason.ROBOTS,)}
    assert reach.pages[1].requested
    assert reach.pages[1].aliases == set()


def hops(number: int) -> dict[str, Sight]:
    chain = {f"/h{n}": Sight(301, redirect=f"/h{n + 1}") for n in range(number)}
    return {"/": page("/h0"), **chain, f"/h{number}": page("/beyond"), "/beyond": page()}


def test_five_hops_are_followed_and_six_are_not() -> None:
    five = walked(hops(5))
    assert paths(five) == ["/", "/h5", "/beyond"]
    assert five.pages[1].aliases == {f"http://a.test/h{n}" for n in range(5)}
    assert reasons(walked(hops(6))) == {"/h0": (Reason.REDIRECT_LOOP,)}


def test_redirects_that_lead_nowhere() -> None:
    site = {
        "/": page("/loop", "/js", "/none", "/inside"),
        "/loop": Sight(302, redirect="/loop"),
        "/js": Sight(302, redirect="javascript:alert(1)"),
        "/none": Sight(302, redirect=""),
        "/inside": Sight(302, redirect="http://169.254.169.254/latest"),
    }
    reach = walked(site)
    assert reasons(reach) == {
        "/loop": (Reason.REDIRECT_LOOP,),
        "/js": (Reason.BAD_REDIRECT,),
        "/none": (Reason.BAD_REDIRECT, Reason.REDIRECT_LOOP),
        "/inside": (Reason.FORBIDDEN_ADDRESS, Reason.BAD_REDIRECT),
    }
    assert reach.handed == ()


def test_a_redirect_to_another_site_hands_the_page_over() -> None:
    reach = walked({"/": Sight(301, redirect="http://b.test/welcome")})
    assert reach.handed == ("http://b.test/welcome",)
    assert reasons(reach) == {"/": (Reason.MOVED,)}


def test_the_www_twin_is_the_same_site() -> None:
    site = {
        "/": Sight(301, redirect="http://www.a.test/"),
        "http://www.a.test/": page("/x"),
        "http://www.a.test/x": page(),
    }
    assert paths(walked(site)) == ["http://www.a.test/", "http://www.a.test/x"]


def test_a_page_known_under_another_address_is_reported_once() -> None:
    one = page(canonical="/p")
    site = {"/": page("/p?ref=a", "/p?ref=b", "/old"), "/p": one, "/p?ref=a": one, "/p?ref=b": one}
    site |= {"/old": Sight(301, redirect="/p")}
    reach = walked(site)
    assert len(reach.pages) == 2
    addresses = {reach.pages[1].url, *reach.pages[1].aliases}
    assert addresses == {f"http://a.test{path}" for path in ("/p", "/p?ref=a", "/p?ref=b", "/old")}


def test_an_address_that_is_a_known_page_is_not_chosen_again() -> None:
    site = {"/": page("/old"), "/old": Sight(301, redirect="/new"), "/new": page("/new", "/old")}
    reach = walked(site, caps=Caps(pages_per_site=2))
    assert (paths(reach), reach.cut) == (["/", "/new"], "")


def test_a_canonical_link_to_the_homepage_or_elsewhere_is_ignored() -> None:
    site = {"/": page("/a", "/b", "/c"), "/a": page(canonical="/"), "/b": page(canonical="/"),
            "/c": page(canonical="http://b.test/c")}  # fmt: skip
    assert set(paths(walked(site))) == {"/", "/a", "/b", "/c"}


def test_what_yields_nothing_yields_no_links() -> None:
    site = {"/": page("/wall"), "/wall": page("/behind", reasons=(Reason.LOGIN,)), "/behind": page()}
    assert paths(walked(site)) == ["/"]


def test_what_the_sitemap_lists_is_found_unless_nobody_reads_it_or_the_homepage_failed() -> None:
    listed = ("http://a.test/only", "http://b.test/not-ours", "http://a.test/file.pdf", HOME)
    site = {"/": page("/linked"), "/linked": page(), "/only": page()}
    assert paths(walked(site, sitemap=listed)) == ["/", "/linked", "/only"]
    assert paths(walked(site, sitemap=listed, caps=Caps(sitemaps=False))) == ["/", "/linked"]
    assert paths(walked(site, sitemap=listed, caps=Caps(depth=0))) == ["/"]
    assert len(walked({}, sitemap=listed).pages) == 1


def test_priority_counts_after_in_links_and_a_link_counts_before_any_priority() -> None:
    listed = (
        ("http://a.test/low", 0.1),
        ("http://a.test/high", 0.9),
        "http://a.test/usual",
        ("http://a.test/more", 0.6),
    )
    site = {"/": page("/linked"), "/linked": page()} | {f"/{name}": page() for name in ("low", "high", "usual", "more")}
    assert paths(walked(site, sitemap=listed)) == ["/", "/linked", "/high", "/more", "/usual", "/low"]


def test_a_listed_page_is_one_level_deep_however_deep_its_links_are() -> None:
    site = {"/": page("/1"), "/1": page("/2"), "/2": page("/3"), "/3": page("/4"), "/4": page()}
    assert paths(walked(site, sitemap=("http://a.test/3",), caps=Caps(depth=2))) == ["/", "/1", "/3", "/2", "/4"]


def test_the_size_is_the_larger_of_what_is_listed_and_what_is_seen() -> None:
    site = {"/": page("/a"), "/a": page()}
    listed = walked(site, sitemap=("http://a.test/a", "http://a.test/gone", HOME))
    assert (listed.size, listed.size_source, listed.cut) == (3, "sitemap", "")
    linked = walked(site, sitemap=(HOME,))
    assert (linked.size, linked.size_source) == (2, "links")
    both = walked({"/": page("/a", "/b")}, sitemap=("http://a.test/a", "http://a.test/c"))
    assert (both.size, both.size_source) == (4, "sitemap")


def test_a_large_site_is_read_in_steps_so_that_later_choices_know_more() -> None:
    """Every page links to /z, the last by its key or not: from the second step on it is the best."""
    names = [f"/{number}" for number in range(100)]
    last = max(names, key=lambda path: url_key(f"http://a.test{path}"))
    site = {"/": page(*names)} | {name: page(last) for name in names}
    reach = walked(site, caps=Caps(pages_per_site=60, top_pages=30))
    found = paths(reach)
    assert len(found) == 30
    assert found.index(last) == 11
    assert (reach.cut, reach.size, reach.size_source) == ("large", 101, "links")


def test_a_small_site_is_read_whole_and_one_found_large_late_ends_where_it_is() -> None:
    branches = {f"/{number}": page(*(f"/{number}/{leaf}" for leaf in range(9))) for number in range(40)}
    site = {"/": page(*branches)} | branches
    whole = walked(site, caps=Caps(pages_per_site=401, top_pages=30))
    assert (len(whole.pages), whole.cut) == (401, "")
    late = walked(site, caps=Caps(pages_per_site=400, top_pages=30))
    assert (len(late.pages), late.cut, late.size) == (41, "large", 401)


def test_a_fifth_of_the_pages_is_chosen_at_a_time() -> None:
    names = [f"/{number}" for number in range(300)]
    favourite = max(names, key=lambda path: url_key(f"http://a.test{path}"))
    site = {"/": page(*names)} | {name: page(favourite) for name in names}
    found = paths(walked(site, caps=Caps(pages_per_site=200, top_pages=100)))
    assert (len(found), found.index(favourite)) == (100, 21)


def test_the_homepage_is_not_in_scope_and_a_page_known_by_another_name_is_no_candidate() -> None:
    site = {
        "/": Sight(301, redirect="http://www.a.test/"),
        "http://www.a.test/": page("/x", "/"),
        "http://www.a.test/x": page("/y", canonical="/y"),
    }
    reach = walked(site, sitemap=("http://www.a.test/",))
    assert (reach.size, reach.cut, len(reach.pages)) == (2, "", 2)


def test_patterns_hold_for_every_page_but_the_entry_and_pages_handed_over() -> None:
    site = {f"/{name}": page() for name in ("blog/a", "blog/b?x=1", "shop/a", "blog/private/a")}
    site["/"] = page(*site)
    caps = Caps(include=("/blog/*", "/sh?p/b"), exclude=("*private*",))
    assert set(paths(walked(site, caps=caps))) == {"/", "/blog/a", "/blog/b?x=1"}
    assert walked(site, caps=caps).cut == ""
    handed = walked(site, caps=caps, handed_over=("http://a.test/shop/a",))
    assert paths(handed)[-1] == "/shop/a"


def test_a_trap_cuts_a_walk_unless_there_is_more_left_over() -> None:
    nesting = {"/" + "x/" * depth: page("x/") for depth in range(9)}
    reach = walked(nesting)
    assert (paths(reach), reach.cut, reach.size) == (["/", "/x/", "/x/x/"], "trap", 3)
    assert walked(nesting, caps=Caps(depth=1)).cut == "depth"
    assert walked(nesting, caps=Caps(pages_per_site=2)).cut == "large"


def test_a_calendar_ends_after_two_years() -> None:
    months = [f"/{year}/{month:02d}" for year in range(2026, 2036) for month in range(1, 13)]
    site = {month: page(later) for month, later in pairwise(months)}
    reach = walked({"/": page("/2026/01")} | site)
    assert (len(reach.pages), reach.cut) == (25, "trap")


def test_a_thousand_pages_are_chosen_at_a_time() -> None:
    names = [f"/{number}" for number in range(1_500)]
    favourite = max(names, key=lambda path: url_key(f"http://a.test{path}"))
    site = {"/": page(*names)} | {name: page(favourite) for name in names}
    found = paths(walked(site, caps=Caps(pages_per_site=2_000)))
    assert (len(found), found.index(favourite)) == (1_501, 1_001)


def test_a_page_handed_over_is_looked_at_but_its_links_are_not_followed() -> None:
    site = {"/": page(), "/landing": page("/inner"), "/inner": page()}
    assert paths(walked(site, handed_over=("http://a.test/landing",))) == ["/", "/landing"]
