"""Lists of addresses: each page once, under its site, and a bad line is named."""

from pathlib import Path

import pytest

from gossamer.errors import UserError
from gossamer.intake.addresses import MAX_ADDRESSES, read_address_file, read_addresses
from gossamer.recipes.scrape.request import scrape_request


def test_pages_are_grouped_by_site_in_their_order() -> None:
    listed = read_addresses(
        ["https://a.test/2?utm_source=x#top", "https://example.com/x", "https://www.a.test/1", "https://a.test/2"]
    )
    assert listed.urls == ("https://a.test/2", "https://example.com/x", "https://www.a.test/1")
    assert (listed.given, listed.duplicates) == (4, 1)
    assert [(target.host, target.entries, target.pages) for target in listed.targets] == [
        ("a.test", ("https://a.test/2",), ("https://a.test/2", "https://www.a.test/1")),
        ("example.com", ("https://example.com/x",), ("https://example.com/x",)),
    ]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("ftp://a.test/x", "begins with ftp:// instead of"),
        ("not an address", "has a space in it"),
        ("me@a.test", "looks like an e-mail address"),
        ("https://", "has no name in it"),
        ("https://a.test/" + "x" * 3_000, "is longer than 2,000 characters"),
    ],
)
def test_what_is_no_address_is_said_and_why(text: str, why: str) -> None:
    with pytest.raises(UserError) as refused:
        read_addresses(["https://a.test/", text])
    assert (refused.value.code, why in refused.value.message) == ("urls.bad", True)


def test_a_file_may_be_lines_or_a_table_and_a_bad_line_is_named(tmp_path: Path) -> None:
    lines, table, bad = tmp_path / "a.txt", tmp_path / "b.csv", tmp_path / "c.txt"
    lines.write_text("# pages\nhttps://a.test/1\n\nhttps://b.test/2\n")
    table.write_text("name,url\nfirst,https://a.test/1\nsecond,https://b.test/2\n")
    bad.write_text("https://a.test/1\nnot an address\n")
    assert read_address_file(lines).urls == read_address_file(table).urls == ("https://a.test/1", "https://b.test/2")
    with pytest.raises(UserError, match=r'c\.txt, line 2: "not an address" is not a web address'):
        read_address_file(bad)


def test_nothing_and_too_much_are_refused() -> None:
    with pytest.raises(UserError) as empty:
        read_addresses([])
    with pytest.raises(UserError) as many:
        read_addresses(f"https://a.test/{number}" for number in range(MAX_ADDRESSES + 1))
    assert (empty.value.code, many.value.code) == ("urls.empty", "urls.too_many")


def test_a_screenshot_without_a_browser_is_refused_before_anything_is_made() -> None:
    listed = read_addresses(["https://a.test/"])
    with pytest.raises(UserError) as refused:
        scrape_request(listed, ["direct"], formats=["markdown", "screenshot"])
    assert refused.value.code == "lane-missing"
    request = scrape_request(listed, ["direct", "browser"], formats=["screenshot"])
    assert request.params["ladder"] == ["browser"]
    with pytest.raises(UserError, match="There is no format 'pdf'"):
        scrape_request(listed, ["direct"], formats=["pdf"])


def test_rules_ask_for_their_fields_without_saying_so() -> None:
    listed = read_addresses(["https://a.test/"])
    assert scrape_request(listed, ["direct"], rules={"a": "h1"}).params["formats"] == ["extract"]
    assert "formats" not in scrape_request(listed, ["direct"]).params


@pytest.mark.parametrize(
    ("text", "entries"),
    [
        (
            "a.test/x?y=1",
            ["https://a.test/x?y=1", "http://a.test/x?y=1", "https://www.a.test/x?y=1", "http://www.a.test/x?y=1"],
        ),
        ("www.a.test", ["https://www.a.test/", "http://www.a.test/", "https://a.test/", "http://a.test/"]),
        ("a.test:8080/x", ["https://a.test:8080/x", "http://a.test:8080/x"]),
        ("93.184.216.34/x", ["https://93.184.216.34/x", "http://93.184.216.34/x"]),
        ("http://a.test/x", ["http://a.test/x"]),
    ],
)
def test_an_address_without_a_scheme_has_other_spellings(text: str, entries: list[str]) -> None:
    (target,) = read_addresses([text]).targets
    assert (list(target.entries), list(target.pages)) == (entries, entries[:1])


def test_several_pages_of_a_site_are_taken_as_they_are() -> None:
    (target,) = read_addresses(["a.test/x", "a.test/y"]).targets
    assert (target.entries, len(target.pages)) == (("https://a.test/x",), 2)
