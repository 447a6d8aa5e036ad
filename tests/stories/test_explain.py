"""What the rows can prove afterwards: politeness as the server saw it, and the story of every single address."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from gossamer_sandbox.web.proof import read_log, smallest_gaps
from tests.stories.program import Terminal, sample_web

pytestmark = [pytest.mark.story, pytest.mark.xdist_group("explain")]

HOST = "shop.test"
PROSE = "<p>" + "We mend clocks and watches in our workshop by the river. " * 12 + "</p>"
PAGES: dict[str, tuple[int, str]] = {
    "/robots.txt": (200, "User-agent: *\nAllow: /private/open\nDisallow: /private/\n"),
    "/": (
        200,
        "<title>Clocks</title>"
        + "".join(
            f'<a href="{path}">more</a> ' for path in ("/about", "/private/x", "/old", "/gone", "/lost", "/guarded")
        )
        + PROSE,
    ),
    "/about": (200, f'<title>About</title><h1>Our CRM</h1>{PROSE}<a href="/deeper">more</a>'),
    "/new": (200, f"<title>New</title>{PROSE}"),
    "/lost": (200, "<title>404 - Page not found</title><h1>Page not found</h1><p>The page does not exist.</p>"),
    "/guarded": (403, "<title>Just a moment...</title><p>Enable JavaScript and cookies to continue</p>"),
    "/deeper": (200, f"<title>Deeper</title>{PROSE}"),
}


class Shop(BaseHTTPRequestHandler):
    """A shop with a little of everything."""

    def do_GET(self) -> None:
        if self.path == "/old":
            self.send_response(301)
            self.send_header("Location", "/new")
            self.end_headers()
            return
        status, body = PAGES.get(self.path, (404, "<title>Not found</title>"))
        self.send_response(status)
        if self.path == "/guarded":
            self.send_header("cf-mitigated", "challenge")
        self.send_header("Content-Type", "text/plain" if self.path.endswith(".txt") else "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body.encode())))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the library's own name
        """Nothing on the terminal."""


@contextmanager
def shop() -> Iterator[int]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Shop) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture(scope="module")
def visited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Terminal, str]]:
    """A finished job on the shop, of which all but one page were read."""
    folder = tmp_path_factory.mktemp("explain")
    (folder / "domains.txt").write_text(f"http://{HOST}/\n")
    (folder / "keywords.txt").write_text("CRM\n")
    with shop() as port:
        settings = {"GOSSAMER_CONNECT_TO": f"*.test=127.0.0.1:{port}", "GOSSAMER_DOMAIN_RATE": "50"}
        terminal = Terminal(folder / "home", settings=settings)
        lists = ("--domains", str(folder / "domains.txt"), "--keywords", str(folder / "keywords.txt"))
        job = terminal.ask("job", "run", "--name", "clocks", *lists, "--max-pages-per-domain", "7", "--top-pages", "7")
        yield terminal, job["id"]


def told(visited: tuple[Terminal, str], path: str) -> Any:
    terminal, job = visited
    return terminal.ask("explain", f"{HOST}{path}", "--job", job)


def test_a_match_is_told_with_its_page(visited: tuple[Terminal, str]) -> None:
    about = told(visited, "/about")
    assert about["url"] == f"http://{HOST}/about"
    assert (about["page"]["state"], about["page"]["depth"], about["page"]["found_on"]) == ("done", 1, f"http://{HOST}/")
    assert about["robots"]["allowed"] is True
    assert about["robots"]["line"] is None
    (match,) = about["matches"]
    assert (match["keyword"], match["frequency"], match["position"]) == ("CRM", 1, "heading")
    terminal, job = visited
    said = terminal.type("explain", f"http://{HOST}/about", "--job", job[-8:]).stdout
    assert "direct: HTTP 200 in " in said
    assert 'CRM: 1 time, heading: "' in said


@pytest.mark.parametrize(
    ("path", "state", "reason", "requests"),
    [
        ("/private/x", "skipped", "ROBOTS", 0),
        ("/old", "done", None, 2),
        ("/gone", "failed", "NOT_FOUND", 1),
        ("/lost", "failed", "SOFT_404", 1),
        ("/guarded", "failed", "BLOCKED", 1),
    ],
)
def test_every_ending_has_its_reason_and_its_requests(
    visited: tuple[Terminal, str], path: str, state: str, reason: str | None, requests: int
) -> None:
    page = told(visited, path)["page"]
    assert (page["state"], page["reason_name"]) == (state, reason)
    assert [len(attempt["requests_at"]) for attempt in page["attempts"]] == [requests]


def test_a_disallowed_page_names_the_line(visited: tuple[Terminal, str]) -> None:
    robots = told(visited, "/private/x")["robots"]
    assert (robots["allowed"], robots["line"], robots["rule"]) == (False, 3, "Disallow: /private/")


def test_the_end_of_a_redirect_is_told_by_where_it_began(visited: tuple[Terminal, str]) -> None:
    assert told(visited, "/new")["same_as"] == f"http://{HOST}/old"


@pytest.mark.parametrize(
    ("path", "name"), [("/deeper", "not-chosen"), ("/nobody-links-here", "not-linked"), ("/list.pdf", "binary")]
)
def test_what_was_never_asked_for_says_why(visited: tuple[Terminal, str], path: str, name: str) -> None:
    answer = told(visited, path)
    assert answer["page"] is None
    assert [reason["name"] for reason in answer["why_not"]] == [name]
    terminal, job = visited
    assert "never asked for" in terminal.type("explain", f"{HOST}{path}", "--job", job).stdout


def test_what_is_no_address_or_no_job_is_refused(visited: tuple[Terminal, str]) -> None:
    terminal, job = visited
    for url, identifier, code in (("mail@shop.test", job, "explain.url"), (HOST, "ffffffff", "job.not_found")):
        refused = terminal.type("explain", url, "--job", identifier, "--json", check=False)
        assert refused.returncode == 2
        assert f'"code":"{code}"' in refused.stderr


def test_the_proof_agrees_with_what_the_server_saw(tmp_path: Path) -> None:
    arguments = ("--sites", "12", "--seed", "4", "--nasty", "0", "--size-max", "12", "--pages-per-site", "8")
    with sample_web(tmp_path / "web", *arguments) as web:
        # Written in full, so that no request goes where this web does not listen.
        web.domains.write_text("".join(f"http://{name}/\n" for name in web.domains.read_text().split()))
        terminal = Terminal(tmp_path / "home", web, {"GOSSAMER_DOMAIN_RATE": "20", "GOSSAMER_HTTP_TIMEOUT": "3s"})
        job = terminal.ask(*terminal.prospect("--max-pages-per-domain", "8", "--processes", "2"))["id"]
        proof = terminal.ask("job", "politeness", job, "--limit", "100")
        said = terminal.type("job", "politeness", job).stdout
        gaps = smallest_gaps(web.log)
        seen = Counter(request.domain for request in read_log(web.log))
    assert {one["domain"]: one["requests"] for one in proof["domains"]} == dict(seen)
    assert proof["kept"]
    assert proof["requests"] == seen.total()
    for one in proof["domains"]:
        assert one["smallest_gap_ms"] >= one["due_ms"] - 2 >= 48
        assert abs(one["smallest_gap_ms"] / 1000 - gaps[one["domain"]]) < 0.05
    assert "no disallowed address was requested" in said
    assert f"{seen.total():,} requests to {len(seen)} domains" in said
    # At a slower rate the same rows are no proof.
    strict = Terminal(tmp_path / "home", web, {"GOSSAMER_DOMAIN_RATE": "0.1"})
    broken = strict.type("job", "politeness", job, check=False)
    assert broken.returncode == 1
    assert "Too close" in broken.stdout
