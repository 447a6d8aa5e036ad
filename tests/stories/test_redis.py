"""Spacing kept in Redis: by two homes together, and by one home that loses Redis in the middle of a job."""

import time
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import pytest

from gossamer.model.url import shard_of
from gossamer_sandbox.web.proof import compare, forbidden_requests, smallest_gaps
from tests.servers import RedisServer, redis
from tests.stories.program import Terminal, finish, moments_of, sample_web, until

WEB = ("--seed", "6", "--nasty", "0")


@pytest.mark.story
def test_two_homes_that_share_nothing_but_redis_are_polite_together(tmp_path: Path, redis_server: RedisServer) -> None:
    with sample_web(tmp_path / "web", "--sites", "3", "--size-max", "4", "--pages-per-site", "3", *WEB) as web:
        settings = {"REDIS_URL": redis_server.url, "GOSSAMER_REDIS_PREFIX": "two-homes", "GOSSAMER_DOMAIN_RATE": "4"}
        homes = [Terminal(tmp_path / name, web, settings) for name in ("one", "two")]
        started = [home.begin(*home.prospect("--max-pages-per-domain", "3", "--processes", "1")) for home in homes]
        for process in started:
            code, output = finish(process)
            assert code == 0, output
        gaps = smallest_gaps(web.log)
        assert len(gaps) >= 3
        assert min(gaps.values()) >= 0.95 / 4, gaps
        found = [[(row["url"], row["keyword"], row["frequency"]) for row in home.rows(home.newest())] for home in homes]
        assert all(compare(rows, web.truth).exact for rows in found)
        assert found[0]


def _went_on(moments: Mapping[str, Sequence[float]]) -> bool:
    return sum(map(len, moments.values())) > 4 and any(len(asked) > 1 for asked in moments.values())


@pytest.mark.story
def test_a_job_whose_redis_is_killed_and_comes_back_stays_true_and_polite(tmp_path: Path) -> None:
    arguments = ("--sites", "5", "--size-max", "6", "--pages-per-site", "6", *WEB)
    with redis(tmp_path / "redis") as server, sample_web(tmp_path / "web", *arguments) as web:
        settings = {"GOSSAMER_REDIS_URL": server.url, "GOSSAMER_DOMAIN_RATE": "3"}
        terminal = Terminal(tmp_path / "home", web, settings)
        running = terminal.begin(*terminal.prospect("--max-pages-per-domain", "6", "--processes", "2"))
        job = terminal.until_read(3)
        killed = time.time()
        server.kill()
        # Until somebody has gone on without it, and asked a domain again.
        until(lambda: _went_on(moments_of(web.log, killed + 0.1, time.time())))
        back = time.time()
        server.start()
        code, output = finish(running)
        assert code == 0, output
        rows = [(row["url"], row["keyword"], row["frequency"]) for row in terminal.rows(job)]
        assert compare(rows, web.truth).exact
        assert rows
        assert min(smallest_gaps(web.log).values()) >= 0.95 / 3
        assert forbidden_requests(web.log, web.truth) == []
        alone = moments_of(web.log, killed + 0.1, back)
        assert sum(map(len, alone.values())) > 4, "nobody went on without Redis"
        gaps = [later - earlier for moments in alone.values() for earlier, later in pairwise(moments)]
        assert gaps
        assert min(gaps) >= 1.95
        log = (terminal.home / "logs" / "gossamer.log").read_text()
        said = [log.count(event) for event in ("gate.away", "gate.back")]
        # One per change and process that went on alone; a machine with too much to do may lose sight of the server once
        # more.
        processes = {shard_of(domain) % 2 for domain in alone}
        assert len(processes) <= said[0] == said[1] <= 6
        # Also of its audit, that is, which every job has when it ends.
        told = {alert["kind"] for alert in terminal.ask("system", "alerts", "--all")}
        # On a web as small as this many requests are for a robots.txt or a sitemap that is not there.
        assert told - {"errors"} == {"redis"}
