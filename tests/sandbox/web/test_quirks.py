"""Every quirk answers as promised, over real sockets."""

import asyncio
import re
import zlib
from collections.abc import AsyncIterator
from email.utils import parsedate_to_datetime
from html import escape

import pytest

from gossamer_sandbox.web import SampleWeb, serve
from gossamer_sandbox.web.answer import BOMB_BYTES, HUGE_BYTES, bomb
from gossamer_sandbox.web.blocked import BLOCKED
from gossamer_sandbox.web.keywords import KEYWORDS
from gossamer_sandbox.web.page import Manner
from gossamer_sandbox.web.quirks import BLOCKS, LEADING
from tests.sandbox.web.asking import PATIENCE, Got, ask, dial
from tests.sandbox.web.reading import decode, read

WEB = SampleWeb(sites=140, seed=1, nasty=1.0, slow_seconds=0.05, retry_after_max=1)


@pytest.fixture
async def port() -> AsyncIterator[int]:
    async with serve(WEB) as running:
        yield running.port


def home_with(quirk: str) -> str:
    return next(
        WEB.sites.profile(number).name.primary
        for number in WEB.sites.numbers
        if WEB.sites.profile(number).home_quirk == quirk
    )


def site_with(quirk: str) -> str:
    return next(
        WEB.sites.profile(number).name.primary
        for number in WEB.sites.numbers
        if quirk in WEB.sites.profile(number).inner_quirks
    )


SHORT = (
    Manner.UNAUTHORISED,
    Manner.FORBIDDEN,
    Manner.NOT_FOUND,
    Manner.GONE,
    Manner.BROKEN,
    Manner.BUSY_FOR_HOURS,
    Manner.EMPTY,
    Manner.SHELL,
    Manner.LOGIN_WALL,
    Manner.MENDED,
    Manner.FRAMED,
    *BLOCKS,
)


@pytest.mark.parametrize("manner", SHORT, ids=lambda manner: manner.label)
async def test_refusals_have_their_status_at_home_and_inside(port: int, manner: Manner) -> None:
    at_home = await ask(port, home_with(manner.label), "/")
    inside = await ask(port, site_with(manner.label), f"/more/{manner.label}")
    assert at_home.status == inside.status == manner.status
    if manner is not Manner.EMPTY:
        assert any(escape(keyword, quote=False).encode() in at_home.body for keyword in KEYWORDS), "there is no decoy"


MARKS = {
    Manner.CLOUDFLARE: (("cf-mitigated", "challenge"), "_cf_chl_opt", "Just a moment..."),
    Manner.CLOUDFLARE_200: (("server", "cloudflare"), "/cdn-cgi/challenge-platform/", "_cf_chl_opt"),
    Manner.CLOUDFLARE_1020: (("server", "cloudflare"), "cf-error-details", ">1020<"),
    Manner.AKAMAI: (("server", "AkamaiGHost"), "errors&#46;edgesuite&#46;net", "Access Denied"),
    Manner.DATADOME: (("x-dd-b", "1"), "geo.captcha-delivery.com", "var dd={"),
    Manner.PERIMETERX: (("content-type", "text/html; charset=utf-8"), "px-captcha", "Press &amp; Hold"),
    Manner.IMPERVA: (("x-cdn", "Imperva"), "/_Incapsula_Resource?", "Incapsula incident ID"),
    Manner.KASADA: (("x-kpsdk-r", "1-AA"), "KPSDK.scriptStart", "/ips.js?"),
    Manner.AWS_WAF: (("x-amzn-waf-action", "challenge"), "window.gokuProps", ".awswaf.com/"),
    Manner.AWS_WAF_CAPTCHA: (("x-amzn-waf-action", "captcha"), "window.gokuProps", "/captcha.js"),
    Manner.SUCURI: (("x-sucuri-block", "EVA"), "sucuri-firewall-block.css", "cloudproxy@sucuri.net"),
    Manner.VERCEL: (("x-vercel-mitigated", "challenge"), "Vercel Security Checkpoint", "browser"),
    Manner.ANUBIS: (("content-type", "text/html; charset=utf-8"), 'id="anubis_challenge"', "/x/cmd/anubis/"),
    Manner.ANUBIS_401: (("content-type", "text/html; charset=utf-8"), 'id="anubis_challenge"', "/x/cmd/anubis/"),
    Manner.STYLED: (("content-type", "text/html; charset=utf-8"), "Prove your humanity", ".frame--"),
    Manner.SHIELD: (("content-type", "text/html; charset=utf-8"), "ShieldSquare", "you are a bot"),
    Manner.REFUSED: (("content-type", "text/html; charset=utf-8"), "Your request has been blocked", "<h2>"),
    Manner.QUEUE: (("content-type", "text/html; charset=utf-8"), "Waiting Room", "your turn"),
    Manner.WIDGET: (("content-type", "text/html; charset=utf-8"), "g-recaptcha", "data-sitekey"),
}


def test_every_block_has_its_marks() -> None:
    assert set(MARKS) == set(BLOCKS) == set(BLOCKED)


