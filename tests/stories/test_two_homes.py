"""Two homes on one database: one works, the other waits for it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from gossamer_sandbox.web.proof import smallest_gaps
from tests.stories.program import Terminal, finish, sample_web


@pytest.mark.story
def test_a_second_home_waits_and_both_jobs_are_done_on_one_politeness(
    tmp_path: Path, new_postgres: Callable[[], str]
) -> None:
    with sample_web(tmp_path / "web", "--sites", "4", "--seed", "6", "--nasty", "0", "--size-max", "5") as web:
        settings = {"GOSSAMER_DATABASE_URL": new_postgres(), "GOSSAMER_DOMAIN_RATE": "2"}
        one, two = (Terminal(tmp_path / name, web, settings) for name in ("one", "two"))
        running = [terminal.begin(*terminal.prospect("--max-pages-per-domain", "4")) for terminal in (one, two)]
        for process in running:
            code, output = finish(process)
            assert code == 0, output
        assert {job["state"] for job in one.ask("job", "list")} == {"completed"}
        assert min(smallest_gaps(web.log).values()) >= 0.47
