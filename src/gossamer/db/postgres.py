"""A Postgres database, which many machines share: connections, monthly partitions, roles.

After a power cut or a network failure, connections are not closed. TCP keepalives detect that, and the statement fails
like any other on an unreachable database. A connection that was closed while idle is detected by a ping before its use;
a recently used one is not pinged, because that would double the round trips.
"""

import asyncio
import os
import random
import re
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

import orjson
from sqlalchemy import Connection, event, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError, InvalidatePoolError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from gossamer.clock import Clock
from gossamer.db.retry import AWAY_STATES, Retries, storage_away
from gossamer.db.transactions import POSTGRES, Tx
from gossamer.db.types import dumps
from gossamer.errors import StorageAway, UserError

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

IDLE, EVERY, TIMES = 10, 5, 3  # of TCP keepalives: idle seconds, interval, and number of probes
GONE_AFTER = (IDLE + EVERY * TIMES) * 1000  # milliseconds for sent data without acknowledgement
_OPTIONS = {
    "TCP_KEEPIDLE": IDLE,
    "TCP_KEEPINTVL": EVERY,
    "TCP_KEEPCNT": TIMES,
    "TCP_USER_TIMEOUT": GONE_AFTER,
}
_FRESH = 1.0  # seconds since its last use in which a connection is not pinged
_USED = "used"


