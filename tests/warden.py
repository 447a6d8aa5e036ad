"""Runs the tests and leaves no process behind, however they end: `python -m tests.warden pytest ...`.

They start servers, workers and commands, some of them in sessions of their own. Ended by a signal, pytest tidies up
nothing.
"""

import ctypes
import os
import signal
import sys
import time
from contextlib import suppress
from types import FrameType

import psutil

_ADOPT_ORPHANS = 36  # PR_SET_CHILD_SUBREAPER
_PATIENCE = 3.0  # seconds from the request to end to the order


def end_all() -> None:
    """Everything that this process has started, with what that has started."""
    ordered = time.monotonic() + _PATIENCE
    known: set[psutil.Process] = set()  # one whose parent ends first is nobody's child any more
    while known := {one for one in known.union(psutil.Process().children(recursive=True)) if _is_alive(one)}:
        for one in known:
            with suppress(psutil.NoSuchProcess):
                one.send_signal(signal.SIGTERM if time.monotonic() < ordered else signal.SIGKILL)
        time.sleep(0.1)


def _is_alive(process: psutil.Process) -> bool:
    with suppress(psutil.NoSuchProcess):
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return False


def take_along() -> None:
    """Whoever ends this process by SIGTERM ends what it has started."""

    def end(number: int, _: FrameType | None) -> None:
        end_all()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    signal.signal(signal.SIGTERM, end)


def main(command: list[str]) -> int:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_ADOPT_ORPHANS, 1)
    tests = os.posix_spawnp(command[0], command, os.environ)
    signal.signal(signal.SIGTERM, lambda number, _: os.kill(tests, number))
    signal.signal(signal.SIGINT, lambda *_: None)  # the terminal tells everybody
    ended, status = 0, 0
    while ended != tests:
        ended, status = os.waitpid(-1, 0)  # also those who were adopted: somebody must
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # there is nobody left to hand it on to
    end_all()
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code  # as shells say it


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
