"""The same job with its rows on a server."""

from collections.abc import Callable
from pathlib import Path

import pytest

from gossamer.testing.web.proof import compare
from tests.stories.program import Terminal, sample_web


@pytest.mark.story
def test_a_whole_job_on_postgres(tmp_path: Path, new_postgres: Callable[[], str]) -> None:
    with sample_web(
        tmp_path / "web", "--sites", "15", "--seed", "9", "--nasty", "0.2", "--pages-per-site", "20"
    ) as web:
        settings = {
            "GOSSAMER_DATABASE_URL": new_postgres(),
            "GOSSAMER_DOMAIN_RATE": "500",
            "GOSSAMER_HTTP_TIMEOUT": "2s",
        }
        terminal = Terminal(tmp_path / "home", web, settings)
        assert "up to date" in terminal.type("db", "upgrade").stdout
        status = terminal.ask(*terminal.prospect("--max-pages-per-domain", "20", "--processes", "2"))
        assert status["state"] == "completed"
        rows = [(row["url"], row["keyword"], row["frequency"]) for row in terminal.rows(status["id"])]
        assert compare(rows, web.truth).exact
        assert len(rows) == status["matches"] > 50
