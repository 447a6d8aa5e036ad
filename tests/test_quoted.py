"""The program says the sentences that the requirements quote, word for word."""

import ast
from functools import cache
from pathlib import Path

import pytest

from tests.golden import TRANSCRIPTS
from tests.quoted import Quoted, quoted
from tests.test_docs import read, trees
from tests.test_requirements import IDS

ROOT = Path(__file__).parent.parent


@cache
def said() -> str:
    """All texts of the source, `…` for whatever is filled in, and all that golden transcripts show."""
    texts = {text for tree in trees().values() for node in ast.walk(tree) if (text := _text(node))}
    return "\n".join([*sorted(texts), *(read(path) for path in sorted(TRANSCRIPTS.iterdir()))])


def _text(node: ast.AST) -> str:
    match node:
        case ast.Constant(str(whole)):
            return whole
        case ast.JoinedStr(parts):
            return "".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in parts)
    return ""


@pytest.mark.parametrize("one", quoted(), ids=lambda one: f"{one.requirement}-{one.sentence[:40]}")
def test_it_is_said_as_it_is_quoted(one: Quoted) -> None:
    assert one.requirement in IDS
    assert one.pattern.fullmatch(one.sentence), "what the program says is not what is quoted"
    shown = read(ROOT / one.test) if one.test else said()
    assert one.pattern.search(shown), f"neither the source nor a transcript says: {one.pattern.pattern}"


def test_a_sentence_with_one_word_changed_would_be_missed() -> None:
    found = {one.sentence: one for one in quoted()}
    paused = found["(Results deleted)"].pattern
    assert paused.search(said())
    assert not paused.search(said().replace("Results deleted", "Rows deleted"))
    assert len(found) >= 40
