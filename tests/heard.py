"""What a transaction says to its database, whichever way it goes there."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import event

from gossamer.db.transactions import Tx


@contextmanager
def statements(tx: Tx) -> Iterator[list[str]]:
    """Every statement from here on. SQLite's driver is asked itself, since most of them go past the library."""
    said: list[str] = []
    if not tx.dialect.row_locks:
        driver: Any = tx.conn.connection.driver_connection
        driver.set_trace_callback(said.append)
        try:
            yield said
        finally:
            driver.set_trace_callback(None)
        return

    def heard(_conn: object, _cursor: object, statement: str, *_: object) -> None:
        said.append(statement)

    event.listen(tx.conn, "before_cursor_execute", heard)
    try:
        yield said
    finally:
        event.remove(tx.conn, "before_cursor_execute", heard)
