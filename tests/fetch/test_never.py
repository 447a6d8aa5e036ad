"""What the operator never wants visited: who is covered, when the file is read again, and what is refused."""

import logging
import os
from collections.abc import Callable
from datetime import timedelta
from ipaddress import ip_network
from pathlib import Path

import pytest

from gossamer.clock import FrozenClock, SystemClock
from gossamer.errors import UserError
from gossamer.fetch import FetchError
from gossamer.fetch.deny_list import NOTHING, DenyList
from gossamer.fetch.guard import Guard, parse_connect_to
from gossamer.fetch.http import HttpRung
from gossamer.fetch.resolve import Resolver
from gossamer.model.trouble import Reason, Trouble
from tests.fetch.loopback import Name, NameServer, Site

Written = Callable[[str], DenyList]

LIST = """\
# people who asked
example.com   # by mail
www.shop.example
*.gov
.museum
https://blog.example.org/
münchen.example

203.0.113.0/24
2001:db8::/32
[2606:4700::1]
198.51.100.7
"""

COVERED = [
    ("example.com", "example.com"),
    ("www.example.com", "example.com"),
    ("a.b.example.com", "example.com"),
    ("shop.example", "www.shop.example"),
    ("www.shop.example", "www.shop.example"),
    ("de.shop.example", "www.shop.example"),
    ("agency.gov", "*.gov"),
    ("art.museum", ".museum"),
    ("blog.example.org", "https://blog.example.org/"),
    ("xn--mnchen-3ya.example", "münchen.example"),
    ("203.0.113.9", "203.0.113.0/24"),
    ("[2001:db8::5]", "2001:db8::/32"),
    ("[2606:4700::1]", "[2606:4700::1]"),
    ("[::ffff:198.51.100.7]", "198.51.100.7"),
]

FREE = [
    "notexample.com",
    "example.com.evil.org",
    "example.org",
    "example",
    "com",
    "203.0.114.1",
    "[2606:4700::2]",
    "1.a",
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "never.txt"


@pytest.fixture
def written(path: Path, frozen: FrozenClock) -> Written:
    def write(text: str) -> DenyList:
        path.write_text(text, encoding="utf-8")
        return DenyList(path, frozen)

    return write


def rewrite(path: Path, text: str) -> None:
    """Another content, another time: the clock of a file system may stand still between two writes."""
    path.write_text(text, encoding="utf-8")
    os.utime(path, ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns + 1_000_000))


@pytest.mark.parametrize(("host", "entry"), COVERED)
def test_an_entry_covers_its_name_the_twin_and_all_below(host: str, entry: str, written: Written) -> None:
    assert written(LIST).covers(host) == entry


@pytest.mark.parametrize("host", FREE)
def test_nothing_else_is_covered(host: str, written: Written) -> None:
    assert written(LIST).covers(host) == ""


@pytest.mark.parametrize("text", ["", "\n\n", "# nobody yet\n", "\ufeffexample.com\r\n"])
def test_blank_lines_remarks_and_marks_are_no_entries(text: str, written: Written) -> None:
    assert written(text).covers("example.com") == ("example.com" if "example" in text else "")


@pytest.mark.parametrize(
    "line",
    [
        "com",
        "example.com/private",
        "me@example.com",
        "example.com:8080",
        "ftp://a.example",
        "exa mple.com",
        "10.0.0.5/8",
        "1.2.3",
        "a,b",
        "http://",
        "*",
        "shop.example,",
    ],
)
def test_a_line_that_is_no_entry_is_refused_with_its_number(line: str, path: Path, written: Written) -> None:
    with pytest.raises(UserError) as caught:
        written(f"# list\nexample.com\n{line}\n")
    assert caught.value.code == "never_visit.bad_entry"
    assert f"{path}, line 3: {line!r}" in str(caught.value)
    assert "one domain, IP address or network per line" in str(caught.value)


def test_a_list_that_is_not_there_is_refused(path: Path, frozen: FrozenClock) -> None:
    with pytest.raises(UserError) as caught:
        DenyList(path, frozen)
    assert caught.value.code == "never_visit.unreadable"
    assert f"GOSSAMER_NEVER_VISIT names {path}, which cannot be read (No such file or directory)" in str(caught.value)


@pytest.mark.parametrize("content", [None, b"\xff\xfe\x00bin"])
def test_a_list_that_cannot_be_read_is_refused(content: bytes | None, path: Path, frozen: FrozenClock) -> None:
    path.write_bytes(content) if content else path.mkdir()
    with pytest.raises(UserError) as caught:
        DenyList(path, frozen)
    assert caught.value.code == "never_visit.unreadable"


