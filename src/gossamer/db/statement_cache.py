"""Compiled statements, kept for the next run.

SQLAlchemy analyses each statement at every run: its SQL, the conversion of its values, the form of its rows. For small
statements that takes longer than the database does, so it is done once here, with SQLAlchemy's own compiler. Unusual
statements are run by SQLAlchemy.
"""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from operator import itemgetter
from typing import Any, Protocol
from weakref import WeakKeyDictionary, WeakSet

from sqlalchemy import Executable
from sqlalchemy.engine import Dialect as Compiler
from sqlalchemy.exc import DBAPIError, MultipleResultsFound, NoResultFound
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.dml import UpdateBase
from sqlalchemy.sql.selectable import SelectBase

from gossamer.db.types import as_it_is, processor

Params = Mapping[str, Any]
_LONGEST = 128  # values in a list: one statement is cached per length


class RowResult(Protocol):
    """Result of a statement: the part of SQLAlchemy's result that is used here."""

    @property
    def rowcount(self) -> int: ...
    def __iter__(self) -> Iterator[Any]: ...
    def all(self) -> Sequence[Any]: ...
    def first(self) -> Any: ...
    def one(self) -> Any: ...
    def scalar(self) -> Any: ...
    def scalar_one(self) -> Any: ...
    def scalars(self) -> Any: ...


def librarys(error: sqlite3.Error, sql: str | None = None) -> BaseException:
    """Convert a driver's error to the one that SQLAlchemy would have raised."""
    return DBAPIError.instance(sql, None, error, sqlite3.Error)


def fetched(cursor: Any) -> list[Any]:
    """Fetch all rows of a cursor; a damaged file often raises only here."""
    try:
        found: list[Any] = cursor.fetchall()
    except sqlite3.Error as error:
        raise librarys(error) from error
    return found


class _Values(Iterable[Any]):
    """The first column of an answer."""

    __slots__ = ("_values",)

    def __init__(self, values: Iterator[Any]) -> None:
        self._values = values

    def __iter__(self) -> Iterator[Any]:
        return self._values

    def all(self) -> list[Any]:
        return list(self._values)


class _Rows:
    """A result whose rows are created when they are read."""

    __slots__ = ("_cursor", "_make", "rowcount")

    def __init__(self, cursor: Any, make: Callable[[Sequence[Any]], Any]) -> None:
        self._cursor = cursor
        self._make = make
        self.rowcount: int = cursor.rowcount

    def __iter__(self) -> Iterator[Any]:
        try:
            yield from map(self._make, self._cursor)
        except sqlite3.Error as error:
            raise librarys(error) from error

    def all(self) -> list[Any]:
        return list(map(self._make, fetched(self._cursor)))

    def first(self) -> Any:
        try:
            found = self._cursor.fetchone()
        except sqlite3.Error as error:
            raise librarys(error) from error
        self._cursor.close()  # an unfinished cursor would block the end of the transaction
        return None if found is None else self._make(found)

    def one(self) -> Any:
        found = self.all()
        if len(found) > 1:
            raise MultipleResultsFound("Multiple rows were found when exactly one was required")
        if not found:
            raise NoResultFound("No row was found when one was required")
        return found[0]

    def scalar(self) -> Any:
        found = self.first()
        return None if found is None else found[0]

    def scalar_one(self) -> Any:
        return self.one()[0]

    def scalars(self) -> _Values:
        return _Values(row[0] for row in self)


class _Prepared:
    """One statement for one dialect, with lists of certain lengths."""

    __slots__ = ("_lists", "_make", "_processors", "_steady", "_values_of", "sql")

    def __init__(self, compiled: SQLCompiler, params: Params) -> None:
        spelled = compiled.construct_expanded_state(params)
        names = tuple(spelled.positiontup or ())
        self.sql = spelled.statement
        self._lists = {name: tuple(parts) for name, parts in spelled.parameter_expansion.items() if name in params}
        given = {*params, *chain.from_iterable(self._lists.values())}
        self._steady = {name: spelled.parameters[name] for name in names if name not in given}
        self._values_of = _getter(names)
        # Values of lists are converted as SQLAlchemy says, all others by their types.
        found = (
            (
                place,
                processor(compiled.binds[name].type, compiled.dialect)
                if name in compiled.binds
                else spelled.processors.get(name, as_it_is),
            )
            for place, name in enumerate(names)
        )
        self._processors = tuple((place, process) for place, process in found if process is not as_it_is)
        self._make = _row_of(compiled)

    def values(self, params: Params) -> Sequence[Any]:
        given = {**self._steady, **params}
        for name, parts in self._lists.items():
            listed = params[name]
            if isinstance(next(iter(listed), None), tuple):
                listed = chain.from_iterable(listed)
            given.update(zip(parts, listed, strict=True))
        values = self._values_of(given)
        if not self._processors:
            return values
        ready = list(values)
        for place, process in self._processors:
            ready[place] = process(ready[place])
        # A server's driver distinguishes one set of values (tuple) from several (list).
        return tuple(ready)

    def answer(self, cursor: Any) -> _Rows:
        return _Rows(cursor, self._make)


