"""The error rate is made from every request for a page, and from nothing else."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import orjson
import pytest

from gossamer.model.page import Attempt
from gossamer.model.trouble import Reason
from tests.stories.program import Terminal, quick_web

_NOT_ASKED = {Reason.ROBOTS.name, Reason.FORBIDDEN_ADDRESS.name, Reason.BAD_URL.name}


def _rows(terminal: Terminal, query: str) -> list[Any]:
    with closing(sqlite3.connect(f"file:{terminal.home}/gossamer.db?mode=ro", uri=True)) as rows:
        return rows.execute(query).fetchall()


def _attempts(terminal: Terminal) -> list[Attempt]:
    rows = _rows(terminal, "SELECT attempts FROM pages")
    return [Attempt(*one) for (text,) in rows for one in orjson.loads(text)]


@pytest.mark.story
def test_failed_requests_over_all_requests_of_the_window(tmp_path: Path) -> None:
    settings = {"GOSSAMER_DOMAIN_RATE": "1000", "GOSSAMER_HTTP_TIMEOUT": "2s"}
    with quick_web(tmp_path / "web", "--sites", "30", "--seed", "7", "--nasty", "0.5", "--slow-seconds", "0.3") as web:
        terminal = Terminal(tmp_path / "home", web, settings)
        terminal.ask(*terminal.prospect("--mode", "free-only"))
        made = [one for one in _attempts(terminal) if one.sent or one.reason not in _NOT_ASKED]
        failed = [one for one in made if one.reason]
        assert len(made) > len(failed) > 10
        ((requests, failures),) = _rows(terminal, "SELECT sum(requests), sum(failed) FROM minutes")
        assert (requests, failures) == (len(made), len(failed))
        told = terminal.ask("system", "metrics")
        assert told["error_rate"] == round(len(failed) / len(made), 4)
