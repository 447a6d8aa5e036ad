"""Connections of the forward proxy: to one of the checked addresses, or through the operator's own proxy.

A connection is made to the addresses of a Clearance and never to a name, so that nothing can change between
the check and the connection. Through the operator's proxy the name is sent, as for every other request;
with `socks5` the name is resolved here, and the proxy is given the checked address.
"""

import asyncio
import base64
import ssl
import struct
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import unquote, urlsplit

from gossamer.fetch.addresses import Address
from gossamer.fetch.guard import Clearance

_PORTS = {"http": 80, "https": 443, "socks5": 1080, "socks5h": 1080}
_MOST_HEAD = 65_536
_EACH = 3.0  # seconds for one of several addresses
_OPEN = (b"HTTP/1.1 200", b"HTTP/1.0 200")
_SOCKS_KINDS = {1: 4, 4: 16}


class Unreached(Exception):
    """The destination cannot be reached, or the upstream proxy refuses the connection."""


@dataclass(frozen=True, slots=True)
class Connection:
    """An open connection."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter


@dataclass(frozen=True, slots=True)
class _Upstream:
    scheme: str
    host: str
    port: int
    user: str = ""
    password: str = ""

    @property
    def credentials(self) -> tuple[tuple[str, str], ...]:
        if not self.user:
            return ()
        coded = base64.b64encode(f"{self.user}:{self.password}".encode()).decode()
        return (("Proxy-Authorization", f"Basic {coded}"),)


class Dialer:
    """Makes connections. Everything it raises is an Unreached, a TimeoutError or a cancellation."""

    def __init__(self, proxy: str = "", trust: ssl.SSLContext | None = None) -> None:
        self._upstream = _read_upstream(proxy) if proxy else None
        self._trust = trust

    def credentials_for(self, clearance: Clearance) -> tuple[tuple[str, str], ...] | None:
        """Return the credentials a plain request carries to an HTTP proxy, which needs the whole URL.

        None if no such proxy is used.
        """
        upstream = None if clearance.by_rule else self._upstream
        return upstream.credentials if upstream and upstream.scheme.startswith("http") else None

    async def plain(self, clearance: Clearance, port: int) -> Connection:
        """Open a connection for a plain HTTP request, to the site or to the HTTP proxy that will forward it."""
        if self.credentials_for(clearance) is None or self._upstream is None:
            return await self.tunnel(clearance, port)
        return await self._to_upstream(self._upstream)

    async def tunnel(self, clearance: Clearance, port: int) -> Connection:
        """Open a connection with the site at its other end."""
        upstream = None if clearance.by_rule else self._upstream
        if upstream is None:
            return await _to_one_of(clearance.addresses, port)
        line = await self._to_upstream(upstream)
        try:
            if upstream.scheme.startswith("http"):
                await _connect(line, upstream, clearance.host, port)
            else:
                name = clearance.host if upstream.scheme == "socks5h" else str(clearance.addresses[0])
                await _socks(line, upstream, name.strip("[]"), port)
        except BaseException as error:
            line.writer.transport.abort()
            if isinstance(error, (OSError, EOFError, asyncio.LimitOverrunError)):
                raise Unreached("the proxy gave way") from error
            raise
        return line

    async def _to_upstream(self, upstream: _Upstream) -> Connection:
        trust = (self._trust or ssl.create_default_context()) if upstream.scheme == "https" else None
        try:
            return Connection(*await asyncio.open_connection(upstream.host, upstream.port, ssl=trust, limit=_MOST_HEAD))
        except OSError as error:
            raise Unreached("the proxy") from error


async def _to_one_of(addresses: tuple[Address, ...], port: int) -> Connection:
    why: OSError | None = None
    for address in addresses:
        try:
            # One that says nothing must not use up the time of all; TimeoutError is an OSError.
            async with asyncio.timeout(_EACH if address != addresses[-1] else None):
                return Connection(*await asyncio.open_connection(str(address), port, limit=_MOST_HEAD))
        except OSError as error:
            why = error
    raise Unreached(str(why)) from why


async def _connect(line: Connection, upstream: _Upstream, host: str, port: int) -> None:
    there = f"{host}:{port}"
    headers = "".join(f"{name}: {value}\r\n" for name, value in (("Host", there), *upstream.credentials))
    line.writer.write(f"CONNECT {there} HTTP/1.1\r\n{headers}\r\n".encode("latin-1"))
    head = await line.reader.readuntil(b"\r\n\r\n")
    if not head.startswith(_OPEN):
        raise Unreached("the proxy would not connect to the site")


async def _socks(line: Connection, upstream: _Upstream, host: str, port: int) -> None:
    """SOCKS 5 (RFC 1928), with a name and a password where there are some (RFC 1929)."""
    reader, writer = line.reader, line.writer
    writer.write(b"\x05\x01\x02" if upstream.user else b"\x05\x01\x00")
    _, method = await reader.readexactly(2)
    if method == 2 and upstream.user:
        user, password = upstream.user.encode(), upstream.password.encode()
        writer.write(struct.pack(f"BB{len(user)}sB{len(password)}s", 1, len(user), user, len(password), password))
        if (await reader.readexactly(2))[1] != 0:
            raise Unreached("the proxy asks for other credentials")
    elif method != 0:
        raise Unreached("the proxy asks for other credentials")
    writer.write(b"\x05\x01\x00" + _socks_address(host) + struct.pack(">H", port))
    _, answer, _, kind = await reader.readexactly(4)
    size = _SOCKS_KINDS.get(kind) or (await reader.readexactly(1))[0]
    await reader.readexactly(size + 2)
    if answer != 0:
        raise Unreached("the proxy would not connect to the site")


def _socks_address(host: str) -> bytes:
    with suppress(ValueError):
        address = ip_address(host)
        return (b"\x01" if address.version == 4 else b"\x04") + address.packed
    name = host.encode("ascii")
    return struct.pack(f"BB{len(name)}s", 3, len(name), name)


def _read_upstream(proxy: str) -> _Upstream:
    said = urlsplit(proxy)
    port = said.port or _PORTS[said.scheme]
    return _Upstream(said.scheme, said.hostname or "", port, unquote(said.username or ""), unquote(said.password or ""))
