"""A Postgres database, which many machines share.

A server that lost its power, or a network that failed, closes no connection. The operating system finds out if it is
asked to look, and then a statement fails like any other that meets a database that is away. A connection that was
closed while it lay idle is found out by a question before it is used. Asking that of one that was used a moment ago
would only double the way to the server and back.
"""

import asyncio
import os
import random
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

import orjson
from sqlalchemy import Connection, event
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError, InvalidatePoolError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from gossamer.clock import Clock
from gossamer.db.retry import AWAY_STATES, Patience, storage_away
from gossamer.db.transactions import POSTGRES, Tx
from gossamer.db.types import dumps
from gossamer.errors import StorageAway, UserError

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncEngine
if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection


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


P = ParamSpec("P")
T = TypeVar("T")

_TRIES = 6
_WHO = "SELECT pg_backend_pid()"
_ONE_MOMENT = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"
_NO_HURRY = "SET LOCAL statement_timeout = 0"
_CONNECT = 10  # seconds for a connection to a server
_RETRIED_STATES = frozenset({"40001", "40P01"})  # serialisation failure, deadlock
_POOLER_STATES = frozenset({"26000", "42P05"})  # a prepared statement that is not there, or is there already
_UNKNOWN_TO_POOLERS = "unsupported startup parameter"
_REFUSED_STATES = ("28", "3D000")  # who we say we are, and what we ask for


