"""Beside the path: the documents say what the program does, all of it, and name nothing that is not there."""

import ast
import re
import shlex
from collections.abc import Iterator
from functools import cache
from html import unescape
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from typing import Any

import pytest

from gossamer.model.states import JOB_MOVES, SITE_MOVES, VISIT_MOVES, JobState, SiteState, VisitState, origins
from gossamer.model.trouble import Reason
from gossamer.recipes.base import Table
from gossamer.recipes.prospect.tables import RESULTS, TABLES
from gossamer.settings import Settings
from gossamer.settings.files import PREFIX

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "gossamer"
REFERENCE = ROOT / "docs" / "reference"
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
EXPLAINED = [ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs" / "explain").glob("*.md"))]

LEVELS = ("debug", "info", "warning", "error", "exception")
# What follows the dot of an event's kind where the code writes it as f"job.{state}".
ENDINGS = {"job.": [state for state in JobState if origins(JOB_MOVES, state)]}

CODE = re.compile(r"`([^`\n]+)`")
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ +(.+)$", re.MULTILINE)
PLACE = re.compile(r"([\w./-]+\.py)(?::([\w.]+))?|([\w/-]+/)")
VARIABLE = re.compile(rf"\b{PREFIX}[A-Z_]+\b")


@cache
def reference() -> Any:
    """scripts/reference as a module."""
    loader = SourceFileLoader("reference", str(ROOT / "scripts" / "reference"))
    spec = spec_from_loader("reference", loader)
    assert spec is not None
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def prose(path: Path) -> str:
    """A page without its blocks of code, where a `#` is no heading and brackets are no link."""
    return BLOCK.sub("", read(path))


def first_cells(path: Path) -> dict[str, str]:
    """What stands in code in the first cell of each table row of a page, and the whole row."""
    rows = [line for line in read(path).splitlines() if line.startswith("| `")]
    return {name: row for row in rows for name in CODE.findall(row.split(" | ")[0])}


@cache
def trees() -> dict[Path, ast.Module]:
    """The program's own source; the sample web and its kin say nothing to users."""
    files = list(SOURCE.rglob("*.py"))
    return {path: ast.parse(read(path)) for path in files}


def calls(name: str) -> Iterator[tuple[Path, ast.Call]]:
    """Every call of something written `name(...)` or `owner.name(...)`."""
    for path, tree in trees().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == name:
                yield path, node


def literal(path: Path, call: ast.Call, place: int) -> tuple[str, str]:
    """A text as (what is fixed before, the rest): ("", text) where all of it is written out."""
    match call.args[place]:
        case ast.Constant(str(text)):
            return "", text
        case ast.JoinedStr([ast.Constant(str(before)), ast.FormattedValue()]):
            return before, ""
        case ast.JoinedStr([ast.FormattedValue(ast.Name("subject")), ast.Constant(str(after))]):
            return "subject", after
    pytest.fail(f"{path.relative_to(ROOT)}, line {call.lineno}: write the name out, so that it can be looked up.")


def error_codes() -> set[str]:
    lists = [*calls("read_list"), *calls("read_text")]
    subjects = {literal(path, call, 1)[1] for path, call in lists if len(call.args) > 1}
    found = set()
    for path, call in calls("UserError"):
        before, text = literal(path, call, 0)
        found |= {f"{subject}{text}" for subject in subjects} if before == "subject" else {text}
    return found


def log_events() -> set[str]:
    return {literal(path, call, 0)[1] for level in LEVELS for path, call in calls(f"log.{level}")}


def row_events() -> set[str]:
    found = set()
    for path, call in calls("events.add"):
        before, text = literal(path, call, 2)
        found |= {before + ending for ending in ENDINGS[before]} if before else {text}
    # Those of visits and sites are written many at a time, by the state they have come to.
    # That one was issued is a hint and no news.
    told = [state for state in VisitState if origins(VISIT_MOVES, state) and state is not VisitState.ISSUED]
    found |= {f"visit.{state}" for state in told}
    return found | {f"site.{state}" for state in SiteState if origins(SITE_MOVES, state)}


@pytest.mark.parametrize("path", ["docs/reference/cli.md", "docs/reference/settings.md"])
def test_the_generated_reference_is_what_the_program_says(path: str) -> None:
    pages: dict[str, str] = reference().pages()
    assert read(ROOT / path) == pages[path], f"{path} is out of date: run scripts/reference"


def test_every_command_and_option_is_in_the_reference() -> None:
    page = read(REFERENCE / "cli.md")
    sections = {part.partition("\n")[0]: part for part in page.split("\n## ")}
    commands: dict[str, Any] = reference().commands()
    assert len(commands) > 10
    for path, command in commands.items():
        assert path in sections, f"'{path}' is not in docs/reference/cli.md: run scripts/reference"
        assert command.help, f"'{path}' has no help text: give it a docstring, then run scripts/reference"
        for option in reference().option_names(command):
            assert f"`{option}`" in sections[path], f"'{path} {option}' is not in the reference: run scripts/reference"


def test_every_setting_is_in_the_reference() -> None:
    rows = first_cells(REFERENCE / "settings.md")
    for name, field in Settings.model_fields.items():
        assert field.description, f"the setting {name} has no description: give it one, then run scripts/reference"
        for variable in reference().variables(name, field):
            assert variable in rows, f"{variable} is not in docs/reference/settings.md: run scripts/reference"


def test_every_reason_is_explained() -> None:
    rows = first_cells(REFERENCE / "messages.md")
    for reason in Reason:
        assert reason.name in rows, f"explain {reason.name} in docs/reference/messages.md"
        cells = rows[reason.name].split(" | ")
        said = (reason.sentence, reason.cure.value)
        assert tuple(cells[1:3]) == said, f"docs/reference/messages.md: {reason.name} is {said}"
    named = {name for name in rows if name.isupper()}
    assert named == {reason.name for reason in Reason}, "docs/reference/messages.md explains what is no Reason"


def test_every_error_code_is_explained_and_no_other() -> None:
    codes = error_codes() | {"failed"}  # what the command line calls a database that is away
    assert len(codes) > 20
    documented = {name for name in first_cells(REFERENCE / "messages.md") if not name.isupper()}
    assert documented >= codes, f"explain in docs/reference/messages.md: {sorted(codes - documented)}"
    assert documented <= codes, f"no longer raised, remove from docs/reference/messages.md: {documented - codes}"


def test_every_event_is_explained_and_no_other() -> None:
    events = log_events() | row_events()
    assert len(events) > 15
    documented = set(first_cells(REFERENCE / "events.md"))
    assert documented >= events, f"explain in docs/reference/events.md: {sorted(events - documented)}"
    assert documented <= events, f"no longer written, remove from docs/reference/events.md: {documented - events}"


@pytest.mark.parametrize("page", [ROOT / "README.md", REFERENCE / "files.md"], ids=lambda page: page.name)
def test_the_header_line_is_that_of_the_file(page: Path) -> None:
    header = ",".join(column.name for column in RESULTS.choose())
    assert f"\n{header}\n" in read(page), f"{page.name} shows another header line"


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_every_column_of_an_export_is_explained(table: Table) -> None:
    explained = {name for cell in first_cells(REFERENCE / "files.md") for name in (cell, *CODE.findall(cell))}
    missing = [column.name for column in table.columns if column.name not in explained]
    assert not missing, f"explain in docs/reference/files.md: {missing} of {table.name}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for link in LINK.findall(prose(page)):
        if link.startswith(("https://", "http://")):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{page.relative_to(ROOT)} links to {path}, which is not there"
        if anchor:
            assert anchor in anchors(target), f"{page.relative_to(ROOT)} links to {link}, which has no such heading"


def anchors(page: Path) -> set[str]:
    """The names GitHub gives to the headings of a page."""
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in HEADING.findall(prose(page))}


