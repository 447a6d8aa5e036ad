"""Include and exclude patterns: what fits, and that no address can make them take long."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.frontier.candidates import UrlScope


def slow(pattern: str, text: str) -> bool:
    """Obviously right: what is left of the pattern against what is left of the text."""
    if not pattern:
        return not text
    if pattern[0] == "*":
        return any(slow(pattern[1:], text[at:]) for at in range(len(text) + 1))
    return bool(text) and pattern[0] in ("?", text[0]) and slow(pattern[1:], text[1:])


@given(st.text(alphabet="ab/*?", max_size=8), st.text(alphabet="ab/?", max_size=10))
def test_a_pattern_fits_what_the_slow_one_says(pattern: str, text: str) -> None:
    if pattern:
        assert UrlScope((pattern,), ()).wants(text) == slow(pattern, text)
        assert UrlScope((), (pattern,)).wants(text) != slow(pattern, text)


@given(
    st.lists(st.text(alphabet="ab*", min_size=1, max_size=4), min_size=1, max_size=3),
    st.text(alphabet="ab", max_size=5),
)
def test_any_of_several_will_do(patterns: list[str], text: str) -> None:
    assert UrlScope(patterns, ()).wants(text) == any(slow(pattern, text) for pattern in patterns)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("/*a*a*a*a*a*a*a*b", "/" + "a" * 1_900),
        ("*/*/*/*.html", "/x" * 950),
        ("*-*-*-*-*-*.php", "/" + "-" * 1_900),
        ("*" * 200 + "z", "/" + "y" * 1_900),
    ],
)
def test_no_address_makes_a_pattern_slow(pattern: str, text: str) -> None:
    began = time.process_time()
    assert not UrlScope((pattern,), ()).wants(text)
    assert time.process_time() - began < 1
