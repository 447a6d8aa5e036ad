"""Pages made to hurt: deep, long, broken, random. None may raise, none may take more than linear time."""

import random
import time
from pathlib import Path

import orjson
import pytest

from gossamer.judge import find_flaw, find_trouble
from gossamer.model.document import Document
from gossamer.model.page import Page
from gossamer.model.record import Harvest
from gossamer.model.url import normalise, site_of_url
from gossamer.parse import parse_document
from gossamer.recipes.prospect import PROSPECT
from gossamer.recipes.prospect.params import ProspectParams
from tests.parse.answers import answer, read

# Far above what any of them takes; a quadratic one takes minutes.
LONGEST = 20.0


@pytest.mark.parametrize(
    "body",
    [
        "<div>" * 200_000 + "end",
        "<b>" * 200_000 + "end",
        "<table><tr><td>" * 30_000 + "end",
        "<ul><li>" * 60_000 + "end",
        "<ol><li>" * 30_000 + "end",
        "<div hidden>" * 50_000 + "</div>" * 50_000 + "end",
        '<p style="display:none">x</p>' * 50_000 + "end",
        "<select>" + "<option>x" * 100_000 + "</select>end",
        "<a href=/x><div>x</div>y</a>" * 50_000 + "end",
        "<table><caption>x</caption></table>" * 20_000 + "end",
        "<svg><text>x</text></svg>" * 20_000 + "end",
        "<span>" * 600 + "<script>x</script>" * 20_000 + "end",
        "<script>" * 100_000 + "</script>end",
        "<p>word <a href='/p'>link</a> " * 150_000 + "end",
        "<" * 1_000_000 + " end",
        "&amp" * 500_000 + " end",
        "<div " + " ".join(f"a{n}=b" for n in range(100_000)) + ">end",
        "<!--" * 200_000 + "-->end",
        "\u00ad\u200b \u00a0" * 500_000 + "end",
        "e\u0301" * 500_000 + " end",
        "e" + "\u0301\u0316" * 100_000 + " end",
        "<p>x<sup>1</sup>" * 50_000 + "end",
        "<sup>1" * 20_000 + " end",
        "<sup>1</sup><b>" * 20_000 + "2 end",
        "<sup> " * 500 + " " * 1_000_000 + "1 end",
        "<svg>" * 400 + "<title>x</title>" * 60_000 + "end",
        "<math>" * 400 + "<annotation>x</annotation>" * 40_000 + "end",
        "<dialog>" * 20_000 + "x" + "</dialog>" * 20_000 + "end",
        "<svg><metadata>x</metadata></svg>" * 20_000 + "end",
        "<head><p>" + "<link rel=canonical " * 50_000 + ">end",
        "<head><p>" + "<link rel=canonical href=>" * 20_000 + "end",
        "<head>" + "<link rel=next> " * 30_000 + "</head><p>" + "<link rel=canonical href=/x>" * 30_000 + "end",
        "<meta name=robots content='" + "a:" * 100_000 + "'>end",
        "<meta name=robots content='" + "a" * 200_000 + "'>end",
        "<span>" * 600 + "<script></script>" + "<style>" + "</style" * 200_000 + ">end",
        "<span>" * 600 + "<script></script><p>end</p>" + "<script " * 200_000,
        "<p style='" + "display " * 50_000 + "'>end",
        "<meta charset=bogus>" * 20_000 + "end",
        "<meta http-equiv=refresh content='0;" + " " * 200_000 + "'>end",
        "<form>" + "<input type=password>" * 50_000 + "end",
        "<a href=//acme.test>x</a> " * 50_000 + "end",
        "<a href=//acme.test>" * 20_000 + "end",
        "<div><a href=//acme.test>x</a>" * 50_000 + "end",
        "<h1>x " * 50_000 + "end",
        "<nav>" * 400 + "x word " * 60_000 + "end",
        "<h2><div>" * 240 + "x word " * 60_000 + "end",
        "<div style='x:none'>" * 500 + "<h2>x</h2>" * 2_000 + "end",
        "<div>" * 500 + "<header>" * 200_000 + "x end",
        "<nav>x " * 50_000 + "end",
        "<footer><p>x</footer>" * 50_000 + "end",
        "<title>" + "x " * 300_000 + "</title>end",
        "x " * 500_000 + "end",
        "<noscript>" + "enable " * 100_000 + "</noscript><script src=x></script><div id=root></div>",
    ],
    ids=lambda body: body[:20],
)
def test_hard_pages_are_read_in_bounded_time(body: str) -> None:
    began = time.process_time()
    doc = read(body)
    find_flaw(doc)
    params = ProspectParams(keywords=["end", "word link", "x"], client_domains=["acme.test"])
    PROSPECT.bind(params).harvest(Page.at(doc.url, 0), doc)
    assert time.process_time() - began < LONGEST
    assert doc.text.endswith("end") or "<noscript>" in body


