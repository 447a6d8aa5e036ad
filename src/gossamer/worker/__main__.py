"""`python -m gossamer.worker`: a process that runs jobs.

It is a worker of a data folder (`--shard 0/2`), its runner (`--runner`), a worker of a cluster (`--lanes`), or makes
the files (`--exports`) or the conclusion (`--conclude`) of jobs.

Memory of a worker is kept from one page to the next and returned to the system now and then. The memory of a page is
allocated and freed in pieces of every size, between a few that stay. By default the system's allocator returns the last
of it after nearly every page and requests it again for the next: a few per cent of all work. Free memory between the
pieces that stay is kept, and grows with every thousand sites, unless it is released explicitly.
"""

import argparse
import asyncio
import ctypes
import gc
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING
from uuid import UUID

from gossamer.app import App, open_app, open_deps, start_log
from gossamer.clock import SteadyClock
from gossamer.errors import GossamerError, StorageAway
from gossamer.logging import bound, get_logger
from gossamer.model.ids import short
from gossamer.model.states import JobState
from gossamer.runtime.home_lock import worker_name
from gossamer.runtime.process_pool import NO_DATABASE
from gossamer.settings import Settings, read_settings
from gossamer.store import exports, jobs, outbox

if TYPE_CHECKING:
    from gossamer.runtime.worker import ShardWorker

# Thresholds of the garbage collector: new objects per collection, and collections per collection of older objects.
_CYCLES = (50_000, 5, 5)
_ASIDE = 5  # nice value of a conclusion
_EVERY = 15.0  # seconds; a release takes some milliseconds
# Bytes that may stay free at the end: more than most pages need. With more, the memory of long jobs grows.
_KEPT = 8 * 1024 * 1024
_LARGE = 4 * 1024 * 1024  # bytes; larger blocks are returned as soon as they are free
# Names of these in GNU's malloc.h, and variables by which an operator overrides them.
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
_OVERRIDES = ("GLIBC_TUNABLES", "MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "MALLOC_ARENA_MAX")

log = get_logger(__name__)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m gossamer.worker")
    parser.add_argument("--shard", help="which part of the domains, e.g. 0/2")
    parser.add_argument("--home-name")
    parser.add_argument("--clock", type=float, help="offset of the runner's clock to the monotonic clock")
    parser.add_argument("--pulse", type=int, help="a pipe to the runner for heartbeats, one byte each")
    parser.add_argument("--line", type=int, help="a socket to the server, which sends express visits")
    parser.add_argument("--runner", action="store_true", help="run all running jobs of the data folder, then end")
    parser.add_argument("--exports", action="store_true", help="make the waiting files of the data folder, then end")
    parser.add_argument("--conclude", help="the id of a job whose conclusion is due: run it, then end")
    parser.add_argument("--token", help="the token of the conclusion's lease")
    parser.add_argument("--processes", type=int)
    parser.add_argument("--lanes", help="work for a cluster, e.g. http:24,desk:1")
    parser.add_argument("--pool", type=int, default=4, help="connections to the database")
    chosen = parser.parse_args()
    try:
        settings, _ = read_settings()
        start_log(settings, stream=sys.stderr)  # the runner has redirected it to the log file
        if chosen.runner:
            asyncio.run(_run_home(settings, chosen.processes))
        elif chosen.exports:
            asyncio.run(_make_exports(settings))
        elif chosen.conclude:
            threading.Thread(target=_end_with_parent, name="parent", daemon=True).start()
            asyncio.run(_conclude(settings, UUID(chosen.conclude), UUID(chosen.token)))
        else:
            import uvloop  # loaded by workers only

            keep_memory()
            threading.Thread(target=_end_with_parent, name="parent", daemon=True).start()
            pulse = _pulse(chosen.pulse) if chosen.pulse is not None else _no_pulse
            if chosen.lanes:
                uvloop.run(
                    _run_cluster_worker(settings, chosen.shard, chosen.home_name, chosen.lanes, chosen.pool, pulse)
                )
            else:
                line = socket.socket(fileno=chosen.line) if chosen.line is not None else None
                clock = SteadyClock(chosen.clock)
                uvloop.run(_run_shard(settings, chosen.shard, chosen.home_name, clock, pulse, line))
    except StorageAway as error:
        log.error("worker.failed", error=str(error))
        return NO_DATABASE
    except GossamerError as error:
        log.error("worker.failed", error=str(error))
        return 1
    return 0


def _end_with_parent() -> None:
    """Exit when the runner has ended, which holds the other end of our standard input.

    Without it our requests would not be spaced together with those of other workers.
    """
    # Read without Python's buffer, whose lock would block the end of the interpreter.
    while os.read(sys.stdin.fileno(), 1):
        continue
    os._exit(3)


def _pulse(pipe: int) -> Callable[[], None]:
    """Return a function that writes a heartbeat to a pipe; a full pipe is ignored."""
    os.set_blocking(pipe, False)

    def beat() -> None:
        with suppress(BlockingIOError, BrokenPipeError):
            os.write(pipe, b".")

    return beat


def _no_pulse() -> None:
    """No-op in place of the heartbeat, for a process without a parent that listens."""


async def _run_shard(
    settings: Settings,
    shard: str,
    home: str,
    clock: SteadyClock,
    pulse: Callable[[], None],
    line: socket.socket | None,
) -> None:
    # Imported here: loads the crawler, which the runner does not need.
    from gossamer.runtime.worker import ShardWorker

    number, of = (int(part) for part in shard.split("/"))
    with bound(worker=f"w-{number}"):
        async with open_deps(settings, of, clock) as deps:
            _relax_garbage_collector()
            working = ShardWorker(deps, number, of, worker_name(home, number), beat=pulse, line=line)
            await _work(working)


def _relax_garbage_collector() -> None:
    """Make the garbage collector run less often.

    Pages leave no reference cycles, but consist of so many objects that collections took an eighth of all work. Parsed
    robots.txt files do leave cycles, so older objects must be collected now and then. Modules are exempt: they leave
    next to no garbage.
    """
    gc.freeze()
    gc.set_threshold(*_CYCLES)


async def _run_cluster_worker(
    settings: Settings, shard: str, host: str, lanes: str, pool: int, pulse: Callable[[], None]
) -> None:

    # Imported here: loads the parts of a cluster.
    from gossamer.worker.cluster import open_cluster_worker, read_lanes

    number = int(shard.partition("/")[0])
    with bound(worker=f"w-{number}"):
        async with open_cluster_worker(
            settings, worker_name(host, number), host, read_lanes(lanes, 0), pool, pulse
        ) as worker:
            await _work(worker)


async def _work(working: "ShardWorker") -> None:
    loop = asyncio.get_running_loop()
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, working.stop)
    giving = asyncio.create_task(give_back_memory())
    try:
        await working.run()
    finally:
        giving.cancel()


