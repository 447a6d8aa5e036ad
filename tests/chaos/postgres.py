"""A Postgres server of our own that can be taken away and brought back, with the durability of a real one."""

import asyncio
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import asyncpg
import psutil

from tests.servers import as_postgres, free_port, program, wait_for


class PostgresServer:
    """One data folder and one port for all its lives."""

    def __init__(self, folder: Path, also: str = "") -> None:
        """`also` is a further address of this machine at which it listens, for everybody."""
        self._folder = folder
        self._addresses = ",".join(filter(None, ("127.0.0.1", also)))
        self.port = free_port()
        self._life: subprocess.Popen[bytes] | None = None
        if os.getuid() == 0:
            shutil.chown(folder, "postgres", "postgres")
        init = [program("initdb"), "-D", str(self._data), "-U", "gossamer", "-A", "trust", "-E", "UTF8", "--locale=C"]
        subprocess.run(as_postgres(init), check=True, capture_output=True, cwd=folder)
        if also:
            with (self._data / "pg_hba.conf").open("a") as rules:
                rules.write("host all all 0.0.0.0/0 trust\n")
        self.start()

    @property
    def _data(self) -> Path:
        return self._folder / "data"

    def url(self, database: str, address: str = "") -> str:
        """`address` is where it is found from elsewhere."""
        return f"postgresql://gossamer@{address or f'127.0.0.1:{self.port}'}/{database}"

    def create(self, database: str) -> str:
        """A new, empty database; its address."""

        async def command() -> None:
            connection = await asyncpg.connect(self.url("postgres"))  # type: ignore[no-untyped-call]
            try:
                await connection.execute(f"CREATE DATABASE {database}")
            finally:
                await connection.close()

        asyncio.run(command())
        return self.url(database)

    def ask_for_passwords(self) -> None:
        """From here on whoever comes must know one."""
        rules = self._data / "pg_hba.conf"
        rules.write_text("host all all 127.0.0.1/32 scram-sha-256\n")
        if self._life:
            self._life.send_signal(signal.SIGHUP)

    def start(self) -> None:
        command = [program("postgres"), "-D", str(self._data), "-h", self._addresses]
        for option in (f"port={self.port}", f"unix_socket_directories={self._folder}"):
            command += ["-c", option]
        with (self._folder / "server.log").open("ab") as log:
            self._life = subprocess.Popen(as_postgres(command), stdout=log, stderr=log, cwd=self._folder)
        wait_for(self.port, self._life)

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """As an upgrade or a reboot does: connections are cut, what was committed is written."""
        if self._life:
            self._life.send_signal(how)
            self._life.wait(30)
            self._life = None

    def kill(self) -> None:
        """As a power cut does: every process of the server is gone at once."""
        if self._life is None:
            return
        children = psutil.Process(self._life.pid).children(recursive=True)
        self._life.kill()
        for child in children:
            with suppress(psutil.NoSuchProcess):
                child.kill()
        self._life.wait(10)
        # They are nobody's children now, and the next server refuses to start while one of them is left.
        until = time.monotonic() + 10
        while any(child.is_running() for child in children) and time.monotonic() < until:
            time.sleep(0.02)
        self._life = None


@contextmanager
def postgres_server(also: str = "") -> Iterator[PostgresServer]:
    # Not in a folder that only its owner may enter: the server may run as another user.
    with TemporaryDirectory(prefix="gossamer-chaos-postgres-") as folder:
        server = PostgresServer(Path(folder), also)
        try:
            yield server
        finally:
            # At once: nobody will look at its rows again, and those of fifty databases take a slow disk a minute.
            server.stop(signal.SIGQUIT)