@pytest.mark.parametrize("body", [b"<!---->" * 290 + b"x", b"<?xml?>" * 290, b"<meta " * 2_700 + b"\xe9" * 40])
def test_beginnings_made_to_hurt_are_recognised_in_bounded_time(body: bytes) -> None:
    began = time.process_time()
    for content_type in ("", "text/plain", "application/octet-stream", "text/html"):
        parse_document(answer(body, content_type=content_type))
    assert time.process_time() - began < LONGEST


def test_headers_made_to_hurt_are_read_in_bounded_time() -> None:
    began = time.process_time()
    headers = {
        "link": "<" * 50_000 + ";rel=" * 50_000,
        "x-robots-tag": ":," * 50_000,
        "content-language": "a-" * 50_000,
    }
    read("<p>x", content_type="text/html; charset=" + "=" * 50_000, headers=headers)
    assert time.process_time() - began < LONGEST


# Pages of every sort that something is done about: shops, legacy encodings, blocks, shells, walls, parked names.
SEED_PAGES = (
    Path(__file__).with_name("pages").joinpath("shop.html").read_bytes(),
    "<!DOCTYPE html><meta charset=windows-1251><title>Пример</title><p>Управление проектами</p>".encode("cp1251"),
    "<html lang=ja><body><p>顧客関係管理<ruby>漢<rt>かん</rt></ruby></p></body></html>".encode("utf-16"),
    "<meta charset=shift_jis><title>管理</title><h1>顧客</h1><p>CRM と C++ の話".encode("shift_jis"),
    b"<title>Just a moment...</title><script>window._cf_chl_opt={}</script><noscript>Enable JavaScript</noscript>",
    b"<title>App</title><div id=root></div><script src=/main.js></script><noscript>You need JavaScript.</noscript>",
    b"<title>Sign in</title><form method=post action=/login><input name=user><input type=password></form>",
    b"<title>Page not found</title><h1>404</h1><p>The page you are looking for is not here, says our CRM.</p>",
    b"<title>acme.example</title><p>This domain is for sale. Buy this domain today.</p>",
    b"<html><head><base href=/deep/><meta http-equiv=refresh content='0;url=/next'><link rel=canonical href=/x>"
    b"<meta name=robots content=nofollow></head><body><nav><a href=https://acme.test/>Acme CRM</a></nav>"
    b"<main><h1>CRM software</h1><p>Our <b>C</b>RM by <a rel=nofollow href=//acme.test/crm>Acme</a>, or "
    b"<a href=http://rival.test>Rival</a>.</p><table><tr><td>CRM<td>software</table></main><footer>CRM</footer>",
)
PIECES = (
    *(b"<div hidden>", b"<table>", b"<caption>", b"</table>", b"<template>", b"<svg>", b"<math>", b"<title>", b"<nav>"),
    *(
        b"<select>",
        b"<frameset>",
        b"<plaintext>",
        b"<script>",
        b"</script>",
        b"<!--",
        b"]]>",
        b"<a href='",
        b"\0",
        b"CRM",
    ),
    *(b"\xed\xa0\x80", b"&#xD800;", b"&#0;", b"\xef\xbb\xbf", b"<body hidden>", b"<noscript>", b"<base href=", b"\xff"),
    *(b"<dialog>", b"<p popover>", b"<sup>1", b"</sup>", b"<metadata>", b"<section>", b"<link rel=canonical href=/y>"),
    *(b"<input type=password>", b"_cf_chl_opt", b"<p style='display:none'>", b"<textarea>", b"<form>", b"<svg><text>"),
    *(b"<meta charset=utf-16>", b"<a href=//acme.test>", b"<a href=http://[::1]:99999>", b"<a href='http://\xff/'>"),
    *(
        b"</footer>",
        b"<h1>",
        b"<ruby><rt>",
        b"\xf0\x9f\x98\x80",
        b"\xcc\x81" * 40,
        b"\xe2\x80\xae",
        b"\x1b$B",
        b"\xc4\xb0",
    ),
)
TYPES = (
    *("text/html", "text/html; charset=utf-8", "text/html; charset=gbk", "text/plain", "", "application/xhtml+xml"),
    *("text/html; charset=\0", "text/html;charset=utf-16le", "text/html; charset=iso-2022-jp", "application/json"),
)
HEADERS: tuple[dict[str, str], ...] = (
    *({}, {"x-robots-tag": "otherbot: nofollow, unavailable_after: 1 Jan 2030 00:00:00 GMT, noindex"}),
    *(
        {"link": '</c>; rel=canonical, <http://[>; rel="x canonical'},
        {"content-language": "é,-", "retry-after": "-1e9"},
    ),
)


