"""What differs between the two databases, as one value."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlalchemy.dialects import postgresql, sqlite


@dataclass(frozen=True, slots=True)
class Dialect:
    """SQLite has one writer at a time, so it needs no row locks; Postgres has a clock all workers share."""

    name: str
    insert: Callable[..., Any]
    row_locks: bool
    own_clock: bool


SQLITE = Dialect("sqlite", sqlite.insert, row_locks=False, own_clock=False)
POSTGRES = Dialect("postgresql", postgresql.insert, row_locks=True, own_clock=True)
