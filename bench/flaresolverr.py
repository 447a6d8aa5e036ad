"""A FlareSolverr that never answers: what it costs a job some of whose sites block plain requests."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from bench.figure import Figure
from bench.product import Asked, Crawled, crawl
from bench.sample_web import sample_web

BLOCKED = 0.05  # of the sites
KEPT = 0.8  # of the domains per hour

_CHALLENGE = b"<html><head><title>Just a moment...</title></head><body><h1>Checking your browser</h1></body></html>"


def measure(folder: Path, quick: bool) -> list[Figure]:
    sites = 60 if quick else 1_000
    blocked = [f"http://site-{number}.blocked.test" for number in range(round(sites * BLOCKED))]
    with (
        sample_web(folder, sites - len(blocked), smallest=4, largest=12) as web,
        _refusing() as refusing,
        _silent() as silent,
    ):
        rules = f"*.blocked.test=127.0.0.1:{refusing},*.test=127.0.0.1:{web.port}"
        usual = {"GOSSAMER_CONNECT_TO": rules}
        with_it = usual | {"GOSSAMER_FLARESOLVERR_URL": f"http://127.0.0.1:{silent}"}

        def ran(name: str, settings: dict[str, str]) -> Crawled:
            asked = Asked(
                folder / name,
                [*web.domains, *blocked],
                web.keywords,
                web.port,
                rate="2",
                at_once=100,
                settings=settings,
            )
            return crawl(asked, lost=len(blocked))

        ran("first", usual)  # compiles what nothing else has compiled yet
        without, beside = ran("without", usual), ran("with", with_it)
    note = f"{sites:,} sites, {len(blocked)} of them blocked, {without.pages:,} pages"
    return [
        Figure("without", "the job without a FlareSolverr", without.wall, "s", note=note),
        Figure("silent", "the same job with one that never answers", beside.wall, "s"),
        Figure("kept", "domains per hour that are left", without.wall / beside.wall, "times", least=KEPT),
        Figure("rows", "rows that are missing", float(without.matches - beside.matches), "", 0),
    ]


class _Challenge(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path == "/robots.txt":
            self.send_error(404)
            return
        self.send_response(403)
        self.send_header("cf-mitigated", "challenge")
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(_CHALLENGE)))
        self.end_headers()
        self.wfile.write(_CHALLENGE)

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@contextmanager
def _refusing() -> Iterator[int]:
    """Yield the port of a server that answers every page with a challenge."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Challenge) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join()


@contextmanager
def _silent() -> Iterator[int]:
    """Yield the port of a server that takes connections and never answers."""
    held: list[socket.socket] = []

    def take() -> None:
        while True:
            try:
                held.append(server.accept()[0])
            except OSError:
                return

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=take, daemon=True)
        thread.start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)
        thread.join()
    for one in held:
        one.close()