def mutated(page: bytes, dice: random.Random) -> bytes:
    body = bytearray(page)
    for _ in range(dice.randint(1, 12)):
        at = dice.randrange(len(body) + 1)
        match dice.randrange(6):
            case 0:
                body[at : at + dice.randrange(40)] = b""
            case 1:
                body[at:at] = dice.choice(PIECES)
            case 2:
                body[at : at + 1] = bytes([dice.randrange(256)])
            case 3:
                start = dice.randrange(len(body) + 1)
                body[at:at] = body[start : start + dice.randrange(200)]
            case 4:
                body[at : at + 8] = dice.randbytes(8)
            case 5:
                other = dice.choice(SEED_PAGES)
                body[at:at] = other[dice.randrange(len(other)) :][:300]
    return bytes(body)


def check_document(doc: Document) -> None:
    """What the rest of the path relies on."""
    assert doc.text == " ".join(doc.text.split())
    words = (
        doc.title,
        doc.text,
        doc.language,
        doc.canonical or "",
        doc.refresh or "",
        *(link.url for link in doc.links),
    )
    for word in words:
        word.encode()  # lone surrogates cannot be stored
        assert "\0" not in word
    assert all(normalise(link.url) == link.url for link in doc.links)


def check_harvest(harvest: Harvest, doc: Document) -> None:
    for record in harvest.records:
        orjson.dumps(record.data)
        assert record.data["url"] == doc.url
        assert record.data["context_snippet"]
        assert isinstance(frequency := record.data["frequency"], int)
        assert frequency >= 1
    for link in harvest.links:
        assert site_of_url(link) == site_of_url(doc.url)
        assert normalise(link) == link


@pytest.mark.parametrize("seed", range(10))
def test_nothing_raises_on_ten_thousand_broken_pages(seed: int) -> None:
    dice = random.Random(seed)
    keywords = ["CRM", "CRM software", "C++", "проектами", "顧客", "i\u0307", "ß", "é", "\U0001f600", "software CRM"]
    bound = PROSPECT.bind(
        ProspectParams(keywords=keywords, client_domains=["acme.test"], competitor_domains=["rival.test"])
    )
    read_whole = 0
    for _ in range(1_000):
        body = mutated(dice.choice(SEED_PAGES), dice)
        status = dice.choice((200, 200, 200, 200, 403, 429, 503))
        response = answer(body, status=status, content_type=dice.choice(TYPES), headers=dict(dice.choice(HEADERS)))
        find_trouble(response)
        doc = parse_document(response)
        if isinstance(doc, Document):
            before = doc.tree.html
            check_document(doc)
            find_flaw(doc)
            harvest = bound.harvest(Page.at(doc.url, 0), doc)
            check_harvest(harvest, doc)
            # The tree is lent to everyone and given back as it was, so asking twice gives the same.
            assert doc.tree.html == before
            assert bound.harvest(Page.at(doc.url, 0), doc) == harvest
            read_whole += 1
    # Most of them are pages still, or this would be a test of nothing.
    assert read_whole > 500