def test_a_line_that_is_added_holds_within_seconds(path: Path, written: Written, frozen: FrozenClock) -> None:
    never = written("example.com\n")
    rewrite(path, "example.com\nshop.example\n")
    assert never.covers("shop.example") == ""  # not looked at for every page
    frozen.advance(3.1)
    assert never.covers("shop.example") == "shop.example"


def test_a_line_that_is_taken_out_opens_again(path: Path, written: Written, frozen: FrozenClock) -> None:
    never = written("example.com\n203.0.113.0/24\n")
    rewrite(path, "# nobody\n")
    frozen.advance(3.1)
    assert (never.covers("example.com"), never.covers("203.0.113.1")) == ("", "")


def test_a_list_that_goes_away_stays_in_force_and_is_missed_once(
    path: Path, written: Written, frozen: FrozenClock, caplog: pytest.LogCaptureFixture
) -> None:
    never = written("example.com\n")
    path.unlink()
    with caplog.at_level(logging.INFO):
        for _ in range(3):
            frozen.advance(3.1)
            assert never.covers("example.com") == "example.com"
        assert sum("never_visit.unreadable" in record.getMessage() for record in caplog.records) == 1
    path.write_text("shop.example\n")
    frozen.advance(3.1)
    assert (never.covers("example.com"), never.covers("shop.example")) == ("", "shop.example")


def test_a_slip_in_a_list_that_is_edited_opens_nothing(
    path: Path, written: Written, frozen: FrozenClock, caplog: pytest.LogCaptureFixture
) -> None:
    never = written("example.com\n")
    rewrite(path, "shop.example\nnot a domain\n")
    frozen.advance(3.1)
    with caplog.at_level(logging.INFO):
        assert never.covers("shop.example") == "shop.example"
    assert never.covers("example.com") == "example.com"
    assert any("never_visit.bad_entry" in record.getMessage() for record in caplog.records)


def test_without_a_file_nothing_is_covered() -> None:
    assert NOTHING.covers("example.com") == ""


async def refusal(guard: Guard, url: str) -> Trouble:
    with pytest.raises(FetchError) as caught:
        await guard.admit(url)
    return caught.value.trouble


async def test_the_guard_refuses_before_anything_is_looked_up(
    written: Written, resolver: Resolver, name_server: NameServer
) -> None:
    guard = Guard(resolver, never=written("example.com\n"))
    for url in ("http://example.com/", "https://www.example.com:8443/robots.txt", "http://EXAMPLE.com./"):
        assert await refusal(guard, url) == Trouble(Reason.NEVER_VISIT, "example.com")
    assert name_server.questions == []


async def test_a_name_that_leads_into_a_listed_network_is_refused(
    written: Written, resolver: Resolver, name_server: NameServer
) -> None:
    name_server.names["shop.example"] = Name(["93.184.216.34"])
    guard = Guard(resolver, never=written("93.184.216.0/24\n"))
    assert await refusal(guard, "http://shop.example/") == Trouble(Reason.NEVER_VISIT, "93.184.216.0/24")
    assert await refusal(guard, "http://93.184.216.34/") == Trouble(Reason.NEVER_VISIT, "93.184.216.0/24")


async def test_neither_rules_nor_allowed_networks_open_what_is_listed(written: Written, resolver: Resolver) -> None:
    never = written("shop.test\n10.0.0.0/8\n")
    guard = Guard(
        resolver, rules=parse_connect_to("*.test=127.0.0.1:8080"), allow=[ip_network("10.0.0.0/8")], never=never
    )
    assert (await refusal(guard, "http://shop.test/")).reason is Reason.NEVER_VISIT
    assert (await refusal(guard, "http://10.1.1.1/")).reason is Reason.NEVER_VISIT
    assert (await guard.admit("http://other.test/")).by_rule


async def test_a_visit_under_way_is_stopped(path: Path, site: Site, resolver: Resolver) -> None:
    path.write_text("# nobody\n")
    clock = FrozenClock()
    rules = parse_connect_to(f"*.test=127.0.0.1:{site.port}")
    guard = Guard(resolver, rules=rules, never=DenyList(path, clock))
    session = HttpRung(guard, SystemClock()).session(seed=0)
    assert (await session.fetch("http://shop.test/", timeout=timedelta(seconds=5), max_bytes=100)).status == 200
    rewrite(path, "shop.test\n")
    clock.advance(3.1)
    with pytest.raises(FetchError) as caught:
        await session.fetch("http://shop.test/", timeout=timedelta(seconds=5), max_bytes=100)
    assert caught.value.trouble == Trouble(Reason.NEVER_VISIT, "shop.test")
    assert caught.value.trouble.sentence == "On the operator's never-visit list (shop.test)"
    assert len(site.seen) == 1
