"""A cluster of three instances on Postgres and Redis: steered, harmed, and still exact, polite and within its cap."""

import os
import signal
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from gossamer_sandbox.web.proof import compare, forbidden_requests, smallest_gaps
from tests.servers import RedisServer
from tests.stories.cluster import Rows, instance
from tests.stories.program import Terminal, quick_web

CAP = 10
RATE = 2.0


BROKERS = ["", pytest.param("rabbitmq", marks=pytest.mark.xdist_group("brokers"))]


@pytest.mark.story
@pytest.mark.parametrize("broker", BROKERS, ids=["redis", "rabbitmq-pgbouncer"])
def test_three_instances_are_steered_and_killed_and_nothing_is_lost_or_double(
    tmp_path: Path,
    new_postgres: Callable[[], str],
    redis_server: RedisServer,
    broker: str,
    request: pytest.FixtureRequest,
) -> None:
    web_of = ("--sites", "24", "--seed", "6", "--nasty", "0", "--size-max", "8", "--pages-per-site", "8")
    url = new_postgres()
    settings = {
        "GOSSAMER_DATABASE_URL": url,
        "GOSSAMER_REDIS_URL": redis_server.url,
        "GOSSAMER_REDIS_PREFIX": f"story-{broker or 'redis'}",
        "GOSSAMER_DOMAIN_RATE": str(RATE),
        "GOSSAMER_MAX_CONCURRENCY": str(CAP),
        "GOSSAMER_LEASE": "6s",
    }
    if broker:
        settings["GOSSAMER_BROKER_URL"] = request.getfixturevalue(f"{broker}_server")
        # And with a pooler before the database, in transaction mode, as where many machines share one.
        pooler: str = request.getfixturevalue("pooler")
        settings["GOSSAMER_DATABASE_URL"] = pooler.replace("/postgres", urlsplit(url).path)
        settings["GOSSAMER_DATABASE_POOLING"] = "transaction"
    rows = Rows(url)
    with ExitStack() as stack:
        web = stack.enter_context(quick_web(tmp_path / "web", *web_of))
        terminal = Terminal(tmp_path / "home", web, settings)
        logs = [tmp_path / f"instance-{number}.log" for number in range(3)]
        arguments = ("--lanes", "http:4,desk:1", "--processes", "1")
        for log in logs:
            stack.enter_context(instance(terminal, log, *arguments))
        rows.until("SELECT count(*) FROM workers", lambda count: count == 3)
        counts = stack.enter_context(rows.most_in_hand())

        terminal.type(*terminal.prospect("--detach", "--max-pages-per-domain", "8"))
        job = str(rows.ask("SELECT id FROM jobs")[0][0])
        rows.until("SELECT sum(pages_done) FROM counters", lambda pages: pages >= 10)
        # All of them work.
        rows.until("SELECT count(DISTINCT worker) FROM visits WHERE state = 'running'", lambda count: count == 3)

        walking = rows.ask("SELECT pid FROM workers ORDER BY id LIMIT 1")[0][0]
        os.kill(walking, signal.SIGKILL)
        assert "Paused" in terminal.type("job", "pause", job).stdout
        assert rows.ask("SELECT count(*) FROM visits WHERE state IN ('issued', 'running')")[0][0] == 0
        read = int(rows.ask("SELECT sum(pages_done) FROM counters")[0][0])
        terminal.type("job", "resume", job, "--detach")
        rows.until("SELECT sum(pages_done) FROM counters", lambda pages: pages >= read + 3)

        holder = rows.ask("SELECT holder FROM places WHERE place = 'issuer'")[0][0]
        os.kill(int(holder.rpartition("/")[2]), signal.SIGKILL)
        rows.until("SELECT state FROM jobs", lambda state: state == "completed")
        assert rows.ask("SELECT holder FROM places WHERE place = 'issuer'")[0][0] != holder

        said = "".join(log.read_text() for log in logs)
        found = [(row["url"], row["keyword"], row["frequency"]) for row in terminal.rows(job)]
        assert compare(found, web.truth).exact, said
        assert found
        terminal.assert_clean(job)
        gaps = smallest_gaps(web.log)
        assert len(gaps) >= 12
        assert min(gaps.values()) >= 0.95 / RATE, gaps
        assert forbidden_requests(web.log, web.truth) == []
        assert CAP - 2 <= max(counts) <= CAP, "the slots are used, and never more of them than there are"
        assert len(counts) > 100
        told = {alert["kind"] for alert in terminal.ask("system", "alerts", "--all")}
        # On a web as small as this many requests are for a robots.txt or a sitemap that is not there.
        assert told <= {"errors"}
        assert said.count("worker.died") >= 1
        assert "traceback" not in said.lower()
    assert rows.ask("SELECT count(*) FROM places WHERE place IN ('issuer', 'runner')")[0][0] == 0, "all have left"


@pytest.mark.story
def test_a_machine_with_other_settings_is_refused_and_an_operator_may_change_them(
    tmp_path: Path, new_postgres: Callable[[], str], redis_server: RedisServer
) -> None:
    url = new_postgres()
    settings = {
        "GOSSAMER_DATABASE_URL": url,
        "GOSSAMER_REDIS_URL": redis_server.url,
        "GOSSAMER_REDIS_PREFIX": "alike",
        "GOSSAMER_API_SECRET": "the same on all machines of this cluster",
    }
    one = Terminal(tmp_path / "one", settings=settings)
    two = Terminal(tmp_path / "two", settings={**settings, "GOSSAMER_DOMAIN_RATE": "5"})
    rows = Rows(url)
    with instance(one, tmp_path / "one.log", "--lanes", "http:1", "--processes", "1"):
        rows.until("SELECT count(*) FROM workers", lambda count: count == 1)
        refused = two.type("worker", "--lanes", "http:1", "--processes", "1", check=False)
        assert refused.returncode == 2
        assert "This machine does not fit into the cluster: GOSSAMER_DOMAIN_RATE is 5 here and 1 on " in refused.stderr
        assert "GOSSAMER_API_SECRET" not in refused.stderr
        kept = {found["name"]: found["value"] for found in one.ask("system", "cluster-settings")}
        assert (kept["GOSSAMER_DOMAIN_RATE"], kept["GOSSAMER_API_SECRET"]) == ("1", "set")
        assert "GOSSAMER_REDIS_PREFIX" in one.type("system", "cluster-settings").stdout
        assert one.ask("system", "cluster-settings", "--forget") == {"forgotten": 5}
        with instance(two, tmp_path / "two.log", "--lanes", "http:1", "--processes", "1"):
            rows.until("SELECT count(*) FROM workers", lambda count: count == 2)
    assert "None yet." not in one.type("system", "cluster-settings").stdout


@pytest.mark.story
def test_what_a_cluster_cannot_be_made_of_is_refused(tmp_path: Path, redis_server: RedisServer) -> None:
    without = Terminal(tmp_path / "home", None, {"GOSSAMER_REDIS_URL": redis_server.url})
    refused = without.type("worker", check=False)
    assert refused.returncode == 2
    assert "this one is a SQLite file" in refused.stderr
    alone = Terminal(tmp_path / "home", None, {"GOSSAMER_DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none"})
    refused = alone.type("worker", check=False)
    assert refused.returncode == 2
    assert "A cluster needs Redis" in refused.stderr
