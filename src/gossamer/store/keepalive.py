"""Beside the connections to a server: one whose other end is gone without a word must not be waited for for ever.

A server that lost its power, or a network that lost us, closes nothing. The operating system finds out, if it is asked
to look, and then a statement fails like any other that meets a database that is away.

One that was closed while it lay idle is found out by a question before it is used. Asking that of one that was used a
moment ago would only double the way to the server and back.
"""

import socket
import time
from typing import TYPE_CHECKING, Any

from sqlalchemy import event
from sqlalchemy.exc import InvalidatePoolError

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncEngine

IDLE, EVERY, TIMES = 10, 5, 3  # seconds of silence, seconds between questions, and how many may stay unanswered
GONE_AFTER = (IDLE + EVERY * TIMES) * 1000  # milliseconds for what was sent and not acknowledged
_OPTIONS = {
    "TCP_KEEPIDLE": IDLE,
    "TCP_KEEPINTVL": EVERY,
    "TCP_KEEPCNT": TIMES,
    "TCP_USER_TIMEOUT": GONE_AFTER,
}
_FRESH = 1.0  # seconds since it was used, up to which a connection is not asked
_USED = "used"


def look_whether_alive(engine: "AsyncEngine") -> None:
    """For all connections it will ever make."""

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
    def given_back(_: object, record: Any) -> None:
        record.info[_USED] = time.monotonic()

    @event.listens_for(engine.sync_engine, "checkout")
    def taken(connection: Any, record: Any, _: object) -> None:
        used = record.info.get(_USED)
        if used is None or time.monotonic() - used <= _FRESH:
            return  # it is new, or was alive just now
        dialect = engine.sync_engine.dialect
        try:
            dialect.do_ping(connection)
        except dialect.loaded_dbapi.Error as error:
            if not dialect.is_disconnect(error, connection, None):
                raise
            # The others are of the same age: each is made anew before it is used.
            raise InvalidatePoolError from error
