"""Other forms of a keyword: English rules, and nothing where they do not hold."""

import pytest

from gossamer.analyze.keywords import KeywordMatcher
from gossamer.analyze.plurals import forms_of
from gossamer.analyze.positions import positions_of
from tests.parse.answers import read


@pytest.mark.parametrize(
    ("keyword", "forms"),
    [
        ("lamp", ("lamps",)),
        ("lamps", ("lamp",)),
        ("Desk Lamp", ("Desk Lamps",)),
        ("company", ("companies",)),
        ("Companies", ("Company", "Companie")),
        ("cookies", ("cooky", "cookie")),
        ("buses", ("buse", "bus")),
        ("ads", ("ad",)),
        ("day", ("days",)),
        ("box", ("boxes",)),
        ("boxes", ("box", "boxe")),
        ("caches", ("cach", "cache")),
        ("quizzes", ("quiz", "quizz")),
        ("salesmen", ("salesman", "salesmens")),
        ("olives", ("olife", "olive")),
        ("IDs", ("ID",)),
        ("IT", ()),
        ("what's new", ()),
        ("HTTPS", ("HTTPSs",)),
        ("branch", ("branches",)),
        ("glass", ("glasses",)),
        ("processes", ("process",)),
        ("houses", ("house", "hous")),
        ("status", ("statuses",)),
        ("salesman", ("salesmen",)),
        ("woman", ("women",)),
        ("human", ("humans",)),
        ("People", ("Person",)),
        ("shelf", ("shelves",)),
        ("news", ()),
        ("bases", ("basis", "base", "bas")),
        ("CRM", ("CRMS", "CRMs")),
        ("e-commerce shop", ("e-commerce shops",)),
        ("C++", ()),
        (".NET", (".NETS", ".NETs")),
        ("café", ("cafés",)),
        ("cafés", ("café",)),
        ("使用", ()),
        ("42", ()),
        ("x", ()),
    ],
)
def test_forms_of_a_keyword(keyword: str, forms: tuple[str, ...]) -> None:
    assert forms_of(keyword) == forms


def counted(keywords: list[str], text: str, title: str = "") -> list[tuple[str, int, str]]:
    mentions = KeywordMatcher(keywords, plurals=True, reach=10).matches(title, text)
    return [(mention.keyword, mention.frequency, mention.snippet) for mention in mentions]


def test_all_forms_count_as_the_keyword_that_was_given() -> None:
    text = "Companies buy lamps, a company a lamp; Lamplight is none."
    assert counted(["lamp", "company"], text) == [
        ("lamp", 2, "...buy lamps, a..."),
        ("company", 2, "Companies buy..."),
    ]
    assert counted(["lamp"], "no light", title="Lamps") == [("lamp", 1, "Lamps")]


def test_singular_and_plural_as_two_keywords_count_both_for_each() -> None:
    assert [(keyword, times) for keyword, times, _ in counted(["lamp", "lamps"], "a lamp, two lamps")] == [
        ("lamp", 2),
        ("lamps", 2),
    ]


def test_a_plural_that_is_another_word_does_not_count() -> None:
    assert counted(["IT", "HI", "US"], "Its owner has sold this; he uses his bus.") == []
    assert [times for _, times, _ in counted(["IT"], "IT and its owner")] == [1]


def test_names_of_hosts_stay_names_of_hosts() -> None:
    assert counted([".NET"], "see asp.nets and shop.net") == []


def test_without_it_nothing_but_the_keyword_counts() -> None:
    matcher = KeywordMatcher(["company"])
    assert matcher.forms == {}
    assert matcher.matches("", "companies") == []


@pytest.mark.parametrize(
    ("body", "where"),
    [
        ("<h1>Our companies</h1><p>Companies.</p>", "heading"),
        ("<nav>Companies</nav><p>x</p>", "navigation"),
        ("<nav>Companies</nav><p>A company.</p>", "body"),
    ],
)
def test_the_place_of_a_keyword_is_that_of_all_its_forms(body: str, where: str) -> None:
    matcher, doc = KeywordMatcher(["company"], plurals=True), read(body)
    assert str(positions_of(matcher.matches(doc.title, doc.text), doc, matcher)["company"]) == where
