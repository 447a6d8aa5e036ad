"""The server process of `gossamer serve`: listen, run the data folder's jobs, and stop without losing work."""

import asyncio
import errno
import gc
import signal
import socket
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, nullcontext, suppress
from hashlib import sha256
from typing import Any

import uvicorn

from gossamer.accounts.service import find_account, first_key
from gossamer.accounts.tokens import Signer
from gossamer.api.app import make_api
from gossamer.api.connections import ConnectionLimits, bounded
from gossamer.api.dependencies import Parts
from gossamer.api.development import Development
from gossamer.api.limits import Rates
from gossamer.api.live import Live
from gossamer.api.middleware import RequestMiddleware
from gossamer.api.stale_cache import StaleCache
from gossamer.api.vitals import Vitals
from gossamer.app import App, installation_secret, open_counts
from gossamer.crawl.express import Express
from gossamer.db.health import working_home
from gossamer.errors import GossamerError, UserError
from gossamer.gate.local import MemoryPlaces
from gossamer.logging import get_logger
from gossamer.model.account import DEFAULT
from gossamer.runtime.home_lock import CLUSTER
from gossamer.runtime.housekeeping import FileMaker, Housekeeper
from gossamer.runtime.runner import Runner
from gossamer.runtime.services import Where, run_services

_BACKLOG = 2_048
_SWITCH = 0.001  # seconds after which a computing thread yields to the event loop
_BLINK = 2.0  # seconds for which requests wait for a database that is away


_LOOK = 1.0  # seconds between checks of a data folder whose jobs another process runs
_AGAIN = 5.0  # and before another try after a failure


_WAYS_OUT = {
    errno.EACCES: "Ports below 1024 are for the system: give a higher --port, and let a proxy listen in front of it.",
    errno.EADDRINUSE: "Give another --port, or stop the program that uses this one.",
    errno.EADDRNOTAVAIL: "Give an address of this machine with --host.",
}

log = get_logger(__name__)