@pytest.mark.parametrize("manner", MARKS, ids=lambda manner: manner.label)
async def test_bot_blocks_bear_the_marks_of_their_vendor(port: int, manner: Manner) -> None:
    (header, value), *marks = MARKS[manner]
    got = await ask(port, home_with(manner.label), "/")
    assert got.headers[header] == value
    assert all(mark in got.body.decode() for mark in marks)


async def test_hollow_parked_and_closed_pages_look_the_part(port: int) -> None:
    shell = await ask(port, home_with("shell"), "/")
    assert "".join(read(shell.body.decode()).pieces).strip("\x1e\n ") == ""
    assert b'<div id="root"></div>' in shell.body
    assert (await ask(port, home_with("empty"), "/")).body == b""
    assert b"domain is for sale" in (await ask(port, home_with("parked"), "/")).body
    assert b'type="password"' in (await ask(port, home_with("login-wall"), "/")).body
    assert "www-authenticate" in (await ask(port, home_with("unauthorised"), "/")).headers
    assert (await ask(port, home_with("busy-for-hours"), "/")).headers["retry-after"] == "7200"


async def follow(port: int, host: str, path: str, most: int = 12) -> list[Got]:
    """Redirects on one site, to the end."""
    seen = [await ask(port, host, path)]
    while seen[-1].status in (301, 302, 303, 307, 308) and len(seen) <= most:
        seen.append(await ask(port, host, seen[-1].headers["location"]))
    return seen


@pytest.mark.parametrize("hops", [3, 5, 8])
async def test_chains_are_as_long_as_they_say(port: int, hops: int) -> None:
    for host, path in ((home_with(f"redirect-{hops}"), "/"), (site_with(f"redirect-{hops}"), f"/moved/{hops}/0")):
        seen = await follow(port, host, path)
        assert len(seen) == hops + 1
        assert seen[-1].status == 200


async def test_loops_have_no_end(port: int) -> None:
    assert len(await follow(port, home_with("redirect-loop"), "/")) == 13
    assert len(await follow(port, site_with("redirect-loop"), "/round/a")) == 13


@pytest.mark.parametrize("quirk", LEADING)
async def test_redirects_to_nowhere(port: int, quirk: str) -> None:
    for host, path in ((home_with(quirk), "/"), (site_with(quirk), f"/go/{quirk.removeprefix('redirect-')}")):
        got = await ask(port, host, path)
        assert got.status == 302
        assert got.headers.get("location") == LEADING[quirk]


async def test_redirects_to_other_sites_lead_to_pages_that_are_there(port: int) -> None:
    for host, path in ((home_with("moved"), "/"), (site_with("redirect-elsewhere"), "/go/elsewhere")):
        got = await ask(port, host, path)
        other, _, rest = got.headers["location"].removeprefix("http://").partition("/")
        assert got.status in (301, 302)
        assert other != host
        landed = await ask(port, other, f"/{rest}")
        assert landed.status in (200, 429, 503)
        assert (await ask(port, host, f"/{rest or 'welcome/from-0000'}")).status != 200, "only the other site has it"


async def test_other_redirects(port: int) -> None:
    got = await ask(port, site_with("redirect-into-forbidden"), "/go/inside")
    assert got.headers["location"] == "/private/ledger"
    assert (await ask(port, site_with("redirect-index"), "/index.html")).headers["location"] == "/"
    login = await follow(port, site_with("redirect-login"), "/go/members")
    assert [one.status for one in login] == [302, 200]
    assert b'type="password"' in login[-1].body


@pytest.mark.parametrize(
    ("quirk", "path", "status"),
    [
        ("busy-once", "/patience/busy", 429),
        ("busy-once-dated", "/patience/busy-dated", 429),
        ("away-once", "/patience/away", 503),
    ],
)
async def test_pages_that_refuse_once_give_in_to_those_who_wait(port: int, quirk: str, path: str, status: int) -> None:
    for host, target in ((home_with(quirk), "/"), (site_with(quirk), path)):
        first = await ask(port, host, target)
        assert first.status == status
        if status == 429:
            impatient = await ask(port, host, target)
            assert impatient.status == 429
            await asyncio.sleep(seconds_asked(impatient))
        assert (await ask(port, host, target)).status == 200
        assert (await ask(port, host, target)).status == 200


def seconds_asked(got: Got) -> float:
    asked = got.headers["retry-after"]
    if asked.isdigit():
        assert asked == "1"
        return float(asked)
    wait = (parsedate_to_datetime(asked) - parsedate_to_datetime(got.headers["date"])).total_seconds()
    assert 0 <= wait <= 2
    return wait


async def test_slow_pages_come_in_the_end(port: int) -> None:
    assert (await ask(port, home_with("slow"), "/")).status == 200
    assert (await ask(port, site_with("slow"), "/patience/slow")).status == 200


async def test_a_dripping_page_goes_on_and_on(port: int) -> None:
    for host, path in ((home_with("drip"), "/"), (site_with("drip"), "/more/drip")):
        line = await dial(port)
        await line.send(f"GET {path} HTTP/1.1\r\nHost: {host}\r\n")
        async with asyncio.timeout(PATIENCE):
            status, headers = await line.head()
            await line.reader.readexactly(1_000)
            assert await line.reader.readexactly(1) == b"."
        assert status == 200
        assert "content-length" not in headers
        await line.close()


