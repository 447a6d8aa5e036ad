"""Private servers the tests start, use and stop: in temporary folders, on free ports."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def program(name: str) -> str:
    """A server program from PATH, or from where Debian hides it."""
    places = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    found = shutil.which(name, path=os.pathsep.join([*map(str, places), os.environ["PATH"], "/usr/sbin"]))
    if found is None:
        raise RuntimeError(f"{name} is not installed: run scripts/install-servers")
    return found


def as_postgres(command: list[str]) -> list[str]:
    """PostgreSQL refuses to run as root; there it runs as the user its package made."""
    if os.getuid() != 0:
        return command
    return ["setpriv", "--reuid", "postgres", "--regid", "postgres", "--init-groups", *command]


@contextmanager
def postgres(folder: Path) -> Iterator[str]:
    """A fresh server; yields the address of its maintenance database."""
    folder.mkdir(parents=True)
    if os.getuid() == 0:
        shutil.chown(folder, "postgres", "postgres")
    data, port = folder / "data", free_port()
    init = [program("initdb"), "-D", str(data), "-U", "gossamer", "-A", "trust", "-E", "UTF8", "--locale=C", "-N"]
    subprocess.run(as_postgres(init), check=True, capture_output=True, cwd=folder)
    # Hundreds of databases, each used for a second: nothing in them is worth being tidied up or kept.
    quick = ("fsync=off", "full_page_writes=off", "synchronous_commit=off", "autovacuum=off")
    options = (*quick, f"port={port}", f"unix_socket_directories={folder}")
    command = [program("postgres"), "-D", str(data), "-h", "127.0.0.1"]
    for option in options:
        command += ["-c", option]
    log = (folder.parent / f"{folder.name}.log").open("wb")
    server = subprocess.Popen(as_postgres(command), stdout=log, stderr=log, cwd=folder)
    try:
        wait_for(port, server)
        yield f"postgresql://gossamer@127.0.0.1:{port}/postgres"
    finally:
        # At once: nothing in it is worth being written, and nobody who is still connected is worth waiting for.
        server.send_signal(signal.SIGQUIT)
        try:
            server.wait(10)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()
        log.close()


_POOLER = """
[databases]
* = host=127.0.0.1 port={server}

