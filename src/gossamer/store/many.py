"""One statement over many rows, prepared once.

The library prepares the values of every row anew, which costs more than the database does. Here a statement is taken
apart once per dialect, and its rows become tuples in one go. It stays the library's statement, for both databases.
"""

from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any

from sqlalchemy import Executable
from sqlalchemy.engine import Dialect as Compiler

from gossamer.store.tx import Tx

Row = Mapping[str, Any]
_Prepared = tuple[str, Callable[[Row], tuple[Any, ...]], tuple[tuple[int, Callable[[Any], Any]], ...]]


class Many:
    """A statement whose every value is a named parameter, and what is to stand behind it."""

    def __init__(self, statement: Executable, tail: str = "") -> None:
        self._statement = statement
        self._tail = tail
        self._prepared: dict[str, _Prepared] = {}

    def run(self, tx: Tx, rows: Sequence[Row]) -> int:
        """How many rows were changed, where the dialect counts them. Nothing to do for none."""
        if not rows:
            return 0
        sql, values_of, processors = self._prepared.get(tx.dialect.name) or self._prepare(tx)
        columns: list[Sequence[Any]] = list(zip(*map(values_of, rows), strict=True))
        for place, process in processors:
            columns[place] = _processed(columns[place], process)
        return tx.conn.exec_driver_sql(sql, list(zip(*columns, strict=True))).rowcount

    def _prepare(self, tx: Tx) -> _Prepared:
        dialect = tx.conn.dialect
        compiled = self._statement.compile(dialect=dialect)  # type: ignore[attr-defined]
        names = tuple(compiled.positiontup)
        found = ((place, processor(compiled.binds[name].type, dialect)) for place, name in enumerate(names))
        processors = tuple((place, process) for place, process in found if process is not as_it_is)
        prepared = (str(compiled) + self._tail, itemgetter(*names), processors)
        self._prepared[tx.dialect.name] = prepared
        return prepared


def _processed(values: Sequence[Any], process: Callable[[Any], Any]) -> list[Any]:
    """Each value for the driver. Many rows share a job, a site or a moment, each of which is turned once."""
    known: dict[int, Any] = {}
    turned = []
    for value in values:
        place = id(value)
        if place not in known:
            known[place] = process(value)
        turned.append(known[place])
    return turned


def processor(kind: Any, dialect: Compiler) -> Callable[[Any], Any]:
    """What turns a value into what the driver takes."""
    found: Callable[[Any], Any] | None = kind.dialect_impl(dialect).bind_processor(dialect)
    return found or as_it_is


def as_it_is(value: Any) -> Any:
    return value
