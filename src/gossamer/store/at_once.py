"""Questions whose rows SQLite gives all as one.

It lets go of the interpreter for every single row it gives, and gets it back only when the event loop's thread has had
its turn: a settle that asks about a hundred visits stands in line a hundred times. As one row of JSON they come in one
go.
"""

from collections.abc import Callable, Sequence
from typing import Any

import orjson
from sqlalchemy import ColumnElement, Select, func, select
from sqlalchemy.engine import Dialect as Compiler

from gossamer.store.prepared import Params
from gossamer.store.tx import Tx
from gossamer.store.types import as_it_is, is_bytes


class AtOnce:
    """A question about many rows. Columns of bytes must not be empty: nothing stands for NULL."""

    def __init__(self, statement: Select[Any]) -> None:
        self._statement = statement
        rows = statement.subquery()
        self._columns = tuple(rows.c)
        self._whole = select(func.json_group_array(func.json_array(*map(written, rows.c))))
        self._readers: tuple[Callable[[Any], Any], ...] = ()

    def rows(self, tx: Tx, params: Params, *, hold: bool = True) -> Sequence[Any]:
        """As tuples; held until commit, where that needs saying, unless they are only looked at."""
        if tx.dialect.row_locks:
            return tx.rows(tx.locked(self._statement) if hold else self._statement, params)
        if not self._readers:
            self._readers = tuple(reader(column, tx.conn.dialect) for column in self._columns)
        return read(tx.run(self._whole, params).scalar_one(), self._readers)


def written(column: ColumnElement[Any]) -> ColumnElement[Any]:
    """A column as JSON has it."""
    return func.hex(column) if is_bytes(column.type) else column


def reader(column: ColumnElement[Any], dialect: Compiler) -> Callable[[Any], Any]:
    """The way back."""
    process = column.type.dialect_impl(dialect).result_processor(dialect, None) or as_it_is
    if not is_bytes(column.type):
        return process
    return lambda digits: process(bytes.fromhex(digits)) if digits else None


def read(found: str, readers: Sequence[Callable[[Any], Any]]) -> list[Any]:
    columns = zip(*orjson.loads(found), strict=True)
    return list(zip(*(map(read_one, column) for read_one, column in zip(readers, columns, strict=False)), strict=True))
