"""Generic code knows no rung, recipe or kind of record by its name: all there is to know stands in its value."""

import ast
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import gossamer
from gossamer.model.registry import resolve
from gossamer.model.rungs import RUNGS, providers
from gossamer.recipes.registry import RECIPES

SRC = Path(gossamer.__file__).parent
MOST_ALLOWED = 12


@dataclass(frozen=True)
class Vocabulary:
    """Names of one kind, and where they may be written."""

    names: Collection[str]
    places: tuple[str, ...]  # patterns below src/gossamer, for all of the names
    own_places: Mapping[str, Collection[str]] = field(default_factory=dict)  # for some of them only
    constants: Collection[str] = ()  # of Python, that stand for such names: nothing is compared with them
    words: Collection[str] = ()  # names that are plain words too: only what is to equal them, or called a kind


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


def recipes() -> Vocabulary:
    folders = {f"recipes/{name}/*.py": {name} for name in RECIPES}
    return Vocabulary(set(RECIPES), ("api/dialects/*.py",), folders, {name.upper() for name in RECIPES})


def kinds() -> Vocabulary:
    names = {kind.name for recipe in RECIPES.values() for kind in recipe.kinds}
    folders = {f"recipes/{name}/*.py": {kind.name for kind in recipe.kinds} for name, recipe in RECIPES.items()}
    return Vocabulary(names, (), folders, {name.upper() for name in names}, words={"page"})


VOCABULARIES = {"rungs": rungs(), "recipes": recipes(), "kinds": kinds()}

ALLOWED: Mapping[str, str] = {
    "cli/doctor/examine.py": "the doctor looks for a browser on the machine, and names that line after it",
    "cli/doctor/machine.py": "the same line",
    "api/scrape.py": "POST /v1/scrape: its tag and the name of the door in the account's usage",
    "api/docs_page.py": "that tag, first in the page that describes the interface",
    "api/views.py": "that name of a door, as an example",
    "api/examples.py": "answers as users see them, in the description of the interface",
    "api/sitemap_jobs.py": "a door of the documents: enable_firecrawl and firecrawl_api_key mean this provider",
}
"""Files in which names may stand all the same, and why."""


def written_in(path: Path, vocabulary: Vocabulary) -> Iterator[tuple[int, str]]:
    """Lines in which one of the names is a text of its own, or a constant for it is compared with something."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and node.value in vocabulary.names and node.value not in vocabulary.words:
            yield node.lineno, str(node.value)
        for part in _meant_as_names(node):
            if isinstance(part, ast.Constant) and part.value in vocabulary.words:
                yield part.lineno, str(part.value)
        if isinstance(node, ast.Compare):
            for part in ast.walk(node):
                if isinstance(part, ast.Name) and part.id in vocabulary.constants:
                    yield node.lineno, part.id


def _meant_as_names(node: ast.AST) -> Iterator[ast.AST]:
    """The texts that something is said to equal, and those given or assigned as a kind."""
    match node:
        case ast.Compare(left=left, ops=[ast.Eq() | ast.NotEq()], comparators=others):
            yield from (left, *others)
        case ast.MatchValue(value=value):
            yield value
        case ast.keyword(arg=str(name), value=value) if name.lower().endswith("kind"):
            yield value
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if name.lower().endswith("kind"):
            yield value


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
    ("kind", "text", "seen"),
    [
        ("rungs", 'if rung == "scrapingbee-js": ...', ["scrapingbee-js"]),
        ("rungs", 'match name:\n    case "flaresolverr": ...', ["flaresolverr"]),
        ("rungs", 'PRICES = {"direct": 1}', ["direct"]),
        ("rungs", "if provider == FIRECRAWL.name: ...", ["FIRECRAWL"]),
        ("rungs", 'SAID = "such as scrapingbee-js=5"', []),
        ("rungs", "rung = DIRECT.name", []),
        ("recipes", 'if job.recipe == "scrape": ...', ["scrape"]),
        ("recipes", "if recipe is PROSPECT: ...", ["PROSPECT"]),
        ("recipes", "name = PROSPECT.name", []),
        ("kinds", 'KEPT = {"match": 90}', ["match"]),
        ("kinds", 'if one.kind == "page": ...', ["page"]),
        ("kinds", '_KIND = "page"', ["page"]),
        ("kinds", 'read(job, kind="page")', ["page"]),
        ("kinds", 'plural(count, "page")', []),
    ],
)
def test_a_stray_name_is_seen(tmp_path: Path, kind: str, text: str, seen: list[str]) -> None:
    file = tmp_path / "stray.py"
    file.write_text(text)
    assert [name for _, name in written_in(file, VOCABULARIES[kind])] == seen
