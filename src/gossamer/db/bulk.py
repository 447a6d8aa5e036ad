"""Statements on many rows, run as one.

SQLAlchemy prepares the values of every row anew, which costs more than the database does. Here a statement
is compiled once per dialect, and its rows become tuples in one pass. It stays a SQLAlchemy statement, for
both databases.

SQLite releases the interpreter lock for every single row that it reads or returns, and gets it back only
after the event loop's thread has had its turn. So the settle statements are written out for hundreds of
rows, and their results come as one row of JSON: the database processes them in one go, in parallel with the
loop.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain
from operator import itemgetter
from typing import Any, TypeVar
from uuid import UUID

import orjson
from sqlalchemy import (
    ARRAY,
    Column,
    ColumnElement,
    Executable,
    Select,
    Table,
    bindparam,
    func,
    select,
    true,
)
from sqlalchemy.engine import Dialect as Compiler

from gossamer.db.statement_cache import Params, fetched
from gossamer.db.transactions import Tx
from gossamer.db.types import as_it_is, is_bytes, processor

T = TypeVar("T")
Row = Mapping[str, Any]
_Prepared = tuple[str, Callable[[Row], tuple[Any, ...]], tuple[tuple[int, Callable[[Any], Any]], ...]]


_MOST_TOGETHER = 512  # rows in one statement
_MOST_VALUES = 32_000  # in one statement of SQLite, whose own limit is 32,766
_WORTH_A_STATEMENT = 3  # a statement may be filled up with one repeated row per this many


def in_order(changes: Mapping[UUID, T]) -> list[tuple[UUID, T]]:
    """Sort by id, the common lock order. The integer is compared, which is ten times as fast as comparing UUIDs."""
    return sorted(changes.items(), key=lambda change: change[0].int)


class BulkStatement:
    """A statement whose values are all named parameters, with an optional SQL tail."""

    def __init__(self, statement: Executable, tail: str = "", *, together: bool = False) -> None:
        """`together`: SQLite may run many rows as one statement, because rows are distinct and independent."""
        self._statement = statement
        self._tail = tail
        self._together = together
        self._prepared: dict[str, _Prepared] = {}

    def run(self, tx: Tx, rows: Sequence[Row]) -> int:
        """Execute for all rows; return the number of changed rows, if the dialect counts them. No-op without rows."""
        if not rows:
            return 0
        sql, values_of, processors = self._prepared.get(tx.dialect.name) or self._prepare(tx)
        if len(rows) == 1 and not tx.dialect.row_locks:
            # A single row, as for single-page requests.
            one = list(values_of(rows[0]))
            for place, process in processors:
                one[place] = process(one[place])
            return int(tx.run_raw(sql + self._tail, tuple(one)).rowcount)
        columns: list[Sequence[Any]] = list(zip(*map(values_of, rows), strict=True))
        for place, process in processors:
            columns[place] = _processed(columns[place], process)
        values = list(zip(*columns, strict=True))
        if self._together and not tx.dialect.row_locks:
            return _run_together(tx, sql, self._tail, values)
        return int(tx.run_raw(sql + self._tail, values).rowcount)

    def run_as_one(self, tx: Tx, rows: Sequence[Row]) -> int:
        """Like `run`, but SQLite runs as many rows per statement as it can, without caching the statement.

        For rare statements on thousands of rows.
        """
        if not self._together or tx.dialect.row_locks or len(rows) < 2:
            return self.run(tx, rows)
        sql, values_of, processors = self._prepared.get(tx.dialect.name) or self._prepare(tx)
        columns: list[Sequence[Any]] = list(zip(*map(values_of, rows), strict=True))
        for place, process in processors:
            columns[place] = _processed(columns[place], process)
        values = list(zip(*columns, strict=True))
        most = _MOST_VALUES // len(columns)
        changed = 0
        for start in range(0, len(values), most):
            some = values[start : start + most]
            spelled = _spell(sql, self._tail, len(some))
            changed += tx.run_raw(spelled, tuple(chain.from_iterable(some))).rowcount
        return changed

    def _prepare(self, tx: Tx) -> _Prepared:
        dialect = tx.conn.dialect
        compiled = self._statement.compile(dialect=dialect)  # type: ignore[attr-defined]
        names = tuple(compiled.positiontup)
        found = ((place, processor(compiled.binds[name].type, dialect)) for place, name in enumerate(names))
        processors = tuple((place, process) for place, process in found if process is not as_it_is)
        prepared = (str(compiled), itemgetter(*names), processors)
        self._prepared[tx.dialect.name] = prepared
        return prepared


def _run_together(tx: Tx, sql: str, tail: str, rows: Sequence[tuple[Any, ...]]) -> int:
    # A repeated row does no harm in an UPDATE, and in an INSERT that ignores conflicts.
    repeats = tail.endswith("DO NOTHING") or not sql.startswith("INSERT")
    changed = 0
    for some in powers_of_two(rows, repeats=repeats):
        spelled = _spelled(sql, tail, len(some))
        changed += tx.run_raw(spelled, tuple(chain.from_iterable(some))).rowcount
    return changed


def powers_of_two(rows: Sequence[T], *, repeats: bool) -> Iterator[Sequence[T]]:
    """Split rows into few pieces of few different lengths, whose statements the driver caches.

    With `repeats`, the last piece may be filled up with its last row.
    """
    start = 0
    while left := len(rows) - start:
        length = 1 << (left - 1).bit_length()
        if length > left and not (repeats and (length - left) * _WORTH_A_STATEMENT <= left):
            length //= 2
        some = rows[start : start + min(length, _MOST_TOGETHER)]
        yield some if len(some) in (length, _MOST_TOGETHER) else [*some, *[some[-1]] * (length - len(some))]
        start += len(some)


@cache
def _spelled(sql: str, tail: str, number: int) -> str:
    return _spell(sql, tail, number)


def _spell(sql: str, tail: str, number: int) -> str:
    """Return the statement for so many rows: an INSERT with several lists of values, an UPDATE from a VALUES table."""
    if sql.startswith("INSERT"):
        head, _, values = sql.partition(" VALUES ")
        return f"{head} VALUES {', '.join([values] * number)}{tail}"
    pieces = sql.split("?")
    named = "".join(f"{piece}given.column{place}" for place, piece in enumerate(pieces[:-1], 1)) + pieces[-1]
    head, _, where = named.partition(" WHERE ")
    values = ", ".join([f"({', '.join('?' * (len(pieces) - 1))})"] * number)
    return f"{head} FROM (VALUES {values}) AS given WHERE {where}{tail}"


def _processed(values: Sequence[Any], process: Callable[[Any], Any]) -> list[Any]:
    """Convert values for the driver. A value shared by many rows, such as a job, is converted once."""
    different = dict(zip(map(id, values), values, strict=True))
    if len(different) == 1:
        return [process(values[0])] * len(values)
    if len(different) == len(values):
        return [process(value) for value in values]
    turned = {place: process(value) for place, value in different.items()}
    return [turned[place] for place in map(id, values)]


class BulkQuery:
    """A query for many rows. Columns of bytes must not be empty: an empty value stands for NULL."""

    def __init__(self, statement: Select[Any]) -> None:
        self._statement = statement
        rows = statement.subquery()
        self._columns = tuple(rows.c)
        self._whole = select(func.json_group_array(func.json_array(*map(written, rows.c))))
        self._readers: tuple[Callable[[Any], Any], ...] = ()

    def rows(self, tx: Tx, params: Params, *, hold: bool = True) -> Sequence[Any]:
        """Return the rows as tuples; with `hold`, a server locks them until commit."""
        if tx.dialect.row_locks:
            return tx.rows(tx.locked(self._statement) if hold else self._statement, params)
        if not self._readers:
            self._readers = tuple(reader(column, tx.conn.dialect) for column in self._columns)
        return read(tx.run(self._whole, params).scalar_one(), self._readers)


def written(column: ColumnElement[Any]) -> ColumnElement[Any]:
    """Return a column in a form that JSON can hold."""
    return func.hex(column) if is_bytes(column.type) else column


def reader(column: ColumnElement[Any], dialect: Compiler) -> Callable[[Any], Any]:
    """Return a function that converts a column's value back from JSON."""
    process = column.type.dialect_impl(dialect).result_processor(dialect, None) or as_it_is
    if not is_bytes(column.type):
        return process
    return lambda digits: process(bytes.fromhex(digits)) if digits else None


