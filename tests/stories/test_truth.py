"""What the generator of the sample web says is there is found: all of it, nothing else, once, and rightly judged."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any
from uuid import UUID

import orjson
import pytest

from gossamer_sandbox.web.proof import compare_sites, compare_verdicts, forbidden_requests, read_log
from tests.stories.program import Terminal, sample_web

FAST = {"GOSSAMER_DOMAIN_RATE": "1000", "GOSSAMER_HTTP_TIMEOUT": "2s"}
PATIENT = ("--slow-seconds", "0.3", "--retry-after-max", "1")
LIMITS = ("--top-pages", "40")


@pytest.mark.story
@pytest.mark.parametrize(
    ("seed", "sites", "nasty"),
    [
        pytest.param("21", "200", "0.25", id="21", marks=pytest.mark.xdist_group("truth-21")),
        pytest.param("35", "60", "0.6", id="35", marks=pytest.mark.xdist_group("truth-35")),
        pytest.param("23", "60", "1", id="23", marks=pytest.mark.xdist_group("truth-23")),
    ],
)
def test_recall_and_precision_are_perfect_within_reach(tmp_path: Path, seed: str, sites: str, nasty: str) -> None:
    arguments = ("--sites", sites, "--seed", seed, "--nasty", nasty, "--pages-per-site", "60", *LIMITS, *PATIENT)
    with sample_web(tmp_path / "web", *arguments) as web:
        terminal = Terminal(tmp_path / "home", web, FAST)
        truth = orjson.loads(web.truth.read_bytes())
        domains = [("--client-domain", truth["client"])]
        domains += [("--competitor-domain", competitor) for competitor in truth["competitors"]]
        named = [part for option in domains for part in option]
        status = terminal.ask(*terminal.prospect("--max-pages-per-domain", "60", *LIMITS, *named))
        rows = terminal.rows(status["id"])
        outcome = compare_verdicts(rows, truth)
        assert not outcome.missing
        assert not outcome.wrong
        assert not outcome.extra
        assert not outcome.duplicates
        assert not outcome.misjudged
        assert len(rows) == status["matches"] > 500
        assert forbidden_requests(web.log, truth) == []
        assert compare_sites(_sites(terminal, status["id"]), truth) == []
        _sites_are_counted(terminal, status["id"], truth)
        _sitemaps_are_asked_for_where_there_is_a_homepage(web.log, truth)


def _sites(terminal: Terminal, job: str) -> list[dict[str, Any]]:
    """The rows of the job's sites themselves: a reason by its name is more than the sentence made of it."""
    with closing(sqlite3.connect(f"file:{terminal.home}/gossamer.db?mode=ro", uri=True)) as rows:
        rows.row_factory = sqlite3.Row
        found = rows.execute(
            "SELECT host, state, reason, size, size_source FROM sites WHERE hex(job_id) = ?", [UUID(job).hex.upper()]
        )
        return [dict(row) for row in found]


def _sites_are_counted(terminal: Terminal, job: str, truth: dict[str, Any]) -> None:
    expected = [site["expect"]["state"] for site in truth["sites"]]
    domains = terminal.ask("job", "status", job)["domains"]
    assert domains["total"] == domains["finished"] == len(expected)
    assert (domains["succeeded"], domains["partially_crawled"], domains["failed"]) == (
        expected.count("done"),
        expected.count("partial"),
        expected.count("failed"),
    )


def _sitemaps_are_asked_for_where_there_is_a_homepage(log: Path, truth: dict[str, Any]) -> None:
    asked = {request.host.removeprefix("www.") for request in read_log(log) if request.path.startswith("/sitemap")}
    failed = {site["host"] for site in truth["sites"] if site["expect"]["state"] == "failed"}
    assert asked
    assert not asked & failed
