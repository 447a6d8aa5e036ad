"""Which keywords a text mentions: tables of examples, and a slow matcher that is obviously right."""

import sys
import unicodedata

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from gossamer.analyze.keywords import KeywordMatcher, Mention, Sort, clean_keyword, fold, sort_of, squeeze
from gossamer.analyze.snippets import snippet


def count(keyword: str, text: str, title: str = "") -> int:
    mentions = KeywordMatcher([keyword]).matches(title, text)
    return mentions[0].frequency if mentions else 0


@pytest.mark.parametrize(
    ("keyword", "text", "times"),
    [
        ("CRM", "CRM crm Crm", 3),
        ("CRM", "sCRaMble", 0),
        ("CRM", "xCRM CRMs CRM2 2CRM my_CRM CRM_", 0),
        ("CRM", "CRM's, (CRM) pre-CRM CRM-software CRM/ERP «CRM» CRM.", 7),
        ("CRM", "CRM² CRM® ✔️CRM 1️⃣CRM", 4),
        ("CRM", "CRM\u0301", 0),
        ("CRM software", "CRM software, CRM\n\t software, CRM\u00a0software, CRM\u3000\u2003software", 4),
        ("CRM software", "CRMsoftware CRM-software CRM. software CRM softwares", 0),
        ("  CRM \n software ", "crm software", 1),
        ("ha ha", "ha ha ha ha ha", 2),
        ("a", "a a a", 3),
        ("straße", "STRASSE Straße strasse STRAẞE", 4),
        ("STRASSE", "die Straße", 1),
        ("ΣΊΣΥΦΟΣ", "σίσυφος", 1),
        ("ﬁx", "fix FIX ﬁx", 3),
        ("i", "İ", 0),
        ("İstanbul", "İSTANBUL", 1),
        ("café", "CAFÉ Cafe\u0301", 1),
        ("cafe", "café", 0),
        ("naïve", "nai\u0308ve", 0),  # text is expected composed; keywords are composed by us
        ("nai\u0308ve", "naïve", 1),
        ("проект", "Проект проекты", 1),
        ("C++", "C++ C++17 C++, (C++) c++", 5),
        ("C++", "C+++ C++++ xC++", 0),
        ("C#", "C# C## F#", 1),
        (".NET", ".NET ASP.NET .net.", 3),
        (".NET", "ASP.NETwork ..NET dotnet", 0),
        (".NET", "jane@company.net shop.net asp.net 1.net my_.net É.net", 0),
        (".NET", "VB.NET (.net) /.Net -.net 使用.net 한국.net C#.net", 7),
        (".NET", "ßßﬃİ ASP.NET company.net ß.NET ŉ.net", 2),
        (".NET Core", "ASP.NET Core asp.net core asp.NET core .net core", 4),
        (".net", "company.net ASP.NET VB.Net .NET", 3),
        (".5", "1.5 .5", 2),
        ("..a", "x..a x..A", 2),
        ("24/7", "24/7 124/7 24/70", 1),
        ("#1", "#1 ##1 a#1 #10", 2),
        ("$", "$5 $$ US$", 2),
        ("e-commerce", "e-commerce e‐commerce e‑commerce e–commerce E−COMMERCE", 5),
        ("e-commerce", "e—commerce ecommerce e commerce", 0),
        ("e‑commerce", "e-commerce", 1),
        ("don't", "don't don’t DONʼT don‘t", 4),
        ("O’Brien", "o'brien", 1),
        ("顧客", "顧客関係管理と顧客", 2),
        ("CRM", "使用CRM软件 CRMソフト ใช้CRMได้", 3),
        ("CRM", "CRM을 CRM은", 2),
        ("크롤러", "크롤러 크롤러를 x크롤러", 1),
        ("ซอฟต์แวร์", "ใช้ซอฟต์แวร์ดี", 1),
        ("CRM软件", "最佳CRM软件推荐 xCRM软件", 1),
        ("soft\u00adware", "software", 1),
        ("C\u200eR\u200f\u061c\u2061\u2062\u2063\u2064M", "CRM", 1),
        ("CRM", "ＣＲＭ", 0),
    ],
)
def test_what_counts_as_a_mention(keyword: str, text: str, times: int) -> None:
    assert count(keyword, text) == times


