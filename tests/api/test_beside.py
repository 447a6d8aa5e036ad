"""What somebody notices beside a caller who wants the server to stand still. bench/hostile.py says how fast it is.

The limits here are for a machine that is busy with other things: without what they are about, they are passed by far.
"""

import socket
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from bench.hostile import ATTACKS, beside, connect_to, free_port, p95
from bench.plain_web import plain_web
from tests.api.conftest import Server, server

pytestmark = pytest.mark.xdist_group("api-beside")

USUALLY, AT_WORST = 1.0, 4.0  # seconds that `GET /api/health` takes
LASTS = 4.0  # seconds of an attack


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, int]]:
    port = free_port()
    with plain_web() as web:
        settings = {
            "GOSSAMER_API_KEY_RATE": "0",
            "GOSSAMER_API_IP_RATE": "0",
            "GOSSAMER_API_FAILED_KEYS": "0",
            "GOSSAMER_CONNECT_TO": connect_to(web, port),
            "GOSSAMER_DOMAIN_RATE": "100",
        }
        with server(tmp_path_factory.mktemp("attacked"), "--processes", "1", settings=settings) as one:
            yield one, port


@pytest.mark.parametrize("attack", ATTACKS)
def test_health_is_answered_beside_it(attacked: tuple[Server, int], attack: str) -> None:
    one, port = attacked
    # The least that a key may do is enough, except for what makes jobs.
    right = "submit" if attack in ("sitemaps", "slow_bodies") else "read"
    times = beside(attack, one.url, one.keys["other"][right], port, LASTS)
    assert len(times) > 3
    assert p95(times) < USUALLY, times
    assert max(times) < AT_WORST, times
    with one.client(right="submit") as victim:
        # Whoever else has a key gets their page, and at once.
        page = victim.post("/v1/scrape", json={"url": f"http://{attack.replace('_', '-')}.test/", "formats": ["text"]})
        assert page.status_code == 200, page.text


@pytest.mark.parametrize("of", ["fields", "lists"])
def test_a_body_is_refused_before_all_of_it_has_come(attacked: tuple[Server, int], of: str) -> None:
    """Where its shape shows already that it means nothing: the sender never gets to its end."""
    one, _ = attacked
    address = urlsplit(one.url)
    head = f"POST /v1/estimate HTTP/1.1\r\nHost: x\r\nX-API-Key: {one.keys['other']['read']}\r\n"
    head += "Content-Type: application/json\r\nContent-Length: 9900000\r\n\r\n"
    with socket.create_connection((address.hostname or "", address.port or 0), timeout=60) as sender:
        sender.sendall(head.encode() + b'{"recipe": ')
        for number in range(60):
            fields = b"".join(b'"field%d-%d": 1, ' % (number, each) for each in range(1_000))
            sender.sendall(fields if of == "fields" else b"[" * 1_000)
        answer = sender.recv(65_536)
        while b"}" not in answer and (more := sender.recv(65_536)):
            answer += more
    assert answer.startswith(b"HTTP/1.1 400 "), answer
    assert b"The body has more than 20,000" in answer
