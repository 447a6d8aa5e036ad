"""Pages that are not there, being mended or nothing but a frame, in many languages; and pages that speak of such."""

import re
from collections.abc import Iterator
from importlib import import_module
from itertools import chain, product
from typing import Any

import pytest
from ahocorasick_rs import AhoCorasick

from gossamer.judge import placeholders, soft_404
from gossamer.model.trouble import Reason, Trouble
from tests.judge.pages import ARTICLE, LONG_ARTICLE, MENU, PROSE, flaw, html

_REGULAR_EXPRESSIONS: Any = import_module("re._parser")  # untyped, and of the library's own

MISSING = Trouble(Reason.SOFT_404, http_status=200)
MENDED = Trouble(Reason.PLACEHOLDER, "closed for maintenance", 200)
LONG_MENU = (
    "<div><ul>" + "".join(f"<li><a href=/p{n}>Menu item {n} of our site</a>" for n in range(400)) + "</ul></div>"
)
SENTENCES = (
    "It seems that the page you were trying to reach doesn't exist",
    "It seems the page you are looking for does not exist.",
    "Looks like the page you requested could not be found",
    "Sorry, there is no page at this URL",
    "Sorry, there's no page at this address.",
    "Seite nicht vorhanden",
    "Diese Seite existiert nicht.",
    "Die von Ihnen gesuchte Seite ist leider nicht vorhanden",
    "Es tut uns leid, die angeforderte Seite wurde nicht gefunden.",
    "La page que vous recherchez n'existe pas",
    "La página que buscas no existe",
    "Lo sentimos, no hemos encontrado la página",
    "A página que procura não foi encontrada",
    "La pagina richiesta non esiste",
    "De opgevraagde pagina bestaat niet",
    "Sidan du söker finns inte",
    "Siden du leder efter findes ikke",
    "Strona, której szukasz, nie istnieje",
    "Požadovaná stránka neexistuje",
    "Aradığınız sayfa bulunamadı",
    "Страница, которую вы ищете, не существует",
    "Запрашиваемая страница не найдена",
    "Halaman yang Anda cari tidak ditemukan",
    "Trang bạn yêu cầu không tồn tại",
    "お探しのページは見つかりませんでした。",
    "指定されたページは存在しません",
    "ご指定のURLは見つかりません",
    "您访问的页面不存在",
    "抱歉,找不到您要的頁面",
    "很抱歉，您要查看的网页已被删除",
    "ไม่พบหน้าที่คุณต้องการ",
    "ขออภัย ไม่พบหน้าเว็บที่คุณร้องขอ",
    "요청하신 페이지를 찾을 수 없습니다",
    "Diese Seite gibt es leider nicht mehr",
    "Sidan kan tyvärr inte hittas",
    "Siden kunne ikke finnes",
    "Pagina non disponibile",
    "Nous n'avons pas trouvé la page",
    "Страницата, която търсите, не съществува",
    "Сторінку не знайдено",
    "Tražena stranica ne postoji",
    "Stran ne obstaja",
    "Puslapis nerastas",
    "Lapa nav atrasta",
    "Lehekülge ei leitud",
    "עמוד לא נמצא",
    "صفحه مورد نظر یافت نشد",
    "Такой страницы на сайте нет",
    "Böyle bir sayfa yok",
    "This page does not exist",
)


@pytest.mark.parametrize("sentence", SENTENCES)
def test_the_sentence_is_known_in_the_text_in_a_heading_and_in_a_title(sentence: str) -> None:
    assert flaw(html("Harbour", f"<p>{sentence}</p><a href=/>Home</a>")) == MISSING
    assert flaw(html("Harbour", f"<h1>{sentence}</h1><p>Try the menu above.</p>")) == MISSING
    assert flaw(html(f"{sentence} | Harbour", "<h1>Oh</h1><p>Try the menu above.</p>")) == MISSING


@pytest.mark.parametrize(
    "page",
    [
        html("Anker | Not Found", f"<h1>Anker</h1>{LONG_MENU[:6_000]}</ul></div><p>{PROSE * 2}</p>"),
        html("Not Found – Harbour", f"<nav>{MENU * 3}</nav><h2>Best of the week</h2><p>{PROSE * 2}</p>"),
        html("Page Not Found", f"{LONG_MENU}<h2>Oh</h2><p>Sorry.</p>"),
        html("Page not found | Harbour", f"{LONG_MENU}<h2>Oh</h2><p>Sorry.</p>"),
        html("Seite nicht gefunden", f"{LONG_MENU}<p>Leider.</p>"),
    ],
    ids=lambda page: page[40:70],
)
def test_a_title_that_says_so_counts_above_long_menus(page: str) -> None:
    assert flaw(page) == MISSING


