"""Every sentence the program can say when something is wrong stands in the reference, and no other does."""

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping

from gossamer.model import alert as messages
from gossamer.model.alert import AlertKind
from tests.test_docs import CODE, REFERENCE, SOURCE, read, trees

PAGE = REFERENCE / "messages.md"
ERRORS = ("GossamerError", "StorageAway", "StorageFull")  # no code of their own: the command line says `failed`
SUBJECTS = ("targets", "keywords", "urls", "rules")


def shown(text: ast.expr, assigned: Mapping[str, ast.expr]) -> str:
    """A sentence as the reference writes it: `…` for whatever is filled in."""
    match text:
        case ast.Constant(str(whole)):
            return whole
        case ast.JoinedStr(parts):
            return "".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in parts)
        case ast.Name(name) if name in assigned:
            return shown(assigned[name], {})
    return "…"


def functions(tree: ast.Module) -> Iterator[ast.AST]:
    """Functions, innermost first, and last the module itself."""
    found = [node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    yield from sorted(found, key=lambda node: -node.lineno)
    yield tree


def errors() -> dict[str, set[str]]:
    """The sentences of each code, as they are in the source."""
    found: dict[str, set[str]] = defaultdict(set)
    for tree in trees().values():
        seen: set[ast.AST] = set()
        for function in functions(tree):
            assigned: dict[str, ast.expr] = {}
            for node in sorted(ast.walk(function), key=lambda node: getattr(node, "lineno", 0)):
                match node:
                    case ast.Assign([ast.Name(name)], value):
                        assigned[name] = value
                    case ast.Call(ast.Name("UserError"), [code, text]) if node not in seen:
                        for one in codes(code):
                            found[one].add(shown(text, assigned))
                    case ast.Call(ast.Name(name), [text]) if name in ERRORS and node not in seen:
                        found["failed"].add(shown(text, assigned))
                seen.add(node)
    return found


def codes(written: ast.expr) -> list[str]:
    match written:
        case ast.Constant(str(code)):
            return [code]
        case ast.JoinedStr([ast.FormattedValue(ast.Name("subject")), ast.Constant(str(rest))]):
            return [f"{subject}{rest}" for subject in SUBJECTS]
    raise AssertionError(f"line {written.lineno}: write the code out, so that it can be looked up")


def documented() -> dict[str, set[str]]:
    """The second cell of each row that begins with a code; several sentences stand on lines of their own."""
    found = {}
    for line in read(PAGE).splitlines():
        cells = line.strip("| ").split(" | ")
        if line.startswith("| `") and not cells[0].strip("`").isupper():
            said = set(cells[1].split("<br>"))
            found.update(dict.fromkeys(CODE.findall(cells[0]), said))
    return found


def rows_below(heading: str) -> dict[str, str]:
    """The first two cells of each row of the table below a heading."""
    part = read(PAGE).partition(f"\n{heading}\n")[2].partition("\n#")[0]
    assert part, f"docs/reference/messages.md has no '{heading}'"
    cells = [line.strip("| ").split(" | ") for line in part.splitlines() if line.startswith("| ")]
    return {first: second for first, second, *_ in cells[1:]}


def test_every_error_says_what_the_reference_says() -> None:
    said = errors()
    assert len(said) > 40
    written = documented()
    for code, texts in said.items():
        assert written.get(code) == texts, f"docs/reference/messages.md, `{code}`: {' <br> '.join(sorted(texts))}"
    assert set(written) == set(said), f"no longer raised: {set(written) - set(said)}"


def test_every_pause_and_failure_of_a_job_is_in_the_reference() -> None:
    paused = rows_below("### Why it was paused")
    # Its sentence has its figures in it and is put together where they are.
    assert paused.pop("address").partition("(")[0] in read(SOURCE / "crawl" / "ip_block.py")
    assert paused == dict(messages.PAUSES)
    assert rows_below("### Why it failed") == dict(messages.FAILURES)


def test_every_alert_is_in_the_reference() -> None:
    alerts = rows_below("### Other alerts")
    assert alerts == {name: text for name, text in messages.ALERTS.items() if name not in messages.PAUSES}
    told = {*rows_below("### Why it was paused"), *alerts}
    assert told == {str(kind) for kind in AlertKind}, "an AlertKind without its sentence in docs/reference/messages.md"