def test_every_page_can_be_reached_from_the_readme() -> None:
    seen: set[Path] = set()
    waiting = [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page in seen or page.suffix != ".md":
            continue
        seen.add(page)
        waiting += [
            (page.parent / link.partition("#")[0]).resolve() for link in LINK.findall(prose(page)) if "://" not in link
        ]
    unseen = {page for page in PAGES if page not in seen}
    assert not unseen, f"link from docs/README.md to {[str(page.relative_to(ROOT)) for page in unseen]}"


def places_named(page: Path) -> list[re.Match[str]]:
    """The files and folders that a page names by their paths, some with a name inside the file.

    `/a/` is a path of an address, and `params.py` any file of that name.
    """
    places = [text for text in CODE.findall(prose(page)) if "/" in text[1:] and text[0] != "/"]
    return [place for text in places if (place := PLACE.fullmatch(text))]


@pytest.mark.parametrize("page", EXPLAINED, ids=lambda page: page.name)
def test_everything_an_explanation_names_is_there(page: Path) -> None:
    for place in places_named(page):
        path, name, folder = place.groups()
        file = next((base / (path or folder) for base in (SOURCE, ROOT) if (base / (path or folder)).exists()), None)
        assert file, f"{page.name} names {place[0]}, and there is no such file or folder"
        if name:
            assert name in names_in(ast.parse(read(file))), f"{page.name} names {place[0]}, which is not in that file"


@pytest.mark.parametrize("path", ["start/quickstart.md", "images/demo.svg"])
def test_the_demo_is_shown_with_the_figures_it_has(path: str) -> None:
    screen = (ROOT / "tests" / "golden" / "transcripts" / "demo.txt").read_text("utf-8")
    (ending,) = re.findall(r"^Completed: .*", screen, re.MULTILINE)
    shown = unescape(read(ROOT / "docs" / path)).replace("\xa0", " ")
    assert re.sub(r"<[^>]+>", "", shown).count(ending) == 1


def test_every_table_has_its_line_in_the_how_to() -> None:
    assert first_cells(ROOT / "docs" / "howto" / "export-results.md").keys() >= {table.name for table in TABLES}


def test_the_architecture_names_files_and_all_packages() -> None:
    page = ROOT / "docs/explain/architecture.md"
    assert len(places_named(page)) > 60
    named = set(CODE.findall(read(page)))
    packages = {f"{folder.name}/" for folder in SOURCE.iterdir() if (folder / "__init__.py").exists()}
    assert packages <= named, f"architecture.md lacks {sorted(packages - named)}"


def names_in(node: ast.AST, before: str = "") -> set[str]:
    """Functions, classes and values of a module, methods as `Class.method`."""
    found: set[str] = set()
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                found |= {before + child.name} | names_in(child, f"{before}{child.name}.")
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                found.add(before + name)
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_and_settings_in_examples_exist(page: Path) -> None:
    known: dict[str, Any] = reference().commands()
    for language, block in BLOCK.findall(read(page)):
        if language == "sh":
            for line in block.replace("\\\n", " ").splitlines():
                check_example(page, line, known)
    variables = {f"{PREFIX}{name.upper()}" for name in Settings.model_fields} | {PREFIX}
    unknown = set(VARIABLE.findall(read(page))) - variables - {"GOSSAMER_KEY"}  # of the load test, not of the program
    assert not unknown, f"{page.relative_to(ROOT)} names settings that do not exist: {unknown}"


def check_example(page: Path, line: str, known: dict[str, Any]) -> None:
    words = shlex.split(line.replace("$(", " ").replace(")", " "), comments=True)
    program = next((at for at, word in enumerate(words) if re.fullmatch(r"[^=]*/gossamer|gossamer", word)), None)
    if program is None:
        return
    typed = [*words[program + 1 :], "|"]
    typed = typed[: typed.index("|")]
    named = [word for word in typed if not word.startswith("-")]
    paths = [" ".join(["gossamer", *named[:length]]) for length in (3, 2, 1)]
    # A group does nothing by itself, so its name alone is no command.
    path = next((path for path in paths if path in known and not hasattr(known[path], "commands")), paths[1])
    assert path in known, f"{page.relative_to(ROOT)} shows '{line}', and there is no such command"
    options = {word for word in typed if word.startswith("--")}
    unknown = options - set(reference().option_names(known[path]))
    assert not unknown, f"{page.relative_to(ROOT)} shows '{line}', which has no {unknown}"
