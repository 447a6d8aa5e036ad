"""Open a database, and run whole transactions on it without blocking the event loop."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from gossamer.clock import Clock
from gossamer.db.postgres import PostgresDatabase
from gossamer.db.retry import Retries
from gossamer.db.sqlite import SqliteDatabase
from gossamer.db.transactions import Dialect, Tx
from gossamer.errors import UserError

__all__ = ["Database", "PostgresDatabase", "SqliteDatabase", "open_database"]

P = ParamSpec("P")
T = TypeVar("T")


class Database(Protocol):
    """Whole transactions, one hop each. `work` may be called again after a deadlock: it must change nothing outside."""

    dialect: Dialect
    retries: Retries

    async def write(self, work: Callable[Concatenate[Tx, P], T], /, *args: P.args, **kwargs: P.kwargs) -> T: ...

    async def write_one(self, work: Callable[Concatenate[Tx, P], T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Like `write`, for a single statement, which needs no round trips for BEGIN and COMMIT on a server."""
        ...

    async def write_nosync(self, work: Callable[Concatenate[Tx, P], T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Like `write`, but without fsync: for results that are announced only after the next write or `flush()`.

        Until then the write survives the end of the process, but not a power cut. It may block the event
        loop, so it must be short.
        """
        ...

    async def flush(self) -> None:
        """Make all earlier writes durable against a power cut."""
        ...

    async def read(self, work: Callable[Concatenate[Tx, P], T], /, *args: P.args, **kwargs: P.kwargs) -> T: ...

    async def read_inline(self, work: Callable[Concatenate[Tx, P], T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Like `read`, but in the event loop's thread: only for a few rows by their keys."""
        ...

    async def read_together(self, *works: Callable[[Tx], T]) -> list[T]:
        """Run long reads in parallel, all on the same snapshot."""
        ...

    async def close(self) -> None: ...


def open_database(
    url: str,
    clock: Clock,
    *,
    checkpoints: bool = True,
    cache_kb: int = 16_000,
    pool: int = 4,
    longest: timedelta | None = None,
    pooled: bool = False,
) -> SqliteDatabase | PostgresDatabase:
    """Open `sqlite:///path` or `postgresql://...`.

    `checkpoints` and `cache_kb` are for SQLite. For a server: `pool` is the number of connections, `longest` the time
    limit of a statement, `pooled` means that a connection pooler is in front of it.
    """
    if url.startswith("sqlite:///"):
        return SqliteDatabase(Path(url.removeprefix("sqlite:///")), clock, checkpoints=checkpoints, cache_kb=cache_kb)
    scheme, _, rest = url.partition("://")
    if scheme in ("postgresql", "postgres", "postgresql+asyncpg", "postgres+asyncpg"):
        return PostgresDatabase(f"postgresql://{rest}", clock, pool=pool, longest=longest, pooled=pooled)
    raise UserError(
        "database.unknown",
        f"GOSSAMER_DATABASE_URL begins with {url.partition(':')[0]!r}, which is not a supported database.",
        hint="Use sqlite:///path/to/file.db or postgresql://user@host/database.",
    )
