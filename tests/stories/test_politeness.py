"""Seen from the outside: two jobs on the same sites, two terminals, two processes, one politeness."""

from pathlib import Path

import pytest

from gossamer_sandbox.web.proof import compare, forbidden_requests, read_log, smallest_gaps
from tests.stories.program import Terminal, finish, sample_web


@pytest.mark.story
@pytest.mark.xdist_group("politeness")
def test_no_domain_is_asked_more_than_once_a_second_and_nothing_forbidden(tmp_path: Path) -> None:
    arguments = ("--sites", "30", "--seed", "11", "--size-max", "8", "--pages-per-site", "5")
    with sample_web(tmp_path / "web", *arguments) as web:
        terminal = Terminal(tmp_path / "home", web, {"GOSSAMER_HTTP_TIMEOUT": "3s"})
        caps = ("--max-pages-per-domain", "5", "--processes", "2")
        first = terminal.begin(*terminal.prospect(*caps, name="first"))
        terminal.until_read(1)
        second = terminal.begin(*terminal.prospect(*caps, name="second"))
        for process in (first, second):
            code, output = finish(process)
            assert code == 0, output
            assert "Completed" in output
        gaps = smallest_gaps(web.log)
        assert len(gaps) > 20
        assert min(gaps.values()) >= 0.95, sorted(gaps.items(), key=lambda item: item[1])[:5]
        assert forbidden_requests(web.log, web.truth) == []
        robots = [request for request in read_log(web.log) if request.path == "/robots.txt" and request.status == 200]
        assert len({(request.host) for request in robots}) == len(robots), "robots.txt was asked for more than once"
        for job in terminal.ask("job", "list"):
            rows = [(row["url"], row["keyword"], row["frequency"]) for row in terminal.rows(job["id"])]
            assert compare(rows, web.truth).exact
