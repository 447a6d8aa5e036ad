"""Where a page points, absolute and normalised, each address once."""

import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from turbohtml import parse

from gossamer.model.url import normalise
from gossamer.parse.links import MAX_LINKS, find_links, is_plain
from tests.parse.answers import URL, read


def urls(body: str, url: str = URL) -> list[str]:
    return [link.url for link in read(body, url=url).links]


@pytest.mark.parametrize(
    ("href", "url"),
    [
        ("/about", "https://shop.example/about"),
        ("next.html", "https://shop.example/guides/next.html"),
        ("../up", "https://shop.example/up"),
        ("../../../up", "https://shop.example/up"),
        ("../", "https://shop.example/"),
        ("./here", "https://shop.example/guides/here"),
        ("?page=2", "https://shop.example/guides/start.html?page=2"),
        ("//cdn.example/x", "https://cdn.example/x"),
        ("https://Other.Example/A?b=c#d", "https://other.example/A?b=c"),
        ("HTTP://other.example", "http://other.example/"),
        ("http://other.example:80/a/../b", "http://other.example/b"),
        (" /spaced ", "https://shop.example/spaced"),
        ("/a\n/b", "https://shop.example/a/b"),
        ("/café", "https://shop.example/caf%C3%A9"),
        ("https://bücher.example/", "https://xn--bcher-kva.example/"),
        ("/x?utm_source=mail&id=1", "https://shop.example/x?id=1"),
        ("https://user:secret@other.example/", "https://other.example/"),
        ("/a//b", "https://shop.example/a//b"),
        ("/%7Euser", "https://shop.example/~user"),
    ],
)
def test_addresses_are_joined_and_normalised(href: str, url: str) -> None:
    assert urls(f'<a href="{href}">x</a>') == [url]


@pytest.mark.parametrize(
    "href", ["javascript:void(0)", "mailto:a@b.example", "tel:+1", "data:text/html,x", "ftp://x.example/", "#top", "",
             "  ", "http://[broken", "http://", "https://exa mple.com/", "http://a.example:99999/", "blob:x"],
)  # fmt: skip
def test_what_is_no_web_address_vanishes(href: str) -> None:
    assert urls(f'<a href="{href}">x</a><a>no href</a>') == []


def addresses(html: str, charset: str, codec: str = "") -> list[str]:
    body = html.encode(codec or charset, "xmlcharrefreplace")
    return [link.url.removeprefix("https://shop.example") for link in
            read(body, content_type=f"text/html; charset={charset}").links]  # fmt: skip


@pytest.mark.parametrize(
    ("charset", "codec", "href", "url"),
    [
        ("windows-1251", "", "/search?q=клиент&p=1", "/search?q=%EA%EB%E8%E5%ED%F2&p=1"),
        ("windows-1251", "", "/клиент?q=клиент#клиент", "/%D0%BA%D0%BB%D0%B8%D0%B5%D0%BD%D1%82?q=%EA%EB%E8%E5%ED%F2"),
        ("windows-1251", "", "?q=ж漢", "/guides/start.html?q=%E6%26%2328450%3B"),
        ("windows-1251", "", "https://shop.example/?%20a%=ж b", "/?%20a%=%E6%20b"),
        ("iso-8859-1", "cp1252", "/?q=é€", "/?q=%E9%80"),
        ("Shift_JIS", "cp932", "/?q=表示", "/?q=%95\\%8E%A6"),
        ("gb2312", "gbk", "/?q=客户", "/?q=%BF%CD%BB%A7"),
        ("euc-kr", "cp949", "/?q=고객", "/?q=%B0%ED%B0%B4"),
        ("big5", "", "/?q=客戶", "/?q=%AB%C8%A4%E1"),
        ("koi8-r", "", "/?q=клиент", "/?q=%CB%CC%C9%C5%CE%D4"),
        ("utf-8", "", "/?q=клиент", "/?q=%D0%BA%D0%BB%D0%B8%D0%B5%D0%BD%D1%82"),
        ("utf-16", "", "/?q=клиент", "/?q=%D0%BA%D0%BB%D0%B8%D0%B5%D0%BD%D1%82"),
        ("windows-1251", "", "/?q=plain", "/?q=plain"),
    ],
)
def test_the_query_of_a_link_is_sent_in_the_encoding_of_its_page(charset: str, codec: str, href: str, url: str) -> None:
    assert addresses(f"<p>Наши слова</p><a href='{href}'>x</a>", charset, codec) == [url]


