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
from asyncpg.exceptions import InterfaceError, InternalClientError, PostgresError

from tests.chaos.zombies import RAN_OUT, Happened, Settled

_LOOK = """
SELECT id, state,
  (SELECT SUM(pages_done + pages_failed + pages_skipped) FROM counters WHERE job_id = jobs.id),
  (SELECT COUNT(*) FROM visits WHERE job_id = jobs.id AND state = 'running')
FROM jobs
"""
_EVENTS = "SELECT visit_id, at, kind, why FROM events WHERE visit_id IS NOT NULL"
_PAGES = "SELECT visit_id, settled_at, url FROM pages WHERE settled_at IS NOT NULL"
_HELD = "SELECT id FROM visits WHERE state = 'running' AND ({whose})"
_TAKEN = "SELECT visit_id FROM events WHERE why = '{why}'"
_PATIENCE = 2.0  # seconds
# InternalClientError: the other end of the line died while nobody looked.
_UNHEARD = (sqlite3.Error, PostgresError, InterfaceError, InternalClientError, OSError, TimeoutError)


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
        self._runner = asyncio.Runner()
        self._line: Any = None  # to a server: to open one takes longer than to look

    def close(self) -> None:
        self._hang_up()
        self._runner.close()

    def look(self) -> Look | None:
        """None while there is no job yet, or while the database does not answer."""
        try:
            found = self._all(_LOOK, _PATIENCE)
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
        self._told("execute", statements, None)

    def first(self, query: str) -> Any:
        """The first value of the answer; None if there is none, or while the server does not answer."""
        try:
            found = self._all(query, _PATIENCE)
        except _UNHEARD:
            return None
        return found[0][0] if found else None

    def held_by(self, *pids: int) -> set[Any]:
        """The visits that these working processes walk; none while the database does not answer."""
        return self._ids(_HELD.format(whose=" OR ".join(f"worker LIKE '%-{pid}'" for pid in pids)))

    def taken_back(self, visits: set[Any]) -> int:
        """How many of them were taken from whoever walked them, because it was silent for too long."""
        return len(self._ids(_TAKEN.format(why=RAN_OUT)) & visits)

    def _ids(self, query: str) -> set[Any]:
        try:
            return {row[0] for row in self._all(query, _PATIENCE)}
        except _UNHEARD:
            return set()

    def wait_for(self, query: str, wanted: Any, seconds: float = 60) -> None:
        until = time.monotonic() + seconds
        while (found := self.first(query)) != wanted:
            assert time.monotonic() < until, f"{query} still gives {found}"
            time.sleep(0.1)

    def _all(self, query: str, patience: float | None = None) -> Sequence[Any]:
        if isinstance(self._database, Path):
            return self._from_file(self._database, query)
        found: Sequence[Any] = self._told("fetch", query, patience)
        return found

    def _from_file(self, path: Path, query: str) -> Sequence[Any]:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=_PATIENCE)) as rows:
            return rows.execute(query).fetchall()

    def _told(self, verb: str, statement: str, patience: float | None) -> Any:
        async def told() -> Any:
            if self._line is None:
                self._line = await asyncpg.connect(self._database)  # type: ignore[no-untyped-call]
            return await getattr(self._line, verb)(statement)

        try:
            return self._runner.run(asyncio.wait_for(told(), patience))
        except BaseException:
            self._hang_up()  # whatever it was, the next look is over a new one
            raise

    def _hang_up(self) -> None:
        async def ended(line: Any) -> None:
            line.terminate()
            await asyncio.sleep(0)  # then it is closed

        if self._line is not None:
            line, self._line = self._line, None
            self._runner.run(ended(line))
