"""Opening a database and running whole transactions on it without blocking the event loop."""

import asyncio
import os
import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

import orjson
from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DatabaseError, DBAPIError, InterfaceError, OperationalError
from sqlalchemy.pool import StaticPool

from gossamer.clock import Clock
from gossamer.errors import StorageAway, StorageFull, UserError
from gossamer.store.dialect import POSTGRES, SQLITE, Dialect
from gossamer.store.patience import Patience
from gossamer.store.turn import Turn
from gossamer.store.tx import Tx

P = ParamSpec("P")
T = TypeVar("T")

_TRIES = 6
_CONNECT = 10  # seconds for a connection to a server
_RETRIED_STATES = frozenset({"40001", "40P01"})  # serialisation failure, deadlock
_REFUSED_STATES = ("28", "3D000")  # who we say we are, and what we ask for
# Connection trouble, out of something, shutting down or starting up; took too long, cut off while it did nothing.
_AWAY_STATES = ("08", "53", "57P", "57014", "25P03")


class Database(Protocol):
    """Whole transactions, one hop each. `work` may be called again after a deadlock: it must change nothing outside."""

    dialect: Dialect
    patience: Patience

    async def write(self, work: Callable[Concatenate[Tx, P], T], /, *args: P.args, **kwargs: P.kwargs) -> T: ...

    async def read(self, work: Callable[Concatenate[Tx, P], T], /, *args: P.args, **kwargs: P.kwargs) -> T: ...

    async def close(self) -> None: ...


def _dumps(value: Any) -> str:
    return orjson.dumps(value, default=_plain).decode()


def _plain(value: object) -> list[Any]:
    """Named tuples go into columns as the arrays they are; nothing else has any business there."""
    if isinstance(value, tuple):
        return list(value)
    raise TypeError(f"{type(value).__name__} cannot be kept as JSON")


