"""What differs between the two databases, as one value."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

from sqlalchemy import Executable, Table


@dataclass(frozen=True, slots=True)
class Dialect:
    """SQLite has one writer at a time, so it needs no row locks, and it says how many rows a statement over many has
    changed; Postgres has a clock all workers share."""

    name: str
    row_locks: bool
    own_clock: bool
    counts_many: bool

    @property
    def insert(self) -> Callable[..., Any]:
        """The dialect's INSERT, which knows ON CONFLICT. Only the one in use is loaded: they are slow to import."""
        made: Callable[..., Any] = import_module(f"sqlalchemy.dialects.{self.name}").insert
        return made

    def insert_new(self, table: Table) -> Executable:
        """An INSERT that leaves alone what is there: always the same one, which is prepared once."""
        return _insert_new(self, table)


@cache
def _insert_new(dialect: Dialect, table: Table) -> Executable:
    made: Executable = dialect.insert(table).on_conflict_do_nothing()
    return made


SQLITE = Dialect("sqlite", row_locks=False, own_clock=False, counts_many=True)
POSTGRES = Dialect("postgresql", row_locks=True, own_clock=True, counts_many=False)
