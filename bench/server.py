"""A server to measure: `gossamer serve` in a home of its own, its key, and what it uses."""

import re
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import psutil

from bench.figure import BenchFailed
from bench.instance import cpu_of, memory_of
from bench.running import GOSSAMER, environment

_STARTS = 60.0  # seconds
RATE = "100000"  # requests per second and domain: every page is of another one


@dataclass(frozen=True, slots=True)
class Api:
    """A server that listens. `door` is its first process, which answers; the others work."""

    url: str
    key: str
    door: psutil.Process

    def client(self) -> httpx.Client:
        return httpx.Client(base_url=self.url, headers={"Authorization": f"Bearer {self.key}"}, timeout=600)

    def cpu(self) -> float:
        return cpu_of(self.door)

    def memory(self) -> int:
        """Bytes of the process that answers."""
        return int(self.door.memory_full_info().uss)

    def all_memory(self) -> int:
        return memory_of(self.door)


def hosts(count: int, start: int = 0) -> list[str]:
    """Pages of so many domains."""
    return [f"http://shop-{number}.test/" for number in range(start, start + count)]


@contextmanager
def serving(folder: Path, web: int, **more: str) -> Iterator[Api]:
    connect = {"GOSSAMER_CONNECT_TO": f"*.test=127.0.0.1:{web}"}
    env = environment(
        folder / "home",
        **{**connect, **more},
        GOSSAMER_DOMAIN_RATE=RATE,
        # Counted as ever, and never reached.
        GOSSAMER_API_KEY_RATE="10000000",
        GOSSAMER_API_IP_RATE="10000000",
        GOSSAMER_ACCOUNT_JOBS="5000",
    )
    folder.mkdir(parents=True, exist_ok=True)
    told = folder / "told.txt"
    with told.open("w") as out:
        command = [*GOSSAMER, "serve", "--port", "0"]
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, env=env, cwd=folder)
    try:
        yield _ready(process, told)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


def _ready(process: "subprocess.Popen[bytes]", told: Path) -> Api:
    until = time.monotonic() + _STARTS
    while time.monotonic() < until and process.poll() is None:
        said = told.read_text()
        address, key = re.search(r"Listening on (http://\S+)", said), re.search(r"gsk_\S+", said)
        if address and key:
            api = Api(address[1], key[0], psutil.Process(process.pid))
            _until_it_works(api, until)
            return api
        time.sleep(0.05)
    raise BenchFailed(f"the server did not start: {told.read_text()[-500:]}")


def _until_it_works(api: Api, until: float) -> None:
    """Its working processes take a moment longer than its door."""
    with api.client() as client:
        while time.monotonic() < until:
            if client.post("/v1/scrape", json={"url": hosts(1)[0], "timeout": 20}).status_code == 200:
                return
    raise BenchFailed("the server does not work")


def finished(client: httpx.Client, job: str, *, look: float = 0.1) -> dict[str, Any]:
    """A job once it is over."""
    while True:
        found: dict[str, Any] = client.get(f"/v1/jobs/{job}").raise_for_status().json()
        if found["state"] not in ("pending", "running"):
            return found
        time.sleep(look)