def test_every_keyword_counts_by_itself() -> None:
    mentions = KeywordMatcher(["software", "CRM software", "CRM", "best CRM"]).matches("", "The best CRM software.")
    assert [(mention.keyword, mention.frequency) for mention in mentions] == [
        ("software", 1),
        ("CRM software", 1),
        ("CRM", 1),
        ("best CRM", 1),
    ]


def test_a_shorter_keyword_inside_a_word_does_not_hide_a_longer_one() -> None:
    mentions = KeywordMatcher(["auto", "automation", "marketing automation"]).matches("", "marketing automation")
    assert [mention.keyword for mention in mentions] == ["automation", "marketing automation"]


def test_title_and_text_are_counted_together_but_never_joined() -> None:
    assert count("CRM", "one CRM", title="CRM and CRM") == 3
    assert count("CRM software", "software here", title="The CRM") == 0


def test_keywords_that_fold_alike_are_one_and_keep_the_first_spelling() -> None:
    mentions = KeywordMatcher(["Crm", "CRM", " crm ", "c\u00adrm"]).matches("", "CRM crm")
    assert mentions == [Mention("Crm", 2, "CRM crm")]


def test_blank_keywords_and_texts_match_nothing() -> None:
    assert KeywordMatcher([]).matches("CRM", "CRM") == []
    assert KeywordMatcher(["", " ", "\u200b"]).matches("CRM", "CRM") == []
    assert KeywordMatcher(["CRM"]).matches("", "") == []


def test_five_hundred_long_keywords_are_matched() -> None:
    keywords = [f"keyword number {n} {'x' * 150}" for n in range(500)]
    mentions = KeywordMatcher(keywords).matches("", " ".join(keywords))
    assert [mention.keyword for mention in mentions] == keywords
    assert all(mention.frequency == 1 for mention in mentions)


def test_the_snippet_comes_from_the_text_and_else_from_the_title() -> None:
    matcher = KeywordMatcher(["CRM", "boats"])
    mentions = matcher.matches("Boats and CRM", "We love our CRM  here.")
    assert [mention.snippet for mention in mentions] == ["We love our CRM here.", "Boats and CRM"]


def test_the_snippet_shows_the_first_mention_where_folding_made_the_text_longer() -> None:
    text = "ß" * 400 + " ﬃ İ the CRM Straße " + "ẞ" * 400
    (mention,) = KeywordMatcher(["CRM"]).matches("", text)
    before, found, after = mention.snippet.partition("CRM")
    assert found
    assert before.endswith("ﬃ İ the ")
    assert after == " Straße " + "ẞ" * 139 + "..."


SPECIMENS = "aAbß ﬁİŉ'’-‑+.C_9é\u0301字カ한ไ!\n\u00a0ΣςſK²\ufe0f😀"
_TEXT = st.text(alphabet=SPECIMENS, max_size=40) | st.text(max_size=20)
_KEYWORD = st.text(alphabet=SPECIMENS, min_size=1, max_size=4) | st.text(min_size=1, max_size=2)

# Words that hide in each other, grow when folded, or end in symbols, with what may stand between them.
_WORDS = [
    "CRM", "crm", "soft", "software", "Straße", "STRASSE", "ﬁne", "İz", "café", "cafe", "C++", "C", ".NET", "NET",
    ".net", ".Net",
    "e-mail", "e‑Mail", "mail", "don't", "Don’t", "顧客", "客", "顧客管理", "한국", "24/7", "7", "ΣΑΣ", "σας", "ha",
]  # fmt: skip
_GAPS = [" ", " ", " ", "  ", "\n", "\u00a0", "\u3000", "-", ".", ", ", "+", "_", "'", "", "\u0301", "²"]
_PROSE = st.lists(st.sampled_from(_WORDS + _GAPS), max_size=25).map("".join)
_PHRASE = st.lists(st.sampled_from(_WORDS), min_size=1, max_size=3).flatmap(
    lambda words: st.sampled_from([" ".join(words), "  ".join(words), "".join(words), "-".join(words)])
)


