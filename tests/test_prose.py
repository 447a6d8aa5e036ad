"""Plain words: the part of the rules of CONTRIBUTING that a machine can check.

Each number is how many places break a rule at present. It may only go down: whoever makes a text plainer lowers it.
"""

import ast
import re
from collections.abc import Iterable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from gossamer.fetch.errors import spell_seconds
from gossamer.logging.redact import redactor
from gossamer.settings import Settings
from tests.golden import TRANSCRIPTS
from tests.test_counts import counts
from tests.test_docs import ROOT, read, trees

WORDS = re.compile(r"\b(nobody|whoever|somebody)\b", re.IGNORECASE)
EXPONENT = re.compile(r"\b\d(\.\d+)?e\+\d+s?\b")

# What is left to make plain.
DOCSTRINGS = 0
TEXTS = 4
COMMENTS = 9
HELP = 0
DOCS = 4

USER_DOCS = (
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("start/*.md")),
    *sorted((ROOT / "docs").glob("howto/*.md")),
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").glob("explain/*.md")),
)


def texts() -> Iterator[str]:
    """All texts of the source but docstrings: messages, help and descriptions."""
    for path, tree in trees().items():
        docs = {id(text) for node in ast.walk(tree) for text in _docstring(node)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
                yield from (f"{path}:{node.lineno} {node.value}" for _ in WORDS.findall(node.value))


def _docstring(node: ast.AST) -> list[ast.expr]:
    match node:
        case ast.Module(body=[ast.Expr(value=ast.Constant(value=str())) as first, *_]):
            return [first.value]
        case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
            match node.body[0]:
                case ast.Expr(value=ast.Constant(value=str()) as text):
                    return [text]
    return []


def comments() -> Iterator[str]:
    for path in trees():
        for number, line in enumerate(read(path).splitlines(), 1):
            if WORDS.search(line.partition("# ")[2]):
                yield f"{path}:{number} {line.strip()}"


def held_to(most: int, found: Iterable[str], name: str) -> None:
    places = list(found)
    assert len(places) <= most, (
        f"{len(places)} of {name}, {most} are allowed. Plain words instead of these:\n" + "\n".join(places[-20:])
    )


def test_docstrings_say_what_a_thing_is() -> None:
    lists = counts().count(counts().working_tree()).lists
    held_to(DOCSTRINGS, lists["docstrings with What, nobody and the like"], "DOCSTRINGS")


def test_messages_and_descriptions_have_plain_words() -> None:
    held_to(TEXTS, texts(), "TEXTS")


def test_comments_have_plain_words() -> None:
    held_to(COMMENTS, comments(), "COMMENTS")


def test_help_has_plain_words() -> None:
    held_to(HELP, lines_with_words(TRANSCRIPTS / "help.txt"), "HELP")


def test_guides_have_plain_words() -> None:
    held_to(DOCS, (line for path in USER_DOCS for line in lines_with_words(path)), "DOCS")


def lines_with_words(path: Path) -> Iterator[str]:
    return (
        f"{path.name}:{number} {line}" for number, line in enumerate(read(path).splitlines(), 1) if WORDS.search(line)
    )


def durations() -> dict[str, timedelta]:
    defaults = {name: field.get_default(call_default_factory=False) for name, field in Settings.model_fields.items()}
    return {name: value for name, value in defaults.items() if isinstance(value, timedelta)}


@pytest.mark.parametrize("name", durations())
def test_durations_are_shown_without_an_exponent(name: str) -> None:
    value = durations()[name]
    for shown in (redactor.plain(value), spell_seconds(value), spell_seconds(value * 100)):
        assert not EXPONENT.search(str(shown)), shown


def test_no_document_and_no_transcript_shows_one() -> None:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *TRANSCRIPTS.iterdir()]
    assert [path.name for path in pages if EXPONENT.search(read(path))] == []
    assert EXPONENT.search("retention=7.776e+06s")
