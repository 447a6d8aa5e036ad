"""The open transaction, which is the first parameter of every function that runs SQL."""

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any, cast
from weakref import WeakKeyDictionary

from sqlalchemy import Connection, CursorResult, Executable, Select, Table, text

from gossamer.clock import Clock
from gossamer.db.statement_cache import RowResult, librarys, prepared


@dataclass(frozen=True, slots=True)
class Dialect:
    """Differences of the databases: SQLite needs no row locks and counts the rows of bulk statements; Postgres has a
    clock that all workers share."""

    name: str
    row_locks: bool
    own_clock: bool
    counts_many: bool

    @property
    def insert(self) -> Callable[..., Any]:
        """Return the dialect's INSERT, which supports ON CONFLICT."""
        # Only the dialect in use is imported: each is slow to load.
        if self.row_locks:
            from sqlalchemy.dialects.postgresql import insert as postgres_insert  # the same

            return postgres_insert
        from sqlalchemy.dialects.sqlite import insert as sqlite_insert  # the same

        return sqlite_insert

    def insert_new(self, table: Table) -> Executable:
        """Return an INSERT that ignores existing rows; the same object each time, so that it is prepared once."""
        return _insert_new(self, table)


@cache
def _insert_new(dialect: Dialect, table: Table) -> Executable:
    made: Executable = dialect.insert(table).on_conflict_do_nothing()
    return made


SQLITE = Dialect("sqlite", row_locks=False, own_clock=False, counts_many=True)
POSTGRES = Dialect("postgresql", row_locks=True, own_clock=True, counts_many=False)


_locked: WeakKeyDictionary[Select[Any], Select[Any]] = WeakKeyDictionary()
_CLOCK = text("SELECT date_trunc('milliseconds', clock_timestamp())")


class Tx:
    """A connection inside a transaction, its dialect, and the time by which its rows are written."""

    __slots__ = ("_clock", "_driver", "_now", "conn", "dialect")

    def __init__(self, conn: Connection, dialect: Dialect, clock: Clock) -> None:
        self.conn = conn
        self.dialect = dialect
        self._clock = clock
        self._now: datetime | None = None
        self._driver: sqlite3.Connection | None = None

    @property
    def now(self) -> datetime:
        """The time of the transaction: the server's clock, or this machine's for SQLite; read once."""
        if self._now is None:
            self._now = self.conn.execute(_CLOCK).scalar_one() if self.dialect.own_clock else self._clock.now()
        return self._now

    def look_again(self) -> None:
        """Reset the transaction's time after a wait, so that later writes have the time after it."""
        self._now = None

    def run(self, statement: Executable, params: Mapping[str, Any] | None = None) -> RowResult:
        params = params or {}
        ready = prepared(statement, params, self.conn.dialect)
        if ready:
            return ready.answer(self.run_raw(ready.sql, ready.values(params)))
        result = self.conn.execute(statement, params)
        assert isinstance(result, CursorResult)  # noqa: S101 - tells the type checker what Core always returns
        return result

    def run_raw(self, sql: str, values: Sequence[Any]) -> Any:
        """Run SQL for the driver and return its cursor; a list of values means one run for each.

        SQLite's driver is called directly, because SQLAlchemy takes longer than the query.
        """
        if self.dialect.row_locks:
            return self.conn.exec_driver_sql(sql, values)
        if self._driver is None:
            self._driver = cast("sqlite3.Connection", self.conn.connection.driver_connection)
        try:
            run = self._driver.executemany if isinstance(values, list) else self._driver.execute
            return run(sql, values)
        except sqlite3.Error as error:
            raise librarys(error, sql) from error

    def rows(self, statement: Executable, params: Mapping[str, Any]) -> Sequence[Any]:
        """Return all rows at once."""
        return self.run(statement, params).all()

    def run_many(self, statement: Executable, rows: Sequence[Mapping[str, Any]]) -> None:
        """Run one prepared statement for many rows; no-op without rows."""
        if not rows:
            return
        ready = prepared(statement, rows[0], self.conn.dialect)
        if ready:
            self.run_raw(ready.sql, [ready.values(row) for row in rows])
        else:
            self.conn.execute(statement, list(rows))

    @property
    def is_gone(self) -> bool:
        """True if the database has rolled back the whole transaction, as SQLite does when the disk is full.

        Everything written in it is lost, and further writes would be outside any transaction.
        """
        return not self.dialect.row_locks and not getattr(
            self.conn.connection.driver_connection, "in_transaction", True
        )

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        """Undo the block if it raises; the transaction can continue, unless it `is_gone`."""
        failed: Exception | None = None
        try:
            with self.conn.begin_nested() if self.dialect.row_locks else self._savepoint():
                try:
                    yield
                except Exception as error:
                    failed = error
                    raise
        except Exception:
            if failed is not None and self.is_gone:
                raise failed from None  # instead of the error of the rollback
            raise

    @contextmanager
    def _savepoint(self) -> Iterator[None]:
        """Run the block in a savepoint, without SQLAlchemy: every page that a caller waits for takes one."""
        self.run_raw("SAVEPOINT tx", ())
        try:
            yield
        except BaseException:
            self.run_raw("ROLLBACK TO tx", ())
            self.run_raw("RELEASE tx", ())
            raise
        self.run_raw("RELEASE tx", ())

    def locked(self, statement: Select[Any]) -> Select[Any]:
        """Return the select with row locks until commit, if the database has them."""
        if not self.dialect.row_locks:
            return statement
        holding = _locked.get(statement)
        if holding is None:
            holding = _locked[statement] = statement.with_for_update()
        return holding
