"""What a page says about itself."""

import pytest

from gossamer.parse.metadata import header_forbids_following
from tests.parse.answers import URL, read


@pytest.mark.parametrize(
    ("head", "title"),
    [
        ("<title>Plain &amp; simple</title>", "Plain & simple"),
        ("<title>\n  Two\n lines&nbsp;here </title>", "Two lines here"),
        ("<title>First</title><title>Second</title>", "First"),
        ("<title></title>", ""),
        ("", ""),
        ("<title>Soft&shy;ware</title>", "Software"),
        ("<svg><title>Icon</title></svg><title>Page</title>", "Page"),
    ],
)
def test_title(head: str, title: str) -> None:
    assert read(f"<html><head>{head}</head><body>x</body></html>").title == title


def test_a_drawing_has_no_say_in_the_title() -> None:
    assert read("<body><svg><title>Icon</title></svg>text").title == ""


def test_an_unclosed_title_is_cut() -> None:
    assert len(read("<title>" + "word " * 10_000).title) <= 1_000


@pytest.mark.parametrize(
    ("html", "header", "language"),
    [
        ('<html lang="en-US">', "", "en-us"),
        ('<html lang=" de ">', "fr", "de"),
        ("<html>", "fr-CA, en", "fr-ca"),
        ('<html><meta http-equiv="Content-Language" content="es">', "fr", "es"),
        ('<html lang="not a language">', "pt_BR", "pt-br"),
        ('<html lang="">', "", ""),
    ],
)
def test_language(html: str, header: str, language: str) -> None:
    assert read(f"{html}<body>x", headers={"content-language": header} if header else None).language == language


@pytest.mark.parametrize(
    ("head", "link", "canonical"),
    [
        ('<link rel="canonical" href="/shop">', "", "https://shop.example/shop"),
        ('<link rel="Canonical" href="https://other.example/x#y">', "", "https://other.example/x"),
        ('<base href="/deep/er/"><link rel=canonical href=x>', "", "https://shop.example/deep/er/x"),
        ('<link rel="alternate canonical" href="/a">', '</b>; rel="canonical"', "https://shop.example/a"),
        ("", '<https://shop.example/c>; rel="canonical"', "https://shop.example/c"),
        ("", '</n>; rel=next, </c,d>; title="x, y"; rel=canonical', "https://shop.example/c,d"),
        ("", '</n>; rel="next"', None),
        ('<link rel=canonical href="javascript:x">', "", None),
        ('<link rel=canonical href="">', "", None),
        ("<link rel=stylesheet href=/x>", "", None),
        ("<template><link rel=canonical href=/x></template>", "", None),
        ("<template><link rel=canonical href=/x></template><link rel=canonical href=/y>", "", "https://shop.example/y"),
        ("<link rel=canonical><link rel=canonical href=/y>", "", "https://shop.example/y"),
        ("", "</caf\xc3\xa9>; rel=canonical", "https://shop.example/caf%C3%A9"),
        ("", "</caf\xe9>; rel=canonical", "https://shop.example/caf%C3%A9"),
    ],
)
def test_canonical(head: str, link: str, canonical: str | None) -> None:
    assert read(f"<head>{head}</head><body>x", headers={"link": link} if link else None).canonical == canonical


@pytest.mark.parametrize(
    ("html", "canonical"),
    [
        ("<head><title>t</title></head><body><p>x<link rel=canonical href=/x>", None),
        ("<head></head><body><template><link rel=canonical href=/x></template>", None),
        ("<HEAD lang=en><p>x</p><body><link rel=canonical href=/x>", None),
        ("<head></head><body><!-- </head> --><link rel=canonical href=/x>", None),
        # Nothing says where the head of such a page ends.
        ("<title>t</title><p>x<link rel=canonical href=/x>", "https://shop.example/x"),
        ("<p>x<template><link rel=canonical href=/x></template>", None),
        ("<header>x</header><link rel=canonical href=/x>", "https://shop.example/x"),
        # The parser ends the head at the first thing that does not belong there; the page had it in its head.
        ("<head><img src=x><link rel=canonical href=/x></head><body>y", "https://shop.example/x"),
        ("<head><div>x</div><link href=/x rel=canonical><body>y", "https://shop.example/x"),
        ("<head><p><script>s='</head>'</script><link rel=canonical href=/x></head><body>", "https://shop.example/x"),
        ("<head><p><!-- <body> --><link rel=canonical href=/x></head><body>", "https://shop.example/x"),
        ("<head><p><!-- <link rel=canonical> --></head><body><link rel=canonical href=/x>", None),
    ],
)
def test_only_the_head_names_the_canonical_address(html: str, canonical: str | None) -> None:
    assert read(f"<!DOCTYPE html><html>{html}").canonical == canonical


