"""robots.txt as it is obeyed."""

import pytest

from gossamer.frontier.robots import read_rules, says_later


@pytest.mark.parametrize(
    ("body", "path", "allowed"),
    [
        ("User-agent: *\nDisallow: /", "/", False),
        ("User-agent: *\nDisallow:", "/x", True),
        ("User-agent: *\nDisallow: /private", "/private/a", False),
        ("User-agent: *\nDisallow: /private", "/public", True),
        ("User-agent: *\nDisallow: /\nAllow: /open", "/open/a", True),
        ("User-agent: gossamer\nDisallow: /a\n\nUser-agent: *\nDisallow: /b", "/a", False),
        ("User-agent: gossamer\nDisallow: /a\n\nUser-agent: *\nDisallow: /b", "/b", True),
        ("User-agent: other\nDisallow: /", "/", True),
        ("User-agent: *\nDisallow: /*.pdf$", "/x/y.pdf", False),
        ("User-agent: *\nDisallow: /*.pdf$", "/x/y.pdf?z", True),
        ("\ufeffUser-agent: *\r\nDisallow: /x\r\n", "/x", False),
        ("# nothing here\n", "/", True),
        ("<html><body>not found</body></html>", "/", True),
    ],
)
def test_the_group_for_us_or_else_for_all_decides(body: str, path: str, allowed: bool) -> None:
    assert read_rules(200, body).allow(f"http://a.test{path}") is allowed


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410])
def test_a_missing_file_forbids_nothing(status: int) -> None:
    assert not says_later(status)
    assert read_rules(status, "").allow("http://a.test/")


@pytest.mark.parametrize("status", [429, 500, 502, 503])
def test_a_file_that_cannot_be_had_now_means_later(status: int) -> None:
    assert says_later(status)


@pytest.mark.parametrize(("line", "delay"), [("Crawl-delay: 2.5", 2.5), ("Crawl-delay: 900", 60.0), ("", 0.0)])
def test_a_crawl_delay_is_read_and_capped(line: str, delay: float) -> None:
    assert read_rules(200, f"User-agent: *\n{line}\nDisallow: /x").delay == delay
