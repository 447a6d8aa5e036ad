"""Server of the sample web on one local port; hosts are told apart by the Host header."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from gossamer_sandbox.web.access_log import AccessLog
from gossamer_sandbox.web.connection import Connection
from gossamer_sandbox.web.guarded import GuardedReplies
from gossamer_sandbox.web.patience import Patience
from gossamer_sandbox.web.replies import Replies
from gossamer_sandbox.web.web import SampleWeb

LOOPBACK = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Running:
    """A sample web that can be asked."""

    port: int
    log: AccessLog
    back_port: int = 0  # where all pages are shown, if some are not at `port`

    @property
    def connect_to(self) -> str:
        """The setting that sends every name of the sample web here."""
        return f"*.test={LOOPBACK}:{self.port}"


def listening_socket(port: int = 0, *, host: str = LOOPBACK, shared: bool = False) -> socket.socket:
    """A socket at an address of this machine; with `shared`, other processes may listen on the same port."""
    sock = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if shared:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    sock.bind((host, port))
    return sock


@asynccontextmanager
async def serve(
    web: SampleWeb,
    *,
    log: Path | None = None,
    port: int = 0,
    sock: socket.socket | None = None,
    patience: Patience | None = None,
    guarded: float = 0.0,
    back: socket.socket | None = None,
) -> AsyncIterator[Running]:
    """Answer for every host of the web until the block is left. The log is complete then.

    With `guarded`, that share of the pages is shown only at a second port.
    """
    replies = Replies(web.sites, patience or Patience())
    front = GuardedReplies(web.sites, patience or Patience(), guarded) if guarded else replies
    access = AccessLog(log)
    access.watch()
    connections: set[Connection] = set()
    loop = asyncio.get_running_loop()
    listener = sock or listening_socket(port)
    doors = {listener: front}
    if guarded:
        back = back or listening_socket()
        doors[back] = replies
    servers = [
        await loop.create_server(partial(Connection, behind, access, connections), sock=door, backlog=4_096)
        for door, behind in doors.items()
    ]
    try:
        yield Running(listener.getsockname()[1], access, back.getsockname()[1] if back else 0)
    finally:
        for server in servers:
            server.close()
        for connection in list(connections):
            connection.abort()
        for server in servers:
            await server.wait_closed()
        access.close()
