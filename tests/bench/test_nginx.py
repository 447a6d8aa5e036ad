"""nginx serves a corpus under all its names, from a folder of ours, and is gone afterwards."""

import socket
from http.client import HTTPConnection
from pathlib import Path

from bench.corpus import Corpus, PageSet
from bench.nginx import nginx


def answer(port: int, host: str, path: str) -> tuple[int, bytes]:
    connection = HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("GET", path, headers={"Host": host})
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def test_every_name_of_a_set_answers_with_its_pages_and_no_other_name_does(tmp_path: Path) -> None:
    root = tmp_path / "corpus" / "some-1"
    root.mkdir(parents=True)
    (root / "index.html").write_text("home")
    (root / "a.html").write_text("a page")
    corpus = Corpus(tmp_path / "corpus", (PageSet("some-1", root, ("/", "/a.html")),))
    with nginx(corpus, tmp_path / "nginx") as server:
        assert [answer(server.port, host, "/") for host in corpus.hosts()] == [(200, b"home")] * 8
        assert answer(server.port, "some-1-h.test", "/a.html") == (200, b"a page")
        assert answer(server.port, "some-1-a.test", "/b.html")[0] == 404
        assert answer(server.port, "some-1.test", "/")[0] == 404
        assert server.cpu() >= 0
    with socket.socket() as sock:
        assert sock.connect_ex(("127.0.0.1", server.port)) != 0
