"""A caller who wants the server to stand still, and what somebody beside them notices: `GET /api/health` all the while.

`python -m bench.hostile NAME URL KEY PORT SECONDS` is one attack, in a process of its own.
"""

import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import urlsplit

import httpx
import orjson

from bench.figure import BenchFailed, Figure
from bench.plain_web import plain_web
from bench.running import ROOT
from bench.server import serving

LIMIT = 100.0  # milliseconds
_LARGE = 9_900_000  # bytes of a body that is just not too large
_EVERY = 0.02  # seconds between two looks at the victim
_FILES, _ENTRIES = 100, 20_000  # of a sitemap that lists nothing but pages of somebody else


class Attack:
    """What attackers need to know."""

    def __init__(self, url: str, key: str, port: int, seconds: float) -> None:
        self.url, self.key, self.port = url, key, port
        self.until = time.monotonic() + seconds

    def flood(self, ask: Callable[[httpx.Client], object], threads: int = 4) -> None:
        """Ask again and again, whatever is answered."""

        def one(_: int) -> None:
            with httpx.Client(base_url=self.url, timeout=120) as client:
                while time.monotonic() < self.until:
                    with suppress(httpx.HTTPError):
                        ask(client)

        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(one, range(threads)))

    def post(self, path: str, body: bytes, key: str | None = None) -> Callable[[httpx.Client], object]:
        given = self.key if key is None else key
        headers = {"Content-Type": "application/json", **({"X-API-Key": given} if given else {})}
        return lambda client: client.post(path, content=body, headers=headers)

    def connect(self) -> socket.socket:
        parts = urlsplit(self.url)
        return socket.create_connection((parts.hostname or "", parts.port or 0), timeout=30)


def _unknown_fields(attack: Attack) -> None:
    attack.flood(attack.post("/v1/estimate", _filled(b"{", b'"field%d":1,', b'"z":1}')))


