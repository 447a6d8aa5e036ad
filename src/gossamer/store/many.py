"""One statement over many rows, prepared once.

The library prepares the values of every row anew, which costs more than the database does. Here a statement is taken
apart once per dialect, and its rows become tuples in one go. It stays the library's statement, for both databases.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sqlalchemy import Executable
from sqlalchemy.engine import Dialect as Compiler

from gossamer.store.tx import Tx

Row = Mapping[str, Any]
_Prepared = tuple[str, tuple[str, ...], tuple[tuple[int, Callable[[Any], Any]], ...]]


class Many:
    """A statement whose every value is a named parameter."""

    def __init__(self, statement: Executable) -> None:
        self._statement = statement
        self._prepared: dict[str, _Prepared] = {}

    def run(self, tx: Tx, rows: Sequence[Row]) -> None:
        """Nothing to do for none."""
        if not rows:
            return
        sql, names, processors = self._prepared.get(tx.dialect.name) or self._prepare(tx)
        values = [[row[name] for name in names] for row in rows]
        for place, process in processors:
            for row in values:
                row[place] = process(row[place])
        tx.conn.exec_driver_sql(sql, [tuple(row) for row in values])

    def _prepare(self, tx: Tx) -> _Prepared:
        dialect = tx.conn.dialect
        compiled = self._statement.compile(dialect=dialect)  # type: ignore[attr-defined]
        names = tuple(compiled.positiontup)
        found = ((place, _processor(compiled.binds[name].type, dialect)) for place, name in enumerate(names))
        prepared = (str(compiled), names, tuple((place, process) for place, process in found if process))
        self._prepared[tx.dialect.name] = prepared
        return prepared


def _processor(kind: Any, dialect: Compiler) -> Callable[[Any], Any] | None:
    """What turns a value into what the driver takes; None if it takes the value as it is."""
    found: Callable[[Any], Any] | None = kind.dialect_impl(dialect).bind_processor(dialect)
    return found
