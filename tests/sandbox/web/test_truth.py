"""The truth as a whole: its form, its caps, and what sites do to each other."""

import json
from pathlib import Path
from typing import Any

from gossamer.model.trouble import Reason
from gossamer.model.url import normalise, site_of_url
from gossamer_sandbox.web import Caps, SampleWeb
from gossamer_sandbox.web.homes import HOME_QUIRKS
from gossamer_sandbox.web.quirks import INNER_QUIRKS

NASTY = SampleWeb(sites=140, seed=1, nasty=1.0)
TRUTH = NASTY.truth()


def with_quirk(truth: dict[str, Any], quirk: str) -> dict[str, Any]:
    found: dict[str, Any] = next(site for site in truth["sites"] if quirk in site["quirk"].split("+"))
    return found


def pages(site: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """By path, of what is reachable."""
    return {page["url"].split("/", 3)[3]: page for page in site["pages"] if page["reachable"]}


def test_a_web_of_ordinary_size_has_every_quirk() -> None:
    seen = {quirk for site in TRUTH["sites"] for quirk in site["quirk"].split("+")}
    assert seen == {*HOME_QUIRKS, *INNER_QUIRKS}


def test_every_address_is_normal_and_every_reason_is_one_of_ours() -> None:
    for site in TRUTH["sites"]:
        addresses = [url for page in site["pages"] for url in (page["url"], *page["aliases"])]
        assert all(normalise(url) == url for url in (*addresses, *site["disallowed"]))
        assert all(site_of_url(url) == site["host"] for url in addresses)
        assert len(addresses) == len(set(addresses)), "two pages share an address"
        reasons = {name for page in site["pages"] for name in page["reasons"]} | set(site["expect"]["reasons"])
        assert reasons <= set(Reason.__members__)


def test_sites_come_out_as_their_homepage_does() -> None:
    expected = {
        "redirect-3": ("done", []),
        "redirect-8": ("failed", ["REDIRECT_LOOP"]),
        "redirect-private": ("failed", ["FORBIDDEN_ADDRESS", "BAD_REDIRECT"]),
        "moved": ("done", []),
        "busy-once": ("done", []),
        "busy-for-hours": ("failed", ["ASKED_TO_WAIT", "RATE_LIMITED"]),
        "robots-nothing": ("failed", ["ROBOTS"]),
        "robots-away": ("failed", ["ROBOTS_UNREACHABLE"]),
        "not-found": ("failed", ["NOT_FOUND"]),
        "parked": ("failed", ["PARKED"]),
        "datadome": ("failed", ["BLOCKED", "CAPTCHA"]),
    }
    by_home = {site["quirk"]: site["expect"] for site in TRUTH["sites"] if site["quirk"] in expected}
    assert {quirk: (one["state"], one["reasons"]) for quirk, one in by_home.items()} == expected


def test_nothing_forbidden_is_reachable_and_bait_is_there() -> None:
    baited = 0
    for site in TRUTH["sites"]:
        reachable = {url for page in site["pages"] if page["reachable"] for url in (page["url"], *page["aliases"])}
        assert not reachable & set(site["disallowed"])
        planted = {page["url"]: page["keywords"] for page in site["pages"] if page["url"] in site["disallowed"]}
        assert all(page["reasons"] for page in site["pages"] if page["url"] in planted)
        baited += len(site["disallowed"]) > 0
    assert baited > 50


def test_traps_are_seen_through_and_sessions_are_no_trap() -> None:
    depths = {}
    for quirk, start in (
        ("calendar", "calendar/"),
        ("calendar-days", "days/"),
        ("calendar-query", "agenda?"),
        ("growing-query", "filter?"),
        ("nesting-path", "browse/"),
    ):
        site = with_quirk(TRUTH, quirk)
        assert site["capped"]
        assert site["expect"] == {"state": "partial", "reasons": ["PARTIAL_TRAP"]}
        assert quirk in site["traps"]
        depths[quirk] = sum(path.startswith(start) for path in pages(site))
    assert list(depths.values()) == [24, 24, 24, 3, 3]
    session = with_quirk(TRUTH, "session")
    carts = [path for path in pages(session) if path.startswith("cart/")]
    assert sorted(carts) == ["cart/basket", "cart/checkout", "cart/wishes"]


def test_pages_that_only_wrong_links_lead_to_are_not_reachable() -> None:
    assert "unvouched/0" not in pages(with_quirk(TRUTH, "nofollow-links"))
    assert "passing/tomorrow" not in pages(with_quirk(TRUTH, "late-refresh"))
    assert "sealed/header/inside" not in pages(with_quirk(TRUTH, "header-nofollow"))
    assert "sealed/own/inside" not in pages(with_quirk(TRUTH, "header-nofollow-own"))
    assert "sealed/other/inside" in pages(with_quirk(TRUTH, "header-nofollow-other"))
    assert "other/place/two?x=1" in pages(with_quirk(TRUTH, "base-href"))
    assert {"spelled/loud", "spelled/bare", "spelled/port", "spelled/dots"} <= set(
        pages(with_quirk(TRUTH, "spellings"))
    )


def test_one_page_under_many_addresses_is_one_page() -> None:
    site = with_quirk(TRUTH, "ref-variants")
    offers = [page for page in site["pages"] if "/offer/" in page["url"]]
    assert len(offers) == 2
    for offer in offers:
        bare = offer["url"].partition("?")[0]
        assert {bare, f"{bare}?ref=nav", f"{bare}?ref=mail"} == {offer["url"], *offer["aliases"]}


def test_a_page_handed_over_belongs_to_the_site_it_lands_on() -> None:
    web = SampleWeb(sites=60, seed=1, nasty=1.0)
    truth = web.truth()
    landed = {page["url"]: page for site in truth["sites"] for page in site["pages"] if "/welcome/from-" in page["url"]}
    pairs = list(web.sites.landings())
    assert pairs
    assert len(landed) == len(pairs)
    assert all(page["reachable"] and page["keywords"] for page in landed.values())
    source = with_quirk(truth, "redirect-elsewhere")
    assert pages(source)["go/elsewhere"]["reasons"] == ["MOVED"]


def test_a_landing_page_is_out_of_reach_when_the_redirect_is() -> None:
    web = SampleWeb(sites=60, seed=1, nasty=1.0)
    truth = web.truth(Caps(pages_per_site=1))
    assert not [page for site in truth["sites"] for page in site["pages"] if "/welcome/from-" in page["url"]]


def test_caps_make_sites_partial() -> None:
    truth = SampleWeb(sites=20, nasty=0).truth(Caps(pages_per_site=3))
    assert truth["caps"] == {
        "pages_per_site": 3, "depth": 50, "top_pages": 50, "include": (), "exclude": (), "sitemaps": True,
    }  # fmt: skip
    for site in truth["sites"]:
        chosen = [page for page in site["pages"] if page["reachable"]]
        assert len(chosen) <= 3
        assert site["expect"]["state"] == "partial"


def test_without_anything_nasty_every_site_is_done() -> None:
    truth = SampleWeb(sites=120, nasty=0).truth()
    assert {site["expect"]["state"] for site in truth["sites"]} == {"done"}
    assert {tuple(page["reasons"]) for site in truth["sites"] for page in site["pages"]} == {(), ("ROBOTS",)}


def test_pages_only_in_the_sitemap_are_reached_with_sitemaps() -> None:
    web = SampleWeb(sites=40, nasty=0)
    without, with_them = web.truth(Caps(sitemaps=False)), web.truth()

    def alone(truth: dict[str, Any]) -> int:
        return sum(
            "/listed-only/" in page["url"] for site in truth["sites"] for page in site["pages"] if page["reachable"]
        )

    assert alone(without) == 0
    assert alone(with_them) > 10


def test_the_file_says_the_same(tmp_path: Path) -> None:
    web = SampleWeb(sites=25, seed=3)
    web.write_truth(tmp_path / "truth.json")
    assert json.loads((tmp_path / "truth.json").read_text()) == json.loads(json.dumps(web.truth()))


def test_large_sites_show_their_size_and_some_of_their_pages() -> None:
    for quirk, least, most in (
        ("large-sitemap", 1_500, 1_600),
        ("huge-sitemap", 49_850, 50_000),
        ("large-hub", 700, 900),
    ):
        site = with_quirk(TRUTH, quirk)
        assert least < site["size"] < most
        assert site["expect"] == {"state": "partial", "reasons": ["PARTIAL_PAGES"]}
        crowd = [page for path, page in pages(site).items() if path.startswith(("archive/", "record/", "directory/0"))]
        assert {page["status"] for page in crowd} == {200, 404}
        assert any(page["keywords"] for page in crowd)
        assert not all(page["keywords"] for page in crowd if page["status"] == 200)
        assert len(pages(site)) <= 50


def test_which_pages_of_a_large_site_are_chosen_depends_on_how_many_are_wanted() -> None:
    web = SampleWeb(sites=140, seed=5, nasty=1.0)
    site = with_quirk(web.truth(), "large-sitemap")
    more = with_quirk(web.truth(Caps(top_pages=80)), "large-sitemap")
    assert len(pages(site)) < len(pages(more)) <= 80
    assert set(pages(site)) - set(pages(more)), "smaller steps know less about the links"
    whole = with_quirk(NASTY.truth(Caps(pages_per_site=2_000)), "large-sitemap")
    assert (whole["expect"]["state"], whole["size_source"]) == ("done", "sitemap")
    assert len(pages(whole)) > 1_500


def test_sizes_come_from_both_sources() -> None:
    mixed = [*TRUTH["sites"], *SampleWeb(sites=60, nasty=0).truth()["sites"]]
    assert {site["size_source"] for site in mixed} == {"sitemap", "links", None}
    for site in mixed:
        assert (site["size"] is None) == (site["expect"]["state"] == "failed" or site["quirk"] == "moved")
