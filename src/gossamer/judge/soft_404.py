"""Pages that say "not found" with a good status.

Precision first: the title, its part beside the site's name or the main heading must say so and nothing else, and the
page must have little else to say. How little depends on what it says; see `_Says`.
"""

import re
from enum import IntEnum

from ahocorasick_rs import AhoCorasick, Implementation

from gossamer.judge.headings import headings, plain, statements, title_parts, words_of
from gossamer.judge.prose import has_prose
from gossamer.model.document import Document
from gossamer.model.trouble import Reason, Trouble
from gossamer.model.url import path_of

# Characters of visible text, or of what stands outside of menus and the like.
_SHORT = 2_000
_VERY_SHORT = 800
_HARDLY_ANY = 400
_ONE_LINE = 150

_PHRASES = frozenset({
    "404", "404 page", "not found", "page unavailable", "this page isn't available", "this page is not available",
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
# Products have numbers, and exhibitions odd names.
_BARE = frozenset({"404", "404 page", "not found"})

# English has too many ways of saying it for a list. All of them are spelled by `words_of`.
_LEAD = r"(?:(?:o+ps|who+ps|uh oh|hmm+|sorry|we're sorry|we are sorry|but|http|(?:error|status)(?: code)?|404) )*"
_TAIL = r"(?: error)?(?: 404)?(?: error)?(?: page)?(?: 1)?"
_WANTED = (
    r"(?: you(?:'re| are| were|'ve| have)? (?:looking for|trying to (?:reach|access|visit|view|find)|requested"
    r"|asked for))?(?: requested)?"
)
_CANNOT = r"(?:can't|cannot|can not|couldn't|could not)"
_MISSING = (
    rf"(?:(?:is |was )?not found|(?:isn't|wasn't) found|{_CANNOT} be (?:found|located)"
    r"|(?:doesn't|does not) (?:seem to )?exist(?: any ?more)?|no longer exists)"
)
# Who cannot find it is said, or it is a question: "Can't find the job you're looking for?"
_UNFOUND = rf"(?:(?:we |(?<=sorry )|(?<=oops )){_CANNOT}|(?:we )?(?:are |were )?unable to)(?: seem to)? (?:find|locate)"
_THE = r"(?:the |this |that )?(?:requested )?"


def _sentence(thing: str) -> re.Pattern[str]:
    return re.compile(rf"{_LEAD}(?:{_THE}{thing}{_WANTED} {_MISSING}|{_UNFOUND} {_THE}{thing}{_WANTED}){_TAIL}")


_OF_A_PAGE = _sentence(r"(?:web ?page|page|file(?: or directory)?|resource|url)")
_OF_A_THING = _sentence(
    r"(?:product|item|article|post|content|document|listing|record|entry|category|job|profile|user)"
)
# In the text, where nothing says so above it. Not what is said about other pages: "if the page you want is not found".
_ELSEWHERE = r"(?<!\bif )(?<!\bwhen )(?<!\bsays )(?<!\bthat )"
_HERE = re.compile(
    rf"{_ELSEWHERE}\b(?:we (?:{_CANNOT}|(?:are|were) unable to)(?: seem to)? (?:find|locate) (?:the|this|that) page\b"
    rf"|(?:the |this |that )page(?! that) you\b(?:'re|'ve)?(?: \w+){{1,4}} {_MISSING}\b)"
)
_BARELY = re.compile(r"\b(?:page|404) not found\b|\berror 404\b")
_SIGH = re.compile(r"(?:(?:o+ps|who+ps|uh oh|oh no|hmm+|sorry|we're sorry|we are sorry|error|ouch)(?: |$))+")
_NUMBER = re.compile(rf"{_LEAD}(?:404|not found){_TAIL}")
_NO_RESULT = re.compile(r"nothing found for .+")

# What such sentences and phrases have in them, however they are spelled: nearly no title or heading has.
_AUTOMATON = AhoCorasick(
    {*_PHRASES, "not_found", "t be found", "t be located", "t exist", "longer exists", "t find", "t locate", "to find",
     "to locate", "nothing found"},
    implementation=Implementation.ContiguousNFA,
)  # fmt: skip
_PLACE = re.compile(
    r"/(?:404|error[-_]?404|404[-_]error|(?:page[-_]?)?not[-_]?found|page[-_]404)(?:\.\w{2,5})?/?$", re.IGNORECASE
)


# Shops keep such sentences ready and hidden.
_UNSEEN = "[hidden],[popover],dialog:not([open]),template,[style*=none i],[style*=visibility i],[aria-hidden=true]"


class _Says(IntEnum):
    """What a title or heading says, the more certain the higher."""

    NOTHING = 0
    THING = 1  # something is missing, of which help pages speak as well
    BARE = 2  # a number or a name that other things have, too
    MISSING = 3  # the page is


def find_soft_404(doc: Document) -> Trouble | None:
    return Trouble(Reason.SOFT_404, http_status=doc.status) if _says_not_found(doc) else None


def _says_not_found(doc: Document) -> bool:
    length = len(doc.text)
    title = _title_says(doc)
    if title and _title_is_right(doc, title):
        return True
    if length <= _SHORT and doc.url != doc.requested and _PLACE.search(path_of(doc.url).partition("?")[0]):
        return True
    heading = _heading_says(doc, "h1")
    if heading is _Says.NOTHING:
        return length <= _SHORT and _text_says_so(doc)
    if heading is _Says.BARE:
        confirmed = _heading_says(doc, "h2") is _Says.MISSING
        return length <= _VERY_SHORT or (confirmed and not has_prose(doc, _VERY_SHORT))
    return not has_prose(doc, _room_of(heading))


def _text_says_so(doc: Document) -> bool:
    """Whether a page that is called nothing, or a sigh, has hardly anything to say but that."""
    text = doc.text.lower()
    if not _AUTOMATON.find_matches_as_indexes(text) or has_prose(doc, _HARDLY_ANY):
        return False
    if not all(_SIGH.fullmatch(words_of(heading)) for heading in headings(doc, "h1") if heading):
        return False
    said = words_of(text)
    return _HERE.search(said) is not None or (_BARELY.search(said) is not None and not has_prose(doc, _ONE_LINE))


def _title_is_right(doc: Document, says: _Says) -> bool:
    length = len(doc.text)
    if says is _Says.THING:
        return not has_prose(doc, _HARDLY_ANY)
    # Articles have such titles too, in parts: "404 Not Found: how to fix it".
    if length <= (_SHORT if _what_says(plain(doc.title)) is says else _VERY_SHORT):
        return True
    if max(_heading_says(doc, "h1"), _heading_says(doc, "h2")) >= _Says.BARE:
        return True
    return says is _Says.MISSING and not has_prose(doc, _VERY_SHORT)


def _room_of(says: _Says) -> int:
    return _VERY_SHORT if says is _Says.MISSING else _HARDLY_ANY


def _title_says(doc: Document) -> _Says:
    title = plain(doc.title)
    if not _AUTOMATON.find_matches_as_indexes(title) or "?" in doc.title:
        return _Says.NOTHING
    says = max(map(_what_says, (title, *title_parts(doc))))
    if not says and any(_NO_RESULT.fullmatch(part) for part in title_parts(doc)):
        return _Says.THING
    return says


def _heading_says(doc: Document, tag: str) -> _Says:
    """What the visible headings of a rank say. That a thing is missing, the first must say: others may wait for it."""
    said = _Says.NOTHING
    for place, (text, element) in enumerate(statements(doc, tag)):
        says = _what_says(text)
        if says and (place == 0 or says is not _Says.THING) and element.closest(_UNSEEN) is None:
            said = max(said, says)
    return said


def _what_says(text: str) -> _Says:
    if not _AUTOMATON.find_matches_as_indexes(text):
        return _Says.NOTHING
    said = words_of(text)
    if said in _BARE:
        return _Says.BARE
    if said in _PHRASES or _NUMBER.fullmatch(said) or _OF_A_PAGE.fullmatch(said):
        return _Says.MISSING
    return _Says.THING if _OF_A_THING.fullmatch(said) else _Says.NOTHING
