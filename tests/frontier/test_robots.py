"""robots.txt as it is obeyed: the standard's own examples, and what real files do to it."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.frontier.robots import MOST_BYTES, MOST_SITEMAPS, RobotsRules, read_rules, says_later


def allows(body: str, path: str) -> bool:
    return read_rules(200, body).allow(f"http://a.test{path}")


# RFC 9309, section 5.1; the names in it are given to us one after the other.
SIMPLE_EXAMPLE = """User-Agent: *
Disallow: *.gif$
Disallow: /example/
Allow: /publications/

User-Agent: foobot
Disallow:/
Allow:/example/page.html
Allow:/example/allowed.gif

User-Agent: barbot
User-Agent: bazbot
Disallow: /example/page.html

User-Agent: quxbot
"""


@pytest.mark.parametrize(
    ("robot", "path", "allowed"),
    [
        ("nobot", "/", True),
        ("nobot", "/picture.gif", False),
        ("nobot", "/picture.gif?size=2", True),
        ("nobot", "/deep/in/picture.gif", False),
        ("nobot", "/example/", False),
        ("nobot", "/example", True),
        ("nobot", "/publications/x", True),
        ("nobot", "/publications/x.gif", True),
        ("foobot", "/", False),
        ("foobot", "/publications/", False),
        ("foobot", "/example/page.html", True),
        ("foobot", "/example/allowed.gif", True),
        ("foobot", "/example/other.gif", False),
        ("barbot", "/example/page.html", False),
        ("barbot", "/example/other.html", True),
        ("barbot", "/picture.gif", True),
        ("bazbot", "/example/page.html", False),
        ("bazbot", "/example/", True),
        ("quxbot", "/example/page.html", True),
        ("quxbot", "/picture.gif", True),
    ],
)
def test_the_simple_example_of_the_standard(robot: str, path: str, allowed: bool) -> None:
    assert allows(SIMPLE_EXAMPLE.replace(robot, "gossamer"), path) is allowed


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("/example/page/", True),
        ("/example/page/allowed.gif", True),
        ("/example/page/disallowed.gif", False),
    ],
)
def test_the_longest_match_of_the_standard(path: str, allowed: bool) -> None:
    body = "User-Agent: gossamer\nAllow: /example/page/\nDisallow: /example/page/disallowed.gif\n"
    assert allows(body, path) is allowed


@pytest.mark.parametrize(
    ("disallowed", "admitted", "path", "allowed"),
    [
        ("/*?", "/x/", "/x/?a", True),
        ("/*?a", "/x/", "/x/?a", False),
        ("/*&", "/x/", "/x/?a&b", True),
        ("/*?*&", "/x/y/", "/x/y/?a&b", True),
        ("/x?a=1&b", "/x?a=1&*", "/x?a=1&b", True),
        ("/*+(,", "/x/yz", "/x/yz+(,", True),
        ("/*ü", "/x/yz", "/x/yzü", False),
    ],
)
def test_every_character_of_a_rule_counts_once(disallowed: str, admitted: str, path: str, allowed: bool) -> None:
    assert allows(f"User-agent: *\nDisallow: {disallowed}\nAllow: {admitted}\n", path) is allowed


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        ("/foo/bar?baz=quz", "/foo/bar?baz=quz"),
        ("/foo/bar?baz=https://foo.bar", "/foo/bar?baz=https%3A%2F%2Ffoo.bar"),
        ("/foo/bar?baz=https%3A%2F%2Ffoo.bar", "/foo/bar?baz=https://foo.bar"),
        ("/foo/bar/ツ", "/foo/bar/%E3%83%84"),
        ("/foo/bar/%E3%83%84", "/foo/bar/%E3%83%84"),
        ("/foo/bar/%e3%83%84", "/foo/bar/%E3%83%84"),
        ("/foo/bar/%62%61%7A", "/foo/bar/baz"),
        ("/foo/bar/baz", "/foo/bar/%62%61%7A"),
        ("/path/file-with-a-%2A.html", "/path/file-with-a-*.html"),
        ("/path/foo-%24", "/path/foo-$"),
    ],
)
def test_the_encodings_of_the_standard(written: str, asked: str) -> None:
    assert not allows(f"User-agent: *\nDisallow: {written}", asked)


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        ("/path/file-with-a-%2A.html", "/path/file-with-a-b.html"),
        ("/path/foo-%24", "/path/foo-"),
        ("/a%2Fb", "/a/b"),
        ("/CASE", "/case"),
        ("/x$", "/xy"),
        ("/x/*/z", "/x/z"),
        ("private", "/private"),
    ],
)
def test_what_only_looks_alike_is_another_path(written: str, asked: str) -> None:
    assert allows(f"User-agent: *\nDisallow: {written}", asked)


ALL = "User-agent: *\n"
OURS = "User-agent: gossamer\n"


@pytest.mark.parametrize(
    ("body", "path", "allowed"),
    [
        (f"{ALL}Disallow: /", "/", False),
        (f"{ALL}Disallow:", "/x", True),
        (f"{ALL}Disallow: /private", "/private/a", False),
        (f"{ALL}Disallow: /private", "/public", True),
        (f"{ALL}Disallow: /\nAllow: /open", "/open/a", True),
        (f"{ALL}Disallow: /*.pdf$", "/x/y.pdf", False),
        (f"{ALL}Disallow: /*.pdf$", "/x/y.pdf?z", True),
        (f"{ALL}Disallow: /*?", "/x?", False),
        (f"{ALL}Disallow: /*?", "/x", True),
        (f"{ALL}Disallow: *", "/", False),
        (f"{ALL}Disallow: /a**b", "/axxb", False),
        (f"{ALL}Disallow: /a\nAllow: /a", "/a", True),
        (f"{ALL}Allow: /a\nDisallow: /a", "/a", True),
        (f"{ALL}Disallow: /a*c\nAllow: /abc", "/abc", True),
        (f"{ALL}Disallow: /abc*\nAllow: /abc", "/abcd", False),
        (f"{ALL}Disallow: /", "/robots.txt", True),
        (f"{ALL}Disallow: /", "/robots.txt.bak", False),
        (f"{ALL}Disallow: /a b", "/a%20b", False),
        # whose group it is
        (f"{OURS}Disallow: /a\n\n{ALL}Disallow: /b", "/a", False),
        (f"{OURS}Disallow: /a\n\n{ALL}Disallow: /b", "/b", True),
        (f"{ALL}Disallow: /b\n\n{OURS}Disallow: /a", "/b", True),
        (f"{ALL}Disallow: /\n\n{OURS}Disallow:", "/x", True),
        (f"{ALL}Disallow: /\n\n{OURS}", "/x", True),
        ("User-agent: other\nDisallow: /", "/", True),
        ("USER-AGENT: GOSSAMER\nDISALLOW: /a", "/a", False),
        ("User-agent: Gossamer/1.0\nDisallow: /a", "/a", False),
        ("User-agent: gossamer bot (compatible)\nDisallow: /a", "/a", False),
        ("User-agent: gossamer*\nDisallow: /a", "/a", False),
        ("User-agent: goss\nDisallow: /", "/a", True),
        ("User-agent: gossamer-news\nDisallow: /", "/a", True),
        ("User-agent: mygossamer\nDisallow: /", "/a", True),
        ("User-agent: *bot\nDisallow: /", "/a", True),
        ("User-agent: * # all\nDisallow: /a", "/a", False),
        ("User-agent: * everyone\nDisallow: /a", "/a", False),
        # groups
        (f"{OURS}Disallow: /a\n\nUser-agent: x\nDisallow: /\n\n{OURS}Disallow: /b", "/b", False),
        (f"{OURS}Disallow: /a\n\nUser-agent: x\nDisallow: /\n\n{OURS}Disallow: /b", "/a", False),
        (f"{OURS}Disallow: /a\n\nUser-agent: x\nDisallow: /\n\n{OURS}Disallow: /b", "/c", True),
        ("User-agent: gossamer/1\nDisallow: /a\nUser-agent: gossamer/2\nDisallow: /b", "/a", False),
        (f"{ALL}Disallow: /a\n\nUser-agent: x\nDisallow: /\n\n{ALL}Disallow: /b", "/b", False),
        (f"{OURS}User-agent: x\nDisallow: /a", "/a", False),
        (f"User-agent: x\n\n\n{OURS}\n\nDisallow: /a", "/a", False),
        (f"{OURS}Disallow: /a\n\n\nDisallow: /b", "/b", False),
        (f"{OURS}Disallow:\nUser-agent: x\nDisallow: /", "/b", True),
        ("Disallow: /\nUser-agent: *\nDisallow: /a", "/b", True),
        ("User-agent:\nDisallow: /\n", "/b", True),
        (f"{OURS}Disallow: /a\nUser-agent:\nDisallow: /b", "/b", True),
        # lines that are not ours to judge must not part a group
        (f"{OURS}Sitemap: http://a.test/s.xml\nUser-agent: x\nDisallow: /a", "/a", False),
        (f"{OURS}X-Unknown: 1\nUser-agent: x\nDisallow: /a", "/a", False),
        (f"{OURS}Crawl-delay: 1\nUser-agent: x\nDisallow: /a", "/a", False),
        (f"{OURS}Content-Signal: search=yes\nHost: a.test\nnonsense\nDisallow: /a", "/a", False),
        (f"{OURS}Disallow: /a\nNoindex: /b\nClean-param: x /\nRequest-rate: 1/5\nDisallow: /c", "/c", False),
        # spelling
        (f"{ALL}Dissallow: /a", "/a", False),
        (f"{ALL}Dissalow: /a", "/a", False),
        (f"{ALL}Disalow: /a", "/a", False),
        (f"{ALL}Diasllow: /a", "/a", False),
        (f"{ALL}Disallaw: /a", "/a", False),
        (f"{ALL}Disallowed: /a", "/a", False),
        (f"{ALL}Disallow /a", "/a", False),
        (f"{ALL}Disallow\t/a", "/a", False),
        (f"{ALL}  disallow  :  /a  # not here", "/a", False),
        (f"{ALL}Disallow:/a#b", "/a", False),
        (f"{ALL}#Disallow: /a", "/a", True),
        (f"{ALL}Disallow: /\n\nAllow everyone to see the page", "/a", False),
        ("Useragent: *\nDisallow: /a", "/a", False),
        ("User agent: *\nDisallow: /a", "/a", False),
        ("User-agent *\nDisallow: /a", "/a", False),
        (f"{OURS}Disallow: /a\nUser agents of all kinds are welcome\nDisallow: /b", "/b", False),
        # line ends and stray bytes
        ("\ufeffUser-agent: *\r\nDisallow: /x\r\n", "/x", False),
        ("\ufffd\ufffdUser-agent: *\nDisallow: /x", "/x", False),
        ("User-agent: *\rDisallow: /x\rDisallow: /y", "/y", False),
        ("User-agent: *\r\r\n\nDisallow: /x", "/x", False),
        ("User-agent: *\nDis\0allow: /x", "/x", False),
        (f"{ALL}Disallow: /\n\x0bAllow: /", "/x", False),
        (f"{ALL}Disallow: /x\u2028Allow: /", "/x", True),
        (f"{ALL}Disallow: /\nX: y\x85Allow: /", "/x", False),
        (f"{ALL}Disallow: /\nDisallow: /y\x85Allow: /x", "/x", False),
        ("# nothing here\n", "/", True),
        ("<html><body>not found</body></html>", "/", True),
        ('{"user-agent": "*", "disallow": "/"}', "/", True),
    ],
)  # fmt: skip
def test_the_group_for_us_or_else_for_all_decides(body: str, path: str, allowed: bool) -> None:
    assert allows(body, path) is allowed


def test_half_a_line_at_the_end_of_what_is_read_does_not_count() -> None:
    start = f"{ALL}Disallow: /\n"
    padding = "#" * (MOST_BYTES - len(start) - len("\nAllow: /")) + "\n"
    cut = start + padding + "Allow: /"  # it said /open, but that is beyond what is read
    assert len(cut) == MOST_BYTES
    assert not allows(cut, "/x")
    assert allows(cut[1:], "/x")  # a whole file, only a little shorter, means what it says


@pytest.mark.parametrize("status", [204, 301, 400, 401, 403, 404, 410])
def test_a_missing_file_forbids_nothing(status: int) -> None:
    assert not says_later(status)
    assert read_rules(status, "").allow("http://a.test/")
    assert status == 204 or read_rules(status, f"{ALL}Disallow: /").allow("http://a.test/")


@pytest.mark.parametrize("status", [429, 500, 502, 503])
def test_a_file_that_cannot_be_had_now_means_later(status: int) -> None:
    assert says_later(status)


@pytest.mark.parametrize(
    ("lines", "delay"),
    [
        ("Crawl-delay: 2.5", 2.5),
        ("crawl-delay:3 # seconds", 3.0),
        ("Crawl delay: 3s", 3.0),
        ("Crawl-delay: 0,5", 0.5),
        ("Crawl-delay: 900", 60.0),
        ("Crawl-delay: 1e9", 1.0),
        ("Crawl-delay: 99999999999999", 60.0),
        ("Crawl-delay: -5", 0.0),
        ("Crawl-delay: nan", 0.0),
        ("Crawl-delay: ten", 0.0),
        ("Crawl-delay:", 0.0),
        ("Crawl-delay: 2\nDisallow: /y\nCrawl-delay: 4\nCrawl-delay: 1", 4.0),
        ("Disallow: /y\n\nUser-agent: other\nCrawl-delay: 9", 0.0),
        ("", 0.0),
    ],
)
def test_a_crawl_delay_is_read_and_capped(lines: str, delay: float) -> None:
    assert read_rules(200, f"{ALL}{lines}\nDisallow: /x").delay == delay
    assert read_rules(404, f"{ALL}{lines}").delay == 0


def test_a_delay_asked_of_others_before_our_group_begins_is_not_ours() -> None:
    rules = read_rules(200, f"User-agent: slowbot\nCrawl-delay: 10\n\n{ALL}Disallow: /x")
    assert rules.delay == 0
    assert not rules.allow("http://a.test/x")


def test_the_sitemaps_are_named_for_everyone() -> None:
    body = (
        "Sitemap: http://a.test/one.xml\nUser-agent: other\nDisallow: /\nSITEMAP:http://b.test/two.xml?x=1 # new\n"
        "site-map: /three.xml\nSitemap http://a.test/four.xml\nSitemap:\nSitemap: http://a.test/one.xml\n"
    )
    rules = read_rules(200, body)
    named = ("http://a.test/one.xml", "http://b.test/two.xml?x=1", "/three.xml", "http://a.test/four.xml")
    assert rules.sitemaps() == named
    assert read_rules(404, body).sitemaps() == ()
    assert RobotsRules().sitemaps() == ()


def test_no_more_sitemaps_are_named_than_can_be_read() -> None:
    body = "".join(f"Sitemap: /{n}.xml\n" for n in range(1_000))
    assert read_rules(200, body).sitemaps() == tuple(f"/{n}.xml" for n in range(MOST_SITEMAPS))


@pytest.mark.parametrize(
    "body",
    [
        f"{ALL}Disallow: /" + "a*" * 250_000,
        ALL + "Disallow: /*a*b*c*d*e\n" * 22_000,
        "User-agent: x\n" * 36_000,
        f"{OURS}{ALL}User-agent: x\n" * 6_000 + "Disallow: /nothing\n" * 13_000,
        "".join(f"User-agent: a{'b' * (n % 9)}\n" for n in range(15_000)) + "Disallow: /nothing\n" * 13_000,
        "user-agent" + " " * 500_000,
        "disallow" + "-" * 500_000,
        ALL + "Disallow: /" + "%" * 500_000,
    ],
    ids=lambda body: body[-12:],
)
def test_files_made_to_hurt_are_read_in_bounded_time(body: str) -> None:
    began = time.process_time()
    rules = read_rules(200, body)
    assert rules.allow("http://a.test/" + "abcd" * 400)
    # Far above what any of them takes.
    assert time.process_time() - began < 10


_WORDS = st.sampled_from(
    ["User-agent", "user agent", "Disallow", "Allow", "Crawl-delay", "Sitemap", "X", ":", " ", "\t", "\n", "\r\n",
     "\n\n", "gossamer", "*", "other", "/", "/a", "/*b$", "%2A", "%", "é", "#", "\0", "\x85", "\ufeff", "5", "?", "$"]
)  # fmt: skip


@settings(max_examples=500, deadline=None)
@given(st.lists(_WORDS, max_size=40).map("".join) | st.text(max_size=200))
def test_no_file_can_raise_or_close_its_own_robots_txt(body: str) -> None:
    rules = read_rules(200, body)
    assert rules.allow("http://a.test/robots.txt")
    assert isinstance(rules.allow("http://a.test/a?b=%2F"), bool)
    assert 0 <= rules.delay <= 60
    assert len(rules.sitemaps()) <= MOST_SITEMAPS


_PATTERN = st.lists(st.sampled_from(["a", "b", "/", "*", "?", "&"]), max_size=6).map(lambda parts: "/" + "".join(parts))
_RULE = st.tuples(st.sampled_from(["Allow", "Disallow"]), _PATTERN, st.sampled_from(["", "$"]))


def fits(pattern: str, path: str) -> bool:
    """Whether a pattern covers a path, tried one character after the other."""
    if not pattern:
        return True
    if pattern == "$":
        return not path
    if pattern[0] == "*":
        return any(fits(pattern[1:], path[at:]) for at in range(len(path) + 1))
    return path[:1] == pattern[0] and fits(pattern[1:], path[1:])


@settings(max_examples=500, deadline=None)
@given(st.lists(_RULE, max_size=6), st.text(alphabet="ab/?&", max_size=8))
def test_the_longest_rule_that_fits_decides_and_allow_wins_a_tie(rules: list[tuple[str, str, str]], tail: str) -> None:
    path = "/" + tail
    body = ALL + "".join(f"{key}: {pattern}{end}\n" for key, pattern, end in rules)
    fitting = [(len(pattern + end), key == "Allow") for key, pattern, end in rules if fits(pattern + end, path)]
    assert allows(body, path) is (max(fitting)[1] if fitting else True)
