"""Beside the Gate: what can be said of a Redis server before anybody relies on it."""

import asyncio
import time
from dataclasses import dataclass
from urllib.parse import urlsplit

from gossamer.gate.scripts import HOLD_OFF
from gossamer.gate.wire import TROUBLES, Wire, end, make_connection, reason, said_in

_PATIENCE = 3.0  # seconds


class Unusable(Exception):
    """Why the server cannot be used, in a few words."""


@dataclass(frozen=True, slots=True)
class Server:
    version: str
    policy: str  # what it does when its memory is full
    evicts: bool  # and whether that costs us lights
    took: float  # seconds for one call


def shown(url: str) -> str:
    """Where a server is, without who we are there."""
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
