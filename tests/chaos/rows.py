"""Quick looks into the rows of a job from outside, which neither wait for its database nor disturb it."""

import asyncio
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import asyncpg
from asyncpg.exceptions import InterfaceError, PostgresError

_LOOK = """
SELECT id, state,
  (SELECT SUM(pages_done + pages_failed + pages_skipped) FROM counters WHERE job_id = jobs.id),
  (SELECT COUNT(*) FROM visits WHERE job_id = jobs.id AND state = 'running')
FROM jobs
"""
_PATIENCE = 2.0  # seconds


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
                found = self._from_file(self._database)
            else:
                found = asyncio.run(asyncio.wait_for(self._from_server(self._database), _PATIENCE))
        except (sqlite3.Error, PostgresError, InterfaceError, OSError, TimeoutError):
            return None
        if found is None:
            return None
        job, state, settled, running = found
        return Look(str(job if isinstance(job, UUID) else UUID(bytes=job)), state, int(settled or 0), running)

    def _from_file(self, path: Path) -> Any:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=_PATIENCE)) as rows:
            return rows.execute(_LOOK).fetchone()

    async def _from_server(self, url: str) -> Any:
        connection = await asyncpg.connect(url)  # type: ignore[no-untyped-call]
        try:
            return await connection.fetchrow(_LOOK)
        finally:
            await connection.close()