class _Quiet(uvicorn.Server):
    """A server that leaves signals to us, because it has work to finish before it stops."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        with nullcontext():
            yield


async def serve(
    app: App,
    host: str,
    port: int,
    *,
    api_only: bool,
    processes: int | None,
    say: Callable[[str], None],
    development: Development | None = None,
) -> None:
    """Run the server until SIGTERM or SIGINT."""
    app.check()
    listener = listen(host, port)
    app.database.retries.limit = app.settings.statement_timeout / 6
    sys.setswitchinterval(_SWITCH)
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, stop.set)
    await find_account(app.database, DEFAULT)
    # With a configured admin token no first key is needed.
    new = None if app.settings.admin_token or development else await first_key(app.database)
    async with open_parts(app, development) as parts:
        worked = await _who_works(app, api_only=api_only)  # before our own runner starts
        wire = make_api(parts)
        server = _Quiet(server_config(wire, ConnectionLimits()))
        tasks = [asyncio.create_task(server.serve(sockets=[listener]))]
        maker = FileMaker(app.database, app.lock, app.home_name, lambda: app.exporter("server"))
        owners = (Housekeeper(app.database, app.quota, parts.prices), maker)
        tasks.append(asyncio.create_task(run_services(Where.SERVER, owners)))
        if not api_only:
            tasks.append(asyncio.create_task(HomeWorker(app, parts.express, processes).run()))
        gc.freeze()  # what was loaded at the start stays: collecting it takes as long as many requests
        _greet(say, listener, new.text if new else "", worked)
        if development:
            say(f"Development mode: no key is needed here, and pages of {', '.join(development.origins)} may ask.")
        waiting = asyncio.create_task(stop.wait())
        try:
            await asyncio.wait((waiting, *tasks), return_when=asyncio.FIRST_COMPLETED)
            await _drain(wire, parts.live, app.settings.api_drain.total_seconds())
        finally:
            waiting.cancel()
            await _end(server, tasks)


async def _who_works(app: App, *, api_only: bool) -> str:
    if api_only:
        return "Jobs run in another process."
    if runner := app.lock.holder():
        return f"Process {runner} runs the jobs of this data folder; this one takes over when that ends."
    if runner is not None:
        return "Another process runs the jobs of this data folder; this one takes over when that ends."
    home = await app.database.read(working_home)
    if home and home != app.home_name:
        whose = "The cluster" if home == CLUSTER else "A process of another data folder"
        return f"{whose} runs the jobs of this database; this one takes over when that ends."
    return "Jobs run in this process."


def _greet(say: Callable[[str], None], listener: socket.socket, key: str, worked: str) -> None:
    host, port = listener.getsockname()[:2]
    where = f"[{host}]" if ":" in host else host
    if key:
        say("Admin API key. Save it now, it won't be shown again:")
        say(f"  {key}")
    say(f"Listening on http://{where}:{port} (see /docs). {worked} Ctrl-C stops.")


@asynccontextmanager
async def open_parts(app: App, development: Development | None = None) -> AsyncIterator[Parts]:
    async with open_counts(app) as (places, is_away):
        patience, counted_there = app.database.retries, app.settings.redis_url is None

        def is_gone() -> bool:
            return patience.away_for() > _BLINK

        def is_blind() -> str:
            return is_away() or ("the database is away" if counted_there and is_gone() else "")

        rates = Rates(places, MemoryPlaces(app.clock), is_blind)
        live, vitals = Live(app.database, app.remaining_work), Vitals(app.database, app.settings.lease)
        signer = Signer(_secret(app))
        parts = Parts(app, rates, signer, live, app.express(), StaleCache(is_gone), vitals, development)
        watching = asyncio.create_task(vitals.run())
        try:
            yield parts
        finally:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)
            await parts.listings.close()


def _secret(app: App) -> bytes:
    """Return the secret of login tokens.

    It may be derived from the one that signs links, but cannot be confused with it.
    """
    return sha256(b"gossamer login " + installation_secret(app.settings)).digest()


def listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise UserError(
            "serve.address",
            f"Cannot listen on {host}:{port}: {error.strerror or error}.",
            hint=_WAYS_OUT.get(error.errno or 0, "Give another --port, or another --host."),
        ) from error
    listener.listen(_BACKLOG)
    listener.setblocking(False)
    return listener


def server_config(wire: RequestMiddleware, limits: ConnectionLimits) -> uvicorn.Config:
    more: dict[str, Any] = {"ws_max_size": 64 * 1024, "ws_ping_interval": 20.0, "ws_ping_timeout": 20.0}
    return uvicorn.Config(
        wire,
        loop="none",
        http=bounded(limits),
        ws="websockets-sansio",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=round(limits.keep_alive),
        timeout_graceful_shutdown=5,
        **more,
    )


async def _drain(wire: RequestMiddleware, live: Live, seconds: float) -> None:
    """Refuse new requests with a 503, and let those in progress finish."""
    wire.stopping = True
    live.stop()
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await wire.idle.wait()


async def _end(server: uvicorn.Server, tasks: list[asyncio.Task[None]]) -> None:
    server.should_exit = True
    serving, *others = tasks
    for task in others:
        task.cancel()
    ended = await asyncio.gather(*others, return_exceptions=True)
    with suppress(asyncio.CancelledError):
        await serving
    for one in ended:
        if isinstance(one, Exception):
            raise one


class HomeWorker:
    def __init__(self, app: App, express: Express, processes: int | None = None) -> None:
        self._app = app
        self._express = express
        self._processes = processes

    async def run(self) -> None:
        """Run until cancelled; the child processes then settle or return their visits."""
        while True:
            if not self._app.lock.take():
                await asyncio.sleep(_LOOK)
                continue
            runner = self._app.runner(self._processes, self._express)
            pause = _AGAIN
            try:
                if await runner.start():
                    pause = await self._work(runner)
            except GossamerError as error:
                log.error("runner.failed", why=str(error))
            finally:
                self._app.lock.release()
            await asyncio.sleep(pause)

    async def _work(self, runner: Runner) -> float:
        looking = asyncio.create_task(runner.look_after())
        try:
            await looking
        finally:
            looking.cancel()
            with suppress(asyncio.CancelledError, GossamerError):
                await looking
            await runner.stop()
        return _LOOK
