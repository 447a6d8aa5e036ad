"""An embedded database: one SQLite file that several processes have open.

SQLite lets a process that finds the file locked retry every now and then. If another process writes one
batch after the other, that can take very long. So writers queue at a lock of the operating system, which
wakes the next one as soon as one is done, and releases the lock of a process that has died.
"""

import asyncio
import errno
import fcntl
import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, TypeVar

import orjson
from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.exc import DatabaseError, OperationalError
from sqlalchemy.pool import StaticPool

from gossamer.clock import Clock
from gossamer.db.retry import Retries, log_away, storage_away
from gossamer.db.statement_cache import librarys
from gossamer.db.transactions import SQLITE, Tx
from gossamer.db.types import dumps
from gossamer.errors import UserError
from gossamer.logging import get_logger


class WriteLock:
    """The lock around every write transaction. Each thread of a process has its own instance."""

    def __init__(self, database: Path) -> None:
        self._file = os.open(f"{database}-turn", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def take_if_free(self) -> bool:
        """Take the lock if it is free. If it returns True, the lock must be released."""
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def leave(self) -> None:
        fcntl.flock(self._file, fcntl.LOCK_UN)

    def __enter__(self) -> None:
        fcntl.flock(self._file, fcntl.LOCK_EX)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.leave()

    def close(self) -> None:
        os.close(self._file)


# Pages of the log after which a writer moves it into the file while others wait. With regular calls of `tidy` it never
# gets this long.
_LONGEST_LOG = 25_000
_SMALL_CACHE = 2_000  # KB of cache
_SOON = (0.0005, 0.0005, 0.001, 0.001, 0.001, 0.002, 0.002, 0.003)  # seconds between tries to get the write lock
_STATEMENTS = 512  # cached by the driver: a worker has more than the default of 100

P = ParamSpec("P")
T = TypeVar("T")

log = get_logger(__name__)

# For bytes and None the driver first looks for an adapter and raises an internal error if there is none, which takes
# half the time of writing a row. With these adapters it does not.
sqlite3.register_adapter(bytes, bytearray)
sqlite3.register_adapter(type(None), lambda nothing: nothing)


class SqliteDatabase:
    """An SQLite database: a file with one thread for writes, one for reads and one for long reads.

    Other processes can have the same file open.
    """

    dialect = SQLITE

    def __init__(self, path: Path, clock: Clock, *, checkpoints: bool = True, cache_kb: int = 16_000) -> None:
        self.path = path
        self.retries = Retries(clock)
        self._clock = clock
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        _make_private(path)
        # The rows read repeatedly are those that a settle changes; other reads profit from the system's file cache.
        self._writer = _engine(path, begin="BEGIN IMMEDIATE", checkpoints=checkpoints, cache_kb=cache_kb // 2)
        lazy = partial(_engine, path, begin="BEGIN IMMEDIATE", checkpoints=False, synced="NORMAL")
        self._nosync_writer = lazy(cache_kb=_SMALL_CACHE)
        self._inline_writer = lazy(cache_kb=cache_kb, patience_ms=0)
        self._reader = _engine(path, begin="BEGIN", checkpoints=False, cache_kb=cache_kb // 4)
        self._inline_reader = _engine(path, begin="BEGIN", checkpoints=False, cache_kb=_SMALL_CACHE, patience_ms=0)
        self._open: dict[Engine, Connection] = {}  # each used by one thread only
        self._closed = False
        self._lock = WriteLock(path)
        self._inline_lock = WriteLock(path)  # of the event loop's thread
        self._write_thread = ThreadPoolExecutor(1, thread_name_prefix="store-write")
        self._read_thread = ThreadPoolExecutor(1, thread_name_prefix="store-read")
        self._long_thread = ThreadPoolExecutor(1, thread_name_prefix="store-long")

    async def write(self, work: Callable[Concatenate[Tx, P], T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._hop(self._write_thread, self._writer, self._lock, work, *args, **kwargs)

    write_one = write

    async def write_nosync(self, work: Callable[Concatenate[Tx, P], T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Write without syncing the log: the next synced write does that for both.

        The write takes so little time that it runs in the event loop's thread. Another thread would compete
        with it anyway for every statement and row, and objects that are made in one thread and freed in
        another slow down both. If another process is writing, it usually finishes soon, and the loop
        continues with other tasks meanwhile; only long writes are waited for in a thread.
        """
        for pause in _SOON:
            if self._closed:
                break
            if self._inline_lock.take_if_free():
                try:
                    with self._lent(self._inline_writer) as conn:
                        return work(Tx(conn, SQLITE, self._clock), *args, **kwargs)
                except DatabaseError as error:
                    # Locked without our lock, or another error: the thread below waits or fails.
                    log.debug("database.not_here", why=str(error))
                    break
                finally:
                    self._inline_lock.leave()
            await asyncio.sleep(pause)
        return await self._hop(self._write_thread, self._nosync_writer, self._lock, work, *args, **kwargs)

    async def flush(self) -> None:
        async def once() -> None:
            try:
                await asyncio.get_running_loop().run_in_executor(self._write_thread, self._sync_log)
            except OSError as error:
                raise log_away(error, str(self.path)) from error

        # Retried separately: the rows are in the log already and must not be written again.
        await self.retries.run(once)

    def _sync_log(self) -> None:
        """Sync the log. Data that has left the log was synced on its way into the file."""
        with suppress(FileNotFoundError):
            log = os.open(f"{self.path}-wal", os.O_RDONLY | os.O_CLOEXEC)
            try:
                os.fsync(log)  # some systems lack fdatasync
            finally:
                os.close(log)

    async def read(self, work: Callable[Concatenate[Tx, P], T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._hop(self._read_thread, self._reader, nullcontext(), work, *args, **kwargs)

    async def read_inline(self, work: Callable[Concatenate[Tx, P], T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Read in the event loop's thread, because switching threads takes longer than the query."""
        try:
            with self._lent(self._inline_reader) as conn:
                return work(Tx(conn, SQLITE, self._clock), *args, **kwargs)
        except DatabaseError:
            # Locked for a moment, or another error: the other thread waits or fails.
            return await self.read(work, *args, **kwargs)

    async def read_together(self, *works: Callable[[Tx], T]) -> list[T]:
        """Run each read on its own connection and thread: SQLite works without the interpreter lock.

        The reads can take minutes. Other long reads wait meanwhile; short ones do not.
        """

        async def once() -> list[T]:
            return await self._once(self._long_thread, lambda: self._side_by_side(works))

        return await self.retries.run(once)

    def _side_by_side(self, works: Sequence[Callable[[Tx], T]]) -> list[T]:
        with ExitStack() as stack:
            engines = [_engine(self.path, begin="BEGIN", checkpoints=False, lent=False) for _ in works]
            for engine in engines:
                stack.callback(engine.dispose)
            # In the write thread with the write lock, so that all of them see the same snapshot.
            opened = self._write_thread.submit(self._at_one_moment, engines, stack).result()
            with ThreadPoolExecutor(len(works), thread_name_prefix="store-together") as threads:
                found = [
                    threads.submit(work, Tx(conn, SQLITE, self._clock))
                    for work, conn in zip(works, opened, strict=True)
                ]
            return [one.result() for one in found]

    def _at_one_moment(self, engines: Sequence[Engine], stack: ExitStack) -> list[Connection]:
        with self._lock:
            opened = [stack.enter_context(engine.begin()) for engine in engines]
            for conn in opened:
                conn.exec_driver_sql("SELECT COUNT(*) FROM sqlite_master")  # the first read fixes the snapshot
        return opened

    async def _hop(
        self,
        thread: ThreadPoolExecutor,
        engine: Engine,
        lock: AbstractContextManager[None],
        work: Callable[Concatenate[Tx, P], T],
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        def whole() -> T:
            with lock, self._lent(engine) as conn:
                return work(Tx(conn, SQLITE, self._clock), *args, **kwargs)

        async def once() -> T:
            return await self._once(thread, whole)

        return await self.retries.run(once)

    @contextmanager
    def _lent(self, engine: Engine) -> Iterator[Connection]:
        """Run a transaction on the connection of an engine, which stays open, because the pool takes as long as a small
        query. After an error it is replaced.

        The driver begins and ends the transaction, which is faster than SQLAlchemy. SQLAlchemy joins it if it runs a
        statement itself.
        """
        conn = self._open.get(engine)
        if conn is None:
            conn = self._open[engine] = engine.connect()
        driver: sqlite3.Connection = conn.connection.driver_connection  # type: ignore[assignment]
        try:
            _ask(driver, engine.get_execution_options()["begin"])
            yield conn
            if conn.in_transaction():
                conn.commit()
            else:
                _ask(driver, "COMMIT")
        except BaseException:
            # By the driver: after a failed COMMIT, SQLAlchemy believes that there is nothing to roll back.
            with suppress(sqlite3.Error):
                driver.rollback()
            self._open.pop(engine).close()
            raise

    async def _once(self, thread: ThreadPoolExecutor, whole: Callable[[], T]) -> T:
        try:
            return await asyncio.get_running_loop().run_in_executor(thread, whole)
        except OperationalError as error:
            raise storage_away(error, str(self.path)) from error
        except DatabaseError as error:
            if "not a database" not in str(error.orig) and "malformed" not in str(error.orig):
                raise
            raise UserError(
                "database.damaged",
                f"{self.path} is damaged: {error.orig}.",
                hint="Restore a backup with 'gossamer db restore FILE', or move the damaged file away to start with "
                "an empty database.",
            ) from error

    async def tidy(self) -> None:
        """Move the log into the file as far as readers allow; cheap if there is nothing to do.

        Nearly all of it is moved while writers continue. The rest, which they added meanwhile, is so little
        that they can wait for it: the log starts again from the beginning only when nothing is left in it,
        which would never happen automatically on a busy day.
        """
        # Not in the thread of long reads, which may take minutes.
        await asyncio.to_thread(self._checkpoint)
        await asyncio.get_running_loop().run_in_executor(self._write_thread, self._checkpoint_locked)

    def _checkpoint(self) -> None:
        with suppress(sqlite3.DatabaseError), self._tidying() as conn:
            conn.execute("PRAGMA wal_checkpoint(PASSIVE)")

    def _checkpoint_locked(self) -> None:
        with suppress(sqlite3.DatabaseError), self._lock, self._tidying() as conn:
            _, logged, moved = conn.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
            if moved == logged > 1:
                # The next write restarts the log and has to wait for the disk: better here, with a meaningless number,
                # than in the thread of an event loop.
                (number,) = conn.execute("PRAGMA user_version").fetchone()
                conn.execute(f"PRAGMA user_version = {1 - min(number, 1)}")

    def _tidying(self) -> AbstractContextManager[sqlite3.Connection]:
        address = f"{self.path.absolute().as_uri()}?mode=rw"  # a deleted file is not created again
        return closing(sqlite3.connect(address, uri=True, timeout=30, isolation_level=None))

    async def close(self) -> None:
        self._closed = True
        await asyncio.to_thread(self._long_thread.shutdown)  # first: it uses the write thread
        await asyncio.to_thread(self._write_thread.shutdown)
        await asyncio.to_thread(self._read_thread.shutdown)
        for conn in self._open.values():
            conn.close()
        for engine in (self._writer, self._nosync_writer, self._inline_writer, self._reader, self._inline_reader):
            engine.dispose()
        self._lock.close()
        self._inline_lock.close()


def _make_private(path: Path) -> None:
    """Create the file if it does not exist, readable only by its owner.

    An existing file is not opened: closing it would release the locks of all connections of this process, and the next
    process to exit would remove the log that they still use.
    """
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))


def _engine(
    path: Path,
    *,
    begin: str,
    checkpoints: bool = True,
    cache_kb: int = 16_000,
    synced: str = "FULL",
    patience_ms: int = 30_000,
    lent: bool = True,
) -> Engine:
    """Create an engine; `lent`: its transactions begin and end in `_lent`."""
    engine = create_engine(
        f"sqlite:///{path}",
        poolclass=StaticPool,
        connect_args={"check_same_thread": False, "timeout": 30, "cached_statements": _STATEMENTS},
        json_serializer=dumps,
        json_deserializer=orjson.loads,
        execution_options={"begin": begin},
    )

    @event.listens_for(engine, "connect")
    def _prepare(connection: Any, _record: Any) -> None:
        # The driver's automatic transactions are off: our BEGIN takes the write lock at once.
        connection.isolation_level = None
        cursor = connection.cursor()
        for pragma in (
            f"busy_timeout = {patience_ms}",
            "journal_mode = WAL",
            f"synchronous = {synced}",
            "foreign_keys = ON",
            "journal_size_limit = 67108864",
            f"cache_size = -{cache_kb}",
            "temp_store = MEMORY",
            "trusted_schema = OFF",
            f"wal_autocheckpoint = {_LONGEST_LOG if checkpoints else 0}",
        ):
            cursor.execute(f"PRAGMA {pragma}")
        cursor.close()

    event.listen(engine, "begin", _join if lent else _begin)
    return engine


def _ask(driver: sqlite3.Connection, statement: str) -> None:
    try:
        driver.execute(statement)
    except sqlite3.Error as error:
        raise librarys(error, statement) from error


def _join(conn: Connection) -> None:
    """Join the transaction that was begun; raises if it is gone, and never begins a new one.

    Otherwise earlier writes would be lost and later writes committed without them.
    """
    if not conn.connection.driver_connection.in_transaction:  # type: ignore[union-attr]
        raise librarys(sqlite3.OperationalError("the transaction is gone"))


def _begin(conn: Connection) -> None:
    _ask(conn.connection.driver_connection, conn.engine.get_execution_options()["begin"])  # type: ignore[arg-type]
