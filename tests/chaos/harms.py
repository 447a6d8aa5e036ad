"""Everything that is done to a job at work. A harm returns when it is over: what was stopped runs again by then.

Whoever is to be harmed may not be there at the moment, or may have nothing that it could lose; then nothing is done,
`psutil.NoSuchProcess` says so, and the harm is tried again. A harm that is about what is lost ends when it is lost, not
after some seconds.
"""

import os
import random
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

import psutil

from tests.chaos.postgres import PostgresServer
from tests.chaos.rows import Rows

SQLITE, POSTGRES = "sqlite", "postgres"
EITHER = frozenset({SQLITE, POSTGRES})

LOCKED_SECONDS = 20.0
_FROZEN_AT_MOST = 24.0  # seconds; a runner ends a process that stands still for 30
_WAKES_UP = 30.0  # seconds in which a process that went on says what it has lost
_HOUR = 3600
_LOCK = """
import sqlite3, sys, time
held = sqlite3.connect(sys.argv[1], timeout=30, isolation_level=None)
held.execute("BEGIN IMMEDIATE")
time.sleep(float(sys.argv[2]))
held.execute("ROLLBACK")
"""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a job is at work: what a home and a cluster have in common."""

    dice: random.Random
    server: PostgresServer | None
    rows: Rows

    def linger(self, shortest: float, longest: float) -> None:
        time.sleep(self.dice.uniform(shortest, longest))


@dataclass(frozen=True, slots=True)
class Scene(Place):
    """A job at work in a home, and what can be reached of it."""

    program: "subprocess.Popen[bytes]"  # the runner
    home: Path
    lease: float
    clock: Path  # by how much the program's wall clock is ahead, where it was given a false one

    def refused(self) -> int:
        """How often a process has said that a visit was no longer its own."""
        return (self.home / "logs" / "gossamer.log").read_text(errors="replace").count(" leases.lost ")

    def runner(self) -> psutil.Process:
        if self.program.poll() is not None:
            raise psutil.NoSuchProcess(self.program.pid)
        return psutil.Process(self.program.pid)

    def worker(self) -> psutil.Process:
        """One of the runner's working processes."""
        return self.dice.choice(self._workers())

    def oldest_worker(self) -> psutil.Process:
        """The one that is longest at work: one that was just started in a dead one's place may hold nothing yet."""
        return min(self._workers(), key=lambda worker: worker.create_time())

    def _workers(self) -> list[psutil.Process]:
        children = sorted(self.runner().children(), key=lambda child: child.pid)
        workers = [child for child in children if "gossamer.worker" in child.cmdline()]
        if not workers:
            raise psutil.NoSuchProcess(self.program.pid)
        return workers


def kill_runner(scene: Scene) -> None:
    scene.runner().kill()
    scene.program.wait(20)


def kill_worker(scene: Scene) -> None:
    scene.worker().kill()


def terminate(scene: Scene) -> None:
    """As a shutdown of the machine does, which does not wait for ever."""
    scene.runner().terminate()
    scene.program.wait(30)


def stop_worker(scene: Scene) -> None:
    """Until what it holds was taken back; then it wakes up, knows nothing of it, and must not write.

    It is let go on, and the harm tried again, if it holds no visit at this moment, or if nobody can take its visits
    back because it was stopped with the database in its hands.
    """
    worker, refused = scene.oldest_worker(), scene.refused()
    with _stopped(worker):
        held = scene.rows.held_by(worker.pid)
        if not until(lambda: bool(held) and scene.rows.taken_back(held) > 0, _FROZEN_AT_MOST if held else 0):
            raise psutil.NoSuchProcess(worker.pid)
        scene.linger(0, 2)
    until(lambda: scene.refused() > refused, _WAKES_UP)


def stop_runner(scene: Scene) -> None:
    with _stopped(scene.runner()):
        scene.linger(scene.lease + 1, scene.lease + 7)


def clock_forward(scene: Scene) -> None:
    set_clock(scene.clock, _HOUR)
    scene.linger(2, 4)


def clock_back(scene: Scene) -> None:
    set_clock(scene.clock, -_HOUR)
    scene.linger(2, 4)


def fill_disk(scene: Scene) -> None:
    """Somebody else's file takes the last byte, and is removed after a while."""
    filler = scene.home / "filler"
    try:
        with filler.open("wb", buffering=0) as file, suppress(OSError):
            while True:
                file.write(bytes(4096))
        scene.linger(4, 8)
    finally:
        filler.unlink()


def lock_database(scene: Scene) -> None:
    """By somebody who does not stand in the row of writers, as a person with a database tool would not."""
    path = scene.home / "gossamer.db"
    subprocess.run([sys.executable, "-c", _LOCK, str(path), str(LOCKED_SECONDS)], check=True)


def restart_postgres(scene: Place) -> None:
    _server(scene).stop()
    scene.linger(0, 5)
    _server(scene).start()


def kill_postgres(scene: Place) -> None:
    _server(scene).kill()
    scene.linger(0, 5)
    _server(scene).start()


S = TypeVar("S", bound=Place)


@dataclass(frozen=True, slots=True)
class Harm(Generic[S]):
    """One way to disturb a job. `forgets` says how many working processes may forget what they had not yet settled."""

    do: Callable[[S], None]
    forgets: int
    databases: frozenset[str] = EITHER


HARMS: Mapping[str, Harm[Scene]] = {
    "kill-runner": Harm(kill_runner, 2),
    "kill-worker": Harm(kill_worker, 1),
    "terminate": Harm(terminate, 0),
    "stop-worker": Harm(stop_worker, 1),
    "stop-runner": Harm(stop_runner, 0),
    "clock-forward": Harm(clock_forward, 0),
    "clock-back": Harm(clock_back, 0),
    "disk-full": Harm(fill_disk, 2, frozenset({SQLITE})),
    "database-locked": Harm(lock_database, 2, frozenset({SQLITE})),
    "postgres-restart": Harm(restart_postgres, 2, frozenset({POSTGRES})),
    "postgres-kill": Harm(kill_postgres, 2, frozenset({POSTGRES})),
}
CLOCK = frozenset({"clock-forward", "clock-back"})
DISK = frozenset({"disk-full"})


def set_clock(file: Path, ahead: int) -> None:
    """Written in place: the programs that go by it have it in their memory."""
    with file.open("r+b" if file.exists() else "wb", buffering=0) as clock:
        clock.write(struct.pack("q", ahead))


@contextmanager
def _stopped(process: psutil.Process) -> Iterator[None]:
    process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        with suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGCONT)


def until(happened: Callable[[], bool], seconds: float) -> bool:
    """Whether it has within this time."""
    end = time.monotonic() + seconds
    while not happened():
        if time.monotonic() >= end:
            return False
        time.sleep(0.1)
    return True


def _server(scene: Place) -> PostgresServer:
    assert scene.server, "no Postgres to be harmed here"
    return scene.server
