"""Whether a page links to the client: each rule of the verdict on a page that shows it."""

from typing import Any

import pytest

from gossamer.analyze.backlinks import Backlink, BacklinkFinder, Verdict
from gossamer.analyze.keywords import KeywordMatcher
from gossamer.analyze.links import page_links
from tests.parse.answers import read

MATCHER = KeywordMatcher(["CRM", "boats"])
FINDER = BacklinkFinder(["acme.com"], ["rival.test", "other-rival.test"], MATCHER)
CLIENT, RIVAL = '<a href="https://acme.com/x">Acme</a>', '<a href="https://www.rival.test/">Rival</a>'
FOREIGN = '<a href="https://news.test/a">our CRM tip</a>'


def found(body: str, url: str = "https://shop.example/page", headers: dict[str, str] | None = None) -> Backlink:
    doc = read(f"<p>CRM</p>{body}", url=url, headers=headers)
    return FINDER.find(doc, ["CRM"])["CRM"]


def test_a_followed_link_to_the_client_is_what_we_want() -> None:
    assert found(CLIENT) == Backlink(Verdict.LINKED, "https://acme.com/x", "Acme")


@pytest.mark.parametrize(
    ("href", "verdict"),
    [
        ("https://acme.com/", Verdict.LINKED),
        ("HTTP://WWW.ACME.COM", Verdict.LINKED),
        ("//blog.acme.com:8443/x", Verdict.LINKED),
        ("https://deep.blog.acme.com/", Verdict.LINKED),
        ("https://acme.com./", Verdict.LINKED),
        ("https://not-acme.com/", Verdict.UNLINKED),
        ("https://acme.com.evil.test/", Verdict.UNLINKED),
        ("https://evil.test/acme.com/", Verdict.UNLINKED),
        ("https://evil.test/?to=https://acme.com/", Verdict.UNLINKED),
        ("https://acme.com@evil.test/", Verdict.UNLINKED),
        ("https://acme.co/", Verdict.UNLINKED),
        ("mailto:info@acme.com", Verdict.UNLINKED),
    ],
)
def test_subdomains_are_the_client_and_lookalikes_are_not(href: str, verdict: Verdict) -> None:
    assert found(f'<a href="{href}">text</a>').verdict is verdict


@pytest.mark.parametrize("rel", ["nofollow", "UGC", "noopener sponsored", "nofollow,noopener"])
def test_a_link_that_is_no_recommendation_is_nofollow(rel: str) -> None:
    assert found(f'<a href="https://acme.com/" rel="{rel}">ad</a>') == Backlink(
        Verdict.NOFOLLOW, "https://acme.com/", "ad"
    )


def test_a_page_may_say_nofollow_for_all_its_links() -> None:
    assert found(f"<meta name=robots content=nofollow>{CLIENT}").verdict is Verdict.NOFOLLOW
    assert found(CLIENT, headers={"x-robots-tag": "none"}).verdict is Verdict.NOFOLLOW


def test_one_followed_link_is_enough_and_is_the_one_shown() -> None:
    ad = '<a href="https://acme.com/ad" rel=sponsored>ad</a>'
    assert found(f"{ad}{CLIENT}") == Backlink(Verdict.LINKED, "https://acme.com/x", "Acme")
    twice = '<a href="https://acme.com/x" rel=nofollow>ad</a>'
    assert found(f"{twice}{CLIENT}") == Backlink(Verdict.LINKED, "https://acme.com/x", "Acme")


def test_a_link_whose_query_is_in_the_encoding_of_its_page_is_shown_with_its_words() -> None:
    href = "https://acme.com/?q=клиент"
    body = f"<p>CRM слова</p><a href='/?q=ж'>x</a><a href='{href}'>Наш клиент</a>".encode("cp1251")
    doc = read(body, content_type="text/html; charset=windows-1251")
    assert FINDER.find(doc, ["CRM"])["CRM"] == Backlink(Verdict.LINKED, href, "Наш клиент")
    told: list[Any] = page_links(doc)
    assert [link["url"] for link in told] == [link.url for link in doc.links]


def test_the_client_comes_before_its_competitors() -> None:
    assert found(f"{RIVAL}{FOREIGN}{CLIENT}").verdict is Verdict.LINKED
    assert found(f'{RIVAL}<a href="https://acme.com/" rel=ugc>a</a>').verdict is Verdict.NOFOLLOW


def test_a_link_to_a_competitor_is_a_link_elsewhere() -> None:
    assert found(FOREIGN.replace("CRM", "") + RIVAL) == Backlink(Verdict.ELSEWHERE, "https://www.rival.test/", "Rival")
    assert found('<a href="https://not-rival.test/">Rival</a>').verdict is Verdict.UNLINKED


