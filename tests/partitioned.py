"""Every question about a partitioned table says which job it is about: whoever asks without it is stopped in the test.

Watched on every Postgres that tests of the store open, so that each statement any of them leads to was looked at. What
a test itself asks is its own affair.
"""

import re
import sys
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

from sqlalchemy import event

from gossamer.db.database import PostgresDatabase
from gossamer.db.postgres import PARTITIONED

_BEFORE = r"(?:\bFROM (?:\w+(?: AS \w+)?, )*|\bJOIN |\bUPDATE )"
_ASKED = {name: re.compile(rf"{_BEFORE}{name}\b(?: AS (\w+))?") for name in PARTITIONED}

_TESTS = str(Path(__file__).parent)
_PASSED_ON = ("db/transactions.py", "db/bulk.py", "store/visit_transitions.py")


class Unbound(Exception):
    """A statement that reads every month there is."""


@cache
def unbound(sql: str) -> str:
    """The partitioned table of which a statement does not say the job; "" if there is none."""
    flat = " ".join(sql.split())
    for name, asked in _ASKED.items():
        for alias in {found.group(1) or name for found in asked.finditer(flat)}:
            times = sum((found.group(1) or name) == alias for found in asked.finditer(flat))
            if len(re.findall(rf"\b{alias}\.job_id = ", flat)) < times:
                return name
    return ""


def watch(database: PostgresDatabase) -> None:
    @event.listens_for(database._engine.sync_engine, "before_cursor_execute")
    def look(_: Any, __: Any, statement: str, ___: Any, ____: Any, _____: bool) -> None:
        if (table := unbound(statement)) and not _asked_by_a_test():
            raise Unbound(f"it does not say which job's {table} it is about: {statement}")


def _asked_by_a_test() -> bool:
    """Whether the statement was written in a test, and only went through the store."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        file = frame.f_code.co_filename
        if "sqlalchemy" not in file and not file.endswith(_PASSED_ON):
            return file.startswith(_TESTS)
        frame = frame.f_back
    return False
