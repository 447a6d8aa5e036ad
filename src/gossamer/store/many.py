"""One statement over many rows, prepared once.

The library prepares the values of every row anew, which costs more than the database does. Here a statement is taken
apart once per dialect, and its rows become tuples in one go. It stays the library's statement, for both databases.

SQLite lets go of the interpreter for every single row, and gets it back only when the event loop's thread has had its
turn. So statements of the settle are spelled out for hundreds of rows: the database works them in one go, beside the
loop.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain
from operator import itemgetter
from typing import Any, TypeVar
from uuid import UUID

from sqlalchemy import Executable

from gossamer.store.tx import Tx
from gossamer.store.types import as_it_is, processor

T = TypeVar("T")
Row = Mapping[str, Any]
_Prepared = tuple[str, Callable[[Row], tuple[Any, ...]], tuple[tuple[int, Callable[[Any], Any]], ...]]


_MOST_TOGETHER = 512  # rows in one statement
_WORTH_A_STATEMENT = 3  # if no more than one row in so many is there for nothing


def in_order(changes: Mapping[UUID, T]) -> list[tuple[UUID, T]]:
    """By id, as every transaction takes its rows. By its number: to compare ids themselves takes ten times as long."""
    return sorted(changes.items(), key=lambda change: change[0].int)


class Many:
    """A statement whose every value is a named parameter, and what is to stand behind it."""

    def __init__(self, statement: Executable, tail: str = "", *, together: bool = False) -> None:
        """`together` where SQLite may do many rows at once: no row is named twice, and none depends on another."""
        self._statement = statement
        self._tail = tail
        self._together = together
        self._prepared: dict[str, _Prepared] = {}

    def run(self, tx: Tx, rows: Sequence[Row]) -> int:
        """How many rows were changed, where the dialect counts them. Nothing to do for none."""
        if not rows:
            return 0
        sql, values_of, processors = self._prepared.get(tx.dialect.name) or self._prepare(tx)
        if len(rows) == 1 and not tx.dialect.row_locks:
            # A page that somebody waits for: there is nothing to do together.
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
    # The same row once more is changed once all the same, and not added where that is no error.
    repeats = tail.endswith("DO NOTHING") or not sql.startswith("INSERT")
    changed = 0
    for some in powers_of_two(rows, repeats=repeats):
        spelled = _spelled(sql, tail, len(some))
        changed += tx.run_raw(spelled, tuple(chain.from_iterable(some))).rowcount
    return changed


def powers_of_two(rows: Sequence[T], *, repeats: bool) -> Iterator[Sequence[T]]:
    """In few lengths, so that the driver has all of these statements ready, and in few pieces: the last one may be
    filled up with its last row."""
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
    """The statement for so many rows: an INSERT with as many lists of values, an UPDATE by a table of values."""
    if sql.startswith("INSERT"):
        head, _, values = sql.partition(" VALUES ")
        return f"{head} VALUES {', '.join([values] * number)}{tail}"
    pieces = sql.split("?")
    named = "".join(f"{piece}given.column{place}" for place, piece in enumerate(pieces[:-1], 1)) + pieces[-1]
    head, _, where = named.partition(" WHERE ")
    values = ", ".join([f"({', '.join('?' * (len(pieces) - 1))})"] * number)
    return f"{head} FROM (VALUES {values}) AS given WHERE {where}{tail}"


def _processed(values: Sequence[Any], process: Callable[[Any], Any]) -> list[Any]:
    """Each value for the driver. Many rows share a job, a site or a moment, each of which is turned once."""
    different = dict(zip(map(id, values), values, strict=True))
    if len(different) == 1:
        return [process(values[0])] * len(values)
    if len(different) == len(values):
        return [process(value) for value in values]
    turned = {place: process(value) for place, value in different.items()}
    return [turned[place] for place in map(id, values)]
