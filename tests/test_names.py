"""Generic code knows no rung by its name: what there is to know of one stands in its row."""

import ast
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import gossamer
from gossamer.model.registry import resolve
from gossamer.model.rungs import RUNGS, providers

SRC = Path(gossamer.__file__).parent
MOST_ALLOWED = 12


@dataclass(frozen=True)
class Vocabulary:
    """Names of one kind, and where they may be written."""

    names: Collection[str]
    places: tuple[str, ...]  # patterns below src/gossamer, for all of the names
    own_places: Mapping[str, Collection[str]] = field(default_factory=dict)  # for some of them only
    constants: Collection[str] = ()  # of Python, that stand for such names: nothing is compared with them


def rungs() -> Vocabulary:
    own = {
        f"{str(Path(resolve(one.opener).__code__.co_filename).relative_to(SRC)).removesuffix('.py')}*.py": {
            one.name,
            *(name for name, rung in RUNGS.items() if rung.provider is one),
        }
        for one in providers().values()
    }
    return Vocabulary(
        {*RUNGS, *providers()},
        ("model/rungs.py", "api/dialects/*.py"),
        own,
        {one.upper() for one in providers()},
    )


VOCABULARIES = {"rungs": rungs()}

ALLOWED: Mapping[str, str] = {
    "cli/doctor/examine.py": "the doctor looks for a browser on the machine, and names that line after it",
    "cli/doctor/machine.py": "the same line",
    "api/sitemap_jobs.py": "a door of the documents: enable_firecrawl and firecrawl_api_key mean this provider",
}
"""Files in which names may stand all the same, and why."""


def written_in(path: Path, vocabulary: Vocabulary) -> Iterator[tuple[int, str]]:
    """Lines in which one of the names is a text of its own, or a constant for it is compared with something."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in vocabulary.names:
            yield node.lineno, node.value
        if isinstance(node, ast.Compare):
            for part in ast.walk(node):
                if isinstance(part, ast.Name) and part.id in vocabulary.constants:
                    yield node.lineno, part.id


def found(kind: str) -> dict[str, list[tuple[int, str]]]:
    """What stands where it may not, by file."""
    vocabulary = VOCABULARIES[kind]
    there: dict[str, list[tuple[int, str]]] = {}
    for path in sorted(SRC.rglob("*.py")):
        place = path.relative_to(SRC)
        if any(place.match(pattern) for pattern in vocabulary.places):
            continue
        own = {name for pattern, names in vocabulary.own_places.items() if place.match(pattern) for name in names}
        if lines := [one for one in written_in(path, vocabulary) if one[1].lower() not in own]:
            there[str(place)] = lines
    return there


@pytest.mark.parametrize("kind", VOCABULARIES)
def test_names_stand_where_they_belong(kind: str) -> None:
    strays = {file: lines for file, lines in found(kind).items() if file not in ALLOWED}
    assert strays == {}, "ask the table instead, or say in ALLOWED why the name must stand there"


def test_what_is_allowed_is_short_and_needed() -> None:
    assert len(ALLOWED) <= MOST_ALLOWED
    needed = {file for kind in VOCABULARIES for file in found(kind)}
    assert ALLOWED.keys() <= needed, "these need no exception any more"


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ('if rung == "scrapingbee-js": ...', ["scrapingbee-js"]),
        ('match name:\n    case "flaresolverr": ...', ["flaresolverr"]),
        ('PRICES = {"direct": 1}', ["direct"]),
        ("if provider == FIRECRAWL.name: ...", ["FIRECRAWL"]),
        ('SAID = "such as scrapingbee-js=5"', []),
        ("rung = DIRECT.name", []),
    ],
)
def test_a_stray_name_is_seen(tmp_path: Path, text: str, seen: list[str]) -> None:
    file = tmp_path / "stray.py"
    file.write_text(text)
    assert [name for _, name in written_in(file, VOCABULARIES["rungs"])] == seen
