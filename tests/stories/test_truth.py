"""What the sample web's own generator says is there is found: all of it, nothing else, nothing twice."""

from pathlib import Path

import orjson
import pytest

from gossamer.testing.web.proof import compare, forbidden_requests
from tests.stories.program import Terminal, sample_web

FAST = {"GOSSAMER_DOMAIN_RATE": "1000", "GOSSAMER_HTTP_TIMEOUT": "3s"}


@pytest.mark.story
@pytest.mark.xdist_group("truth")
def test_recall_and_precision_are_perfect_within_reach(tmp_path: Path) -> None:
    caps = ("--pages-per-site", "60")
    with sample_web(tmp_path / "web", "--sites", "200", "--seed", "7", *caps) as web:
        terminal = Terminal(tmp_path / "home", web, FAST)
        status = terminal.ask(*terminal.prospect("--max-pages-per-domain", "60"))
        rows = terminal.rows(status["id"])
        truth = orjson.loads(web.truth.read_bytes())
        outcome = compare([(row["url"], row["keyword"], row["frequency"]) for row in rows], truth)
        assert not outcome.missing
        assert not outcome.wrong
        assert not outcome.extra
        assert not outcome.duplicates
        assert len(rows) == status["matches"] > 500
        assert forbidden_requests(web.log, truth) == []
        _sites_came_out_as_expected(terminal, status["id"], truth)


def _sites_came_out_as_expected(terminal: Terminal, job: str, truth: dict) -> None:  # type: ignore[type-arg]
    status = terminal.ask("job", "status", job)
    expected = [site["expect"]["state"] for site in truth["sites"]]
    domains = status["domains"]
    assert domains["total"] == domains["finished"] == len(expected)
    assert (domains["succeeded"], domains["partially_crawled"], domains["failed"]) == (
        expected.count("done"),
        expected.count("partial"),
        expected.count("failed"),
    )