@pytest.mark.parametrize("quirk", ["cut-off", "cut-chunk"])
async def test_a_cut_page_ends_before_it_is_complete(port: int, quirk: str) -> None:
    got = await ask(port, site_with(quirk), f"/more/{quirk}")
    assert got.status == 200
    assert not got.complete


async def test_a_bomb_is_a_megabyte_that_becomes_a_gigabyte(port: int) -> None:
    got = await ask(port, home_with("bomb"), "/")
    assert got.headers["content-encoding"] == "gzip"
    assert got.body == bomb()
    assert len(got.body) < 2_000_000
    inflater, size = zlib.decompressobj(31), 0
    waiting = got.body
    while waiting:
        size += len(inflater.decompress(waiting, 1 << 20))
        waiting = inflater.unconsumed_tail
    assert inflater.eof, "the checksum is right too, or this would have raised"
    assert size == BOMB_BYTES


async def test_a_huge_page_is_huge(port: int) -> None:
    got = await ask(port, home_with("huge"), "/")
    assert len(got.body) == HUGE_BYTES


async def test_things_that_are_not_pages(port: int) -> None:
    assert (await ask(port, site_with("pdf"), "/more/pdf")).type == "application/pdf"
    host = site_with("binaries")
    types = [(await ask(port, host, f"/files/{name}")).type for name in ("report.pdf", "archive.zip", "photo.jpg")]
    assert types == ["application/pdf", "application/zip", "image/jpeg"]


async def test_a_wrong_charset_is_declared(port: int) -> None:
    for host, path in ((home_with("wrong-charset"), "/"), (site_with("wrong-charset"), "/letters/garbled")):
        got = await ask(port, host, path, gzip=True)
        number = WEB.sites.number_of(host)
        assert number is not None
        used = WEB.sites.profile(number).charset.removesuffix("-sig")
        declared = got.type.partition("charset=")[2]
        assert declared
        assert declared != used
        right, wrong = got.content.decode(used, "strict"), decode(got.content, got.type)
        assert right != wrong or right.isascii()


async def test_unknown_paths_of_a_soft_404_site_answer_200(port: int) -> None:
    got = await ask(port, site_with("soft-404"), "/nobody/ever/linked/here")
    assert got.status == 200
    assert b"Page not found" in got.body
    assert b"CRM" in got.body
    assert (await ask(port, site_with("calendar"), "/nobody/ever/linked/here")).status == 404


@pytest.mark.parametrize(
    ("quirk", "start", "third"),
    [
        ("calendar", "/calendar/2026/11", "/calendar/2027/01"),
        ("calendar-days", "/days/2026-02-27", "/days/2026-03-01"),
        ("calendar-query", "/agenda?year=2026&month=11", "/agenda?year=2027&month=1"),
        ("growing-query", "/filter?tag=1", "/filter?tag=1&tag=2&tag=3"),
        ("nesting-path", "/browse/", "/browse/more/items/more/items/"),
    ],
)
async def test_traps_always_have_one_more_page(port: int, quirk: str, start: str, third: str) -> None:
    path = start
    for _ in range(2):
        got = await ask(port, site_with(quirk), path, gzip=True)
        onward = next(href for href, _ in read(decode(got.content, got.type)).links if href != "/")
        path = onward if onward.startswith("/") else path + onward
    assert path == third
    assert (await ask(port, site_with(quirk), path)).status == 200


async def test_sessions_are_ever_new(port: int) -> None:
    host = site_with("session")
    seen = []
    for path in ("/cart/basket?PHPSESSID=aaaa", "/cart/basket?PHPSESSID=bbbb", "/cart/wishes;jsessionid=cccc"):
        got = await ask(port, host, path, gzip=True)
        assert got.status == 200
        found = set(re.findall(r"(?:PHPSESSID|jsessionid)=([0-9a-f]{16})", decode(got.content, got.type)))
        assert len(found) == 1
        seen.append(found.pop())
    assert len(set(seen)) == 3


async def test_headers_that_say_nofollow(port: int) -> None:
    for quirk, name, value in (
        ("header-nofollow", "header", "nofollow"),
        ("header-nofollow-own", "own", "Gossamer: nofollow"),
        ("header-nofollow-other", "other", "otherbot: nofollow"),
    ):
        assert (await ask(port, site_with(quirk), f"/sealed/{name}")).headers["x-robots-tag"] == value


async def test_pages_that_are_hard_to_read(port: int) -> None:
    layers = await ask(port, site_with("deep-nesting"), "/layers", gzip=True)
    assert layers.content.count(b"<div>") >= 2_000
    links = await ask(port, site_with("many-links"), "/links", gzip=True)
    assert links.content.count(b"<a href") >= 5_000
    for ref in ("nav", "mail", "anything"):
        host = site_with("ref-variants")
        same = await ask(port, host, f"/offer/plain?ref={ref}")
        assert same.body == (await ask(port, host, "/offer/plain")).body