class PostgresDatabase:
    """A pooled server shared by many machines."""

    dialect = POSTGRES

    def __init__(
        self, url: str, clock: Clock, *, pool: int = 4, longest: timedelta | None = None, pooled: bool = False
    ) -> None:
        """`longest` is the time limit of a statement.

        `pooled`: another pool stands between us and the server and lends a connection for one transaction at a
        time, so that none of our session state outlasts a transaction.
        """
        # Imported here, since an embedded command has no use for it.
        from sqlalchemy.ext.asyncio import create_async_engine

        self.patience = Patience(clock)
        self._together = asyncio.Lock()
        self._clock = clock
        self._shown = make_url(url).render_as_string(hide_password=True)
        self._engine = create_async_engine(
            make_url(url).set(drivername="postgresql+asyncpg"),
            pool_size=pool,
            max_overflow=0,
            json_serializer=dumps,
            json_deserializer=orjson.loads,
            connect_args={"timeout": _CONNECT, **(_nothing_kept() if pooled else _kept(longest))},
        )
        self._pooled = pooled
        self._begins_with = _LIMITED.format(**_limits(longest)) if pooled and longest else ""
        self._single = self._engine.execution_options(isolation_level="AUTOCOMMIT")
        look_whether_alive(self._engine)

    async def write(self, work: Callable[Concatenate[Tx, P], T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._lend(self._begin, lambda tx: work(tx, *args, **kwargs))

    async def read(self, work: Callable[Concatenate[Tx, P], T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Without a transaction: each statement sees what is committed, as it would in one, two round trips sooner.

        Where a limit must be set anew for everything we ask it takes one, since the limit lasts no longer.
        """
        return await self._lend(self._by_itself, lambda tx: work(tx, *args, **kwargs), again=True)

    glance = read

    async def write_one(self, work: Callable[Concatenate[Tx, P], T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """The server commits a statement that is not part of a transaction before it answers."""
        return await self._lend(self._by_itself, lambda tx: work(tx, *args, **kwargs))

    write_untold = write

    async def flush(self) -> None:
        """A server has written what it has answered for."""

    def _by_itself(self) -> "AbstractAsyncContextManager[AsyncConnection]":
        return self._begin() if self._begins_with else self._single.connect()

    async def _lend(
        self,
        opened: "Callable[[], AbstractAsyncContextManager[AsyncConnection]]",
        work: Callable[[Tx], T],
        *,
        again: bool = False,
    ) -> T:
        async def whole() -> T:
            async with opened() as conn:
                return await conn.run_sync(self._reader(work))

        async def once() -> T:
            return await self._once(whole, again=again)

        return await self.patience.lend(once)

    @asynccontextmanager
    async def _begin(self) -> "AsyncIterator[AsyncConnection]":
        async with self._engine.begin() as conn:
            if self._begins_with:
                await conn.exec_driver_sql(self._begins_with)
            yield conn

    async def read_together(self, *works: Callable[[Tx], T]) -> list[T]:
        """Each on a connection of its own, all of which see what the first one does."""

        async def whole() -> list[T]:
            # One at a time: two that waited for each other's connections would wait for ever.
            async with self._together, AsyncExitStack() as stack:
                first, *others = [await stack.enter_async_context(self._engine.begin()) for _ in works]
                await first.exec_driver_sql(_ONE_MOMENT)
                await first.exec_driver_sql(_NO_HURRY)
                moment = (await first.exec_driver_sql("SELECT pg_export_snapshot()")).scalar_one()
                for conn in others:
                    await conn.exec_driver_sql(_ONE_MOMENT)
                    await conn.exec_driver_sql(f"SET TRANSACTION SNAPSHOT '{moment}'")
                    await conn.exec_driver_sql(_NO_HURRY)
                reads = (conn.run_sync(self._reader(work)) for conn, work in zip((first, *others), works, strict=True))
                # All of them are waited for, also if one fails: their connections are about to be given back.
                found = await asyncio.gather(*reads, return_exceptions=True)
            for one in found:
                if isinstance(one, BaseException):
                    raise one
            return [one for one in found if not isinstance(one, BaseException)]

        async def once() -> list[T]:
            return await self._once(whole)

        return await self.patience.lend(once)

    def _reader(self, work: Callable[[Tx], T]) -> Callable[[Connection], T]:
        return lambda conn: work(Tx(conn, POSTGRES, self._clock))

    async def _once(self, whole: Callable[[], Awaitable[T]], *, again: bool = False) -> T:
        """`again` may be tried what met a connection whose other end was gone: nothing can have been written."""
        for attempt in range(_TRIES):
            try:
                return await whole()
            except DBAPIError as error:
                state = str(getattr(error.orig, "sqlstate", None) or "")
                if refusal := self._refusal(state, error.orig):
                    raise refusal from error
                if again and attempt == 0 and error.connection_invalidated:
                    continue
                if state not in _RETRIED_STATES or attempt == _TRIES - 1:
                    raise storage_away(error, self._shown) from error
                await asyncio.sleep(random.uniform(0, 0.05 * 2**attempt))
            except (OSError, TimeoutError, PoolTimeout) as error:
                raise _unreachable(self._shown, str(error) or "no answer") from error
            except Exception as error:
                # While a server starts or stops, its driver fails before SQLAlchemy has a connection to speak of.
                state = str(getattr(error, "sqlstate", ""))
                if refusal := self._refusal(state, error):
                    raise refusal from error
                if not state.startswith(AWAY_STATES):
                    raise
                raise _unreachable(self._shown, str(error)) from error
        raise AssertionError("unreachable")

    def _refusal(self, state: str, error: object) -> UserError | None:
        """Return the error for problems that only the operator can solve; None for other problems."""
        if state.startswith(_REFUSED_STATES):
            return _refused(error, self._shown)
        if not self._pooled and (state in _POOLER_STATES or _UNKNOWN_TO_POOLERS in str(error)):
            return _pooler(error, self._shown)
        return None

    async def refuse_pooler(self) -> None:
        """Refuse an undeclared connection pooler in front of the server. Takes two connections.

        A pooler in transaction mode gives our connection to another client as soon as it can.
        """
        if self._pooled:
            return

        async def whole() -> bool:
            async with self._single.connect() as ours:
                before = (await ours.exec_driver_sql(_WHO)).scalar_one()
                async with self._engine.begin() as other:
                    await other.exec_driver_sql(_WHO)
                    return bool(before != (await ours.exec_driver_sql(_WHO)).scalar_one())

        async def once() -> bool:
            return await self._once(whole)

        if await self.patience.lend(once):
            raise _pooler("one connection was answered by two", self._shown)

    async def tidy(self) -> None:
        """Postgres looks after itself."""

    async def close(self) -> None:
        await self._engine.dispose()


def _pooler(error: object, where: str) -> UserError:
    return UserError(
        "database.pooler",
        f"{where} is reached through a pooler such as PgBouncer, and nobody has said so ({error}).",
        hint="Set GOSSAMER_DATABASE_POOLING=transaction.",
    )


def _unreachable(where: str, why: str) -> StorageAway:
    return StorageAway(f"The database {where} cannot be reached: {why}. Is it running? 'gossamer doctor' says more.")


def _refused(error: object, where: str) -> UserError:
    hint = "Correct GOSSAMER_DATABASE_URL, or create the database with 'createdb' and 'gossamer db upgrade'."
    if str(getattr(error, "sqlstate", "")).startswith("28"):  # it does not believe who we are
        hint = "Correct the user and the password in GOSSAMER_DATABASE_URL."
    return UserError("database.refused", f"{where} refuses us: {error}.", hint=hint)


def _nothing_kept() -> dict[str, Any]:
    return {
        # A statement is prepared without a name and used in the same transaction: the next is on another connection.
        "statement_cache_size": 0,
        "prepared_statement_cache_size": 0,
        "prepared_statement_name_func": lambda: "",
        # Of all that can be said when a connection is made, this is what poolers carry over.
        "server_settings": {"application_name": _application()},
    }


def _application() -> str:
    """Return the application name of a connection, as shown in pg_stat_activity, which keeps 63 bytes."""
    return f"gossamer {socket.gethostname()[:40]}/{os.getpid()}"


# A machine that was cut off while its transaction was open must not hold its locks for as long as that may be idle. The
# server looks as often as we do (db/postgres.py).
_LOOKS = {
    "tcp_keepalives_idle": str(IDLE),
    "tcp_keepalives_interval": str(EVERY),
    "tcp_keepalives_count": str(TIMES),
    "tcp_user_timeout": str(GONE_AFTER),
}
_LIMITED = "SELECT " + ", ".join(
    f"set_config('{name}', '{{{name}}}', true)" for name in ("statement_timeout", "idle_in_transaction_session_timeout")
)


def _limits(longest: timedelta) -> dict[str, str]:
    """Return the timeouts of a session, so that a frozen or disconnected client does not keep its locks."""
    milliseconds = str(longest // timedelta(milliseconds=1))
    return {"statement_timeout": milliseconds, "idle_in_transaction_session_timeout": milliseconds}


def _kept(longest: timedelta | None) -> dict[str, Any]:
    """Said once, when a connection is made."""
    return {"server_settings": {"application_name": _application(), **_LOOKS, **(_limits(longest) if longest else {})}}
