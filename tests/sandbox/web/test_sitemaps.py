"""Sitemaps in every shape, as they come over the wire, read by somebody who knows nothing of how they are made."""

import gzip
import re
from html import unescape

from gossamer_sandbox.web import SampleWeb, serve
from gossamer_sandbox.web.listing import Sitemap, listed_pages
from gossamer_sandbox.web.sitemaps import NAMED_ONLY, SHAPES
from tests.sandbox.web.asking import ask

WEB = SampleWeb(sites=200, seed=9, nasty=0)
NASTY = SampleWeb(sites=140, seed=1, nasty=1.0)


def first_with(shape: str) -> int:
    return next(number for number in WEB.sites.numbers if WEB.sites.profile(number).sitemap == shape)


async def listed(port: int, host: str, url: str) -> dict[str, float]:
    """Every address that a file leads to, with its priority, through whatever indexes there are."""
    if not url.startswith(f"http://{host}/"):
        return {}
    got = await ask(port, host, url.removeprefix(f"http://{host}"))
    if got.status != 200 or got.type.startswith("text/html"):
        return {}
    text = (gzip.decompress(got.body) if url.endswith(".gz") else got.body).decode()
    if url.endswith(".txt"):
        return dict.fromkeys(text.split(), 0.5)
    if "<rss" in text:
        return dict.fromkeys(map(unescape, re.findall(r"<item>.*?<link>(.*?)</link>", text)), 0.5)
    if "<sitemapindex" not in text:
        entries = re.findall(r"<url><loc>(.*?)</loc>.*?(?:<priority>(.*?)</priority>)?</url>", text)
        return {unescape(url): float(priority or 0.5) for url, priority in entries}
    found: dict[str, float] = {}
    for part in re.findall(r"<loc>(.*?)</loc>", text):
        found |= await listed(port, host, part)
    return found


def promised(web: SampleWeb, number: int) -> dict[str, float]:
    site = web.sites.site(number)
    origin = site.profile.origin
    named = (site.sitemap.entry,) if site.profile.sitemap_named else ()
    sitemap = Sitemap(named, lambda url: site.sitemap.read(url.removeprefix(origin)))
    return listed_pages(f"{origin}/", sitemap, lambda url: True, lambda url: True, 500)


async def test_every_shape_lists_what_the_truth_says_it_does() -> None:
    async with serve(WEB) as running:
        for shape in ("plain", "index", "gzip", "text", "rss", "broken"):
            site = WEB.sites.site(first_with(shape))
            found = await listed(running.port, site.profile.name.primary, site.sitemap.entry)
            assert found == promised(WEB, first_with(shape)), shape
            alone = [url for url in found if "/listed-only/" in url]
            assert alone
            for url in alone:
                path = url.removeprefix(site.profile.origin)
                assert (await ask(running.port, site.profile.name.primary, path)).status == 200


async def test_the_useless_shapes_are_useless() -> None:
    async with serve(WEB) as running:
        for shape, status in (("html", 200), ("none", 404), ("elsewhere", 200)):
            site = WEB.sites.site(first_with(shape))
            assert (await ask(running.port, site.profile.name.primary, "/sitemap.xml")).status == status
            assert promised(WEB, first_with(shape)) == {}
            assert await listed(running.port, site.profile.name.primary, site.sitemap.entry) == {}


async def test_the_broken_shape_is_no_xml() -> None:
    async with serve(WEB) as running:
        got = await ask(running.port, WEB.sites.profile(first_with("broken")).name.primary, "/sitemap.xml")
        assert got.body.startswith(b"\n<?xml")
        assert b"terms & conditions" in got.body
        assert b"</urlset>" not in got.body


async def test_a_sitemap_may_be_as_long_as_sitemaps_may_be() -> None:
    number = next(n for n in NASTY.sites.numbers if NASTY.sites.profile(n).home_quirk == "huge-sitemap")
    site = NASTY.sites.site(number)
    host = site.profile.name.primary
    async with serve(NASTY) as running:
        first = await listed(running.port, host, f"{site.profile.origin}/sitemaps/first.xml.gz")
        assert first == promised(NASTY, number)
        assert 49_850 < len(first) <= 50_000
        both = await listed(running.port, host, f"{site.profile.origin}/sitemap.xml")
        assert len(both) == len(first) + 1
        statuses = {url: (await ask(running.port, host, url[url.index("/", 8) :])).status for url in [*first][:10]}
        assert [*statuses.values()] == [200, 404, 200, 200, 404] * 2


def test_shapes_nobody_would_guess_are_named_in_robots_txt() -> None:
    profiles = [WEB.sites.profile(number) for number in WEB.sites.numbers]
    assert {profile.sitemap for profile in profiles} == set(SHAPES)
    assert all(profile.sitemap_named for profile in profiles if profile.sitemap in NAMED_ONLY)
    assert {profile.sitemap_named for profile in profiles if profile.sitemap == "plain"} == {True, False}


def test_a_sitemap_that_robots_txt_forbids_is_not_read() -> None:
    truth = SampleWeb(sites=300, seed=9, nasty=0).truth()
    shy = [site for site in truth["sites"] if site["robots"] == "shy"]
    assert shy
    assert not [page for site in shy for page in site["pages"] if page["reachable"] and "/listed-only/" in page["url"]]
