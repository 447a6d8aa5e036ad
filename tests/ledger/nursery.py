"""Processes that are there at once: one that has loaded everything a spender needs, and forks whoever is asked for.

    python -m tests.ledger.nursery

Asked on its standard input, a line each: `["start", ...]` is answered with a process id, `["ended", id]` with how that
process has ended, or with null.
"""

import os
import subprocess
import sys
import traceback
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import orjson

from gossamer.model import ids

_LATER = ("asyncpg", "sqlalchemy.dialects.postgresql.asyncpg", "sqlalchemy.dialects.sqlite", "sqlalchemy.ext.asyncio")
"""What both databases load with their first statement."""

ROOT = Path(__file__).parent.parent.parent


class Nursery:
    """From outside. Whoever it starts lives until they end, or are killed."""

    def __init__(self) -> None:
        path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.ledger.nursery"],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": path},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def start(self, *given: str) -> int:
        return int(self._ask("start", *given))

    def ended(self, process: int) -> int | None:
        """Its exit code, or less than nothing if it was killed; None while it runs."""
        code: int | None = self._ask("ended", process)
        return code

    def close(self) -> None:
        self._process.communicate()  # with nobody left to ask it ends

    def _ask(self, *words: object) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(orjson.dumps(words) + b"\n")
        self._process.stdin.flush()
        return orjson.loads(self._process.stdout.readline())


def main() -> None:
    # Here, and not in whoever only talks to it.
    work = import_module("tests.ledger.spender").main
    for name in _LATER:
        import_module(name)
    codes: dict[int, int] = {}
    for line in sys.stdin.buffer:
        match orjson.loads(line):
            case ["start", *given]:
                answer: int | None = _start(work, given)
            case ["ended", process]:
                if process not in codes:
                    found, status = os.waitpid(process, os.WNOHANG)
                    codes |= {process: os.waitstatus_to_exitcode(status)} if found else {}
                answer = codes.get(process)
        sys.stdout.buffer.write(orjson.dumps(answer) + b"\n")
        sys.stdout.buffer.flush()


def _start(work: Callable[..., None], given: Sequence[str]) -> int:
    process = os.fork()
    if process:
        return process
    # Whoever is born here must not answer for the one who bore them.
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    ids._random.seed()  # or brothers and sisters would make the same ids
    try:
        work(*given)
    except BaseException:  # noqa: BLE001 - whatever it is, this process ends here
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)
    os._exit(0)


if __name__ == "__main__":
    main()