def _nested_lists(attack: Attack) -> None:
    attack.flood(attack.post("/v1/questions", b'{"question":' + b"[]," * (_LARGE // 3) + b"1}"))


def _many_values(attack: Attack) -> None:
    values = b",".join([b"1"] * 250_000)
    attack.flood(attack.post("/v1/estimate", b'{"recipe":"prospect","name":"n","domains":[' + values + b"]}"))


def _long_lists(attack: Attack) -> None:
    domains = [f"shop-{number}.test" for number in range(50_000)]
    body = {"recipe": "prospect", "name": "n", "domains": domains, "params": {"keywords": ["lamp"]}}
    attack.flood(attack.post("/v1/estimate", orjson.dumps(body)))


def _no_key(attack: Attack) -> None:
    attack.flood(attack.post("/v1/jobs", _filled(b"{", b'"field%d":1,', b'"z":1}'), key=""))


def _wrong_keys(attack: Attack) -> None:
    number = iter(range(10**9))
    attack.flood(lambda client: client.get("/v1/jobs", headers={"X-API-Key": f"gsk_{next(number)}"}), threads=8)


def _half_heads(attack: Attack) -> None:
    """Thousands of connections, each with a head that never ends."""
    held: list[socket.socket] = []
    with suppress(OSError):
        while time.monotonic() < attack.until:
            held.append(attack.connect())
            held[-1].sendall(b"GET /api/health HTTP/1.1\r\nX-Long: " + b"x" * 8_000)
            if len(held) > 6_000:
                held.pop(0).close()
    for one in held:
        one.close()


def _slow_bodies(attack: Attack) -> None:
    """Bodies that come one byte at a time."""
    held = []
    head = f"POST /v1/jobs HTTP/1.1\r\nHost: x\r\nX-API-Key: {attack.key}\r\nContent-Type: application/json\r\n"
    for _ in range(300):
        one = attack.connect()
        one.sendall(head.encode() + f"Content-Length: {_LARGE}\r\n\r\n".encode() + b'{"name": "' + b"x" * 50_000)
        held.append(one)
    while time.monotonic() < attack.until:
        for one in held:
            with suppress(OSError):
                one.sendall(b"x")
        time.sleep(0.1)
    for one in held:
        one.close()


def _sitemaps(attack: Attack) -> None:
    """An index of many files, each full of pages of somebody else."""
    with _foreign_sitemaps(attack.port):
        body = {"sitemap_url": "http://maps.hostile/index.xml"}
        attack.flood(attack.post("/api/jobs", orjson.dumps(body)), threads=1)


def _filled(begin: bytes, each: bytes, end: bytes) -> bytes:
    body = bytearray(begin)
    number = 0
    while len(body) < _LARGE - 100:
        body += each % number
        number += 1
    return bytes(body + end)


ATTACKS: Mapping[str, Callable[[Attack], None]] = {
    "unknown_fields": _unknown_fields,
    "nested_lists": _nested_lists,
    "many_values": _many_values,
    "long_lists": _long_lists,
    "no_key": _no_key,
    "wrong_keys": _wrong_keys,
    "half_heads": _half_heads,
    "slow_bodies": _slow_bodies,
    "sitemaps": _sitemaps,
}


@contextmanager
def _foreign_sitemaps(port: int) -> Iterator[None]:
    names = "".join(f"<sitemap><loc>http://maps.hostile/{one}.xml</loc></sitemap>" for one in range(_FILES))
    index = f"<sitemapindex>{names}</sitemapindex>".encode()
    listed = "".join(f"<url><loc>http://elsewhere.hostile/{one}</loc></url>" for one in range(_ENTRIES))
    file = f"<urlset>{listed}</urlset>".encode()

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = {"/robots.txt": b"", "/index.xml": index}.get(self.path, file)
            self.send_response(200)
            self.send_header("content-type", "application/xml")
            self.send_header("content-length", str(len(found)))
            self.end_headers()
            self.wfile.write(found)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", port), Answers)
    Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()


def beside(name: str, url: str, key: str, port: int, seconds: float) -> list[float]:
    """Seconds that `GET /api/health` took while an attack was under way."""
    command = [sys.executable, "-m", "bench.hostile", name, url, key, str(port), str(seconds)]
    attacker = subprocess.Popen(command, cwd=ROOT)
    times = []
    try:
        with httpx.Client(base_url=url, timeout=120) as client:
            client.get("/api/health")
            while attacker.poll() is None:
                began = time.perf_counter()
                status = client.get("/api/health").status_code
                times.append(time.perf_counter() - began)
                if status != 200:
                    raise BenchFailed(f"health answered {status} beside {name}")
                time.sleep(_EVERY)
    finally:
        attacker.kill()
        attacker.wait()
    if attacker.returncode not in (0, -9):
        raise BenchFailed(f"the attack {name} ended with {attacker.returncode}")
    return times


def p95(times: list[float]) -> float:
    return sorted(times)[int(len(times) * 0.95)]


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as one:
        return int(one.getsockname()[1])


def measure(folder: Path, quick: bool) -> list[Figure]:
    figures = []
    port = free_port()
    with (
        plain_web() as web,
        serving(folder, web, GOSSAMER_API_FAILED_KEYS="0", GOSSAMER_CONNECT_TO=connect_to(web, port)) as api,
    ):
        for name in ATTACKS:
            times = beside(name, api.url, api.key, port, 2.0 if quick else 8.0)
            what = f"p95 of `GET /api/health` beside {name.replace('_', ' ')}"
            note = f"of {len(times):,}; the longest {max(times) * 1000:.0f} ms"
            figures.append(Figure(name, what, p95(times) * 1000, "ms", LIMIT, note))
    return figures


def connect_to(web: int, port: int) -> str:
    return f"*.test=127.0.0.1:{web},*.hostile=127.0.0.1:{port}"


if __name__ == "__main__":
    _, chosen, *rest = sys.argv
    ATTACKS[chosen](Attack(rest[0], rest[1], int(rest[2]), float(rest[3])))