[pgbouncer]
listen_addr = {host}
listen_port = {port}
unix_socket_dir =
auth_type = trust
auth_file = {folder}/users
pool_mode = transaction
default_pool_size = 6
max_client_conn = 500
server_idle_timeout = 1
server_check_delay = 0
{more}
"""


@contextmanager
def pgbouncer(folder: Path, server: str, *more: str, host: str = "127.0.0.1") -> Iterator[str]:
    """A pooler in transaction mode before a server; yields the address of the server's maintenance database there.

    `more` are further lines of its settings. It knows `gossamer` alone, and keeps connections that nobody uses for a
    second only: tests have many databases.
    """
    folder.mkdir(parents=True)
    port = free_port()
    (folder / "users").write_text('"gossamer" ""\n')
    (folder / "pgbouncer.ini").write_text(
        _POOLER.format(server=urlsplit(server).port, port=port, folder=folder, host=host, more="\n".join(more))
    )
    if os.getuid() == 0:
        for path in (folder, *folder.iterdir()):
            shutil.chown(path, "postgres", "postgres")
    with (folder.parent / f"{folder.name}.log").open("wb") as log:
        command = as_postgres([program("pgbouncer"), str(folder / "pgbouncer.ini")])
        pooler = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder)
    try:
        wait_for(port, pooler, host=host)
        yield f"postgresql://gossamer@{host}:{port}/postgres"
    finally:
        pooler.kill()
        pooler.wait()


class RedisServer:
    """A server that can be killed, stopped and started again, at one address all the while."""

    def __init__(self, folder: Path, *options: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._options = options
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> "RedisServer":
        """As it was left: what was written is there again if `--appendonly yes` is among the options."""
        where = ("--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self._folder), "--save", "")
        command = [program("redis-server"), *where, *self._options]
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log)
        until = time.monotonic() + 30
        while self.ask("PING") != b"+PONG":
            assert self._process.poll() is None, (self._folder / "log").read_text()
            assert time.monotonic() < until, "the server did not come up"
            time.sleep(0.01)
        return self

    def kill(self) -> None:
        """As a power cut would."""
        self.send(signal.SIGKILL)
        if self._process:
            self._process.wait(10)
            self._process = None

    def forget(self) -> None:
        """While it is not running: what it had written is gone."""
        shutil.rmtree(self._folder / "appendonlydir", ignore_errors=True)

    def send(self, number: signal.Signals) -> None:
        if self._process:
            self._process.send_signal(number)

    def ask(self, *command: str) -> bytes:
        """The first line of the answer to a command; nothing if nobody answers."""
        return self.tell(*command).partition("\r\n")[0].encode()

    def tell(self, *command: str) -> str:
        """All of the answer, as it comes over the line."""
        parts = b"".join(b"$%d\r\n%s\r\n" % (len(part.encode()), part.encode()) for part in command)
        quit_ = b"*1\r\n$4\r\nQUIT\r\n"
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=5) as connection:
                connection.sendall(b"*%d\r\n%s%s" % (len(command), parts, quit_))
                return connection.makefile("rb").read().decode()
        except ConnectionError:
            return ""


@contextmanager
def redis(folder: Path, *options: str) -> Iterator[RedisServer]:
    """A fresh server, which may be killed and started again."""
    server = RedisServer(folder, *options).start()
    try:
        yield server
    finally:
        server.kill()


def wait_for(port: int, server: "subprocess.Popen[bytes]", seconds: float = 60, host: str = "127.0.0.1") -> None:
    """Until it takes work: the port is open some time before that."""
    ask = [program("pg_isready"), "-q", "-h", host, "-p", str(port)]
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if server.poll() is not None:
            raise RuntimeError(f"the server ended with {server.returncode}")
        if subprocess.run(ask, check=False).returncode == 0:
            return
        time.sleep(0.05)
    raise RuntimeError("the server did not come up")


@contextmanager
def object_storage(folder: Path) -> Iterator[str]:
    """A server that speaks S3 and lets in only `key` with `secret`; yields its address. Buckets are made when used."""
    folder.mkdir(parents=True)
    rights = {
        "name": "tests",
        "credentials": [{"accessKey": "key", "secretKey": "secret"}],
        "actions": ["Admin", "Read", "Write", "List"],
    }
    (folder / "s3.json").write_text(json.dumps({"identities": [rights]}))
    server, address = _storage_started(folder)
    try:
        yield address
    finally:
        server.kill()  # nothing in it is worth a farewell
        server.wait()


def _storage_started(folder: Path, tries: int = 5) -> "tuple[subprocess.Popen[bytes], str]":
    """It wants eight ports, and takes its time: one that was free may be somebody else's by then."""
    for attempt in range(1, tries + 1):
        ports = [free_port() for _ in range(8)]
        address = f"http://127.0.0.1:{ports[0]}"
        server = _start_storage(folder, ports)
        try:
            _wait_for_storage(address, server)
        except RuntimeError as error:
            server.kill()
            server.wait()
            if attempt == tries:
                said = (folder / "log").read_text(errors="replace")[-2_000:]
                raise RuntimeError(f"{error}: {said}") from error
        else:
            return server, address
    raise AssertionError("unreachable")


def _start_storage(folder: Path, ports: list[int]) -> "subprocess.Popen[bytes]":
    names = ("s3.port", "master.port", "volume.port", "filer.port")
    options: dict[str, object] = dict(zip((*names, *(f"{name}.grpc" for name in names)), ports, strict=True))
    options |= {"dir": folder, "ip": "127.0.0.1", "ip.bind": "127.0.0.1", "s3.config": folder / "s3.json"}
    # Further servers it would start at ports of its own choice, where another one may have begun before.
    options |= {"s3.port.iceberg": 0, "s3.port.lance": 0}
    options |= {"master.telemetry": "false", "volume.max": 20, "master.volumeSizeLimitMB": 64}
    command = [str(Path(sys.executable).with_name("weed")), "server", "-s3"]
    command += [f"-{name}={value}" for name, value in options.items()]
    with (folder / "log").open("wb") as log:
        return subprocess.Popen(command, stdout=log, stderr=log, cwd=folder)


def _wait_for_storage(address: str, server: "subprocess.Popen[bytes]", seconds: float = 60) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if server.poll() is not None:
            raise RuntimeError(f"the storage ended with {server.returncode}")
        try:
            urllib.request.urlopen(address, timeout=5)
        except urllib.error.HTTPError:
            return  # it refuses strangers, so it is there
        except OSError:
            time.sleep(0.1)
    raise RuntimeError("the storage did not come up")
