"""A real server on a free port, and callers with keys of two accounts."""

import asyncio
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from gossamer.accounts.service import find_account, issue_key, open_account
from gossamer.clock import SystemClock
from gossamer.db.schema import ready_database
from gossamer.model.account import Right
from tests.api.described import hold_against_it
from tests.api.town import town
from tests.stories.program import Web, sample_web

ACCOUNTS = ("default", "other")


@dataclass(frozen=True, slots=True)
class Server:
    """A server that runs, its home, and a key of each right and account: `keys["other"]["read"]`."""

    url: str
    home: Path
    keys: Mapping[str, Mapping[str, str]]
    process: subprocess.Popen[str]
    web: Web | None = None

    def client(self, account: str = "default", right: str = "admin", **headers: str) -> httpx.Client:
        token = self.keys[account][right]
        return self._client({"Authorization": f"Bearer {token}", **headers})

    def stranger(self) -> httpx.Client:
        return self._client({})

    def _client(self, headers: dict[str, str]) -> httpx.Client:
        hooks = {"response": [hold_against_it]}
        return httpx.Client(base_url=self.url, headers=headers, timeout=600, event_hooks=hooks)


def make_keys(url: str) -> dict[str, dict[str, str]]:
    """Two accounts with a key of each right."""

    async def work() -> dict[str, dict[str, str]]:
        database = await ready_database(url, SystemClock())
        try:
            await open_account(database, "other", "Other Inc.")
            made: dict[str, dict[str, str]] = {}
            for account in ACCOUNTS:
                await find_account(database, account)
                rights = {right: await issue_key(database, account, right, right) for right in Right}
                made[account] = {str(right): new.text for right, (new, _) in rights.items()}
            return made
        finally:
            await database.close()

    return asyncio.run(work())


@contextmanager
def server(
    home: Path, *arguments: str, settings: Mapping[str, str] | None = None, web: Web | None = None
) -> Iterator[Server]:
    settings = settings or {}
    home.mkdir(parents=True, exist_ok=True)
    keys = make_keys(settings.get("GOSSAMER_DATABASE_URL", f"sqlite:///{home}/gossamer.db"))
    with _started(home, arguments, settings, keys, web) as one:
        yield one


@contextmanager
def second_server(first: Server, home: Path, *arguments: str, settings: Mapping[str, str]) -> Iterator[Server]:
    """Another one on the same database."""
    home.mkdir(parents=True, exist_ok=True)
    with _started(home, arguments, settings, first.keys, None) as one:
        yield one


@contextmanager
def _started(
    home: Path,
    arguments: Sequence[str],
    settings: Mapping[str, str],
    keys: Mapping[str, Mapping[str, str]],
    web: Web | None,
) -> Iterator[Server]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GOSSAMER_")}
    connect = {"GOSSAMER_CONNECT_TO": f"*.test=127.0.0.1:{web.port}"} if web else {}
    env = {**kept, **connect, "GOSSAMER_HOME": str(home), "GOSSAMER_DOMAIN_RATE": "50", **settings}
    command = [sys.executable, "-m", "gossamer", "serve", "--port", "0", *arguments]
    # Into a file: a pipe that nobody reads would be full of the access log one day.
    with (home / "said.txt").open("w") as said:
        process = subprocess.Popen(command, stdout=said, stderr=subprocess.STDOUT, text=True, env=env)
        try:
            yield Server(_address(process, home / "said.txt"), home, keys, process, web)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(timeout=600)


def _address(process: subprocess.Popen[str], said: Path) -> str:
    while process.poll() is None:
        if found := re.search(r"Listening on (http://\S+)", said.read_text()):
            return found[1]
        time.sleep(0.05)
    raise AssertionError(f"the server did not start: {said.read_text()}")


@pytest.fixture(scope="session")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Without workers: nothing happens to a job but what a test does. Who needs an address of their own may name it."""
    settings = {
        "GOSSAMER_API_KEY_RATE": "0",
        "GOSSAMER_API_IP_RATE": "0",
        "GOSSAMER_API_FAILED_KEYS": "0",
        "GOSSAMER_API_TRUSTED_PROXIES": "127.0.0.0/8",
        "GOSSAMER_SCRAPINGBEE_KEY": "nobody-is-ever-asked",
        "GOSSAMER_ACCOUNT_JOBS": "5000",
        "GOSSAMER_ACCOUNT_QUEUE": "5000",
    }
    with server(tmp_path_factory.mktemp("api"), "--api-only", settings=settings) as one:
        yield one


@pytest.fixture(scope="session")
def working(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """With workers, a small web to work on (`*.test`) and a town whose answers are known by heart (`*.town`)."""
    folder = tmp_path_factory.mktemp("working")
    with sample_web(folder / "web", "--sites", "6") as web, town() as port:
        settings = {
            "GOSSAMER_API_KEY_RATE": "0",
            "GOSSAMER_API_IP_RATE": "0",
            "GOSSAMER_CONNECT_TO": f"*.test=127.0.0.1:{web.port},*.town=127.0.0.1:{port}",
        }
        with server(folder / "home", "--processes", "1", settings=settings, web=web) as one:
            yield one


def new_job(**more: Any) -> dict[str, Any]:
    return {"recipe": "prospect", "name": "A job", "domains": ["a.test"], "params": {"keywords": ["CRM"]}, **more}
