"""Beside the path: docs/requirements.md has a line for every requirement, and the tests it names exist."""

import ast
import re
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "requirements.md"
IDS = tuple((ROOT / "docs" / "requirements-ids.txt").read_text(encoding="utf-8").split())

STATES = ("done", "partly", "not yet")
LINE = re.compile(r"\| ([A-Z]+-\d[\d.]*) \|.*")
PROOF = re.compile(r"((?:tests|bench)/[\w/]+\.py)::(\w+)")


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table."""

    id: str
    state: str
    proofs: tuple[tuple[str, str], ...]  # file, function
    shown_by: str
    words: str


def rows() -> list[Row]:
    found = []
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if LINE.fullmatch(line):
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            assert len(cells) == 4, f"a line has four cells: {line}"
            found.append(Row(cells[0], cells[1], tuple(PROOF.findall(cells[2])), cells[2], cells[3]))
    return found


@cache
def functions(path: str) -> frozenset[str]:
    """The tests of a file, or what a benchmark measures with."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    named = {node.name for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))}
    return frozenset(name for name in named if name.startswith("test_") or path.startswith("bench/"))


def test_every_requirement_has_one_line_and_no_other_has() -> None:
    assert len(IDS) == len(set(IDS)) > 100
    counted = Counter(row.id for row in rows())
    twice = [name for name, count in counted.items() if count > 1]
    assert not twice, f"more than one line in docs/requirements.md: {twice}"
    missing = [name for name in IDS if name not in counted]
    assert not missing, f"no line in docs/requirements.md: {missing}"
    unknown = [name for name in counted if name not in IDS]
    assert not unknown, f"not in docs/requirements-ids.txt: {unknown}"


@pytest.mark.parametrize("row", rows(), ids=lambda row: row.id)
def test_a_line_says_where_the_requirement_stands(row: Row) -> None:
    assert row.state in STATES, f"{row.id} is {row.state!r}; it may be {', '.join(STATES)}"
    assert row.words, f"{row.id} needs a few words on what it is"
    if row.state == "not yet":
        assert not row.shown_by, f"{row.id} is not yet there and names a test all the same"
    else:
        assert row.proofs, f"{row.id} is {row.state}: name the test that shows it"
    rest = PROOF.sub("", row.shown_by).replace(",", "").replace("`", "").strip()
    assert not rest, f"{row.id}: expected tests/file.py::test_name, separated by commas, found {rest!r}"


@pytest.mark.parametrize("row", [row for row in rows() if row.proofs], ids=lambda row: row.id)
def test_the_tests_it_names_exist(row: Row) -> None:
    for path, name in row.proofs:
        assert (ROOT / path).is_file(), f"{row.id} names {path}, which is not there"
        assert name in functions(path), f"{row.id} names {path}::{name}, which is not there"


def test_so_do_those_that_stand_outside_the_lines_of_requirements() -> None:
    for path, name in PROOF.findall(PAGE.read_text(encoding="utf-8")):
        assert (ROOT / path).is_file(), f"{path} is not there"
        assert name in functions(path), f"{path}::{name} is not there"
