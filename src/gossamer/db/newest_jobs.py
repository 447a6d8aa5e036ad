"""The newest jobs of an embedded database, for the shell's completion.

It loads no library and does not wait for a busy file. Everything else reads jobs with `store/jobs.py`.
"""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

_PATIENCE = 0.05  # seconds
_LOOKED_AT = 1_000  # jobs that are read: there may be thousands of single scrapes, which are not listed
_STEPS = 10_000_000  # SQLite instructions, about 0.1 s

_NEWEST = """
    SELECT id, name, state FROM (SELECT id, name, state, recipe, sites_total FROM jobs ORDER BY id DESC LIMIT ?) AS j
    WHERE state <> 'archived' AND NOT (recipe = 'scrape' AND sites_total = 1 AND 1 = coalesce(
        (SELECT size FROM sites WHERE job_id = j.id AND listed AND size_source = 'list' LIMIT 1), 0))
    ORDER BY id DESC LIMIT ?
"""


class NewestJob(NamedTuple):
    id: UUID
    name: str
    state: str


def newest_jobs(file: Path, limit: int) -> list[NewestJob]:
    """Return the jobs of `job list`; empty if the file is missing, busy or unreadable."""
    try:
        with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True, timeout=_PATIENCE)) as rows:
            rows.set_progress_handler(lambda: True, _STEPS)
            found = rows.execute(_NEWEST, (_LOOKED_AT, limit)).fetchall()
        return [NewestJob(UUID(bytes=identifier), name, state) for identifier, name, state in found]
    except (sqlite3.Error, ValueError, TypeError):
        return []
