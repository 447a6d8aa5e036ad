"""A provider's plan allows so many calls at once: three worker processes and two jobs keep to it, by its own count."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import urlopen

import orjson
import pytest

from tests.servers import RedisServer
from tests.stories.cluster import Rows, instance
from tests.stories.program import Terminal, quick_web

AT_ONCE = 3
WEB = ("--sites", "14", "--seed", "6", "--nasty", "0", "--size-max", "4", "--pages-per-site", "4")
ASKED = ("--detach", "--ladder", "scrapingbee-standard", "--max-pages-per-domain", "3", "--max-credits", "500")


@contextmanager
def scrapingbee(connect_to: str, delay: float = 0.05) -> Iterator[str]:
    """The emulated provider in a process of its own; its address."""
    command = [sys.executable, "-m", "gossamer_sandbox.providers", "scrapingbee", "--connect-to", connect_to]
    command += ["--at-once", str(AT_ONCE), "--delay", str(delay), "--key", "a-key"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().split()[1]
    finally:
        process.terminate()
        process.communicate(timeout=20)


def told_by(provider: str, what: str) -> Any:
    with urlopen(f"http://{urlsplit(provider).netloc}/_emulator/{what}", timeout=20) as answer:
        return orjson.loads(answer.read())


@pytest.mark.story
def test_a_plans_limit_holds_over_three_worker_processes_and_two_jobs(
    tmp_path: Path, new_postgres: Callable[[], str], redis_server: RedisServer
) -> None:
    url = new_postgres()
    rows = Rows(url)
    with ExitStack() as stack:
        web = stack.enter_context(quick_web(tmp_path / "web", *WEB))
        provider = stack.enter_context(scrapingbee(f"*.test=127.0.0.1:{web.port}"))
        cluster = {
            "GOSSAMER_DATABASE_URL": url,
            "GOSSAMER_REDIS_URL": redis_server.url,
            "GOSSAMER_REDIS_PREFIX": "places-story",
            "GOSSAMER_DOMAIN_RATE": "50",
            "GOSSAMER_SCRAPINGBEE_KEY": "a-key",
            "GOSSAMER_SCRAPINGBEE_URL": provider,
        }
        terminal = Terminal(tmp_path / "home", web, cluster)
        log = tmp_path / "instance.log"
        stack.enter_context(instance(terminal, log, "--lanes", "http:12,desk:3", "--processes", "3"))
        rows.until("SELECT count(*) FROM workers", lambda count: count == 3)
        for name in ("one", "other"):
            terminal.type(*terminal.prospect(*ASKED, name=name))
        unfinished = "SELECT count(*) FROM jobs WHERE state <> 'completed'"
        rows.until(unfinished, lambda count: count == 0, 120)

        state, bill = told_by(provider, "state"), told_by(provider, "bill")
        assert state["most"] == AT_ONCE, "all places were used, and never one more"
        assert {entry["status"] for entry in bill} == {200}, "nothing was refused"
        assert len(bill) > 30
        spent = {row[0]: row[1] for row in rows.ask("SELECT job_id, sum(credits) FROM charges GROUP BY job_id")}
        assert len(spent) == 2
        assert sum(spent.values()) == state["total"] == len(bill)
        # All three had calls to make, and wanted more of them than there were places.
        assert len(rows.ask("SELECT DISTINCT who FROM events WHERE kind = 'visit.running'")) == 3
        assert "traceback" not in log.read_text().lower()
