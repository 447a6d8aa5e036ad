"""Pages that a plain request does not get climb to another lane: the whole story, embedded and as a cluster.

The web has two doors. At the front one three pages in ten are refused, empty or wait for their scripts; the back one,
which shows everything, stands in for the rung `stealth`. A job that climbs finds all that is true of the web.
"""

import operator
import os
import signal
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest

from gossamer_sandbox.web.proof import compare, forbidden_requests, smallest_gaps
from tests.servers import RedisServer
from tests.stories.cluster import Rows, instance
from tests.stories.program import Terminal, Web, finish, kill, quick_web

RATE = 8.0
WEB = ("--sites", "8", "--seed", "6", "--nasty", "0", "--size-max", "7", "--pages-per-site", "8", "--guarded", "0.3")
ASKED = ("--ladder", "direct,stealth", "--max-pages-per-domain", "8")


def settings_for(web: Web) -> dict[str, str]:
    return {
        "GOSSAMER_TEST_RUNGS": f"stealth=127.0.0.1:{web.back}",
        "GOSSAMER_DOMAIN_RATE": str(RATE),
        "GOSSAMER_LEASE": "6s",
    }


def assert_whole(terminal: Terminal, web: Web, job: str) -> None:
    """Nothing is missing, nothing is double, no site was asked too often by all lanes together, and it is said how."""
    rows = terminal.rows(job)
    assert compare([(row["url"], row["keyword"], row["frequency"]) for row in rows], web.truth).exact
    assert {row["crawl_method"] for row in rows} == {"direct", "stealth"}
    terminal.assert_clean(job)
    gaps = smallest_gaps(web.log)
    assert len(gaps) >= 5
    assert min(gaps.values()) >= 0.95 / RATE, gaps
    assert forbidden_requests(web.log, web.truth) == []
    status = terminal.type("job", "status", job).stdout
    assert "Fetches with: direct, then stealth" in status
    assert "pages required JS rendering" in status
    climbed = next(row["url"] for row in rows if row["crawl_method"] == "stealth")
    page = terminal.ask("explain", climbed, "--job", job)["page"]
    rungs = [tried["rung"] for tried in page["attempts"]]
    assert rungs == sorted(rungs)
    assert {"direct", "stealth"} == set(rungs)


@pytest.mark.story
def test_at_home_a_job_climbs_is_killed_and_finds_everything(tmp_path: Path) -> None:
    with quick_web(tmp_path / "web", *WEB) as web:
        terminal = Terminal(tmp_path / "home", web, settings_for(web))
        running = terminal.begin(*terminal.prospect(*ASKED, "--processes", "2"))
        for enough in (6, 16):
            job = terminal.until_read(enough)
            kill(running)
            running = terminal.begin("job", "resume", job, "--processes", "2")
        code, said = finish(running)
        assert code == 0, said
        assert "pages required JS rendering" in said
        assert_whole(terminal, web, job)


@pytest.mark.story
def test_in_a_cluster_each_lane_has_its_workers_and_nothing_is_lost_when_they_die(
    tmp_path: Path, new_postgres: Callable[[], str], redis_server: RedisServer
) -> None:
    url = new_postgres()
    rows = Rows(url)
    with ExitStack() as stack:
        web = stack.enter_context(quick_web(tmp_path / "web", *WEB))
        cluster = {
            "GOSSAMER_DATABASE_URL": url,
            "GOSSAMER_REDIS_URL": redis_server.url,
            "GOSSAMER_REDIS_PREFIX": "lanes-story",
        }
        terminal = Terminal(tmp_path / "home", web, {**settings_for(web), **cluster})
        for number, lanes in enumerate(("http:4,desk:1", "http:4", "stealth:4")):
            log = tmp_path / f"instance-{number}.log"
            stack.enter_context(instance(terminal, log, "--lanes", lanes, "--processes", "1"))
        rows.until("SELECT count(*) FROM workers", lambda count: count == 3)
        terminal.type(*terminal.prospect("--detach", *ASKED))
        job = str(rows.ask("SELECT id FROM jobs")[0][0])
        read_there = "SELECT count(*) FROM pages WHERE state = 'done' AND rung = 'stealth'"
        rows.until(read_there, lambda pages: pages >= 2)
        for lane in ("stealth", "http"):
            alive = rows.ask("SELECT pid, lanes::text AS lanes FROM workers ORDER BY id")
            os.kill(next(row["pid"] for row in alive if lane in row["lanes"]), signal.SIGKILL)
            least = rows.ask("SELECT sum(pages_done) + 2 FROM counters")[0][0]
            rows.until("SELECT sum(pages_done) FROM counters", partial(operator.le, least))
        assert "Paused" in terminal.type("job", "pause", job).stdout
        terminal.assert_clean(job)
        terminal.type("job", "resume", job, "--detach")
        rows.until("SELECT state FROM jobs", lambda state: state == "completed", 120)
        assert_whole(terminal, web, job)
        by_lane = {row["lane"]: row["workers"] for row in rows.ask(BY_LANE)}
        assert set(by_lane) == {"http", "stealth"}
        logs = "".join(path.read_text() for path in tmp_path.glob("instance-*.log"))
        assert logs.count("worker.died") == 2
        assert "traceback" not in logs.lower()


BY_LANE = """
    SELECT lane, count(DISTINCT who) AS workers FROM events JOIN visits ON visits.id = events.visit_id
    WHERE kind = 'visit.running' GROUP BY lane
"""


@pytest.mark.story
def test_what_cannot_be_climbed_is_refused_before_anything_is_created(tmp_path: Path) -> None:
    with quick_web(tmp_path / "web", *WEB) as web:
        terminal = Terminal(tmp_path / "home", web)
        refused = terminal.type(*terminal.prospect("--ladder", "direct,stealth"), check=False)
        assert refused.returncode == 2
        assert "--ladder: stealth is not configured here." in refused.stderr
        refused = terminal.type(*terminal.prospect("--mode", "premium-only"), check=False)
        assert "no provider is configured here" in refused.stderr
        assert terminal.ask("job", "list") == []
