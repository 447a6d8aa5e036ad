"""Bytes become characters by the best evidence there is, and never raise."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.parse.decode import decode

RUSSIAN = "Управление отношениями с клиентами помогает компаниям расти быстрее и лучше понимать рынок. " * 5
JAPANESE = "顧客関係管理ソフトウェアは、企業が顧客との関係を管理するのに役立ちます。" * 5
FRENCH = "Les élèves préfèrent déjà cet été à la forêt où naît l'œuvre. " * 5


def page(text: str, charset: str = "") -> str:
    meta = f'<meta charset="{charset}">' if charset else ""
    return f"<html><head>{meta}<title>t</title></head><body>{text}</body></html>"


@pytest.mark.parametrize(
    ("codec", "label", "text"),
    [
        ("utf-8", "utf-8", RUSSIAN),
        ("utf-8", "UTF8", JAPANESE),
        ("cp1251", "windows-1251", RUSSIAN),
        ("koi8-r", "koi8-r", RUSSIAN),
        ("cp1252", "iso-8859-1", "“smart” quotes – and €"),
        ("cp932", "Shift_JIS", JAPANESE),
        ("euc_jp", "euc-jp", JAPANESE),
        ("iso2022_jp", "iso-2022-jp", JAPANESE),
        ("gb18030", "gb2312", "客户关系管理软件"),
        ("utf-16-le", "utf-16", RUSSIAN),
        ("utf-16-be", "utf-16be", RUSSIAN),
    ],
)
def test_the_header_is_believed(codec: str, label: str, text: str) -> None:
    html = page(text)
    assert decode(html.encode(codec), f"text/html; charset={label}") == html
    assert decode(html.encode(codec), f'text/html;charset="{label}"; x=y') == html


@pytest.mark.parametrize(
    ("codec", "label", "text"),
    [
        ("utf-8", "utf-8", JAPANESE),
        ("cp1251", "windows-1251", RUSSIAN),
        ("iso2022_jp", "ISO-2022-JP", JAPANESE),
        ("cp932", "x-sjis", JAPANESE),
        ("gb18030", "gbk", "中文"),
    ],
)
def test_without_a_header_the_page_is_believed(codec: str, label: str, text: str) -> None:
    html = page(text, label)
    assert decode(html.encode(codec), "text/html") == html
    old = html.replace(
        f'<meta charset="{label}">', f"<META content='text/html; charset={label}' http-equiv=content-type>"
    )
    assert decode(old.encode(codec)) == old


def test_xhtml_names_its_charset_in_the_xml_declaration() -> None:
    xhtml = f'<?xml version="1.0" encoding="windows-1251"?>{page(RUSSIAN)}'
    assert decode(xhtml.encode("cp1251")) == xhtml


@pytest.mark.parametrize(
    ("codec", "text"), [("utf-8", RUSSIAN), ("cp1251", RUSSIAN), ("euc_jp", JAPANESE), ("cp1252", FRENCH)]
)
def test_with_nothing_declared_the_bytes_speak_for_themselves(codec: str, text: str) -> None:
    assert decode(page(text).encode(codec)) == page(text)


@pytest.mark.parametrize(
    ("mark", "codec"),
    [(b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be")],
)
def test_a_byte_order_mark_outranks_everything_and_vanishes(mark: bytes, codec: str) -> None:
    html = page(RUSSIAN, "koi8-r")
    assert decode(mark + html.encode(codec), "text/html; charset=windows-1252") == html


@pytest.mark.parametrize(
    ("codec", "declared", "text"),
    [
        ("cp1251", "utf-8", RUSSIAN),
        ("cp1252", "utf-8", FRENCH),
        ("utf-8", "iso-8859-1", FRENCH),
        ("utf-8", "windows-1252", "é"),
        ("utf-8", "shift_jis", JAPANESE),
        ("utf-8", "gbk", JAPANESE),
        ("utf-8", "utf-16", RUSSIAN),
        ("cp932", "utf-8", JAPANESE),
        ("utf-8", "bogus-8", RUSSIAN),
        ("utf-8", "iso-2022-kr", RUSSIAN),
        ("utf-8", "utf-7", RUSSIAN),
    ],
)
def test_a_declaration_the_bytes_contradict_is_not_believed(codec: str, declared: str, text: str) -> None:
    assert decode(page(text).encode(codec), f"text/html; charset={declared}") == page(text)
    html = page(text, declared)
    assert decode(html.encode(codec)) == html


@pytest.mark.parametrize(
    ("codec", "header", "named", "text"),
    [
        ("gbk", "utf-8", "gbk", "客户关系"),
        ("cp1251", "utf-8", "windows-1251", "Цены"),
        ("koi8-r", "utf-8", "koi8-r", "Цены"),
        ("cp932", "utf-8", "shift_jis", "管理"),
        ("cp1252", "utf-8", "iso-8859-1", "café"),
    ],
)
def test_where_the_header_is_wrong_the_page_is_asked(codec: str, header: str, named: str, text: str) -> None:
    html = page(text, named)
    assert decode(html.encode(codec), f"text/html; charset={header}") == html


def test_where_header_and_page_are_both_wrong_the_bytes_speak_for_themselves() -> None:
    html = page(RUSSIAN, "euc-jp")
    assert decode(html.encode("cp1251"), "text/html; charset=utf-8") == html


def test_a_few_broken_bytes_do_not_change_the_charset() -> None:
    body = page(RUSSIAN).encode()
    broken = body[:200] + b"\xff" + body[200:-1] + b"\xd0"
    text = decode(broken, "text/html; charset=utf-8")
    assert text.count("\ufffd") >= 2
    assert "отношениями с клиентами" in text


def test_nul_is_removed() -> None:
    assert decode(b"C\0R\0M", "text/html; charset=utf-8") == "CRM"
    assert "\0" not in decode("<p>a\0b".encode("utf-16"), "")


@settings(deadline=None)
@given(
    st.binary(max_size=400),
    st.sampled_from(["", "utf-8", "utf-16", "gbk", "euc-kr", "x-user-defined", "\u212a", "big5"]),
)
def test_any_bytes_decode_to_text_that_can_be_stored(body: bytes, label: str) -> None:
    text = decode(body, f"text/html; charset={label}")
    assert "\0" not in text
    text.encode()  # no lone surrogates


@settings(deadline=None)
@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=200))
def test_utf8_comes_back_as_it_was(text: str) -> None:
    assert decode(text.encode(), "text/html; charset=utf-8") == text.removeprefix("\ufeff")
