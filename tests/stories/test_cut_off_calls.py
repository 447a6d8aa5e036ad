"""Whoever stops at once, in the middle of calls that cost something, finds them in the bill afterwards."""

import os
import signal
from pathlib import Path

import pytest

from tests.stories.program import Terminal, finish, quick_web
from tests.stories.test_provider_places import AT_ONCE, scrapingbee, told_by

WEB = ("--sites", "6", "--seed", "6", "--nasty", "0", "--size-max", "4", "--pages-per-site", "4")


@pytest.mark.story
def test_calls_that_were_cut_off_are_booked_at_once_and_no_longer_under_way(tmp_path: Path) -> None:
    with (
        quick_web(tmp_path / "web", *WEB) as web,
        scrapingbee(f"*.test=127.0.0.1:{web.port}", delay=60) as provider,
    ):
        given = {"SCRAPINGBEE_KEY": "a-key", "SCRAPINGBEE_URL": provider, "DOMAIN_RATE": "50"}
        terminal = Terminal(tmp_path / "home", web, {f"GOSSAMER_{name}": value for name, value in given.items()})
        asked = ("--ladder", "scrapingbee-standard", "--max-credits", "50", "--processes", "1")
        running = terminal.begin(*terminal.prospect(*asked))
        job = terminal.until_read(0)
        terminal.until(job, lambda status: told_by(provider, "state")["running"] == AT_ONCE)
        os.kill(running.pid, signal.SIGINT)
        terminal.until(job, lambda status: status["state"] != "running")
        os.kill(running.pid, signal.SIGINT)
        code, output = finish(running)
        assert code == 3, output
        costs = terminal.ask("job", "status", job)["cost"]
        (method,) = costs["methods"]
        # And not those of six sites that waited for a seat there: nothing of them was sent.
        assert costs["credits"] == method["assumed"] == AT_ONCE
        assert costs["reserved_credits"] == 0
        assert "under way" not in terminal.type("job", "status", job).stdout
        terminal.assert_clean(job)
