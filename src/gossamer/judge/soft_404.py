"""Pages that say "not found" with a good status.

Precision first: the title, or its part beside the site's name, must be such a phrase and nothing else, and the page
must be short or say so in a heading too.
"""

import re

from ahocorasick_rs import AhoCorasick, Implementation

from gossamer.judge.headings import headings, plain, title_parts, whole_title
from gossamer.model.document import Document
from gossamer.model.trouble import Reason, Trouble
from gossamer.model.url import path_of

_SHORT = 2_000
_VERY_SHORT = 800

_PHRASES = frozenset({
    "404", "404 error", "404 not found", "404 page", "404 page not found", "error 404", "error 404 not found",
    "http 404", "http 404 not found", "http error 404", "http status 404",
    "not found", "page not found", "file not found", "oops! page not found",
    "404 file not found", "404 error page", "page not found 404", "page not found (404", "not found 404",
    "page cannot be found", "page can't be found", "page could not be found", "page doesn't exist",
    "page does not exist", "page no longer exists", "this page could not be found", "this page doesn't exist",
    "this page does not exist", "this page isn't available", "this page is not available", "page unavailable",
    "the page cannot be found", "the page could not be found", "the requested page could not be found",
    "we can't find that page", "we couldn't find that page", "sorry, page not found",
    "that page can't be found", "oops! that page can't be found",
    "seite nicht gefunden", "seite wurde nicht gefunden", "die seite wurde nicht gefunden", "fehler 404",
    "404 seite nicht gefunden", "page introuvable", "page non trouvée", "page non trouvee", "erreur 404",
    "cette page n'existe pas", "página no encontrada", "pagina no encontrada", "no se encontró la página",
    "página não encontrada", "pagina non trovata", "errore 404", "pagina niet gevonden", "sidan hittades inte",
    "sidan kunde inte hittas", "siden blev ikke fundet", "siden ble ikke funnet", "sivua ei löytynyt",
    "strona nie znaleziona", "nie znaleziono strony", "strona nie istnieje", "stránka nenalezena",
    "stránka nebyla nalezena", "stránka sa nenašla", "az oldal nem található", "az oldal nem talalhato",
    "pagina nu a fost găsită", "pagina nu exista", "sayfa bulunamadı", "страница не найдена", "ошибка 404",
    "сторінку не знайдено", "страницата не е намерена", "η σελίδα δεν βρέθηκε", "הדף לא נמצא", "الصفحة غير موجودة",
    "ページが見つかりません", "ページが見つかりませんでした", "お探しのページは見つかりませんでした",
    "页面不存在", "页面未找到", "找不到页面", "找不到網頁", "頁面不存在", "페이지를 찾을 수 없습니다", "ไม่พบหน้า",
    "không tìm thấy trang", "halaman tidak ditemukan",
})  # fmt: skip
_AUTOMATON = AhoCorasick(_PHRASES, implementation=Implementation.ContiguousNFA)
_PLACE = re.compile(
    r"/(?:404|error[-_]?404|404[-_]error|(?:page[-_]?)?not[-_]?found|page[-_]404)(?:\.\w{2,5})?/?$", re.IGNORECASE
)


def find_soft_404(doc: Document) -> Trouble | None:
    return Trouble(Reason.SOFT_404, http_status=doc.status) if _says_not_found(doc) else None


def _says_not_found(doc: Document) -> bool:
    length = len(doc.text)
    # Nearly no title has such a phrase anywhere, and that is found out much faster than what its parts are.
    if _AUTOMATON.find_matches_as_indexes(plain(doc.title)):
        if whole_title(doc) in _PHRASES:
            return length <= _SHORT or _heads_so(doc)
        # Articles have such titles too, in parts: "404 Not Found: how to fix it".
        if not _PHRASES.isdisjoint(title_parts(doc)):
            return length <= _VERY_SHORT or _heads_so(doc)
    if length <= _SHORT and doc.url != doc.requested and _PLACE.search(path_of(doc.url).partition("?")[0]):
        return True
    return length <= _VERY_SHORT and not _PHRASES.isdisjoint(headings(doc, "h1"))


def _heads_so(doc: Document) -> bool:
    return not _PHRASES.isdisjoint((*headings(doc, "h1"), *headings(doc, "h2")))
