"""Beside the connections to a server: one whose other end is gone without a word must not be waited for for ever.

A server that lost its power, or a network that lost us, closes nothing. The operating system finds out, if it is asked
to look, and then a statement fails like any other that meets a database that is away. One that was closed while it lay
idle is replaced before it is used.
"""

import socket
from time import monotonic
from typing import TYPE_CHECKING, Any

from sqlalchemy import event
from sqlalchemy.exc import InvalidatePoolError

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncEngine

_IDLE, _EVERY, _TIMES = 10, 5, 3  # seconds of silence, seconds between questions, and how many may stay unanswered
_GONE_AFTER = (_IDLE + _EVERY * _TIMES) * 1000  # milliseconds for what was sent and not acknowledged
_OPTIONS = {
    "TCP_KEEPIDLE": _IDLE,
    "TCP_KEEPINTVL": _EVERY,
    "TCP_KEEPCNT": _TIMES,
    "TCP_USER_TIMEOUT": _GONE_AFTER,
}
_FRESH = 1.0  # seconds for which a connection that was used is not asked whether it is still there


def look_whether_alive(engine: "AsyncEngine") -> None:
    """Of all connections it will ever make."""

    @event.listens_for(engine.sync_engine, "connect")
    def made(connection: Any, _: object) -> None:
        transport = getattr(connection.driver_connection, "_transport", None)
        found = transport.get_extra_info("socket") if transport else None
        if found is None or found.family not in (socket.AF_INET, socket.AF_INET6):
            return
        found.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in _OPTIONS.items():
            if option := getattr(socket, name, None):  # not every system has all of them
                found.setsockopt(socket.IPPROTO_TCP, option, value)

    @event.listens_for(engine.sync_engine, "checkin")
    def returned(_: object, record: Any) -> None:
        record.info["used"] = monotonic()

    @event.listens_for(engine.sync_engine, "checkout")
    def lent(connection: Any, record: Any, _: object) -> None:
        """One that has lain idle may be gone, and another is made then. A busy one need not be asked every time."""
        if monotonic() - record.info.get("used", monotonic()) < _FRESH:
            return
        dialect = engine.sync_engine.dialect
        try:
            alive = dialect.do_ping(connection)
        except dialect.loaded_dbapi.Error as error:
            raise InvalidatePoolError(str(error)) from error
        if not alive:
            raise InvalidatePoolError("it does not answer")