def slow_fold(text: str) -> str:
    """Case, hyphens and apostrophes, one character after the other."""
    plain = {**dict.fromkeys("‐‑‒–−﹣－", "-"), **dict.fromkeys("’‘‛ʼ＇", "'")}
    return "".join(plain.get(character, character.casefold()) for character in text)


def is_word(character: str) -> bool:
    category = unicodedata.category(character)
    if "\ufe00" <= character <= "\ufe0f":
        return False
    return category[0] == "L" or category in ("Nd", "Mn", "Mc") or character == "_"


def may_stand_beside(edge: str, neighbour: str) -> bool:
    """The rules of the module's docstring, one sentence after the other."""
    if not is_word(edge):
        return neighbour != edge
    if sort_of(edge) is Sort.UNSPACED:
        return True
    if not is_word(neighbour) or sort_of(neighbour) is Sort.UNSPACED:
        return True
    return sort_of(neighbour) is Sort.HANGUL and sort_of(edge) is not Sort.HANGUL


def is_of_a_name(keyword: str, text: str, start: int, end: int) -> bool:
    """Whether what looks like `.NET` is the end of `company.net`: glued to a word, and in lower case."""
    if keyword[0] != "." or not keyword[1:].isalpha() or start == 0:
        return False
    before = slow_fold(text[start - 1])[-1]
    return is_word(before) and sort_of(before) is Sort.WORD and text[start:end].islower()


def slow_mentions(keyword: str, text: str) -> list[tuple[int, int]]:
    """Where a keyword stands in a text with single spaces: every stretch of it is tried, from left to right."""
    keyword = clean_keyword(keyword)
    wanted = slow_fold(keyword)
    folded = [slow_fold(character) for character in text]
    found, start = [], 0
    while start < len(text):
        end, piece = start, ""
        while end < len(text) and len(piece) < len(wanted):
            piece += folded[end]
            end += 1
        fits = piece == wanted
        fits = fits and (start == 0 or may_stand_beside(wanted[0], folded[start - 1][-1]))
        fits = fits and (end == len(text) or may_stand_beside(wanted[-1], folded[end][0]))
        fits = fits and not is_of_a_name(keyword, text, start, end)
        if fits:
            found.append((start, end))
        start = end if fits else start + 1
    return found


def check_against_the_slow_one(keywords: list[str], title: str, text: str) -> None:
    title, text = " ".join(title.split()), " ".join(text.split())
    named: dict[str, str] = {}
    for keyword in filter(None, map(clean_keyword, keywords)):
        named.setdefault(slow_fold(keyword), keyword)
    expected = []
    for keyword in named.values():
        in_title, in_text = slow_mentions(keyword, title), slow_mentions(keyword, text)
        if in_title or in_text:
            shown = snippet(text, *in_text[0]) if in_text else snippet(title, *in_title[0])
            expected.append(Mention(keyword, len(in_title) + len(in_text), shown, len(in_title)))
    matcher = KeywordMatcher(keywords)
    assert matcher.matches(title, text) == expected
    counted = {keyword: len(slow_mentions(keyword, text)) for keyword in named.values()}
    assert matcher.counts(text) == {keyword: times for keyword, times in counted.items() if times}


@settings(max_examples=600, deadline=None)
@given(st.lists(_KEYWORD, min_size=1, max_size=6), _TEXT, _TEXT)
@example(["ß"], "ßß ß", "")
@example(["'n"], "ŉ", "")
@example(["a a"], "a a a a", "a a a")
@example(["字", "字字"], "字字字", "")
def test_the_matcher_agrees_with_the_slow_one(keywords: list[str], text: str, title: str) -> None:
    check_against_the_slow_one(keywords, title, text)


