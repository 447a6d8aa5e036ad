"""Commands in processes of their own that need not load the program first: they are forked from one that has loaded it.

Each has its own arguments, environment, output and exit code. Loading takes ten times as long as most commands; that
they find by themselves what they need is seen wherever a test starts the program itself.
"""

import atexit
import gc
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from select import select
from tempfile import TemporaryDirectory, TemporaryFile
from typing import Any

from tests import later

_ROOT = Path(__file__).parents[1]
_LOADED = (
    "gossamer.cli",
    "gossamer.cli.commands",
    "gossamer.crawl",
    "gossamer.runtime",
    "gossamer.exports",
    "gossamer.db",
    "gossamer.store",
)
# What the loader and the interpreter read when they start, and never again.
_AT_THE_START = ("LD_", "PYTHON")
_MOST = 1 << 20  # bytes of a request


def run(
    arguments: Sequence[str], environment: Mapping[str, str], seconds: float, stdin: int | None = None
) -> "subprocess.CompletedProcess[str]":
    """A command run to its end, as `subprocess.run` would do it with `python -m gossamer`."""
    if _read_at_the_start(environment) != _read_at_the_start(os.environ):
        command = [sys.executable, "-m", "gossamer", *arguments]
        stdin = subprocess.DEVNULL if stdin is None else stdin
        return subprocess.run(
            command, env=environment, stdin=stdin, capture_output=True, text=True, timeout=seconds, check=False
        )
    with TemporaryFile("w+") as out, TemporaryFile("w+") as err, Path(os.devnull).open() as nothing:
        files = (nothing.fileno() if stdin is None else stdin, out.fileno(), err.fileno())
        code = _ask(arguments, environment, seconds, files)
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess(arguments, code, out.read(), err.read())


def _read_at_the_start(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name.startswith(_AT_THE_START)}


def _ask(arguments: Sequence[str], environment: Mapping[str, str], seconds: float, files: Sequence[int]) -> int:
    request = {"arguments": [*arguments], "environment": dict(environment), "folder": str(Path.cwd())}
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(_server())
        socket.send_fds(line, [json.dumps(request).encode()], files)
        with line.makefile("rb") as answers:
            pid = int(answers.readline())
            line.settimeout(seconds)
            try:
                return int(answers.readline())
            except TimeoutError:
                os.kill(pid, signal.SIGKILL)
                raise subprocess.TimeoutExpired([*arguments], seconds) from None


@cache
def _server() -> str:
    """Where the process listens that has loaded the program. It ends with this one, however this one ends."""
    folder = TemporaryDirectory(prefix="gossamer-warm-")
    path = f"{folder.name}/line"
    command = [sys.executable, "-m", "tests.warm", path]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=_ROOT)
    assert process.stdout
    assert process.stdout.readline() == b"ready\n"

    def end() -> None:
        process.communicate()
        folder.cleanup()

    atexit.register(end)
    return path


def _serve(path: str) -> dict[str, Any] | None:
    """Returns once in each process that is to become a command, with what is wanted of it."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        print("ready", flush=True)  # noqa: T201
        while listener in select([listener, sys.stdin], [], [])[0]:
            line, _ = listener.accept()
            with line:
                said, files, _, _ = socket.recv_fds(line, _MOST, 3)
                if not os.fork():
                    listener.close()
                    return _become(json.loads(said), files, line)
                for file in files:
                    os.close(file)
    return None


def _become(request: dict[str, Any], files: Sequence[int], line: socket.socket) -> dict[str, Any]:
    """A command in a process of its own; this one waits for it and says how it ended."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    if pid := os.fork():
        for file in (0, *files):
            os.close(file)
        line.sendall(b"%d\n" % pid)
        _, status = os.waitpid(pid, 0)
        line.sendall(b"%d\n" % os.waitstatus_to_exitcode(status))
        os._exit(0)
    line.close()
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    return request


def _begin(request: dict[str, Any]) -> None:
    os.environ.clear()
    os.environ.update(request["environment"])
    time.tzset()
    os.chdir(request["folder"])
    sys.argv[1:] = request["arguments"]
    if folder := os.environ.get(later.FOLDER):
        later.become(Path(folder))
    code: int | str | None = 1
    # After all else that is done at the end. To take apart what is loaded would take as long as the command did.
    atexit.register(lambda: _leave(code))
    try:
        runpy.run_module("gossamer", run_name="__main__", alter_sys=True)
        code = 0
    except SystemExit as ended:
        code = ended.code
        raise


def _leave(code: int | str | None) -> None:
    if sys.stdout:  # a command that lost its reader has none any more
        sys.stdout.flush()
    sys.stderr.flush()
    if isinstance(code, int):
        os._exit(code)


def main() -> None:
    for package in map(import_module, _LOADED):
        for module in iter_modules(package.__path__, f"{package.__name__}."):
            if not module.ispkg:
                import_module(module.name)
    gc.collect()
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # those who wait for a command need nobody who waits for them
    if request := _serve(sys.argv[1]):
        _begin(request)


if __name__ == "__main__":
    main()
