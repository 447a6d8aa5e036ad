"""A FlareSolverr of one's own: used where it helps, and no hindrance where it does not."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.stories.program import Terminal, Web, quick_web

pytestmark = pytest.mark.story


class Silent:
    """A server that takes every connection and never answers."""

    def __init__(self) -> None:
        self.port = 0
        self.connections = 0

    @contextmanager
    def listening(self) -> Iterator[None]:
        kept: list[socket.socket] = []
        with socket.create_server(("127.0.0.1", 0)) as server:
            self.port = server.getsockname()[1]
            thread = threading.Thread(target=self._take, args=(server, kept), daemon=True)
            thread.start()
            yield
            server.shutdown(socket.SHUT_RDWR)
            thread.join(10)
        for one in kept:
            one.close()

    def _take(self, server: socket.socket, kept: list[socket.socket]) -> None:
        while True:
            try:
                kept.append(server.accept()[0])
            except OSError:
                return
            self.connections += 1


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    shape = ("--sites", "40", "--seed", "11", "--nasty", "0.6", "--size-max", "6", "--slow-seconds", "0.3")
    with quick_web(tmp_path_factory.mktemp("web"), *shape) as started:
        yield started


def test_one_that_never_answers_holds_no_job_up(tmp_path: Path, web: Web) -> None:
    quick = {"GOSSAMER_DOMAIN_RATE": "200", "GOSSAMER_HTTP_TIMEOUT": "2s"}
    without = Terminal(tmp_path / "without", web, quick)
    usual = without.ask(*without.prospect())
    silent = Silent()
    with silent.listening():
        own = {**quick, "GOSSAMER_FLARESOLVERR_URL": f"http://127.0.0.1:{silent.port}"}
        beside = Terminal(tmp_path / "with", web, own)
        told = beside.type(*beside.prospect()).stdout
        job = beside.newest()
        status = beside.ask("job", "status", job)
    assert "goes through your FlareSolverr (free)" in told
    assert status["state"] == "completed"
    assert (status["domains"], status["matches"]) == (usual["domains"], usual["matches"])
    assert beside.rows(job) == without.rows(without.newest())
    # Who does not answer is asked no more: not once for every page that is blocked.
    blocked = [site for site in without.ask("job", "sites", without.newest()) if "Blocked" in (site["reason"] or "")]
    assert len(blocked) >= 3
    assert 0 < silent.connections <= 8
    beside.assert_clean(job)
