"""Private brokers for Celery's messages besides Redis: RabbitMQ, and something that speaks as Amazon's SQS does."""

import os
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

from tests.servers import free_port, program

_RABBITMQ = "/usr/lib/rabbitmq/bin"  # what is on PATH insists on being the system's server
_STARTS = 90.0  # seconds


@contextmanager
def rabbitmq(folder: Path) -> Iterator[str]:
    """A node of its own with everything it writes in a folder; yields its address."""
    folder.mkdir(parents=True)
    port, registry = free_port(), free_port()
    # Nodes find each other through a registry, of which there is usually one per machine.
    with _running([program("epmd"), "-port", str(registry), "-address", "127.0.0.1"], {}, folder / "epmd.log"):
        (folder / "rabbitmq.conf").write_text(
            f"listeners.tcp.1 = 127.0.0.1:{port}\nvm_memory_high_watermark.relative = 0.2\n"
        )
        (folder / "plugins").write_text("[].\n")
        settings = {
            "HOME": str(folder),
            "ERL_EPMD_PORT": str(registry),
            "RABBITMQ_NODENAME": f"gossamer-{port}@localhost",
            "RABBITMQ_DIST_PORT": str(free_port()),
            "RABBITMQ_MNESIA_BASE": str(folder / "data"),
            "RABBITMQ_LOG_BASE": str(folder / "log"),
            "RABBITMQ_PID_FILE": str(folder / "pid"),
            "RABBITMQ_CONFIG_FILE": str(folder / "rabbitmq"),
            "RABBITMQ_CONF_ENV_FILE": str(folder / "env"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(folder / "plugins"),
        }
        server = shutil.which("rabbitmq-server", path=_RABBITMQ)
        if server is None:
            raise RuntimeError("rabbitmq-server is not installed: run scripts/install-servers")
        with _running([server], settings, folder / "rabbitmq.log") as process:
            url = f"amqp://guest:guest@127.0.0.1:{port}//"
            _wait_for_rabbitmq(url, process, folder / "rabbitmq.log")
            yield url


@contextmanager
def sqs(folder: Path) -> Iterator[str]:
    """An emulator; yields its address."""
    folder.mkdir(parents=True)
    port = free_port()
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    with _running(command, {}, folder / "sqs.log") as process:
        _wait_for_answer(f"http://127.0.0.1:{port}/", process, folder / "sqs.log")
        yield f"sqs://key:secret@127.0.0.1:{port}"


@contextmanager
def _running(command: list[str], settings: Mapping[str, str], log: Path) -> Iterator["subprocess.Popen[bytes]"]:
    with log.open("wb") as sink:
        process = subprocess.Popen(
            command, env={**os.environ, **settings}, stdout=sink, stderr=sink, start_new_session=True, cwd=log.parent
        )
    try:
        yield process
    finally:
        # Nothing in it is worth a farewell, and a shell that started it has children.
        with suppress(psutil.NoSuchProcess):
            whole = psutil.Process(process.pid)
            for one in (*whole.children(recursive=True), whole):
                with suppress(psutil.NoSuchProcess):
                    one.kill()
        process.wait(20)


def _wait_for_rabbitmq(url: str, process: "subprocess.Popen[bytes]", log: Path) -> None:
    from kombu import Connection

    def answers() -> bool:
        with Connection(url, connect_timeout=2) as connection:
            connection.connect()
        return True

    _wait(answers, process, log)


def _wait_for_answer(address: str, process: "subprocess.Popen[bytes]", log: Path) -> None:
    def answers() -> bool:
        try:
            urllib.request.urlopen(address, timeout=5)
        except urllib.error.HTTPError:
            return True
        return True

    _wait(answers, process, log)


def _wait(answers: Callable[[], bool], process: "subprocess.Popen[bytes]", log: Path) -> None:
    until = time.monotonic() + _STARTS
    while True:
        assert process.poll() is None, log.read_text(errors="replace")
        try:
            if answers():
                return
        except OSError:
            assert time.monotonic() < until, log.read_text(errors="replace")
            time.sleep(0.1)