@settings(max_examples=600, deadline=None)
@given(st.lists(_PHRASE, min_size=1, max_size=12), _PROSE, _PROSE)
@example(["CRM", "CRM software", "software", "soft"], "CRM", "CRM software, crm\u00a0software CRMsoftware soft-ware")
@example(["straße", "ﬁne"], "", "STRASSE straße ﬁne FINE strasse")
@example(["c++", "c"], "", "C++ C C+++ C+ C++C")
@example([".NET", "NET"], "ß.NET", "ßẞ C.NET c.net .net ..NET")
def test_the_matcher_agrees_with_the_slow_one_on_phrases(keywords: list[str], title: str, text: str) -> None:
    check_against_the_slow_one(keywords, title, text)


@settings(max_examples=100, deadline=None)
@given(st.lists(_PHRASE, min_size=1, max_size=3), _PROSE, st.integers(30, 60))
def test_the_snippet_shows_the_first_mention_of_a_long_text(keywords: list[str], prose: str, times: int) -> None:
    check_against_the_slow_one(keywords, "", "ﬃ ßẞ İŉ " * times + prose + " Straße" * times)


def test_the_scripts_are_what_their_characters_are_called() -> None:
    unspaced = ("CJK UNIFIED", "CJK COMPAT", "HIRAGANA LETTER", "KATAKANA LETTER", "THAI CHARACTER", "LAO LETTER",
                "MYANMAR LETTER", "KHMER LETTER", "BOPOMOFO LETTER", "HALFWIDTH KATAKANA LETTER")  # fmt: skip
    for code in range(sys.maxunicode + 1):
        character = chr(code)
        name = unicodedata.name(character, "")
        if not is_word(character):
            assert sort_of(character) is Sort.SYMBOL, hex(code)
        elif name.startswith(unspaced):
            assert sort_of(character) is Sort.UNSPACED, hex(code)
        elif name.startswith(("HANGUL SYLLABLE", "HANGUL CHOSEONG", "HANGUL JUNGSEONG", "HANGUL LETTER")):
            assert sort_of(character) is Sort.HANGUL, hex(code)
        elif name.startswith(("LATIN", "GREEK", "CYRILLIC", "ARABIC LETTER", "HEBREW", "DEVANAGARI", "DIGIT")):
            assert sort_of(character) is Sort.WORD, hex(code)


@settings(deadline=None)
@given(st.lists(_KEYWORD, min_size=1, max_size=3), st.text(alphabet=SPECIMENS, max_size=600), st.integers(1, 12))
def test_a_snippet_is_a_piece_of_the_text_round_a_mention(keywords: list[str], text: str, times: int) -> None:
    text = squeeze(text * times)
    for mention in KeywordMatcher(keywords).matches("", text):
        shown = mention.snippet.removeprefix("...").removesuffix("...")
        assert shown in text or mention.snippet in text
        assert fold(mention.keyword) in fold(mention.snippet)
        assert len(mention.snippet) <= 300 + len(fold(mention.keyword))
        assert mention.snippet.strip() == mention.snippet


@settings(deadline=None)
@given(_TEXT)
def test_text_with_single_spaces_is_known_as_such(text: str) -> None:
    assert squeeze(text) == " ".join(text.split())


@settings(deadline=None)
@given(_KEYWORD)
def test_a_keyword_is_found_in_itself(keyword: str) -> None:
    assume(clean_keyword(keyword))
    assert count(keyword, clean_keyword(keyword)) == 1


def test_capitals_count_where_that_is_wanted() -> None:
    matcher = KeywordMatcher(["IT", "it", "Straße", "O'Neil"], case_sensitive=True)
    text = "It is said that IT is what it is, in the Straße, not the STRASSE. O’Neil, o’neil."
    assert {mention.keyword: mention.frequency for mention in matcher.matches("", text)} == {
        "IT": 1,
        "it": 1,
        "Straße": 1,
        "O'Neil": 1,
    }
    assert matcher.counts("it IT") == {"IT": 1, "it": 1}


def test_a_snippet_is_as_long_as_it_may_be() -> None:
    text = "many words before the CRM and many words after it, too"
    (mention,) = KeywordMatcher(["CRM"], reach=12).matches("", text)
    assert mention.snippet == "...the CRM and many..."
