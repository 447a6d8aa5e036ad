"""The line that decided is named, by the reading that was obeyed."""

import pytest

from gossamer.frontier.robots import deciding_line, read_rules

FILE = """\
# the shop's rules
User-agent: otherbot
Disallow: /private/

User-agent: *
Disallow: /private/
Allow: /private/open/   # the gallery
Disallow: /*.php$
Disallow: /private/open/not/

User-agent: thirdbot
Disallow: /shop/
"""


@pytest.mark.parametrize(
    ("path", "allowed", "line"),
    [
        ("/", True, None),
        ("/shop/", True, None),
        ("/private/x", False, (6, "Disallow: /private/")),
        ("/private/open/x", True, (7, "Allow: /private/open/   # the gallery")),
        ("/private/open/not/x", False, (9, "Disallow: /private/open/not/")),
        ("/index.php", False, (8, "Disallow: /*.php$")),
    ],
)
def test_the_most_specific_line_of_our_group_decides(path: str, allowed: bool, line: tuple[int, str] | None) -> None:
    url = f"https://a.test{path}"
    assert read_rules(200, FILE).allow(url) is allowed
    assert deciding_line(FILE, url) == line


def test_lines_for_us_outweigh_those_for_all_wherever_they_stand() -> None:
    body = "User-agent: *\r\nDisallow: /\r\n\r\nUser-agent: Gossamer\r\nAllow: /\r\nDisallow: /a\r\n"
    assert deciding_line(body, "https://a.test/a") == (6, "Disallow: /a")
    assert deciding_line(body, "https://a.test/b") == (5, "Allow: /")


def test_two_lines_that_say_the_same_are_both_ours_and_the_first_is_named() -> None:
    body = "User-agent: a\nUser-agent: *\nDisallow: /x\nDisallow: /x\n"
    assert deciding_line(body, "https://a.test/x") == (3, "Disallow: /x")


@pytest.mark.parametrize("body", ["", "Sitemap: /s.xml", "User-agent: *\nDisallow:\n", "<html>Disallow: /</html>"])
def test_a_file_that_forbids_nothing_names_no_line(body: str) -> None:
    assert deciding_line(body, "https://a.test/x") is None


def test_misspelled_lines_count_as_they_do_for_the_walk() -> None:
    body = "useragent *\ndissallow: /x\n"
    assert not read_rules(200, body).allow("https://a.test/x")
    assert deciding_line(body, "https://a.test/x") == (2, "dissallow: /x")
