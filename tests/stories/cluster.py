"""A cluster seen from the outside: its rows, and an instance as a service would start it."""

import asyncio
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import asyncpg

from tests.stories.program import Terminal


class Rows:
    """Plain looks into the database from the outside."""

    def __init__(self, url: str) -> None:
        self._url = url

    def ask(self, query: str) -> list[Any]:
        async def one() -> list[Any]:
            connection = await asyncpg.connect(self._url)  # type: ignore[no-untyped-call]
            try:
                return list(await connection.fetch(query))
            finally:
                await connection.close()

        return asyncio.run(one())

    def until(self, query: str, condition: Callable[[Any], bool], seconds: float = 60) -> Any:
        async def look() -> Any:
            end = time.monotonic() + seconds
            connection = await asyncpg.connect(self._url)  # type: ignore[no-untyped-call]
            try:
                while not condition(value := await connection.fetchval(query)):
                    assert time.monotonic() < end, f"{query} still gives {value}"
                    await asyncio.sleep(0.1)
                return value
            finally:
                await connection.close()

        return asyncio.run(look())

    @contextmanager
    def most_in_hand(self) -> Iterator[list[int]]:
        """What was the largest number of visits issued or running, as often as it can be asked."""
        seen: list[int] = []
        over = threading.Event()

        async def watch() -> None:
            connection = await asyncpg.connect(self._url)  # type: ignore[no-untyped-call]
            query = "SELECT count(*) FROM visits WHERE state IN ('issued', 'running')"
            while not over.is_set():
                seen.append(await connection.fetchval(query))
                await asyncio.sleep(0.05)
            await connection.close()

        thread = threading.Thread(target=lambda: asyncio.run(watch()))
        thread.start()
        try:
            yield seen
        finally:
            over.set()
            thread.join()


@contextmanager
def instance(terminal: Terminal, log: Path, *arguments: str) -> Iterator["subprocess.Popen[bytes]"]:
    with log.open("wb") as sink:
        process = subprocess.Popen(
            [sys.executable, "-m", "gossamer", "worker", *arguments],
            env=terminal.environment(),
            stdout=sink,
            stderr=sink,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)
