"""What robots.txt means to us, held against another reading of the same text; and what goes over the wire."""

from pathlib import Path

import pytest
from protego import Protego

from gossamer_sandbox.web import SampleWeb, serve
from gossamer_sandbox.web.robots import CLOSED, ROBOTS, USUAL, Rule, allows
from tests.sandbox.web.asking import ask

READ = [file for file in ROBOTS.values() if file.status == 200]


# Protego alone counts `?` and `&` as three characters each, which the standard does not.
AGREED = [file for file in READ if file.variant != "query"]


@pytest.mark.parametrize("file", AGREED, ids=lambda file: file.variant)
def test_the_rules_written_beside_a_text_are_what_it_says(file: object) -> None:
    robots = next(one for one in READ if one is file)
    parsed = Protego.parse(robots.naming("http://a.test/sitemap.xml").body[: 500 * 1024].decode("utf-8-sig"))
    probes = {"/", "/blog/x", "/sitemap.xml", "/private", "/private/", "/drafts/", *robots.bait, *robots.beside}
    for path in probes | {path for other in AGREED for path in (*other.bait, *other.beside)}:
        assert robots.allows(path) == parsed.can_fetch(f"http://a.test{path}", "gossamer"), path
    assert float(parsed.crawl_delay("gossamer") or 0) == robots.crawl_delay


@pytest.mark.parametrize("file", ROBOTS.values(), ids=lambda file: file.variant)
def test_bait_is_forbidden_and_what_lies_beside_is_not(file: object) -> None:
    robots = next(one for one in ROBOTS.values() if one is file)
    assert not any(robots.allows(path) for path in robots.bait)
    assert all(robots.allows(path) for path in robots.beside)
    assert robots.allows("/robots.txt")
    assert robots.allows("/") == (robots.variant not in CLOSED)
    assert robots.crawl_delay <= 2


def test_the_longest_rule_wins_and_allow_wins_a_tie() -> None:
    rules = (Rule(False, "/a"), Rule(True, "/a/b"), Rule(False, "/a/b"), Rule(False, "/*.php$"))
    assert allows(rules, "/a/b/c")
    assert not allows(rules, "/a/c")
    assert not allows(rules, "/x.php")
    assert allows(rules, "/x.php?y")


async def test_every_variant_is_served_as_it_is_described() -> None:
    web = SampleWeb(sites=600, seed=2)
    of = {web.sites.profile(number).robots: number for number in web.sites.numbers}
    assert set(USUAL) <= set(of)
    async with serve(web) as running:
        for variant, number in of.items():
            site = web.sites.site(number)
            host = site.profile.name.primary
            got = await ask(running.port, host, "/robots.txt")
            if site.robots.moved_to:
                assert (got.status, got.headers["location"]) == (301, site.robots.moved_to)
                got = await ask(running.port, host, site.robots.moved_to)
            assert got.status == ROBOTS[variant].status
            assert got.type == ROBOTS[variant].content_type
            assert got.body.startswith(ROBOTS[variant].text.encode())
            if site.profile.sitemap_named:
                assert f"Sitemap: {site.sitemap.entry}".encode() in got.body[: 500 * 1024]
            if variant == "large":
                assert len(got.body) > 500 * 1024


async def test_a_twin_sends_even_robots_txt_to_the_other(tmp_path: Path) -> None:
    async with serve(SampleWeb(sites=10)) as running:
        got = await ask(running.port, "site-0003.test", "/robots.txt")
        assert (got.status, got.headers["location"]) == (301, "http://www.site-0003.test/robots.txt")
        assert (await ask(running.port, "www.site-0003.test", "/robots.txt")).status != 301
