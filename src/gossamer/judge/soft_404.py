"""Recognise pages that say "not found" with a success status.

Precision first: the title, its part next to the site's name, or the main heading must say so and nothing
else, and the page must have little other text. How little depends on the wording; see `_Says`.
"""

import re
from enum import IntEnum

from ahocorasick_rs import AhoCorasick, Implementation

from gossamer.judge.wording import has_prose, headings, plain, statements, title_parts, words_of
from gossamer.model.document import Document
from gossamer.model.trouble import Reason, Trouble
from gossamer.model.url import path_of
from gossamer.parse.text import visible_lines

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
_SEEMS = (
    r"(?:it (?:seems|appears|looks)(?: like)?|looks like|seems(?: like)?"
    r"|unfortunately|i'm afraid|we're afraid)(?: that)?"
)
_LEAD = (
    r"(?:(?:o+ps|who+ps|uh oh|hmm+|sorry|we're sorry|we are sorry|we apologi[sz]e|but|http"
    rf"|(?:error|status)(?: code)?|404|{_SEEMS}) )*"
)
_TAIL = r"(?: error)?(?: 404)?(?: error)?(?: page)?(?: 1)?"
_WANTED = (
    r"(?: you(?:'re| are| were|'ve| have)?"
    r" (?:looking for|(?:trying|attempting) to (?:reach|access|visit|view|find|open)"
    r"|requested|want(?:ed)?(?: to (?:see|view|visit))?|asked for))?(?: requested)?"
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


_NO_PAGE = (
    r"(?:there is|there's|there are|we have|we found) (?:no|not a|not any) (?:such )?(?:web ?)?pages?"
    r"(?: (?:here|(?:at|with|on|for|under) (?:this|that|the)(?: requested)? (?:url|address|location|link)))?"
    r"|(?:there is|there's) nothing (?:here|(?:at|under) (?:this|that) (?:url|address|location|link))"
)
_OF_NO_PAGE = re.compile(rf"{_LEAD}(?:{_NO_PAGE}){_TAIL}")
_OF_A_PAGE = _sentence(r"(?:web ?page|page|file(?: or directory)?|resource|url)")
_OF_A_THING = _sentence(
    r"(?:product|item|article|post|content|document|listing|record|entry|category|job|profile|user)"
)
# In the text, where nothing says so above it. Not what is said about other pages: "if the page you want is not found".
_ELSEWHERE = r"(?<!\bif )(?<!\bwhen )(?<!\bsays )(?<!(?<!\bseems )(?<!\bappears )(?<!\bafraid )(?<!unately )\bthat )"
_HERE = re.compile(
    rf"{_ELSEWHERE}\b(?:we (?:{_CANNOT}|(?:are|were) unable to)(?: seem to)? (?:find|locate) (?:the|this|that) page\b"
    rf"|(?:the |this |that )page(?! that) you\b(?:'re|'ve)?(?: \w+){{1,4}} {_MISSING}\b"
    r"|there(?: is|'s) no (?:such )?(?:web ?)?page"
    r" (?:here|(?:at|with|on|under) (?:this|that) (?:url|address|location|link))\b)"
)
# In other languages: what is missing, some words, and that it is. Where words are not parted, no words are counted.
# Home pages have the word in their name in some, and what follows them in a menu may be a basket with nothing in it.
_FEW = r"(?: [^\W\d_][\w'-]*){0,8}"
_OTHER_LANGUAGES = re.compile(
    rf"\bseite{_FEW} (?:nicht (?:gefunden|vorhanden|verfügbar|existent)|(?:existiert|gibt es) (?:leider )?nicht)"
    r"|\bexistiert (?:leider )?keine seite\b|\bkeine seite (?:gefunden|vorhanden)"
    r"|\b(?:konnten|können) (?:wir )?(?:leider )?(?:die|diese)(?: \w+){0,3} seite (?:leider )?nicht finden"
    rf"|\bpage{_FEW} (?:n'existe (?:pas|plus)|est introuvable|introuvable|n'a pas été trouvée|n'est pas disponible)"
    r"|\bnous n'avons pas (?:pu )?trouv(?:é|er) (?:la|cette) page|\bpagina non disponibile"
    rf"|\bp[aá]gina{_FEW} (?:no (?:existe|se (?:ha )?(?:encontr\w+|pudo encontrar)|fue encontrada|está disponible)"
    r"|não (?:existe|foi encontrada|está disponível|encontrada)"
    r"|non (?:esiste|è stata trovata|è disponibile|trovata))"
    r"|\bno (?:hemos (?:podido )?(?:encontr\w+)|encontramos|pudimos encontrar) (?:la|esta) p[aá]gina"
    rf"|\bpagina{_FEW} (?:bestaat niet|(?:is |kan |kon )?niet (?:worden )?gevonden|nu (?:există|exista|a fost găsită))"
    rf"|\bsidan{_FEW} (?:finns inte|hittades inte|(?:kunde|kan) (?:tyvärr )?inte hittas|existerar inte)"
    rf"|\bsiden{_FEW} (?:findes ikke|finnes ikke|eksisterer ikke|blev ikke fundet|ble ikke funnet|kunne ikke fin[dn]es)"
    rf"|\bsivua{_FEW} ei (?:löydy|löytynyt|ole olemassa)|\bsivua ei ole(?! \w+ \w)"
    rf"|\bstrona{_FEW} (?:nie istnieje|nie została (?:znaleziona|odnaleziona))"
    rf"|\bstránka{_FEW} (?:neexistuje|nebyla nalezena|nebola nájdená|sa nenašla)"
    rf"|\boldal{_FEW} (?:nem található|nem létezik)"
    rf"|(?<!\bana )\bsayfa{_FEW} (?:bulunamadı|mevcut değil)|(?<!\bana )\bsayfa(?: artık)? yok\b"
    rf"|(?<!\bглавная )\bстраниц[аыу]{_FEW} (?:не (?:найдена|существует|существуют)|отсутствует)"
    r"|\bтакой страницы(?: \w+){0,3} нет\b|\bстраницы(?: больше)? нет\b"
    rf"|\bсторінк[аиу]{_FEW} (?:не (?:знайден[ао]|існує)|відсутня)"
    rf"|\bстраницата{_FEW} не (?:съществува|е намерена|беше намерена)"
    rf"|\bstranica{_FEW} (?:nije pronađena|ne postoji)|\bstran{_FEW} ne obstaja"
    rf"|\bpuslapis{_FEW} (?:nerastas|neegzistuoja)|\blapa{_FEW} (?:nav atrasta|neeksistē)|\blehekülge{_FEW} ei leitud"
    rf"|\btrang(?! chủ\b){_FEW} không (?:tồn tại|tìm thấy|được tìm thấy)"
    rf"|\bhalaman(?! (?:utama|depan|muka)\b){_FEW} tidak (?:ditemukan|ada|tersedia)"
    rf"|\bσελίδα{_FEW} δεν (?:βρέθηκε|υπάρχει)"
    r"|(?:(?<!トップ)(?<!マイ)(?<!ホーム)ページ|url)(?:は|が|を)?[^。!?商品庫]{0,12}(?:見つか(?:りません|らない|りませんでした)|見つけることができません|存在(?:しません|しない|いたしません)"
    r"|見当たりません|ございません|ありません|みつかりません)"
    r"|(?:页面|頁面|網頁|网页)[^。!?]{0,6}(?:不存在|未找到|找不到|没有找到|沒有找到|不見了|不见了|无法找到|無法找到|已被删除|已被刪除|走丢了)"
    r"|(?:找不到|未找到|没有找到|沒有找到|无法找到|無法找到|不存在)[^。!?]{0,12}(?:页面|頁面|網頁|网页)"
    r"|ไม่พบ(?:หน้า|เพจ|เว็บเพจ)|(?:หน้า(?!แรก|หลัก|ร้าน)|เพจ)[^.!?]{0,30}(?:ไม่มีอยู่|ไม่พบ(?!สินค้า)|หาไม่พบ|ไม่สามารถหา)|ไม่มีหน้า(?:นี้|เว็บนี้|ที่คุณ)"
    r"|페이지를? ?(?:찾을 수 없|존재하지)|페이지(?:가|는) ?(?:없|존재하지|삭제)|존재하지 않는 페이지"
    r"|الصفحة(?! الرئيسية)[^.!?]{0,30}(?:غير موجودة|لا توجد|ليست موجودة)|لم يتم العثور على (?:هذه )?الصفحة"
    r"|(?:הדף|העמוד)[^.!?]{0,30}(?:לא נמצא|לא קיים|אינו קיים)|(?:דף|עמוד) לא נמצא"
    r"|صفحه[^.!?]{0,30}(?:یافت نشد|وجود ندارد|پیدا نشد)|(?:पृष्ठ|पेज) (?:नहीं मिला|मौजूद नहीं)"
)
_LONGEST_OTHER_LANGUAGES = 120  # characters of a title, a heading or a sentence
_SENTENCES = re.compile(r"[.!?;\n。！？]+")
_FEW_MORE = 6  # words next to it
# Each of the alternatives above has one of these in it. Most texts have none, which is found out much faster.
_OTHER_LANGUAGES_STEMS = (
    "nicht", "keine", "existe", "există", "exista", "existuj", "introuvable", "trouv", "dispon", "encontr", "esiste",
    "trovata", "bestaat", "gevonden", "găsită", "finns", "hitta", "findes", "finnes", "eksister", "fundet", "funnet",
    "löydy", "löytynyt", "olemassa", "sivua", "istnieje", "znalezion", "odnalezion", "nalezena", "nájdená",
    "nenašla", "található", "létezik", "bulunamadı", "mevcut", "yok", "найден", "существу", "отсутству", "нет",
    "знайден", "існує", "відсутня", "съществува", "намерена", "pronađena", "postoji", "obstaja", "nerastas",
    "neegzistuoja", "atrasta", "neeksistē", "leitud", "không", "tidak", "δεν", "見つ", "みつ", "存在", "見当", "ません",
    "找", "見了", "见了", "删除", "刪除", "走丢", "ไม่",
    "찾을", "존재하지", "없", "삭제", "غير", "لا", "ليست", "لم", "לא", "אינו", "نشد",
    "ندارد", "नहीं",
)  # fmt: skip
_MAYBE_OTHER_LANGUAGES = AhoCorasick(_OTHER_LANGUAGES_STEMS, implementation=Implementation.DFA)
# It is explained there, or asked about.
_ASKING = frozenset({
    "wenn", "warum", "wieso", "weshalb", "wie", "was", "falls", "ob", "si", "quand", "pourquoi", "comment", "cuando",
    "por", "como", "come", "quando", "perché", "als", "waarom", "hoe", "wanneer", "när", "varför", "hvorfor", "hvis",
    "når", "kun", "miksi", "jos", "gdy", "jeśli", "dlaczego", "jak", "když", "proč", "ha", "miért", "neden", "nasıl",
    "если", "когда", "почему", "как", "якщо", "чому", "коли", "khi", "nếu", "tại", "kalau", "jika", "mengapa",
    "kenapa",
})  # fmt: skip
_EXPLAINING = frozenset({
    "wie", "so", "warum", "was", "comment", "pourquoi", "que", "cómo", "qué", "perché", "hoe", "waarom", "hur",
    "varför", "hvordan", "hvorfor", "jak", "dlaczego", "proč", "nasıl", "neden", "как", "почему", "як", "чому", "cara",
})  # fmt: skip
# It is there, in another one.
_LANGUAGES = frozenset({
    "deutsch", "englisch", "französisch", "sprache", "anglais", "allemand", "français", "langue", "inglés", "alemán",
    "español", "castellano", "idioma", "inglese", "tedesco", "italiano", "lingua", "inglês", "português", "engels",
    "nederlands", "taal", "engelska", "svenska", "språk", "engelsk", "dansk", "norsk", "sprog", "angielskim", "języku",
    "ingilizce", "dilde", "английском", "языке", "англійською", "inggris", "bahasa", "anh",
})  # fmt: skip
_BARELY = re.compile(
    rf"\b(?:page|404) not found\b|\berror 404\b|{_ELSEWHERE}\b(?:(?:the|this|that) page|^page) {_MISSING}\b"
)
# What every match of the two has in it, as `words_of` spells it.
_MAYBE_HERE = AhoCorasick(
    ["t found", "t be found", "t be located", "t find", "t locate", "to find", "to locate", "t exist", "to exist",
     "longer exist", "is no page", "is no such", "is no web", "'s no page", "'s no such", "'s no web", "error 404"],
    implementation=Implementation.DFA,
)  # fmt: skip
_SIGH = re.compile(r"(?:(?:o+ps|who+ps|uh oh|oh no|hmm+|sorry|we're sorry|we are sorry|error|ouch)(?: |$))+")
_NUMBER = re.compile(rf"{_LEAD}(?:404|not found){_TAIL}")
_NO_RESULT = re.compile(r"nothing found for .+")

# What every sentence and phrase of this kind has in it, however it is spelled: nearly no title or heading has.
_MAYBE = AhoCorasick(
    {*_PHRASES, *_OTHER_LANGUAGES_STEMS, "not_found", "no page", "no such", "nothing here", "nothing at", "not a page",
     "t be found", "t be located", "t exist", "longer exists", "t find", "t locate", "to find", "to locate",
     "nothing found"},
    implementation=Implementation.DFA,
)  # fmt: skip
_PLACE = re.compile(
    r"/(?:404|error[-_]?404|404[-_]error|(?:page[-_]?)?not[-_]?found|page[-_]404)(?:\.\w{2,5})?/?$", re.IGNORECASE
)


# Shops keep such sentences ready and hidden.
_UNSEEN = "[hidden],[popover],dialog:not([open]),template,[style*=none i],[style*=visibility i],[aria-hidden=true]"


class _Says(IntEnum):
    """Evidence in a title or heading; higher values are more certain."""

    NOTHING = 0
    THING = 1  # something is missing, of which help pages speak as well
    BARE = 2  # a number or a name that other things have, too
    MISSING = 3  # the page is


def find_soft_404(doc: Document, *, by_title: bool = False) -> Trouble | None:
    """Return SOFT_404 if the page says that it does not exist.

    `by_title`: judge only by the title, for pages with much text (also in menus).
    """
    found = _long_page_says_so(doc) if by_title else _says_not_found(doc)
    return Trouble(Reason.SOFT_404, http_status=doc.status) if found else None


def _long_page_says_so(doc: Document) -> bool:
    return _title_says(doc) is _Says.MISSING and not has_prose(doc, _VERY_SHORT)


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
    """Return True if a page has little text but a not-found message, and no `<h1>` except interjections."""
    text = doc.text.lower()
    maybe_other_language = bool(_MAYBE_OTHER_LANGUAGES.find_matches_as_indexes(text))
    if not maybe_other_language and "page" not in text and "404" not in text:
        return False
    said = words_of(text)
    maybe_here = bool(_MAYBE_HERE.find_matches_as_indexes(said))
    if not (maybe_other_language or maybe_here) or has_prose(doc, _HARDLY_ANY):
        return False
    if not all(_SIGH.fullmatch(words_of(heading)) for heading in headings(doc, "h1") if heading):
        return False
    if maybe_other_language and _OTHER_LANGUAGES.search(said) is not None and _a_sentence_says_so(doc):
        return True
    if not maybe_here:
        return False
    return _HERE.search(said) is not None or (_BARELY.search(said) is not None and not has_prose(doc, _ONE_LINE))


def _a_sentence_says_so(doc: Document) -> bool:
    """Return True if a single sentence says that the page is missing, not a menu link and the label next to it.

    Sentences are searched within lines, so that texts of different elements are not joined.
    """
    return any(_says_abroad(sentence) for sentence in _SENTENCES.split(visible_lines(doc.tree, "").lower()))


def _title_is_right(doc: Document, says: _Says) -> bool:
    length = len(doc.text)
    if says is _Says.THING:
        return not has_prose(doc, _HARDLY_ANY)
    # Articles have such titles too, in parts: "404 Not Found: how to fix it".
    if length <= (_SHORT if _what_says(plain(doc.title)) is says else _VERY_SHORT):
        return True
    if max(_heading_says(doc, "h1"), _heading_says(doc, "h2")) >= _Says.BARE:
        return not has_prose(doc, _SHORT)
    # A part that says only that, next to the name of a site; numbers alone may be a name of anything.
    tells = says is _Says.MISSING or "not found" in title_parts(doc)
    return tells and not has_prose(doc, _VERY_SHORT)


def _room_of(says: _Says) -> int:
    return _VERY_SHORT if says is _Says.MISSING else _HARDLY_ANY


def _title_says(doc: Document) -> _Says:
    title = plain(doc.title)
    if "?" in doc.title or not _MAYBE.find_matches_as_indexes(title):
        return _Says.NOTHING
    says = max(map(_what_says, (title, *title_parts(doc))))
    if not says and any(_NO_RESULT.fullmatch(part) for part in title_parts(doc)):
        return _Says.THING
    return says


def _heading_says(doc: Document, tag: str) -> _Says:
    """Return the evidence in the visible headings of a rank.

    A heading that says some thing is missing counts only if it is the first: later ones may refer to
    parts of the page.
    """
    said = _Says.NOTHING
    for place, (text, element) in enumerate(statements(doc, tag)):
        says = _what_says(text)
        if says and (place == 0 or says is not _Says.THING) and element.closest(_UNSEEN) is None:
            said = max(said, says)
    return said


def _says_abroad(text: str) -> bool:
    """Return True if a title or heading says so in another language, with hardly any other words."""
    if len(text) > _LONGEST_OTHER_LANGUAGES:
        return False
    said = words_of(text)
    found = _OTHER_LANGUAGES.search(said)
    if found is None:
        return False
    before, after = said[: found.start()].split(), said[found.end() :].split()
    if len(before) > _FEW_MORE or len(after) > _FEW_MORE or not _LANGUAGES.isdisjoint(said.split()):
        return False
    return _ASKING.isdisjoint(before) and _EXPLAINING.isdisjoint(after[:3])


def _what_says(text: str) -> _Says:
    if not _MAYBE.find_matches_as_indexes(text):
        return _Says.NOTHING
    if _says_abroad(text):
        return _Says.MISSING
    said = words_of(text)
    if said in _BARE:
        return _Says.BARE
    if said in _PHRASES or _NUMBER.fullmatch(said) or _OF_A_PAGE.fullmatch(said) or _OF_NO_PAGE.fullmatch(said):
        return _Says.MISSING
    return _Says.THING if _OF_A_THING.fullmatch(said) else _Says.NOTHING
