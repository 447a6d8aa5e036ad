"""nginx on loopback with the corpus behind it, started and stopped by us: no file of the system's own is touched."""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from bench.corpus import NAMES, Corpus, install
from bench.figure import BenchFailed

_PLACES = f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/usr/local/sbin"
_PATIENCE = 10.0  # seconds until it must answer

_CONFIG = """
daemon off;
{user}
worker_processes 1;
worker_rlimit_nofile 8192;
pid {folder}/nginx.pid;
error_log {folder}/error.log warn;
events {{ worker_connections 4096; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    types {{ text/html html; text/plain txt; }}
    charset utf-8;
    charset_types text/plain;
    sendfile on;
    tcp_nopush on;
    keepalive_timeout 75;
    keepalive_requests 100000;
    open_file_cache max=8000 inactive=10m;
    server {{
        listen 127.0.0.1:{port} default_server backlog=4096;
        return 404;
    }}
    server {{
        listen 127.0.0.1:{port};
        server_name "~^(?<set>[a-z]+-[0-9]+)-[{names}]\\.test$";
        root {corpus}/$set;
        index index.html;
    }}
}}
"""


@dataclass(frozen=True, slots=True)
class Nginx:
    pid: int
    port: int

    def cpu(self) -> float:
        """Seconds it and its worker have used so far."""
        master = psutil.Process(self.pid)
        spent = [process.cpu_times() for process in (master, *master.children())]
        return float(sum(one.user + one.system for one in spent))


@contextmanager
def nginx(corpus: Corpus, folder: Path, port: int = 0) -> Iterator[Nginx]:
    """Serves the corpus under all its names until the end of the block; the port is a free one unless it is named."""
    program = _program()
    folder.mkdir(parents=True, exist_ok=True)
    port = port or _free_port()
    config = folder / "nginx.conf"
    # Started by root, nginx would hand its worker to a user who may not look into our folder.
    user = "user root;" if os.geteuid() == 0 else ""
    config.write_text(_CONFIG.format(user=user, folder=folder, port=port, names=NAMES, corpus=corpus.folder))
    command = [program, "-p", str(folder), "-e", str(folder / "error.log"), "-c", str(config)]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _wait_for(process, port, folder)
        yield Nginx(process.pid, port)
    finally:
        process.terminate()
        process.wait()


def nginx_version() -> dict[str, str]:
    """What is installed here; nothing if it is not."""
    program = shutil.which("nginx", path=_PLACES)
    if program is None:
        return {}
    told = subprocess.run([program, "-v"], capture_output=True, text=True, check=True)
    return {"nginx": told.stderr.strip().rpartition("/")[2]}


def _program() -> str:
    if shutil.which("nginx", path=_PLACES) is None:
        install(["nginx-light"])
    program = shutil.which("nginx", path=_PLACES)
    if program is None:
        raise BenchFailed("nginx is not to be found, though its package is installed")
    return program


def _free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def _wait_for(process: "subprocess.Popen[bytes]", port: int, folder: Path) -> None:
    deadline = time.monotonic() + _PATIENCE
    while process.poll() is None and time.monotonic() < deadline:
        with socket.socket() as sock:
            if sock.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    log = folder / "error.log"
    said = log.read_text(encoding="utf-8").strip()[-300:] if log.exists() else "it said nothing"
    raise BenchFailed(f"nginx does not answer: {said}")