def look_whether_alive(engine: "AsyncEngine") -> None:
    """Enable keepalives and pings for all connections of an engine."""

    @event.listens_for(engine.sync_engine, "connect")
    def made(connection: Any, _: object) -> None:
        transport = getattr(connection.driver_connection, "_transport", None)
        found = transport.get_extra_info("socket") if transport else None
        if found is None or found.family not in (socket.AF_INET, socket.AF_INET6):
            return
        found.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in _OPTIONS.items():
            if option := getattr(socket, name, None):  # some systems lack some of them
                found.setsockopt(socket.IPPROTO_TCP, option, value)

    @event.listens_for(engine.sync_engine, "checkin")
    def given_back(_: object, record: Any) -> None:
        record.info[_USED] = time.monotonic()

    @event.listens_for(engine.sync_engine, "checkout")
    def taken(connection: Any, record: Any, _: object) -> None:
        used = record.info.get(_USED)
        if used is None or time.monotonic() - used <= _FRESH:
            return  # new, or used a moment ago
        dialect = engine.sync_engine.dialect
        try:
            dialect.do_ping(connection)
        except dialect.loaded_dbapi.Error as error:
            if not dialect.is_disconnect(error, connection, None):
                raise
            # The other connections are of the same age: all are replaced.
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
_REFUSED_STATES = ("28", "3D000")  # authentication, unknown database


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
        # Imported here, because commands on an embedded database do not need it.
        from sqlalchemy.ext.asyncio import create_async_engine

        self.retries = Retries(clock)
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
        """Read without a transaction: each statement sees committed rows all the same, and two round trips are saved.

        With a pooler and a time limit a transaction is needed, because the limit lasts only as long.
        """
        return await self._lend(self._by_itself, lambda tx: work(tx, *args, **kwargs), again=True)

    read_inline = read

    async def write_one(self, work: Callable[Concatenate[Tx, P], T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """The server commits a statement that is not part of a transaction before it answers."""
        return await self._lend(self._by_itself, lambda tx: work(tx, *args, **kwargs))

    write_nosync = write

    async def flush(self) -> None:
        """Do nothing: a server has synced every confirmed commit."""

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

        return await self.retries.run(once)

    @asynccontextmanager
    async def _begin(self) -> "AsyncIterator[AsyncConnection]":
        async with self._engine.begin() as conn:
            if self._begins_with:
                await conn.exec_driver_sql(self._begins_with)
            yield conn

    async def read_together(self, *works: Callable[[Tx], T]) -> list[T]:
        """Run each read on its own connection, all with the snapshot of the first."""

        async def whole() -> list[T]:
            # One call at a time: two calls could wait for each other's connections for ever.
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
                # Wait for all, even if one fails, because their connections are returned to the pool.
                found = await asyncio.gather(*reads, return_exceptions=True)
            for one in found:
                if isinstance(one, BaseException):
                    raise one
            return [one for one in found if not isinstance(one, BaseException)]

        async def once() -> list[T]:
            return await self._once(whole)

        return await self.retries.run(once)

    def _reader(self, work: Callable[[Tx], T]) -> Callable[[Connection], T]:
        return lambda conn: work(Tx(conn, POSTGRES, self._clock))

    async def _once(self, whole: Callable[[], Awaitable[T]], *, again: bool = False) -> T:
        """Run once, with retries after deadlocks. `again`: also after a broken connection, as nothing was written."""
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
                # While a server starts or stops, the driver fails before SQLAlchemy has a connection.
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

        if await self.retries.run(once):
            raise _pooler("one connection was answered by two", self._shown)

    async def tidy(self) -> None:
        """Do nothing: Postgres has its own maintenance."""

    async def close(self) -> None:
        await self._engine.dispose()


def _pooler(error: object, where: str) -> UserError:
    return UserError(
        "database.pooler",
        f"{where} is reached through a pooler such as PgBouncer, which is not configured ({error}).",
        hint="Set GOSSAMER_DATABASE_POOLING=transaction.",
    )


def _unreachable(where: str, why: str) -> StorageAway:
    return StorageAway(f"The database {where} cannot be reached: {why}. Is it running? 'gossamer doctor' says more.")


def _refused(error: object, where: str) -> UserError:
    hint = "Correct GOSSAMER_DATABASE_URL, or create the database with 'createdb' and 'gossamer db upgrade'."
    if str(getattr(error, "sqlstate", "")).startswith("28"):  # authentication failed
        hint = "Correct the user and the password in GOSSAMER_DATABASE_URL."
    return UserError("database.refused", f"{where} refuses us: {error}.", hint=hint)


def _nothing_kept() -> dict[str, Any]:
    return {
        # Prepared statements are unnamed and used in the same transaction: the next one may have another connection.
        "statement_cache_size": 0,
        "prepared_statement_cache_size": 0,
        "prepared_statement_name_func": lambda: "",
        # The only connection parameter that poolers pass on.
        "server_settings": {"application_name": _application()},
    }


def _application() -> str:
    """Return the application name of a connection, as shown in pg_stat_activity, which keeps 63 bytes."""
    return f"gossamer {socket.gethostname()[:40]}/{os.getpid()}"


# A machine that was cut off in an open transaction must not hold its locks for long, so the server uses the same
# keepalives as the client.
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
    """Return the settings of a session, sent when it is opened."""
    return {"server_settings": {"application_name": _application(), **_LOOKS, **(_limits(longest) if longest else {})}}


PARTITIONED = ("pages", "records", "events", "charges")
"""Tables in monthly partitions: every query on them must name its job."""

AHEAD = 2  # months for which partitions are created in advance

_MAKE = text("SELECT gossamer_make_partition(:ahead)")
_DROP = text("SELECT gossamer_drop_partition()")
_STRAYS = text("SELECT gossamer_strays()")


def make_next_partition(tx: Tx) -> str | None:
    """Create one missing partition and return its name.

    None if none is missing, "" if another transaction blocks it at the moment.
    """
    return tx.run(_MAKE, {"ahead": AHEAD}).scalar() if tx.dialect.row_locks else None


def make_all_partitions(tx: Tx) -> None:
    """Create all missing partitions, for a process with exclusive use of the database."""
    while make_next_partition(tx):
        continue


def drop_next_partition(tx: Tx) -> str | None:
    """Drop a partition whose month is over and has no jobs left; returns the same as `make_next_partition`."""
    return tx.run(_DROP).scalar() if tx.dialect.row_locks else None


def strays(tx: Tx) -> list[str]:
    """Return the tables with rows of a month without partition."""
    return list(tx.run(_STRAYS).scalars()) if tx.dialect.row_locks else []


_NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}")

_SQL = """\
-- Roles for gossamer. Run it in gossamer's database, as a role that may create roles:
--     gossamer db roles | psql --single-transaction DATABASE
-- It may be run again at any time, and should be after the first 'gossamer db upgrade'.
--
-- {owner}: owns the tables. Only 'gossamer db upgrade' is run with it.
-- {worker}: reads and writes rows, and nothing else. Everything else is run with it.
-- Neither gets a password here: set one with \\password, or let pg_hba.conf say how they come in.

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '{owner}') THEN
        CREATE ROLE {owner} LOGIN;
    END IF;
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '{worker}') THEN
        CREATE ROLE {worker} LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION;
    END IF;
    EXECUTE format('REVOKE ALL ON DATABASE %I FROM PUBLIC', current_database());
    EXECUTE format('GRANT CONNECT, TEMPORARY ON DATABASE %I TO {owner}', current_database());
    EXECUTE format('GRANT CONNECT ON DATABASE %I TO {worker}', current_database());
END
$$;

REVOKE ALL ON SCHEMA {schema} FROM PUBLIC;
GRANT USAGE, CREATE ON SCHEMA {schema} TO {owner};
GRANT USAGE ON SCHEMA {schema} TO {worker};

-- What is there, and what later upgrades and new months bring.
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO {worker};
ALTER DEFAULT PRIVILEGES FOR ROLE {owner} IN SCHEMA {schema}
    GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO {worker};
ALTER DEFAULT PRIVILEGES FOR ROLE {owner} IN SCHEMA {schema}
    GRANT EXECUTE ON FUNCTIONS TO {worker};

-- Which revision the tables are at is the owner's to say. Partitions are made and dropped by functions of the owner.
DO $$
DECLARE
    name text;
BEGIN
    IF to_regclass('{schema}.alembic_version') IS NOT NULL THEN
        REVOKE INSERT, UPDATE, DELETE ON {schema}.alembic_version FROM {worker};
    END IF;
    FOR name IN
        SELECT p.oid::regprocedure::text FROM pg_proc p
        WHERE p.pronamespace = '{schema}'::regnamespace AND left(p.proname, 9) = 'gossamer_'
    LOOP
        EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO {worker}', name);
    END LOOP;
END
$$;
"""


def roles_sql(owner: str, worker: str, schema: str) -> str:
    """Return the SQL an administrator runs. Only simple names are allowed: the same with and without quotes."""
    for option, name in (("--owner", owner), ("--worker", worker), ("--schema", schema)):
        if not _NAME.fullmatch(name):
            raise UserError(
                "roles.name",
                f"{option} {name!r} cannot be used.",
                hint="Take small letters, digits and _, beginning with a letter.",
            )
    if owner == worker:
        raise UserError(
            "roles.same",
            f"{owner!r} cannot be both the owner of the tables and who works with them.",
            hint="Give --owner and --worker different names.",
        )
    return _SQL.format(owner=owner, worker=worker, schema=schema)
