"""Choose where domain spacing, circuit breakers and counts are kept: in this data folder, or in a shared Redis."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING

from gossamer.clock import SteadyClock
from gossamer.db.database import PostgresDatabase, SqliteDatabase
from gossamer.errors import UserError
from gossamer.gate.breakers import MemoryBreakers
from gossamer.gate.local import LocalGate, MemoryPlaces
from gossamer.settings import Settings
from gossamer.store.named_slots import StoredBreakers, StoredSlots

if TYPE_CHECKING:
    from gossamer.app.application import App
    from gossamer.gate import Breakers, Gate, Places


def require_redis() -> None:
    """Raise if Redis is configured and its client library is not installed."""
    if not (find_spec("redis") and find_spec("hiredis")):
        raise UserError(
            "redis.missing",
            "GOSSAMER_REDIS_URL (or REDIS_URL) is set, but the Python packages redis and hiredis are not installed.",
            hint="Install it with \".venv/bin/pip install '.[cluster]'\", or unset the address.",
        )


@dataclass(frozen=True, slots=True)
class Gates:
    """The Gate, the circuit breakers, and a function that describes an outage of the server behind them."""

    gate: "Gate"
    breakers: "Breakers"
    site_breakers: "Breakers"
    outage: Callable[[], str] = lambda: ""


@asynccontextmanager
async def open_gate(
    settings: Settings, clock: SteadyClock, database: SqliteDatabase | PostgresDatabase
) -> AsyncIterator[Gates]:
    if settings.redis_url is None:
        # One process of the data folder makes all requests to a domain; all processes ask the providers.
        yield Gates(LocalGate(clock, StoredSlots(database)), StoredBreakers(database), MemoryBreakers(clock))
        return
    require_redis()
    # An optional library.
    from gossamer.gate.redis import RedisBreakers, RedisGate

    async with RedisGate(settings.redis_url.get_secret_value(), clock, prefix=settings.redis_prefix).kept() as gate:
        breakers = RedisBreakers(gate, clock)
        yield Gates(gate, breakers, breakers, gate.outage)


@asynccontextmanager
async def open_counts(app: "App") -> AsyncIterator[tuple["Places", Callable[[], str]]]:
    """Yield the counters of requests, shared with other servers, and a function that describes their outage."""
    if app.settings.redis_url is None and isinstance(app.database, SqliteDatabase):
        # With SQLite there is one server: counting in memory saves a write to the disk per request.
        yield MemoryPlaces(app.clock), lambda: ""
        return
    async with open_gate(app.settings, app.clock, app.database) as gates:
        yield gates.gate, gates.outage
