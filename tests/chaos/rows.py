"""Quick looks into the rows of a job from outside, which neither wait for its database nor disturb it."""

import asyncio
import sqlite3
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import asyncpg
from asyncpg.exceptions import InterfaceError, PostgresError

from tests.chaos.zombies import Happened, Settled

_LOOK = """
SELECT id, state,
  (SELECT SUM(pages_done + pages_failed + pages_skipped) FROM counters WHERE job_id = jobs.id),
  (SELECT COUNT(*) FROM visits WHERE job_id = jobs.id AND state = 'running')
FROM jobs
"""
_EVENTS = "SELECT visit_id, at, kind, why FROM events WHERE visit_id IS NOT NULL"
_PAGES = "SELECT visit_id, settled_at, url FROM pages WHERE settled_at IS NOT NULL"
_PATIENCE = 2.0  # seconds
_UNHEARD = (sqlite3.Error, PostgresError, InterfaceError, OSError, TimeoutError)


@dataclass(frozen=True, slots=True)
class Look:
    """How far a job is."""

    job: str
    state: str
    settled: int  # pages
    running: int  # visits


class Rows:
    """The only job of a database."""

    def __init__(self, database: Path | str) -> None:
        self._database = database

    def look(self) -> Look | None:
        """None while there is no job yet, or while the database does not answer."""
        try:
            if isinstance(self._database, Path):
                found = self._from_file(self._database, _LOOK)
            else:
                found = asyncio.run(asyncio.wait_for(self._from_server(self._database, _LOOK), _PATIENCE))
        except _UNHEARD:
            return None
        if not found:
            return None
        ((job, state, settled, running),) = found
        return Look(str(job if isinstance(job, UUID) else UUID(bytes=job)), state, int(settled or 0), running)

    def story(self) -> tuple[list[Happened], list[Settled]]:
        """What happened to visits, and when pages ended."""
        return (
            [Happened(*row) for row in self._all(_EVENTS)],
            [Settled(*row) for row in self._all(_PAGES)],
        )

    def run(self, statements: str) -> None:
        """Whatever a server should do once."""

        async def done() -> None:
            connection = await asyncpg.connect(self._database)  # type: ignore[no-untyped-call]
            try:
                await connection.execute(statements)
            finally:
                await connection.close()

        asyncio.run(done())

    def first(self, query: str) -> Any:
        """The first value of the answer; None if there is none, or while the server does not answer."""
        try:
            found = asyncio.run(asyncio.wait_for(self._from_server(str(self._database), query), _PATIENCE))
        except _UNHEARD:
            return None
        return found[0][0] if found else None

    def wait_for(self, query: str, wanted: Any, seconds: float = 60) -> None:
        until = time.monotonic() + seconds
        while (found := self.first(query)) != wanted:
            assert time.monotonic() < until, f"{query} still gives {found}"
            time.sleep(0.1)

    def _all(self, query: str) -> Sequence[Any]:
        if isinstance(self._database, Path):
            return self._from_file(self._database, query)
        return asyncio.run(self._from_server(self._database, query))

    def _from_file(self, path: Path, query: str) -> Sequence[Any]:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=_PATIENCE)) as rows:
            return rows.execute(query).fetchall()

    async def _from_server(self, url: str, query: str) -> Sequence[Any]:
        connection = await asyncpg.connect(url)  # type: ignore[no-untyped-call]
        try:
            found: Sequence[Any] = await connection.fetch(query)
            return found
        finally:
            await connection.close()
