"""Which keywords a text mentions: tables of examples, and a slow matcher that is obviously right."""

import unicodedata

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from gossamer.analyze.characters import Sort, sort_of
from gossamer.analyze.folding import fold, squeeze
from gossamer.analyze.keywords import KeywordMatcher, Mention, clean_keyword


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
    assert after == " Straße..."


SPECIMENS = "aAbß ﬁİ'’-‑+.C_9é\u0301字カ한ไ!\n\u00a0ΣςſK²\ufe0f😀"
_TEXT = st.text(alphabet=SPECIMENS, max_size=40) | st.text(max_size=20)
_KEYWORD = st.text(alphabet=SPECIMENS, min_size=1, max_size=4) | st.text(min_size=1, max_size=2)


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


def slow_count(keyword: str, text: str) -> int:
    wanted, folded = fold(clean_keyword(keyword)), fold(" ".join(text.split()))
    found, at = 0, 0
    while at + len(wanted) <= len(folded):
        end = at + len(wanted)
        fits = folded[at:end] == wanted
        fits = fits and (at == 0 or may_stand_beside(wanted[0], folded[at - 1]))
        fits = fits and (end == len(folded) or may_stand_beside(wanted[-1], folded[end]))
        found += fits
        at = end if fits else at + 1
    return found


@settings(max_examples=600, deadline=None)
@given(st.lists(_KEYWORD, min_size=1, max_size=6), _TEXT, _TEXT)
@example(["ß"], "ßß ß", "")
@example(["'n"], "ŉ", "")
def test_the_matcher_agrees_with_the_slow_one(keywords: list[str], text: str, title: str) -> None:
    wanted = {fold(clean_keyword(keyword)): keyword for keyword in reversed(keywords) if clean_keyword(keyword)}
    expected = {
        clean_keyword(keyword): slow_count(keyword, text) + slow_count(keyword, title) for keyword in wanted.values()
    }
    mentions = KeywordMatcher(keywords).matches(title, text)
    assert {mention.keyword: mention.frequency for mention in mentions} == {
        keyword: times for keyword, times in expected.items() if times
    }


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
