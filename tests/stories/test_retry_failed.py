"""Sites that fail first and work later: `job retry-failed` reads what is missing and nothing else."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from tests.servers import free_port
from tests.stories.program import Terminal

PAGE = "<html><title>{0}</title><body><p>All about CRM and how to choose one: {0}.</p>{1}</body></html>"


class Weather:
    """Whether the sites are well by now, and what was asked of them."""

    def __init__(self) -> None:
        self.well = False
        self.asked: list[str] = []

    def answer(self, host: str, path: str) -> tuple[int, str]:
        ill = not self.well and (host, path) in {
            ("down.test", "/"),
            ("closed.test", "/robots.txt"),
            ("half.test", "/b"),
        }
        if ill:
            return 503, ""
        if path in ("/robots.txt", "/sitemap.xml") or host == "gone.test":
            return 404, ""
        links = '<a href="/a">a</a> <a href="/b">b</a>' if path == "/" else ""
        return 200, PAGE.format(f"{host}{path}", links)


@contextmanager
def serve(weather: Weather, port: int = 0) -> Iterator[int]:
    class Answers(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            host = self.headers["host"].partition(":")[0]
            weather.asked.append(f"{host}{self.path}")
            status, body = weather.answer(host, self.path)
            self.send_response(status)
            self.send_header("content-type", "text/html")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_: Any) -> None:
            return

    with ThreadingHTTPServer(("127.0.0.1", port), Answers) as server:
        server.daemon_threads = True
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.story
def test_only_what_failed_is_read_again(tmp_path: Path, new_postgres: Callable[[], str]) -> None:
    """On a server; that the rows of both databases are tried again alike is seen in the store's own tests."""
    weather, dark = Weather(), free_port()
    domains, keywords = tmp_path / "domains.txt", tmp_path / "keywords.txt"
    names = ("down", "closed", "half", "gone", "dark")
    domains.write_text("".join(f"http://{name}.test\n" for name in names))
    keywords.write_text("CRM\n")
    with serve(weather) as port:
        settings = {
            "GOSSAMER_CONNECT_TO": f"dark.test=127.0.0.1:{dark},www.dark.test=127.0.0.1:{dark},*.test=127.0.0.1:{port}",
            "GOSSAMER_DATABASE_URL": new_postgres(),
            "GOSSAMER_DOMAIN_RATE": "50",
        }
        terminal = Terminal(tmp_path / "home", settings=settings)
        lists = ("--domains", str(domains), "--keywords", str(keywords), "--processes", "1")
        first = terminal.ask("job", "run", "--name", "weather", *lists)
        job = first["id"]
        assert first["domains"] | {"total": 5} == {
            "total": 5, "finished": 5, "succeeded": 1, "partially_crawled": 0, "failed": 4,
        }  # fmt: skip
        failed = terminal.ask("job", "pages", job, "--state", "failed")
        assert {page["url"] for page in failed} >= {"http://down.test/", "http://closed.test/", "http://half.test/b"}
        assert [
            page["url"] for page in terminal.ask("job", "pages", job, "--state", "failed", "--site", "half.test")
        ] == ["http://half.test/b"]
        rows = terminal.rows(job)

        weather.well, before = True, len(weather.asked)
        with serve(weather, dark):
            said = terminal.type("job", "retry-failed", job, "--processes", "1").stdout
        assert "Retrying what failed: 3 domains, 4 pages." in said
        assert "Skipped, since it would fail again: 1 domain." in said
        assert "Completed: 4 succeeded, 1 failed (see error report)." in said

        again = weather.asked[before:]
        assert not set(again) & {"half.test/", "half.test/a", "gone.test/", "half.test/robots.txt"}
        assert again.count("half.test/b") == again.count("down.test/") == again.count("closed.test/robots.txt") == 1
        after = terminal.rows(job)
        pages = [row["url"] for row in after]
        assert sorted(pages) == sorted(
            f"http://{name}.test/{page}" for name in names if name != "gone" for page in ("", "a", "b")
        )
        assert {row["url"] for row in rows} == {"http://half.test/", "http://half.test/a"}
        assert terminal.ask("job", "audit", job)
        assert "Nothing to retry" in terminal.type("job", "retry-failed", job).stdout
        assert terminal.ask("job", "status", job)["state"] == "completed"