def test_a_keyword_that_is_a_link_to_somebody_else_is_a_link_elsewhere() -> None:
    assert found(FOREIGN) == Backlink(Verdict.ELSEWHERE, "https://news.test/a", "our CRM tip")
    assert found('<a href="https://news.test/">C<b>RM</b></a>').verdict is Verdict.ELSEWHERE


@pytest.mark.parametrize(
    "link",
    [
        '<a href="/inside">CRM</a>',
        '<a href="https://www.shop.example/">CRM</a>',
        '<a href="https://blog.shop.example/">CRM</a>',  # the same registrable domain
        '<a href="https://news.test/">scramble CRMs</a>',
        '<a href="https://news.test/"><span hidden>CRM</span>tip</a>',
        '<a href="https://news.test/"><img alt="CRM"></a>',
        '<a href="https://news.test/"></a> CRM',
        '<a name="x">CRM</a>',
    ],
)
def test_other_links_leave_a_mention_unlinked(link: str) -> None:
    assert found(link) == Backlink(Verdict.UNLINKED)


def test_the_words_of_a_link_speak_for_their_own_keyword_only() -> None:
    doc = read(f"<p>CRM boats</p>{FOREIGN}")
    verdicts = FINDER.find(doc, ["CRM", "boats"])
    assert verdicts["CRM"].verdict is Verdict.ELSEWHERE
    assert verdicts["boats"].verdict is Verdict.UNLINKED
    competitor = FINDER.find(read(f"<p>CRM boats</p>{RIVAL}"), ["CRM", "boats"])
    assert {backlink.verdict for backlink in competitor.values()} == {Verdict.ELSEWHERE}


@pytest.mark.parametrize("host", ["acme.com", "www.acme.com", "blog.acme.com"])
def test_the_clients_own_pages_are_no_prospects(host: str) -> None:
    assert found(CLIENT, url=f"https://{host}/page") == Backlink(Verdict.OWN_SITE)


def test_a_client_may_be_one_subdomain_only() -> None:
    finder = BacklinkFinder(["blog.acme.com"], [], MATCHER)
    doc = read('<a href="https://blog.acme.com/">x</a><p>CRM', url="https://acme.com/")
    assert finder.find(doc, ["CRM"])["CRM"].verdict is Verdict.LINKED
    doc = read(CLIENT)
    assert finder.find(doc, ["CRM"])["CRM"].verdict is Verdict.UNLINKED


def test_who_is_client_and_competitor_is_the_client() -> None:
    finder = BacklinkFinder(["acme.com"], ["acme.com"], MATCHER)
    assert finder.find(read(CLIENT), ["CRM"])["CRM"].verdict is Verdict.LINKED


@pytest.mark.parametrize(
    ("link", "url", "label"),
    [
        (
            '<a href=" https://acme.com/a?utm_source=x#top ">A</a>',
            "https://acme.com/a?utm_source=x#top",
            "A",
        ),
        ('<a href="//acme.com/a">A\n <b>B</b></a>', "https://acme.com/a", "A B"),
        ('<a href="https:\\\\acme.com\\a">A</a>', "https://acme.com/a", "A"),
        ('<a href="https://acme.com/"><img alt=" The  logo "></a>', "https://acme.com/", "The logo"),
        ('<a href="https://acme.com/"><img alt=""><img alt="second"></a>', "https://acme.com/", "second"),
        ('<a href="https://acme.com/">word<img alt="logo"></a>', "https://acme.com/", "word"),
        ('<a href="https://acme.com/"></a>', "https://acme.com/", ""),
        ('<map><area href="https://acme.com/" alt="door"></map>', "https://acme.com/", "door"),
        (f'<a href="https://acme.com/">{"long " * 50}</a>', "https://acme.com/", ("long " * 20).rstrip()),
        ('<a href="https://acme.com/">\u202eevil\x07</a>', "https://acme.com/", "evil"),
    ],
)
def test_the_link_is_shown_as_the_page_has_it(link: str, url: str, label: str) -> None:
    assert found(link) == Backlink(Verdict.LINKED, url, label)


def test_relative_links_under_a_foreign_base_lead_there() -> None:
    doc = read('<base href="https://acme.com/"><a name="x">no link</a><a href="shop">Shop</a><p>CRM')
    assert FINDER.find(doc, ["CRM"])["CRM"] == Backlink(Verdict.LINKED, "https://acme.com/shop", "Shop")


def test_a_verdict_does_not_depend_on_the_keywords_place() -> None:
    doc = read(f"<nav>CRM</nav><footer>{CLIENT}</footer>")
    assert FINDER.find(doc, ["CRM"])["CRM"].verdict is Verdict.LINKED
