"""Pages made to hurt: deep, long, broken, random. None may raise, none may take more than linear time."""

import random
import time
from pathlib import Path

import pytest

from gossamer.analyze.keywords import KeywordMatcher
from gossamer.judge import find_flaw, find_trouble
from gossamer.model.document import Document
from gossamer.parse import parse_document
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
        "<meta name=robots content='" + "a:" * 100_000 + "'>end",
        "<meta name=robots content='" + "a" * 200_000 + "'>end",
        "<span>" * 600 + "<script></script>" + "<style>" + "</style" * 200_000 + ">end",
        "<span>" * 600 + "<script></script><p>end</p>" + "<script " * 200_000,
        "<p style='" + "display " * 50_000 + "'>end",
        "<meta charset=bogus>" * 20_000 + "end",
        "<meta http-equiv=refresh content='0;" + " " * 200_000 + "'>end",
        "<form>" + "<input type=password>" * 50_000 + "end",
        "<noscript>" + "enable " * 100_000 + "</noscript><script src=x></script><div id=root></div>",
    ],
    ids=lambda body: body[:20],
)
def test_hard_pages_are_read_in_bounded_time(body: str) -> None:
    began = time.process_time()
    doc = read(body)
    find_flaw(doc)
    KeywordMatcher(["end", "word link"]).matches(doc.title, doc.text)
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


SEED_PAGES = (
    Path(__file__).with_name("pages").joinpath("shop.html").read_bytes(),
    "<!DOCTYPE html><meta charset=windows-1251><title>Пример</title><p>Управление проектами</p>".encode("cp1251"),
    "<html lang=ja><body><p>顧客関係管理<ruby>漢<rt>かん</rt></ruby></p></body></html>".encode("utf-16"),
)
PIECES = (
    *(
        b"<div hidden>",
        b"<table>",
        b"<caption>",
        b"</table>",
        b"<template>",
        b"<svg>",
        b"<math>",
        b"<title>",
        b"<base href=",
    ),
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
        b"\xff",
    ),
    *(
        b"\xed\xa0\x80",
        b"&#xD800;",
        b"&#0;",
        b"\xef\xbb\xbf",
        b"<body hidden>",
        b"<noscript>",
        b"<meta charset=utf-16>",
    ),
    *(b"<input type=password>", b"_cf_chl_opt", b"<p style='display:none'>", b"<textarea>", b"<form>", b"<svg><text>"),
)


def mutated(page: bytes, dice: random.Random) -> bytes:
    body = bytearray(page)
    for _ in range(dice.randint(1, 12)):
        at = dice.randrange(len(body) + 1)
        match dice.randrange(4):
            case 0:
                body[at : at + dice.randrange(40)] = b""
            case 1:
                body[at:at] = dice.choice(PIECES)
            case 2:
                body[at : at + 1] = bytes([dice.randrange(256)])
            case 3:
                start = dice.randrange(len(body) + 1)
                body[at:at] = body[start : start + dice.randrange(200)]
    return bytes(body)


@pytest.mark.parametrize("seed", range(8))
def test_nothing_raises_on_three_thousand_broken_pages(seed: int) -> None:
    dice = random.Random(seed)
    matcher = KeywordMatcher(["CRM", "CRM software", "C++", "проектами", "顧客", "i\u0307", "ß"])
    types = (
        "text/html",
        "text/html; charset=utf-8",
        "text/html; charset=gbk",
        "text/plain",
        "",
        "application/xhtml+xml",
    )
    for _ in range(375):
        body = mutated(dice.choice(SEED_PAGES), dice)
        status = dice.choice((200, 200, 200, 403, 429, 503))
        response = answer(body, status=status, content_type=dice.choice(types))
        find_trouble(response)
        doc = parse_document(response)
        if isinstance(doc, Document):
            before = doc.tree.html
            find_flaw(doc)
            mentions = matcher.matches(doc.title, doc.text)
            assert doc.tree.html == before
            assert all(mention.frequency >= 1 and mention.snippet for mention in mentions)
            (doc.title + doc.text + "".join(link.url for link in doc.links)).encode()
            assert "\0" not in doc.title + doc.text
            assert doc.text == " ".join(doc.text.split())
