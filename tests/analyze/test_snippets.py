"""The words round a mention."""

from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.analyze.snippets import REACH, snippet

WORDS = " ".join(f"word{n}" for n in range(200))


def test_a_short_text_is_shown_whole() -> None:
    assert snippet("We use a CRM here.", 9, 12) == "We use a CRM here."


def test_a_long_text_is_cut_at_word_edges() -> None:
    start = WORDS.index("word100")
    shown = snippet(WORDS, start, start + 7)
    before, _, after = shown.partition("word100")
    assert shown.startswith("...word")
    assert shown.endswith("...")
    assert set(shown.strip(".").split()) <= set(WORDS.split())
    assert 130 < len(before) <= REACH
    assert 130 < len(after) <= REACH


def test_dots_stand_only_where_something_was_cut() -> None:
    assert snippet(WORDS, 0, 5).startswith("word0 ")
    assert snippet(WORDS, len(WORDS) - 7, len(WORDS)).endswith("word199")


def test_one_endless_word_is_cut_where_it_must() -> None:
    shown = snippet("漢" * 1_000, 500, 502)
    assert shown == "..." + "漢" * 147 + "漢漢" + "漢" * 147 + "..."


def test_a_space_beside_the_mention_is_no_edge_to_cut_at() -> None:
    text = "客" * 250 + "，使用 CRM 系统，" + "户" * 250
    at = text.index("CRM")
    assert snippet(text, at, at + 3) == "..." + text[at - 147 : at + 3 + 147] + "..."


def test_a_space_far_from_the_edge_of_the_window_is_no_edge_to_cut_at() -> None:
    text = "a" * 300 + " word CRM word " + "b" * 300
    at = text.index("CRM")
    shown = snippet(text, at, at + 3)
    assert shown == "..." + "a" * 141 + " word CRM word " + "b" * 141 + "..."


def test_marks_are_not_cut_from_their_letters() -> None:
    for shift in range(4):
        text = "q\u0303" * 200 + "x" * shift + " CRM " + "x" * shift + "q\u0303" * 200
        at = text.index("CRM")
        before, _, after = snippet(text, at, at + 3).removeprefix("...").removesuffix("...").partition("CRM")
        assert before[0] == "q"
        assert after[-1] == "\u0303"
        assert min(len(before), len(after)) >= 145


def test_nothing_but_marks_is_cut_where_it_must() -> None:
    text = "\u0303" * 500 + "CRM" + "\u0303" * 500
    assert 200 < len(snippet(text, 500, 503)) <= 303


def test_exactly_what_fits_is_not_cut() -> None:
    text = "a" * 149 + " CRM " + "b" * 149
    assert snippet(text, 150, 153) == text
    assert snippet("c" + text, 151, 154).startswith("...")


@settings(deadline=None)
@given(st.text(alphabet="ab ", max_size=900), st.data())
def test_the_surroundings_are_never_longer_than_allowed(text: str, data: st.DataObject) -> None:
    text = " ".join(text.split())
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    shown = snippet(text, start, end)
    assert text[start:end] in shown
    assert len(shown) - (end - start) <= 300


def test_nothing_in_a_snippet_steers_a_terminal() -> None:
    assert snippet("a \x1b[2Jb CRM \x9bc \u202ed", 7, 10) == "a [2Jb CRM c d"


@given(st.text("ab c漢", max_size=120).map(lambda text: " ".join(text.split())), st.integers(0, 150), st.data())
def test_a_shorter_reach_is_never_passed(text: str, reach: int, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    shown = snippet(text, start, end, reach)
    assert text[start:end] in shown
    assert len(shown) <= end - start + 2 * reach


def test_a_short_reach_shows_whole_words() -> None:
    start = WORDS.index("word100")
    assert snippet(WORDS, start, start + 7, 20) == "...word98 word99 word100 word101 word102..."
    assert snippet(WORDS, start, start + 7, 0) == "word100"
