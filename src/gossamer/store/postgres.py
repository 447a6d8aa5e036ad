"""A database on a server that many machines share."""

import asyncio
import random
from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeVar

import orjson
from sqlalchemy import Connection
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError

from gossamer.clock import Clock
from gossamer.errors import StorageAway, UserError
from gossamer.store.away import AWAY_STATES, storage_away
from gossamer.store.dialect import POSTGRES
from gossamer.store.patience import Patience
from gossamer.store.tx import Tx
from gossamer.store.types import dumps

P = ParamSpec("P")
T = TypeVar("T")

_TRIES = 6
_CONNECT = 10  # seconds for a connection to a server
_RETRIED_STATES = frozenset({"40001", "40P01"})  # serialisation failure, deadlock
_REFUSED_STATES = ("28", "3D000")  # who we say we are, and what we ask for


class PostgresDatabase:
    """A pooled server shared by many machines."""

    dialect = POSTGRES

    def __init__(self, url: str, clock: Clock, *, pool: int = 4) -> None:
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
            json_serializer=dumps,
            json_deserializer=orjson.loads,
            connect_args={"timeout": _CONNECT},
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
                    raise storage_away(error, self._shown) from error
                await asyncio.sleep(random.uniform(0, 0.05 * 2**attempt))
            except (OSError, TimeoutError) as error:
                raise _unreachable(self._shown, str(error) or "no answer") from error
            except Exception as error:
                # While a server starts or stops, its driver fails before SQLAlchemy has a connection to speak of.
                state = str(getattr(error, "sqlstate", ""))
                if state.startswith(_REFUSED_STATES):
                    raise _refused(error, self._shown) from error
                if not state.startswith(AWAY_STATES):
                    raise
                raise _unreachable(self._shown, str(error)) from error
        raise AssertionError("unreachable")

    read = write

    async def tidy(self) -> None:
        """Postgres looks after itself."""

    async def close(self) -> None:
        await self._engine.dispose()


def _unreachable(where: str, why: str) -> StorageAway:
    return StorageAway(f"The database {where} cannot be reached: {why}. Is it running? 'gossamer doctor' says more.")


def _refused(error: object, where: str) -> UserError:
    return UserError(
        "database.refused",
        f"{where} refuses us: {error}.",
        hint="Correct GOSSAMER_DATABASE_URL, or create the database with 'createdb' and 'gossamer db upgrade'.",
    )
