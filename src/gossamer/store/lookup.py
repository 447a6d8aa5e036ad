"""Finding many rows by their whole keys.

Postgres guesses how to do that from statistics, which a new table does not have: it then reads all rows of a job to
find a hundred. Asked for one key at a time inside one statement, it has nothing to guess.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import ARRAY, Column, LargeBinary, Select, Table, bindparam, func, select, true

from gossamer.store.tx import Tx


class Lookup:
    """Columns of the rows that have one of the keys, and all of the other values (`job_id`, ...) as well."""

    def __init__(self, table: Table, columns: Sequence[Column[Any]], given: Sequence[str]) -> None:
        key = table.c.key
        fixed = [table.c[name] == bindparam(name, type_=table.c[name].type) for name in given]
        self._listed = select(*columns).where(*fixed, key.in_(bindparam("keys", expanding=True)))
        wanted = (
            func.unnest(bindparam("keys", type_=ARRAY(LargeBinary))).table_valued("key").render_derived(name="wanted")
        )
        # The offset keeps the inner question what it is: one about a single key.
        each = select(*columns).where(*fixed, key == wanted.c.key).offset(0).lateral()
        self._each: Select[Any] = select(*each.c).select_from(wanted.join(each, true()))

    def rows(self, tx: Tx, given: Mapping[str, Any], keys: Sequence[bytes]) -> Sequence[Any]:
        statement = self._each if tx.dialect.row_locks else self._listed
        return tx.rows(statement, {**given, "keys": list(keys)})
