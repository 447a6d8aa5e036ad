"""The compared form of a text, and the way back."""

import re
import sys

from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.analyze.keywords import Origins, fold, squeeze


def test_exactly_the_characters_that_grow_are_known_to_grow() -> None:
    for code in range(sys.maxunicode + 1):
        character = chr(code)
        folded = fold(character)
        assert Origins(character, folded).of(len(folded)) == 1, hex(code)


def test_all_white_space_is_known() -> None:
    for code in range(sys.maxunicode + 1):
        character = chr(code)
        if character.isspace():
            assert squeeze(f"a{character}b") == "a b", hex(code)


@settings(deadline=None)
@given(st.text(alphabet="aßİﬃŉΐ'’ẞz\u0301 ") | st.text())
def test_every_character_is_found_again(text: str) -> None:
    folded = fold(text)
    origins = Origins(text, folded)
    place = 0
    for at, character in enumerate(text):
        assert origins.of(place) == at
        place += len(fold(character))
    assert origins.of(place) == len(text)
    assert place == len(folded)


def test_case_hyphens_and_apostrophes_are_folded() -> None:
    assert fold("E‑MAIL “Don’t” Straße — ÀÉ") == "e-mail “don't” strasse — àé"
    assert re.fullmatch("-+", fold("\u2010\u2011\u2012\u2013\u2212\ufe63\uff0d"))


@settings(deadline=None)
@given(st.text(alphabet="aBcD eF ghIJ klm ñÉ’–ŉʼßẞΣ\u0301") | st.text())
def test_folding_is_the_same_for_a_text_as_for_its_characters(text: str) -> None:
    """However few of them are beyond ASCII, which takes another way."""
    assert fold(text) == "".join(map(fold, text))
    assert fold(f"{'Some Plain Words ' * 9}{text}") == "some plain words " * 9 + fold(text)