class SqliteDatabase:
    """One file, one writing and one reading thread. Other processes may have the same file open."""

    dialect = SQLITE

    def __init__(self, path: Path, clock: Clock, *, checkpoints: bool = True) -> None:
        self.path = path
        self.patience = Patience(clock)
        self._clock = clock
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        _make_private(path)
        self._writer = sqlite_engine(path, begin="BEGIN IMMEDIATE", checkpoints=checkpoints)
        self._reader = sqlite_engine(path, begin="BEGIN", checkpoints=checkpoints)
        self._turn = Turn(path)
        self._write_thread = ThreadPoolExecutor(1, thread_name_prefix="store-write")
        self._read_thread = ThreadPoolExecutor(1, thread_name_prefix="store-read")

    async def write(self, work: Callable[Concatenate[Tx, P], T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._hop(self._write_thread, self._writer, self._turn, work, *args, **kwargs)

    async def read(self, work: Callable[Concatenate[Tx, P], T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._hop(self._read_thread, self._reader, nullcontext(), work, *args, **kwargs)

    async def _hop(
        self,
        thread: ThreadPoolExecutor,
        engine: Engine,
        turn: AbstractContextManager[None],
        work: Callable[Concatenate[Tx, P], T],
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        def whole() -> T:
            with turn, engine.begin() as conn:
                return work(Tx(conn, SQLITE, self._clock), *args, **kwargs)

        async def once() -> T:
            return await self._once(thread, whole)

        return await self.patience.lend(once)

    async def _once(self, thread: ThreadPoolExecutor, whole: Callable[[], T]) -> T:
        try:
            return await asyncio.get_running_loop().run_in_executor(thread, whole)
        except OperationalError as error:
            raise _storage_away(error, str(self.path)) from error
        except DatabaseError as error:
            if "not a database" not in str(error.orig) and "malformed" not in str(error.orig):
                raise
            raise UserError(
                "database.damaged",
                f"{self.path} is damaged: {error.orig}.",
                hint="Go back to a copy with 'gossamer db restore FILE', or move it away to begin anew.",
            ) from error

    def checkpoint(self) -> None:
        """Move the log into the file as far as readers allow; cheap when there is nothing to do."""
        with suppress(OperationalError), self._reader.connect() as conn:
            conn.exec_driver_sql("COMMIT")
            conn.exec_driver_sql("PRAGMA wal_checkpoint(PASSIVE)")
            conn.exec_driver_sql("BEGIN")

    async def tidy(self) -> None:
        """`checkpoint` in the reading thread."""
        await asyncio.get_running_loop().run_in_executor(self._read_thread, self.checkpoint)

    async def close(self) -> None:
        await asyncio.to_thread(self._write_thread.shutdown)
        await asyncio.to_thread(self._read_thread.shutdown)
        self._writer.dispose()
        self._reader.dispose()
        self._turn.close()


def _make_private(path: Path) -> None:
    """Make the file if there is none: by us and not by the driver, so that only its owner may read it.

    One that is there is not touched. To close it would take away the locks of every connection this process has to it,
    and the next process to leave would remove the log that they still write to.
    """
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))


def sqlite_engine(path: Path, *, begin: str, checkpoints: bool = True) -> Engine:
    engine = create_engine(
        f"sqlite:///{path}",
        poolclass=StaticPool,
        connect_args={"check_same_thread": False, "timeout": 30},
        json_serializer=_dumps,
        json_deserializer=orjson.loads,
    )

    @event.listens_for(engine, "connect")
    def _prepare(connection: Any, _record: Any) -> None:
        # The driver's own idea of transactions is switched off: BEGIN is ours, so that a writer takes its lock at once.
        connection.isolation_level = None
        cursor = connection.cursor()
        for pragma in (
            "busy_timeout = 30000",
            "journal_mode = WAL",
            "synchronous = FULL",
            "foreign_keys = ON",
            "journal_size_limit = 67108864",
            "cache_size = -16000",
            "temp_store = MEMORY",
            "trusted_schema = OFF",
            f"wal_autocheckpoint = {1000 if checkpoints else 0}",
        ):
            cursor.execute(f"PRAGMA {pragma}")
        cursor.close()

    @event.listens_for(engine, "begin")
    def _begin(connection: Any) -> None:
        connection.exec_driver_sql(begin)

    return engine


class PostgresDatabase:
    """A pooled server shared by many machines."""

    dialect = POSTGRES

    def __init__(self, url: str, clock: Clock, *, pool: int = 4, longest: timedelta | None = None) -> None:
        """`longest` is how long a statement may take."""
        # Imported here, since an embedded command has no use for it.
        from sqlalchemy.ext.asyncio import create_async_engine

        self.patience = Patience(clock)
        self._clock = clock
        self._shown = make_url(url).render_as_string(hide_password=True)
        self._engine = create_async_engine(
            make_url(url).set(drivername="postgresql+asyncpg"),
            pool_size=pool,
            max_overflow=0,
            pool_pre_ping=True,
            json_serializer=_dumps,
            json_deserializer=orjson.loads,
            connect_args={"timeout": _CONNECT, "server_settings": _server_settings(longest)},
        )

    async def write(self, work: Callable[Concatenate[Tx, P], T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        async def once() -> T:
            return await self._once(lambda conn: work(Tx(conn, POSTGRES, self._clock), *args, **kwargs))

        return await self.patience.lend(once)

    async def _once(self, work: Callable[[Connection], T]) -> T:
        for attempt in range(_TRIES):
            try:
                async with self._engine.begin() as conn:
                    return await conn.run_sync(work)
            except DBAPIError as error:
                state = str(getattr(error.orig, "sqlstate", None) or "")
                if state.startswith(_REFUSED_STATES):
                    raise _refused(error.orig, self._shown) from error
                if state not in _RETRIED_STATES or attempt == _TRIES - 1:
                    raise _storage_away(error, self._shown) from error
                await asyncio.sleep(random.uniform(0, 0.05 * 2**attempt))
            except (OSError, TimeoutError) as error:
                raise _unreachable(self._shown, str(error) or "no answer") from error
            except Exception as error:
                # While a server starts or stops, its driver fails before SQLAlchemy has a connection to speak of.
                state = str(getattr(error, "sqlstate", ""))
                if state.startswith(_REFUSED_STATES):
                    raise _refused(error, self._shown) from error
                if not state.startswith(_AWAY_STATES):
                    raise
                raise _unreachable(self._shown, str(error)) from error
        raise AssertionError("unreachable")

    read = write

    async def tidy(self) -> None:
        """Postgres looks after itself."""

    async def close(self) -> None:
        await self._engine.dispose()


def _server_settings(longest: timedelta | None) -> dict[str, str]:
    """Whoever stops in the middle of a transaction, frozen or cut off, must not hold its locks for ever."""
    if longest is None:
        return {}
    milliseconds = str(longest // timedelta(milliseconds=1))
    return {"statement_timeout": milliseconds, "idle_in_transaction_session_timeout": milliseconds}


def open_database(
    url: str, clock: Clock, *, checkpoints: bool = True, pool: int = 4, longest: timedelta | None = None
) -> SqliteDatabase | PostgresDatabase:
    """`sqlite:///path` or `postgresql://...`. Only a server has a pool, and statements that may take so long."""
    if url.startswith("sqlite:///"):
        return SqliteDatabase(Path(url.removeprefix("sqlite:///")), clock, checkpoints=checkpoints)
    scheme, _, rest = url.partition("://")
    if scheme in ("postgresql", "postgres", "postgresql+asyncpg", "postgres+asyncpg"):
        return PostgresDatabase(f"postgresql://{rest}", clock, pool=pool, longest=longest)
    raise UserError(
        "database.unknown",
        f"GOSSAMER_DATABASE_URL begins with {url.partition(':')[0]!r}.",
        hint="Use sqlite:///path/to/file.db or postgresql://user@host/database.",
    )


def _unreachable(where: str, why: str) -> StorageAway:
    return StorageAway(f"The database {where} cannot be reached: {why}. Is it running? 'gossamer doctor' says more.")


def _refused(error: object, where: str) -> UserError:
    return UserError(
        "database.refused",
        f"{where} refuses us: {error}.",
        hint="Correct GOSSAMER_DATABASE_URL, or create the database with 'createdb' and 'gossamer db upgrade'.",
    )


def _storage_away(error: DBAPIError, where: str) -> Exception:
    """Connection trouble as our own error; anything else is a bug and stays what it is."""
    text = str(error.orig)
    if text.startswith(("no such", "near ")):  # SQLite files mistakes in SQL under the same class
        return error
    if "disk is full" in text or getattr(error.orig, "sqlstate", "") == "53100":
        return StorageFull(f"The disk of the database {where} is full")
    state = str(getattr(error.orig, "sqlstate", None) or "")
    away = error.connection_invalidated or state.startswith(_AWAY_STATES)
    if away or isinstance(error, (OperationalError, InterfaceError)):
        return StorageAway(f"The database {where} did not answer: {text}. 'gossamer doctor' says more.")
    return error
