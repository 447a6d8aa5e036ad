"""Sitemaps in every shape, as they come over the wire."""

import gzip
import re
from html import unescape

from gossamer.testing.web import SampleWeb, serve
from gossamer.testing.web.sitemaps import NAMED_ONLY, SHAPES
from tests.testing.web.asking import ask

WEB = SampleWeb(sites=200, seed=9, nasty=0)


def first_with(shape: str) -> int:
    return next(number for number in WEB.sites.numbers if WEB.sites.profile(number).sitemap == shape)


async def listed(port: int, host: str, path: str) -> list[str]:
    """Every address a sitemap leads to, through whatever indexes it has."""
    got = await ask(port, host, path)
    assert got.status == 200
    body = gzip.decompress(got.body) if path.endswith(".gz") else got.body
    text = body.decode()
    if path.endswith(".txt"):
        return text.split()
    locations = [unescape(found) for found in re.findall(r"<(?:loc|link)>(.*?)</", text)]
    if "<sitemapindex" not in text:
        return locations[1:] if "<rss" in text else locations
    return [url for part in locations for url in await listed(port, host, part.removeprefix(f"http://{host}"))]


async def test_every_shape_lists_what_the_truth_says_it_does() -> None:
    async with serve(WEB) as running:
        for shape in ("plain", "index", *NAMED_ONLY):
            site = WEB.sites.site(first_with(shape))
            found = await listed(running.port, site.profile.name.primary, site.sitemap.entry)
            assert found == list(site.sitemap.found)
            alone = [url for url in found if "/listed-only/" in url]
            assert alone
            for url in alone:
                path = url.removeprefix(site.profile.origin)
                assert (await ask(running.port, site.profile.name.primary, path)).status == 200


async def test_the_useless_shapes_are_useless() -> None:
    async with serve(WEB) as running:
        broken, html, none = (WEB.sites.site(first_with(shape)) for shape in ("broken", "html", "none"))
        got = await ask(running.port, broken.profile.name.primary, "/sitemap.xml")
        assert b"</uri>" in got.body
        assert not got.body.rstrip().endswith(b"</urlset>")
        got = await ask(running.port, html.profile.name.primary, "/sitemap.xml")
        assert got.type.startswith("text/html")
        assert (await ask(running.port, none.profile.name.primary, "/sitemap.xml")).status == 404
        assert (broken.sitemap.found, html.sitemap.found, none.sitemap.found) == ((), (), ())


def test_shapes_nobody_would_guess_are_named_in_robots_txt() -> None:
    profiles = [WEB.sites.profile(number) for number in WEB.sites.numbers]
    assert {profile.sitemap for profile in profiles} == set(SHAPES)
    assert all(profile.sitemap_named for profile in profiles if profile.sitemap in NAMED_ONLY)
    assert {profile.sitemap_named for profile in profiles if profile.sitemap == "plain"} == {True, False}
