"""Private servers the tests start, use and stop: in temporary folders, on free ports."""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def program(name: str) -> str:
    """A server program from PATH, or from where Debian hides it."""
    places = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    found = shutil.which(name, path=os.pathsep.join([*map(str, places), os.environ["PATH"]]))
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
    options = ("fsync=off", "full_page_writes=off", f"port={port}", f"unix_socket_directories={folder}")
    command = [program("postgres"), "-D", str(data), "-h", "127.0.0.1"]
    for option in options:
        command += ["-c", option]
    log = (folder.parent / f"{folder.name}.log").open("wb")
    server = subprocess.Popen(as_postgres(command), stdout=log, stderr=log, cwd=folder)
    try:
        wait_for(port, server)
        yield f"postgresql://gossamer@127.0.0.1:{port}/postgres"
    finally:
        server.terminate()
        try:
            server.wait(10)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()
        log.close()


def wait_for(port: int, server: "subprocess.Popen[bytes]", seconds: float = 60) -> None:
    """Until it takes work: the port is open some time before that."""
    ask = [program("pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(port)]
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if server.poll() is not None:
            raise RuntimeError(f"the server ended with {server.returncode}")
        if subprocess.run(ask, check=False).returncode == 0:
            return
        time.sleep(0.05)
    raise RuntimeError("the server did not come up")