@pytest.mark.parametrize(
    "page",
    [
        html("Not Found | A band of the north", f"<h1>The band</h1>{ARTICLE}"),
        html("Page Not Found", f"<h1>A story</h1>{LONG_ARTICLE}"),
        html("Warum wird meine Seite nicht gefunden", f"<h1>Warum wird meine Seite nicht gefunden</h1>{ARTICLE * 2}"),
        html("Harbour", f"<h1>Boats</h1><p>There is no page at this point of the book that {PROSE}</p>"),
        html("Harbour", f"<h1>Boats</h1>{ARTICLE}<p>Looks like the page you requested could not be found.</p>"),
        html(
            "ボート", "<h1>ボート</h1><p>この本にはページが百あります。湖のほとりで三代にわたり船を直しています。</p>"
        ),
        html("No page unturned", f"<h1>No page unturned</h1><p>{PROSE}</p>"),
        html("There is no such thing as a boat", f"<h1>There is no such thing</h1><p>{PROSE}</p>"),
    ],
    ids=lambda page: page[40:70],
)
def test_who_speaks_of_missing_pages_is_there(page: str) -> None:
    assert flaw(page) is None


GOODS = "".join(f"<div><a href=/p{n}>Boat number {n}</a> <span>12,90</span></div>" for n in range(12))


@pytest.mark.parametrize(
    "top",
    [
        "<a href=/>Ana Sayfa</a> <a href=/c>Elektronik</a> <span>Stokta yok</span>",
        "<a href=/>トップページ</a><a href=/m>マイページ</a><p>カートに商品がありません</p>",
        "<h1><img src=l.png></h1><a href=/m>マイページ</a><p>商品が見つかりません</p>",
        "<a href=/>الصفحة الرئيسية</a> <p>لا توجد منتجات في سلة المشتريات.</p>",
        "<a href=/>หน้าแรก</a> <p>ไม่พบสินค้าในตะกร้า</p>",
        "<a href=/>Главная страница</a> <a href=/c>Каталог</a> <p>Нет в наличии</p>",
        "<a href=/>Trang chủ</a> <p>Không tìm thấy sản phẩm</p>",
        "<a href=/>Halaman utama</a> <p>Tidak tersedia</p>",
        "<a href=/p>Seite drucken</a> <p>Nicht verfügbar</p>",
        "<p>Suivez notre page Facebook</p><p>Ce produit n'est pas disponible</p>",
        "<p>Diese Seite ist auf Englisch nicht verfügbar.</p>",
        "<p>Cette page n'est pas disponible en anglais.</p>",
        "<p>Wenn eine Seite nicht gefunden wird, schreiben Sie uns.</p>",
        "<p>Si la página no existe, escríbanos.</p>",
    ],
)
def test_a_menu_and_what_stands_beside_it_are_no_sentence(top: str) -> None:
    assert flaw(html("Harbour", f"<header>{top}</header>{GOODS}")) is None
    assert flaw(html("Harbour", f"{top}{GOODS}")) is None


@pytest.mark.parametrize(
    "title",
    [
        "Page introuvable : comment corriger l'erreur 404",
        "Seite nicht gefunden: So beheben Sie den Fehler",
        "Seite nicht gefunden - was jetzt zu tun ist | Harbour",
        "Página no encontrada: cómo arreglarlo",
    ],
)
def test_an_article_about_missing_pages_need_not_be_long(title: str) -> None:
    assert flaw(html(title, f"<h1>{title}</h1>{ARTICLE[: len(ARTICLE) // 2]}")) is None


@pytest.mark.parametrize(
    "title",
    [
        "Harbour - Down for Maintenance",
        "Temporary service interruption",
        "Temporary Service Interruption | Harbour",
        "Site is under maintenance",
        "Scheduled maintenance: we'll be right back!",
        "Closed for scheduled maintenance",
        "Harbour – Wartungsarbeiten",
        "Site en maintenance",
        "Sitio en mantenimiento",
        "Технические работы",
        "メンテナンス中",
        "系统维护中",
    ],
)
def test_a_site_that_is_being_mended_says_so_in_its_title(title: str) -> None:
    assert flaw(html(title, "<h1>Harbour</h1><p>Please come back in an hour.</p>")) == MENDED


