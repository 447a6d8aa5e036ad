"""The health of a Redis server: a check before it is used, and the way back to it when it was away."""

import asyncio
import math
import random
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

from gossamer.clock import Clock
from gossamer.gate.redis_connection import TROUBLES, Wire, end, make_connection, reason, said_in
from gossamer.gate.scripts import HOLD_OFF, Script
from gossamer.logging import get_logger

_PATIENCE = 3.0  # seconds


class Unusable(Exception):
    """The reason why the server cannot be used, in a few words."""


@dataclass(frozen=True, slots=True)
class Server:
    version: str
    policy: str  # what it does when its memory is full
    evicts: bool  # and whether that costs us lights
    took: float  # seconds for one call


def shown(url: str) -> str:
    """Return the address of a server, without credentials."""
    address = urlsplit(url)
    if address.scheme == "unix":
        return address.path
    host = f"[{address.hostname}]" if ":" in (address.hostname or "") else address.hostname
    return f"{host}:{address.port or 6379}"


async def examine(url: str, prefix: str) -> Server:
    """Connect, and do once what the Gate does. Raises `Unusable`."""
    connection = make_connection(url, _PATIENCE)
    running: asyncio.Task[None] | None = None
    try:
        async with asyncio.timeout(_PATIENCE):
            await connection.connect()  # type: ignore[no-untyped-call]
            wire = Wire(connection)
            running = asyncio.create_task(wire.run())
            info = await wire.call("INFO")
            wire.server = said_in(info, "run_id")
            await wire.call("SCRIPT", "LOAD", HOLD_OFF.text)
            began = time.monotonic()
            await wire.run_script(HOLD_OFF, (f"{prefix}:light:probe", f"{prefix}:since"), 0)
            took = time.monotonic() - began
        policy = said_in(info, "maxmemory_policy")
        evicts = policy != "noeviction" and said_in(info, "maxmemory") != "0"
        return Server(said_in(info, "redis_version"), policy, evicts, took)
    except TROUBLES as error:
        raise Unusable(reason(error)) from error
    finally:
        if running is not None:
            await end(running)
        await connection.disconnect(nowait=True)


_CONNECT = 0.5  # seconds for the connection, and again for its first answers
_ANSWER = 1.0  # seconds for any answer
_LOOKS = 4  # so often in that time it is looked whether there is one
_AGAIN = 0.5  # seconds, about, until a server that is away is tried again
_STEADY = 0.2  # seconds; a connection that lived for less was no accident

log = get_logger(__name__)


class Reach:
    """Maintains one connection.

    A lost connection is replaced unnoticed; only if that fails is Redis unavailable.
    """

    def __init__(
        self,
        url: str,
        clock: Clock,
        probe: tuple[str, ...],
        scripts: Sequence[Script],
        on_away: Callable[[], None],
        on_there: Callable[[Wire], None],
    ) -> None:
        """`probe`: Redis keys of a spacing entry that no domain uses, for health checks.

        Callbacks run before callers see the change, and must not block.
        """
        self._url = url
        self._clock = clock
        self._probe = probe
        self._scripts = scripts
        self._on_away = on_away
        self._on_there = on_there
        self._wire: Wire | None = None
        self._decided = asyncio.Event()  # whether it is there or away
        self._there_at = math.inf
        self._away_since = 0.0
        self.outage = ""
        """The reason why Redis is away, in a few words; "" while it is available."""

    @asynccontextmanager
    async def kept(self) -> AsyncIterator[None]:
        """Connect, or find out that it is away, and keep trying until the end."""
        keeping = asyncio.create_task(self._keep(), name="redis")
        try:
            await self._decided.wait()
            yield
        finally:
            await end(keeping)

    async def wire(self) -> Wire | None:
        """Return the connection; None while Redis is away. Waits a moment if that is not known yet."""
        if self._wire is None:
            await self._decided.wait()
        return self._wire

    def present(self) -> Wire | None:
        return self._wire

    def lose(self, wire: Wire) -> None:
        """Mark the connection as suspect after a failed call; its state is open until it is replaced or given up."""
        if self._wire is wire:
            self._wire = None
            self._decided.clear()

    async def _keep(self) -> None:
        try:
            while True:
                self._there_at = math.inf
                try:
                    await self._serve()
                except Exception as error:  # noqa: BLE001 - an option the client does not know is an outage like any other
                    self._wire = None
                    if self._clock.monotonic() - self._there_at > _STEADY:
                        self._decided.clear()
                        continue
                    self._give_up(reason(error))
                await asyncio.sleep(_AGAIN * random.uniform(0.7, 1.3))
        finally:
            self._wire = None
            self._on_away()
            self._decided.set()

    async def _serve(self) -> None:
        """Connect and serve the connection until it ends; raises what ended it."""
        connection = make_connection(self._url, _CONNECT)
        try:
            async with asyncio.timeout(_CONNECT):
                await connection.connect()  # type: ignore[no-untyped-call]
            wire = Wire(connection)
            running = asyncio.create_task(wire.run())
            try:
                async with asyncio.timeout(_CONNECT):
                    await self._greet(wire)
                self._take(wire)
                while not running.done():
                    await asyncio.wait({running}, timeout=_ANSWER / _LOOKS)
                    if wire.stands_still(_LOOKS):
                        raise TimeoutError
                await running
            finally:
                await end(running)
        finally:
            await connection.disconnect(nowait=True)

    async def _greet(self, wire: Wire) -> None:
        """Try every command that is needed, so that an unusable server is not taken for a usable one."""
        info, *_ = await asyncio.gather(
            wire.call("INFO", "server"), *(wire.call("SCRIPT", "LOAD", script.text) for script in self._scripts)
        )
        wire.server = said_in(info, "run_id")
        await wire.run_script(HOLD_OFF, self._probe, 0)

    def _take(self, wire: Wire) -> None:
        self._on_there(wire)
        self._there_at = self._clock.monotonic()
        self._wire = wire
        if self.outage:
            log.info("gate.back", seconds=round(self._there_at - self._away_since))
        self.outage = ""
        self._decided.set()

    def _give_up(self, why: str) -> None:
        if not self.outage:
            self._on_away()
            self._away_since = self._clock.monotonic()
            log.warning("gate.away", why=why)
        self.outage = why
        self._decided.set()
