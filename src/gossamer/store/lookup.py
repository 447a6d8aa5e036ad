"""Finding many rows by their whole keys.

Postgres guesses how to do that from statistics, which a new table does not have: it then reads all rows of a job to
find a hundred. Asked for one key at a time inside one statement, it has nothing to guess. SQLite gets lists of keys,
in statements of a few lengths that are prepared once: the library would spell each list anew, which costs more than the
question.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sqlalchemy import ARRAY, Column, LargeBinary, Select, Table, bindparam, func, select, true

from gossamer.store.at_once import read, reader
from gossamer.store.prepared import fetched
from gossamer.store.tx import Tx
from gossamer.store.types import is_bytes, processor

_LONGEST = 1_024  # keys in one question


class Lookup:
    """Columns of the rows that have one of the keys, and all of the other values (`job_id`, ...) as well."""

    def __init__(self, table: Table, columns: Sequence[Column[Any]], given: Sequence[str]) -> None:
        self._table = table
        self._columns = columns
        self._given = given
        self._listed = ""
        self._processors: list[Callable[[Any], Any]] = []
        self._readers: list[Callable[[Any], Any]] = []
        fixed = [table.c[name] == bindparam(name, type_=table.c[name].type) for name in given]
        wanted = (
            func.unnest(bindparam("keys", type_=ARRAY(LargeBinary))).table_valued("key").render_derived(name="wanted")
        )
        # The offset keeps the inner question what it is: one about a single key.
        each = select(*columns).where(*fixed, table.c.key == wanted.c.key).offset(0).lateral()
        self._each: Select[Any] = select(*each.c).select_from(wanted.join(each, true()))

    def rows(self, tx: Tx, given: Mapping[str, Any], keys: Sequence[bytes]) -> Sequence[Any]:
        if tx.dialect.row_locks:
            return tx.rows(self._each, {**given, "keys": list(keys)})
        if not self._listed:
            self._prepare(tx)
        first = [process(given[name]) for name, process in zip(self._given, self._processors, strict=True)]
        found: list[Any] = []
        for start in range(0, len(keys), _LONGEST):
            some = list(keys[start : start + _LONGEST])
            # Filled up to the next power of two with the last key, which finds nothing more.
            length = 1 << (len(some) - 1).bit_length()
            sql = f"{self._listed} IN ({'?,' * (length - 1)}?)"
            asked = (*first, *some, *[some[-1]] * (length - len(some)))
            ((whole,),) = fetched(tx.run_raw(sql, asked))
            found += read(whole, self._readers)
        return found

    def _prepare(self, tx: Tx) -> None:
        columns = ", ".join(f"hex({one.name})" if is_bytes(one.type) else one.name for one in self._columns)
        fixed = " AND ".join(f"{name} = ?" for name in self._given)
        dialect = tx.conn.dialect
        self._processors = [processor(self._table.c[name].type, dialect) for name in self._given]
        self._readers = [reader(column, dialect) for column in self._columns]
        rows = f"SELECT json_group_array(json_array({columns})) FROM {self._table.name}"  # noqa: S608 - our own names
        self._listed = f"{rows} WHERE {fixed} AND key"