def test_the_canonical_address_is_spelled_in_the_encoding_of_the_page_as_its_links_are() -> None:
    body = "<head><link rel=canonical href='/?q=ж'></head><a href='/?q=ж'>слова</a>".encode("cp1251")
    doc = read(body, content_type="text/html; charset=windows-1251")
    assert doc.canonical == doc.links[0].url == "https://shop.example/?q=%E6"


@pytest.mark.parametrize(
    ("meta", "nofollow"),
    [
        ('<meta name="robots" content="noindex, nofollow">', True),
        ('<META NAME="ROBOTS" CONTENT="NOFOLLOW">', True),
        ('<meta name="gossamer" content="none">', True),
        ('<meta name="robots" content="noindex nofollow">', True),
        ('<meta name="robots" content="index, follow, max-image-preview:none">', False),
        ('<meta name="robots" content="max-image-preview: none">', False),
        ('<meta name="robots" content="noindex">', False),
        ('<meta name="googlebot" content="nofollow">', False),
        ('<meta name="robots" content="index"><meta name="gossamer" content="nofollow">', True),
        ('<meta name="robots" content="unavailable_after: 25-Aug-2027 15:00:00 EST, nofollow">', True),
        ('<meta name="description" content="nofollow">', False),
    ],
)
def test_meta_robots(meta: str, nofollow: bool) -> None:
    assert read(f"<head>{meta}</head><body>x").nofollow is nofollow


@pytest.mark.parametrize(
    ("header", "nofollow"),
    [
        ("nofollow", True),
        ("noindex, NoFollow", True),
        ("none", True),
        ("noindex", False),
        ("", False),
        ("gossamer: nofollow", True),
        ("Gossamer: noindex, nofollow", True),
        ("otherbot: noindex, nofollow", False),
        ("otherbot: nofollow, gossamer: noindex", False),
        ("otherbot: noindex, gossamer: none", True),
        ("nofollow, otherbot: noindex", True),
        ("max-image-preview:none", False),
        ("max-snippet: 0, nofollow", True),
        ("unavailable_after: Wed, 03 Dec 2025 13:09:53 GMT", False),
        ("unavailable_after: Wed, 03 Dec 2025 13:09:53 GMT, nofollow", True),
        ("gossamer: unavailable_after: Wed, 03 Dec 2025 13:09:53 GMT, nofollow", True),
        ("otherbot: unavailable_after: Wed, 03 Dec 2025 13:09:53 GMT, nofollow", False),
        ("otherbot: noindex\nnofollow", True),
        ("otherbot: noindex\nunavailable_after: Wed, 03 Dec 2025 13:09:53 GMT, nofollow", True),
        ("nofollow\notherbot: noindex", True),
        ("gossamer: noindex\notherbot: nofollow", False),
    ],
)
def test_x_robots_tag(header: str, nofollow: bool) -> None:
    assert header_forbids_following(header) is nofollow
    assert read("x", headers={"x-robots-tag": header}).nofollow is nofollow


@pytest.mark.parametrize(
    ("content", "target"),
    [
        ("0; url=/next", "https://shop.example/next"),
        ("5;URL='/next'", "https://shop.example/next"),
        ('3, url = "next?a=1;b=2"', "https://shop.example/guides/next?a=1;b=2"),
        ("0.5;next", "https://shop.example/guides/next"),
        ("10 url=https://other.example/", "https://other.example/"),
        ("11; url=/next", None),
        ("99999999999999999999; url=/next", None),
        ("5", None),
        ("url=/next", None),
        ("-1; url=/next", None),
        ("0; url=javascript:alert(1)", None),
        ("0; url=http://[broken", None),
        (f"0; url={URL}#x", None),
        ("0; url=", None),
    ],
)
def test_meta_refresh(content: str, target: str | None) -> None:
    escaped = content.replace('"', "&quot;")
    assert read(f'<head><meta http-equiv="Refresh" content="{escaped}"></head><body>x').refresh == target


def test_a_refresh_for_visitors_without_scripts_is_not_ours() -> None:
    assert read('<head><noscript><meta http-equiv=refresh content="0;url=/nojs"></noscript></head>x').refresh is None