def read(found: str, readers: Sequence[Callable[[Any], Any]]) -> list[Any]:
    columns = zip(*orjson.loads(found), strict=True)
    return list(zip(*(map(read_one, column) for read_one, column in zip(readers, columns, strict=False)), strict=True))


_LONGEST = 8_192  # keys per query


class KeyQuery:
    """A query for the rows with one of the keys and the given other values (`job_id`, ...).

    `by` is the column of the keys; default: `key`.
    """

    def __init__(
        self, table: Table, columns: Sequence[Column[Any]], given: Sequence[str], by: Column[Any] | None = None
    ) -> None:
        self._table = table
        self._by = table.c.key if by is None else by
        self._columns = columns
        self._given = given
        self._listed = ""
        self._convert: Callable[[Any], Any] = as_it_is
        self._processors: list[Callable[[Any], Any]] = []
        self._readers: list[Callable[[Any], Any]] = []
        fixed = [table.c[name] == bindparam(name, type_=table.c[name].type) for name in given]
        wanted = (
            func.unnest(bindparam("keys", type_=ARRAY(self._by.type))).table_valued("key").render_derived(name="wanted")
        )
        # OFFSET 0 keeps the planner from merging the subquery, which is about a single key.
        each = select(*columns).where(*fixed, self._by == wanted.c.key).offset(0).lateral()
        self._each: Select[Any] = select(*each.c).select_from(wanted.join(each, true()))

    def rows(self, tx: Tx, given: Mapping[str, Any], keys: Sequence[Any]) -> Sequence[Any]:
        if tx.dialect.row_locks:
            return tx.rows(self._each, {**given, "keys": list(keys)})
        if not self._listed:
            self._prepare(tx)
        first = [process(given[name]) for name, process in zip(self._given, self._processors, strict=True)]
        found: list[Any] = []
        for start in range(0, len(keys), _LONGEST):
            some = list(keys[start : start + _LONGEST])
            if self._convert is not as_it_is:
                some = list(map(self._convert, some))
            # Filled up to the next power of two by repeating the last key.
            length = 1 << (len(some) - 1).bit_length()
            sql = f"{self._listed} IN ({'?,' * (length - 1)}?)"
            asked = (*first, *some, *[some[-1]] * (length - len(some)))
            ((whole,),) = fetched(tx.run_raw(sql, asked))
            found += read(whole, self._readers)
        return found

    def _prepare(self, tx: Tx) -> None:
        columns = ", ".join(f"hex({one.name})" if is_bytes(one.type) else one.name for one in self._columns)
        fixed = "".join(f"{name} = ? AND " for name in self._given)
        dialect = tx.conn.dialect
        self._processors = [processor(self._table.c[name].type, dialect) for name in self._given]
        self._readers = [reader(column, dialect) for column in self._columns]
        rows = f"SELECT json_group_array(json_array({columns})) FROM {self._table.name}"  # noqa: S608 - our own names
        self._convert = processor(self._by.type, dialect)
        self._listed = f"{rows} WHERE {fixed}{self._by.name}"
