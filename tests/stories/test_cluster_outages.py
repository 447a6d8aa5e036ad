"""A cluster whose servers go away one after the other: what it does meanwhile, what it says, and that it heals."""

import time
from itertools import pairwise
from pathlib import Path

import pytest

from gossamer_sandbox.web.proof import compare, smallest_gaps
from tests.chaos.postgres import postgres_server
from tests.servers import redis
from tests.stories.cluster import Rows, instance
from tests.stories.program import Terminal, moments_of, quick_web, until

WEB = ("--sites", "10", "--seed", "6", "--nasty", "0", "--size-min", "7", "--size-max", "9", "--pages-per-site", "9")
DONE = "SELECT coalesce(sum(pages_done), 0) FROM counters"
OPEN = "SELECT count(*) FROM alerts WHERE kind = 'redis' AND cleared_at IS NULL"


@pytest.mark.story
@pytest.mark.xdist_group("outages")
def test_workers_go_on_alone_without_redis_and_wait_for_postgres(tmp_path: Path) -> None:
    with postgres_server() as server, redis(tmp_path / "redis") as gates, quick_web(tmp_path / "web", *WEB) as web:
        url = server.create("outages")
        rows = Rows(url)
        settings = {"GOSSAMER_DATABASE_URL": url, "GOSSAMER_REDIS_URL": gates.url, "GOSSAMER_LEASE": "6s"}
        terminal = Terminal(tmp_path / "home", web, settings)
        terminal.type("db", "upgrade")
        log = tmp_path / "instance.log"
        with instance(terminal, log, "--lanes", "http:12,desk:1", "--processes", "2"):
            rows.until("SELECT count(*) FROM workers", lambda count: count == 2)
            terminal.type(*terminal.prospect("--detach", "--max-pages-per-domain", "9"))
            job = str(rows.ask("SELECT id FROM jobs")[0][0])
            rows.until(DONE, lambda pages: pages >= 10)
            at_work = rows.ask("SELECT id FROM workers ORDER BY id")

            gone = time.time()
            gates.kill()
            rows.until(OPEN, lambda count: count == 1)
            until(
                lambda: sum(len(moments) > 1 for moments in moments_of(web.log, gone + 0.1, time.time()).values()) > 3
            )
            back = time.time()
            gates.start()
            alone = moments_of(web.log, gone + 0.1, back)

            before = rows.ask(DONE)[0][0]
            server.kill()
            until(lambda: "The database is away for" in log.read_text())
            assert len(moments_of(web.log, time.time() - 0.5, time.time())) < 8, "they wait, and do not walk on and on"
            server.start()
            rows.until(DONE, lambda pages: pages > before)

            rows.until("SELECT state FROM jobs", lambda state: state == "completed")
            assert rows.ask("SELECT id FROM workers ORDER BY id") == at_work, (
                "they waited, and did not have to be replaced"
            )
            rows.until(OPEN, lambda count: count == 0)
            ended = {one["kind"] for one in terminal.ask("system", "alerts", "--all")}
            # Of the broker only if there was something to send meanwhile; of errors, since the web is so small.
            assert ended - {"broker", "errors"} == {"redis", "database"}, "each outage was told of"

            found = [(row["url"], row["keyword"], row["frequency"]) for row in terminal.rows(job)]
            assert found
            assert compare(found, web.truth).exact
            terminal.assert_clean(job)
        assert min(smallest_gaps(web.log).values()) >= 0.95
        gaps = [later - earlier for moments in alone.values() for earlier, later in pairwise(moments)]
        assert gaps, "nobody went on without Redis"
        assert min(gaps) >= 1.95, "half a request per second and domain"
        said = log.read_text()
        assert said.count("The database is away for") == 1, "though there was no row to keep it"
        for event in ("gate.away", "gate.back", "database.away", "database.back"):
            assert said.count(event) >= 2, event
        assert "traceback" not in said.lower()
