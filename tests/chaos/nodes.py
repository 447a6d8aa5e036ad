"""An instance on its machine, as whoever looks after services there has it: started, killed, started again."""

import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import psutil

from tests.chaos.machines import Machine

PROCESSES = 2
SLOTS = 10


class Node:
    """Says what it has to say into one log for all its lives."""

    def __init__(self, machine: Machine, environment: Mapping[str, str], log: Path, slots: int = SLOTS) -> None:
        self.machine = machine
        self.log = log
        self._environment = environment
        self._slots = slots
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        lanes = ("--lanes", f"http:{self._slots},desk:1", "--processes", str(PROCESSES))
        self._reap()
        with self.log.open("ab") as sink:
            self._process = subprocess.Popen(
                [*self.machine.prefix, sys.executable, "-m", "gossamer", "worker", *lanes],
                env=self._environment,
                stdout=sink,
                stderr=sink,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        return self._process.pid if self._process else 0

    @property
    def ended_with(self) -> int | None:
        """The exit code of one that has ended."""
        return self._process.poll() if self._process else None

    def process(self) -> psutil.Process:
        if self.ended_with is not None:
            raise psutil.NoSuchProcess(self.pid)
        return psutil.Process(self.pid)

    def workers(self) -> list[psutil.Process]:
        children = sorted(self.process().children(), key=lambda child: child.pid)
        workers = [child for child in children if "gossamer.worker" in child.cmdline()]
        if not workers:
            raise psutil.NoSuchProcess(self.pid)
        return workers

    def stop(self) -> int:
        """In order, as a service is stopped; its exit code."""
        if not self._process:
            return 0
        with suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGTERM)
        try:
            return self._process.wait(40)
        except subprocess.TimeoutExpired:
            self.kill()
            return -signal.SIGKILL

    def kill(self) -> None:
        with suppress(psutil.NoSuchProcess):
            for process in (*self.workers(), self.process()):
                with suppress(psutil.NoSuchProcess):
                    process.kill()
        if self._process and self._process.poll() is None:
            self._process.kill()
        self._reap()

    def _reap(self) -> None:
        if self._process:
            self._process.wait(20)