@pytest.mark.parametrize(
    "title",
    ["Boat maintenance - Harbour", "Maintenance | Harbour", "Under maintenance contracts", "We'll be backpackers"],
)
def test_who_does_maintenance_is_there(title: str) -> None:
    assert flaw(html(title, f"<h1>Harbour</h1><p>{PROSE}</p>")) is None
    assert flaw(html("Down for maintenance - Harbour", f"<h1>A story</h1>{ARTICLE}")) is None


@pytest.mark.parametrize(
    "name",
    ["Site Maintenance", "Website Maintenance", "Server Maintenance", "Service Interruption", "Be Right Back"],
)
def test_the_name_of_a_service_closes_no_site(name: str) -> None:
    offer = (
        "We look after it month by month, from 30 a month, so that you can look after your boats and customers come "
        "back. If your site is down, we get it back in 2 hours; it is unique."
    )
    assert flaw(html(f"{name} | Harbour", f"<h1>{name}</h1><p>{offer}</p>")) is None
    assert flaw(html(f"{name} | Harbour", f"<h1>{name}</h1><p>We are back soon.</p>")) == MENDED
    assert flaw(html(name, f"<h1>{name}</h1>")) == MENDED


@pytest.mark.parametrize(
    "body",
    [
        "<iframe src=https://elsewhere.example/></iframe>",
        '<div style="height:100%"><iframe src="//elsewhere.example/" width="100%">Frames, please.</iframe></div>',
    ],
)
def test_a_frame_and_no_words_is_no_page(body: str) -> None:
    assert flaw(html("Harbour", body)) == Trouble(Reason.EMPTY, http_status=200)
    assert flaw(html("Harbour", f"{body}<p>Boats</p>")) is None
    assert flaw(html("Harbour", f"{body}<img src=boat.jpg>")) is None
    assert flaw(html("Harbour", f"{body}<a href=/boats><i></i></a>")) is None


def _spelled_out(pattern: Any) -> Iterator[str]:
    """Texts that a parsed expression matches: every alternative, and what is optional both with and without."""
    for pieces in product(*(list(_spellings(kind, what)) for kind, what in pattern)):
        yield "".join(pieces)


def _spellings(kind: Any, what: Any) -> Iterator[str]:
    match str(kind):
        case "LITERAL":
            yield chr(what)
        case "ANY" | "NOT_LITERAL":
            yield "x"
        case "IN":
            first, value = what[0]
            yield chr(value) if str(first) == "LITERAL" else "x"
        case "BRANCH":
            yield from chain.from_iterable(map(_spelled_out, what[1]))
        case "SUBPATTERN":
            yield from _spelled_out(what[3])
        case "MAX_REPEAT":
            least, _, repeated = what
            if not least:
                yield ""
            yield from (each * max(1, least) for each in _spelled_out(repeated))
        case "AT" | "ASSERT" | "ASSERT_NOT":
            yield ""
        case _:
            raise NotImplementedError(kind)


@pytest.mark.parametrize(
    ("sentences", "glance"),
    [
        (soft_404._OTHER_LANGUAGES, soft_404._MAYBE_OTHER_LANGUAGES),
        (soft_404._OTHER_LANGUAGES, soft_404._MAYBE),
        (soft_404._HERE, soft_404._MAYBE_HERE),
        (soft_404._BARELY, soft_404._MAYBE_HERE),
        (placeholders._FOR_MAINTENANCE, placeholders._MAYBE),
        (placeholders._MAYBE_MAINTENANCE, placeholders._MAYBE),
    ],
    ids=["abroad", "abroad in a title", "here", "barely", "maintenance", "perhaps maintenance"],
)
def test_the_first_glance_misses_none_of_the_sentences(sentences: re.Pattern[str], glance: AhoCorasick) -> None:
    """Most pages are let go after it, so a sentence of which it knew no part would never be found."""
    found = [
        match[0]
        for text in _spelled_out(_REGULAR_EXPRESSIONS.parse(sentences.pattern))
        if (match := sentences.search(text))
    ]
    assert len(found) > 20
    assert [text for text in found if not glance.find_matches_as_indexes(text)] == []