async def _run_home(settings: Settings, processes: int | None) -> None:
    """Wait until the data folder is free, then work on its jobs until none is running."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, stop.set)
    async with open_app(settings) as app:
        while not stop.is_set() and await _something_runs(app):
            if not app.lock.take():
                await asyncio.sleep(0.5)
                continue
            runner = app.runner(processes)
            if not await runner.start():
                app.lock.release()
                await asyncio.sleep(5)  # another data folder uses this database
                continue
            looking = asyncio.create_task(runner.look_after())
            try:
                while not stop.is_set() and not looking.done():
                    if not await _something_runs(app):
                        break
                    with suppress(TimeoutError):
                        async with asyncio.timeout(0.5):
                            await stop.wait()
            finally:
                looking.cancel()
                (ended,) = await asyncio.gather(looking, return_exceptions=True)
                await runner.stop()
                app.lock.release()
            if isinstance(ended, Exception):
                raise ended


async def _something_runs(app: App) -> bool:
    if await app.database.read(jobs.in_states, JobState.RUNNING, JobState.PAUSING):
        return True
    if await app.database.read(exports.any_open, app.home_name):
        return True
    return bool((await app.database.read(outbox.waiting))[0])


async def _make_exports(settings: Settings) -> None:
    """Write exports. They have leases of their own, so this can run along with a runner or another exporter."""
    async with open_app(settings) as app, app.exporter("exports") as exporter:
        await exporter.make_all()


async def _conclude(settings: Settings, job_id: UUID, token: UUID) -> None:
    # Imported here: loads recipes and exports.
    from gossamer.runtime.conclusion import ConclusionRun, HeldConclusion

    stop = asyncio.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(name, stop.set)
    if sys.platform != "win32":
        os.nice(_ASIDE)
    with bound(job=short(job_id)):
        async with open_app(settings) as app, app.exporter("conclusion") as exporter:
            app.database.retries.limit = settings.database_patience
            await ConclusionRun(
                app.database, app.recipes, exporter, HeldConclusion(job_id, token, settings.lease), stop
            ).run()


def keep_memory() -> None:
    """Keep memory freed by one page for the next. Works only with GNU's allocator.

    Call this before any other thread exists. Each thread would have an arena of its own, and free memory at its
    end is kept for good: only the first thread's is returned with the rest. One thread does most of the work
    anyway.
    """
    if any(name in os.environ for name in _OVERRIDES):
        return
    try:
        tell = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return
    tell.argtypes = [ctypes.c_int, ctypes.c_int]
    tell(_ARENA_MAX, 1)
    tell(_TRIM_THRESHOLD, _KEPT)
    tell(_MMAP_THRESHOLD, _LARGE)


async def give_back_memory() -> None:
    """Return free memory to the system now and then, until cancelled."""
    give = _trim()
    while give:
        await asyncio.sleep(_EVERY)
        give()


def _trim() -> Callable[[], object] | None:
    """Return the function that releases memory; None for other allocators than GNU's."""
    try:
        trim = ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError):
        return None
    trim.argtypes = [ctypes.c_size_t]
    return lambda: trim(0)


if __name__ == "__main__":
    sys.exit(main())