def test_a_link_with_such_a_query_is_unfollowed_as_any_other() -> None:
    body = "<a rel=nofollow href='/?q=ж'>1</a><a href='/?q=ы'>2</a>".encode("cp1251")
    assert [link.nofollow for link in read(body, content_type="text/html; charset=windows-1251").links] == [True, False]


def test_repeats_and_fragments_are_one_link_in_the_order_of_the_page() -> None:
    anchors = '<a href="/b#1">1</a><a href="/a">2</a><a href="/b#2">3</a><a href="https://shop.example/a">4</a>'
    body = f"{anchors}<map><area href=/c></map>"
    assert urls(body) == ["https://shop.example/b", "https://shop.example/a", "https://shop.example/c"]


def test_links_of_other_elements_do_not_count() -> None:
    assert urls("<img src=/i.png><link rel=next href=/n><script src=/s.js></script><iframe src=/f></iframe>") == []


@pytest.mark.parametrize(
    ("base", "url"),
    [
        ("/shop/", "https://shop.example/shop/item"),
        ("https://cdn.example/x/y", "https://cdn.example/x/item"),
        ("javascript:x", "https://shop.example/guides/item"),
        ("http://[broken", "https://shop.example/guides/item"),
    ],
)
def test_the_base_of_the_page_is_honoured(base: str, url: str) -> None:
    assert urls(f'<head><base target=_top><base href="{base}"><base href="/second/"></head><a href=item>x</a>') == [url]


@pytest.mark.parametrize(
    ("rel", "nofollow"),
    [("nofollow", True), ("NoFollow noopener", True), ("ugc", True), ("sponsored", True), ("noopener", False),
     ("", False), ("nofollower", False), ("nofollow,noopener", True), ("noopener,UGC", True), ("noopener,x", False)],
)  # fmt: skip
def test_rel_says_what_not_to_follow(rel: str, nofollow: bool) -> None:
    (link,) = read(f'<a href="/x" rel="{rel}">x</a>').links
    assert link.nofollow is nofollow


def test_a_link_that_is_followed_once_is_followed() -> None:
    body = '<a href="/x" rel=nofollow>1</a><a href="/x#y">2</a><a href="/z" rel=nofollow>3</a><area rel=ugc href="/q">'
    assert {link.url.rpartition("/")[2]: link.nofollow for link in read(body).links} == {
        "x": False,
        "z": True,
        "q": True,
    }


def test_a_page_has_at_most_five_thousand_links() -> None:
    assert len(read("".join(f'<a href="/{n}">x</a>' for n in range(6_000))).links) == MAX_LINKS == 5_000


def test_endless_broken_links_take_bounded_time() -> None:
    began = time.process_time()
    assert urls("".join(f'<a href="http://[{n}">x</a>' for n in range(100_000))) == []
    assert time.process_time() - began < 20


_HREFS = st.one_of(
    st.text(alphabet="abAZ09-._~/?#%:&;=@ é\\", max_size=30),
    st.builds("{}{}".format, st.sampled_from(["http://", "https://", "//", "/", "../", "../../", "./", "https://xn--"]),
              st.text(alphabet="abz09-._~/x", max_size=30)),
)  # fmt: skip
_BASES = st.sampled_from(
    [
        URL,
        "https://shop.example/",
        "http://a.example:8080/b/c/d?e=/f/",
        "https://[::1]/x/y",
        "https://a.example/%E4/.b/c",
    ]
)


@settings(deadline=None)
@given(_HREFS, _BASES)
@example("https://xn--a.example/", URL)
@example("https://1.2.3/x", URL)
@example("https://a.xn--zz/x", URL)
@example("http-intro.html", URL)
@example("x" * 1_990, URL)
def test_the_short_way_leads_where_the_long_one_does(href: str, base: str) -> None:
    tree = parse("<a></a>")
    anchor = tree.find("a")
    assert anchor is not None
    anchor.attrs["href"] = href
    cut = href.partition("#")[0]
    expected = normalise(cut, base) if cut.strip() else None
    assert [link.url for link in find_links(tree, base)] == ([expected] if expected else [])


@settings(deadline=None)
@given(_HREFS)
def test_a_plain_address_is_a_normalised_one(url: str) -> None:
    if is_plain(url):
        assert normalise(url) == url