class _Shapes:
    """Prepared forms of one statement: its SQL differs for every set of given columns."""

    __slots__ = ("_lists", "_prepared")

    def __init__(self) -> None:
        self._lists: dict[tuple[Any, ...], tuple[str, ...]] = {}  # names of parameters that are lists
        self._prepared: dict[tuple[Any, ...], _Prepared | None] = {}

    def get(self, statement: Executable, params: Params, compiler: Compiler) -> _Prepared | None:
        shape: tuple[Any, ...] = (compiler.name, *params)
        lists = self._lists.get(shape, ())
        if lists:
            lengths = [len(params[name]) for name in lists]
            if max(lengths) > _LONGEST:
                return None
            shape = (*shape, *lengths)
        found = self._prepared.get(shape, ...)
        if found is not ...:
            return found
        # A compiled statement references its statement and would keep it alive: it is compiled again for each length.
        compiled = _compile(statement, params, compiler)
        if compiled is None:
            self._prepared[shape] = None
            return None
        if not lists:
            self._lists[shape] = tuple(
                name for name, bind in compiled.binds.items() if bind.expanding and name in params
            )
            if self._lists[shape]:
                return self.get(statement, params, compiler)
        made = self._prepared[shape] = _Prepared(compiled, params)
        return made


_seen: WeakSet[Executable] = WeakSet()
_kept: WeakKeyDictionary[Executable, _Shapes] = WeakKeyDictionary()


def prepared(statement: Executable, params: Params, compiler: Compiler) -> _Prepared | None:
    """Return the prepared statement; None at its first run, or if only SQLAlchemy can run it."""
    shapes = _kept.get(statement)
    if shapes is None:
        if statement not in _seen:
            _seen.add(statement)
            return None
        shapes = _kept[statement] = _Shapes()
    return shapes.get(statement, params, compiler)


def _compile(statement: Executable, params: Params, compiler: Compiler) -> SQLCompiler | None:
    """Return the compiled statement, or None if only the library can run it.

    That is the case for text statements and for rows to which the library adds values.
    """
    if isinstance(statement, UpdateBase):
        compiled = statement.compile(dialect=compiler, column_keys=list(params))
        given_back = bool(statement.exported_columns)
        if compiled.insert_prefetch or compiled.update_prefetch or bool(compiled.effective_returning) != given_back:
            return None
    elif isinstance(statement, SelectBase):
        compiled = statement.compile(dialect=compiler)
    else:
        return None
    # Values in the SQL text, or computed at each run, would keep their first value.
    if compiled.literal_execute_params or any(bind.callable for bind in compiled.binds.values()):
        return None
    return compiled


def _getter(names: tuple[str, ...]) -> Callable[[Params], tuple[Any, ...]]:
    if len(names) > 1:
        return itemgetter(*names)
    return lambda given: tuple(given[name] for name in names)


def _row_of(compiled: SQLCompiler) -> Callable[[Sequence[Any]], Any]:
    """Return a function that makes a row of the driver's values: a tuple with attributes named by column."""
    columns = tuple(compiled.statement.exported_columns)  # type: ignore[union-attr]
    dialect = compiled.dialect
    found = (column.type.dialect_impl(dialect).result_processor(dialect, None) for column in columns)
    processors = tuple((place, process) for place, process in enumerate(found) if process)
    named = {column.key: property(itemgetter(place)) for place, column in enumerate(columns)}
    row = type("Row", (tuple,), {"__slots__": (), **named})
    if not processors:
        return row

    def make(values: Sequence[Any]) -> Any:
        ready = list(values)
        for place, process in processors:
            ready[place] = process(ready[place])
        return row(ready)

    return make
