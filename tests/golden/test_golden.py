"""Commands print and the API answers what the golden transcripts say."""

import json
import re
from difflib import unified_diff
from pathlib import Path

import pytest

from tests.golden import LEVEL, TRANSCRIPTS, Level
from tests.golden.normal import facts, openapi_facts
from tests.golden.plays import PLAYS
from tests.quoted import quoted


@pytest.mark.parametrize("play", PLAYS)
def test_a_play_leaves_the_transcripts_it_left_before(play: str, tmp_path: Path) -> None:
    for name, text in PLAYS[play](tmp_path).items():
        expected = (TRANSCRIPTS / name).read_text(encoding="utf-8")
        difference = compare(name, expected, text, LEVEL)
        assert not difference, (
            f"{difference}\nIf this change is wanted: scripts/golden {play}, then read `git diff tests/golden`."
        )


def compare(name: str, expected: str, found: str, level: Level) -> str:
    """The difference between two transcripts on a level, as `diff` would show it."""
    before, after = (reduced(name, text, level) for text in (expected, found))
    lines = list(unified_diff(before, after, f"golden {name}", f"now {name}", n=4, lineterm=""))
    return "\n".join(lines[:200])


def reduced(name: str, text: str, level: Level) -> list[str]:
    if level == "exact":
        return text.splitlines()
    if name == "openapi.txt":
        parts = (re.split(r" (?=[\[{\"])", line, maxsplit=1) for line in text.splitlines())
        return [
            f"{where} {json.dumps(openapi_facts(json.loads(part)), sort_keys=True)}"
            for where, part in parts
            if not where.endswith((" summary", " description"))
        ]
    found, sentences = [], [one.pattern for one in quoted()]
    for part in text.split("\n$ "):
        command, _, said = part.partition("\n")
        out, _, ended = said.rpartition("[")
        found += [f"$ {command}", *facts(out, sentences), f"[{ended.strip()}"]
    return found


STARTED = """$ gossamer job start last
Paused at 2,400/5,000 domains (48%). Resume anytime with 'gossamer job resume abc'.
It runs in the background. Look with 'gossamer job status abc'.
[exit 0]
"""


def test_the_level_of_facts_lets_words_change_that_nobody_asked_for() -> None:
    def same(changed: str) -> bool:
        return not compare("x.txt", STARTED, changed, "facts")

    assert same(STARTED.replace("It runs in the background. Look", "Working in the background; look"))
    assert not same(STARTED.replace("Resume anytime", "Go on"))
    assert not same(STARTED.replace("2,400", "2,401"))
    assert not same(STARTED.replace("exit 0", "exit 1"))
    assert not same(STARTED.replace("gossamer job status", "gossamer job show"))
    assert compare("x.txt", STARTED, STARTED.replace("It runs", "Runs"), "exact")


def test_the_level_of_facts_keeps_columns_and_data_whole() -> None:
    table = "$ gossamer job errors last\nDomain   Reason   HTTP  Retries\na.test   Timeout  200   3\n[exit 0]\n"
    assert compare("x.txt", table, table.replace("Retries", "Tries"), "facts")
    data = '$ gossamer job list --json\n{\n  "name": "Demo"\n}\n[exit 0]\n'
    assert compare("x.txt", data, data.replace("Demo", "Test"), "facts")
    problem = (
        '$ GET /v1/jobs/x\n{\n  "code": "job.not_found",\n  "hint": "See GET /v1/jobs."\n}\n[404 application/json]\n'
    )
    assert not compare("x.txt", problem, problem.replace("See", "Look at"), "facts")
    assert compare("x.txt", problem, problem.replace("not_found", "missing"), "facts")
    rows = "$ gossamer job cost-report last\ndomain,urls,credits,usd\na.test,7,0,0.0\n[exit 0]\n"
    assert compare("x.txt", rows, rows.replace("credits", "points"), "facts")


def test_the_level_of_facts_leaves_the_prose_of_a_schema_out() -> None:
    def same(changed: str) -> bool:
        return not compare("openapi.txt", schema, changed, "facts")

    schema = """#/paths/v1/jobs get parameters [{"name": "limit", "description": "How many", "in": "query"}]
#/components/schemas/Page {"properties": {"title": {"type": "string"}}, "description": "A page."}
"""
    assert same(schema.replace("How many", "At most").replace("A page.", "One page."))
    assert not same(schema.replace("v1/jobs", "v1/tasks"))
    assert not same(schema.replace("string", "integer"))
    assert not same(schema.replace('"title"', '"heading"'))
    assert compare("openapi.txt", schema, schema.replace("How many", "At most"), "exact")
