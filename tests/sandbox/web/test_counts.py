"""The truth about mentions and links, held against a slow reader that knows nothing of how the pages were made."""

from collections import Counter
from html import escape as html_escape

import pytest

from gossamer_sandbox.web import SampleWeb
from gossamer_sandbox.web.answer import page_answer
from gossamer_sandbox.web.casting import KINDS
from gossamer_sandbox.web.dice import dice
from gossamer_sandbox.web.forms import DECOYS, PLANTS, SHOWN, UNSEEN
from gossamer_sandbox.web.keywords import KEYWORDS, LOOKALIKES, PHRASES, WORTH
from gossamer_sandbox.web.layout import page_html
from gossamer_sandbox.web.mentions import mentions_of
from gossamer_sandbox.web.page import Anchor, Manner, PagePlan, Plant
from gossamer_sandbox.web.prose import prose_in
from gossamer_sandbox.web.vocabulary import LABELS, WORDS
from tests.sandbox.web.reading import count, decode, mentions, read

WEB = SampleWeb(sites=32, seed=11, nasty=0.7)


def pages_of(web: SampleWeb) -> list[tuple[int, PagePlan]]:
    numbers = web.sites.numbers
    plans = ((number, plan) for number in numbers for plan in web.sites.site(number).pages.values())
    return [(number, plan) for number, plan in plans if plan.manner in (Manner.PAGE, Manner.SLOW)]


def rendered(web: SampleWeb, number: int, plan: PagePlan) -> str:
    answer = page_answer(web.sites.settings, web.sites.profile(number), plan)
    return decode(answer.body, dict(answer.headers)["Content-Type"])


def counts_of(plan: PagePlan) -> dict[str, int]:
    return {keyword: mention.frequency for keyword, mention in mentions_of(plan, "a.test").items()}


def test_every_page_mentions_exactly_what_the_truth_says_and_links_where_it_says() -> None:
    pages = pages_of(WEB)
    assert len(pages) > 400
    mentioned: set[str] = set()
    for number, plan in pages:
        seen = read(rendered(WEB, number, plan))
        assert mentions(seen, KEYWORDS) == counts_of(plan), (number, plan.path)
        assert sorted(link for link in seen.links if not link[0].startswith("#")) == sorted(
            (anchor.href, anchor.rel) for anchor in plan.anchors
        ), (number, plan.path)
        assert (seen.canonical, seen.base) == (plan.canonical, plan.base)
        assert (seen.metas.get("refresh", ""), seen.metas.get("robots", "")) == (plan.refresh, plan.meta_robots)
        mentioned |= counts_of(plan).keys()
    assert mentioned == set(KEYWORDS)


def bare(language: str, plants: tuple[Plant, ...] = (), decoys: tuple[Plant, ...] = ()) -> str:
    number = next(n for n in WEB.sites.numbers if WEB.sites.profile(n).language == language)
    plan = PagePlan("/x", plants=plants, decoys=decoys, anchors=(Anchor("/"),), paragraphs=1)
    return page_html(WEB.sites.profile(number), plan, dice(language, plants, decoys))


@pytest.mark.parametrize("form", SHOWN)
def test_a_phrase_counts_in_every_visible_form_place_and_language(form: str) -> None:
    for place in sorted({plant.place for plant in PLANTS if plant.form == form}):
        plants = tuple(dict.fromkeys(plant for plant in PLANTS if (plant.form, plant.place) == (form, place)))
        expected = sum((Counter(WORTH[plant.phrase]) for plant in plants), Counter())
        for language in ("en", "ja", "ru"):
            assert count(bare(language, plants=plants), KEYWORDS) == expected, (place, language)


@pytest.mark.parametrize("form", UNSEEN)
def test_a_phrase_counts_in_no_hidden_form(form: str) -> None:
    decoys = tuple(decoy for decoy in DECOYS if decoy.form == form)
    for language in ("en", "ja", "de"):
        html = bare(language, decoys=decoys * 5)
        assert count(html, KEYWORDS) == {}
        if form not in ("lookalike", "cut"):
            assert html_escape(decoys[0].phrase) in html


def test_every_form_is_drawn_by_a_web_of_ordinary_size() -> None:
    plans = [plan for _, plan in pages_of(SampleWeb(sites=150, seed=3))]
    assert {plant.form for plan in plans for plant in plan.plants} == set(SHOWN)
    assert {decoy.form for plan in plans for decoy in plan.decoys} == set(UNSEEN)
    assert {plan.names_client for plan in plans} == {True, False}


def test_overlapping_phrases_count_for_each_keyword_they_hold() -> None:
    assert WORTH["small business CRM software"] == {"CRM": 1, "CRM software": 1, "small business CRM": 1}
    assert WORTH["point of sale"] == {"point of sale": 1}


def test_filler_is_free_of_every_keyword() -> None:
    """Each keyword has a word (in Japanese: letters) that no filler has, so none can come about by chance."""
    spoken = {word.lower() for words in WORDS.values() for word in words}
    spoken |= {
        word.lower()
        for labels in LABELS.values()
        for field in labels.__slots__
        for word in getattr(labels, field).split()
    }
    letters = set("".join(spoken))
    for keyword in KEYWORDS:
        words = keyword.lower().split()
        foreign = set(keyword) if keyword in ("顧客管理", "在庫管理システム") else set()
        assert not (foreign & letters), keyword
        assert any(word not in spoken for word in words), keyword
    for language in WORDS:
        prose = prose_in(language)
        everything = " ".join((*prose.clauses, *prose.sentences, *prose.paragraphs))
        assert count(f"<p>{everything}</p>", KEYWORDS) == {}


def test_pages_without_plants_mention_nothing() -> None:
    for language in WORDS:
        assert count(bare(language), KEYWORDS) == {}


def test_lookalikes_hold_no_keyword() -> None:
    assert all(LOOKALIKES[phrase] for phrase in KEYWORDS if phrase[0].isascii())
    for phrase in PHRASES:
        for shape in LOOKALIKES[phrase]:
            assert count(f"<p>{shape.replace('&', '&amp;')}</p>", KEYWORDS) == {}, shape


def test_sites_are_of_all_kinds_languages_and_encodings() -> None:
    web = SampleWeb(sites=300, seed=5)
    profiles = [web.sites.profile(number) for number in web.sites.numbers]
    assert {profile.kind for profile in profiles} == set(KINDS)
    assert {profile.language for profile in profiles} == set(WORDS)
    assert {profile.charset for profile in profiles} == {
        "utf-8", "utf-8-sig", "iso-8859-1", "windows-1252", "windows-1251", "shift_jis",
    }  # fmt: skip
    assert {profile.declared for profile in profiles} == {"header", "meta", "both"}


def test_pages_are_of_the_size_of_real_ones() -> None:
    sizes = [
        len(page_answer(WEB.sites.settings, WEB.sites.profile(number), plan).body)
        for number, plan in pages_of(WEB)
        if plan.path not in ("/links", "/layers", "/directory/")
    ]
    assert min(sizes) >= 3_000
    assert max(sizes) <= 45_000
    assert 8_000 <= sum(sizes) / len(sizes) <= 20_000
