"""The outermost middleware, which every request passes through.

It adds a request id, an access log line and security headers, finds the client's real address, counts
the bytes that clients send, and refuses requests politely while the server is stopping.
"""

import asyncio
import re
import sys
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import timedelta
from ipaddress import IPv4Network, IPv6Network, ip_address
from typing import TextIO
from uuid import uuid4

import orjson
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gossamer.api.bodies import Bodies, Body
from gossamer.api.connections import UnderWay
from gossamer.api.problems import AWAY, problem
from gossamer.db.retry import no_longer_than
from gossamer.logging import get_logger

log = get_logger(__name__)

_HOST = re.compile(r"(?:[A-Za-z0-9.-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(?::[0-9]{1,5})?")
_GIVEN_ID = re.compile(r"[A-Za-z0-9._-]{8,64}")
# Standard headers of every response, in lower case as they are sent.
_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (
        b"content-security-policy",
        b"default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)
MOST_UNDER_WAY = 500
"""Requests of one account at the same time."""
_PATIENCE = timedelta(seconds=5)  # that requests wait for a database that is away
_ALWAYS = ("/api/health", "/api/ready")  # also answered while the server is stopping


class RequestMiddleware:
    def __init__(
        self,
        app: ASGIApp,
        *,
        max_body: int,
        trusted: Sequence[IPv4Network | IPv6Network] = (),
        access_log: TextIO | None = None,
    ) -> None:
        self._app = app
        self._bodies = Bodies(max_body)
        self._accounts = UnderWay(MOST_UNDER_WAY)
        self._trusted = trusted
        self._log = access_log if access_log is not None else sys.stdout
        self._under_way = 0
        self.idle = asyncio.Event()  # no request is under way
        self.idle.set()
        self.stopping = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        given = headers.get("x-request-id", "")
        exchange = _Exchange(
            given if _GIVEN_ID.fullmatch(given) else uuid4().hex, self._who(scope, headers), scope, send
        )
        scope.setdefault("state", {}).update(request_id=exchange.id, ip=exchange.ip, stopping=lambda: self.stopping)
        scope["state"]["host"] = self._host(scope, headers)
        if _is_secure(scope, headers, self._trusts(scope)):
            scope["scheme"] = "wss" if scope["type"] == "websocket" else "https"
            exchange.secure = True
        self._under_way += 1
        self.idle.clear()
        try:
            with no_longer_than(_PATIENCE):
                await self._answer(scope, receive, exchange)
        except Exception as error:  # the response was sent already; log the error here
            log.exception("request.failed", request=exchange.id, error=type(error).__name__)
        finally:
            self._under_way -= 1
            if not self._under_way:
                self.idle.set()
            self._write(scope, exchange)

    async def _answer(self, scope: Scope, receive: Receive, exchange: "_Exchange") -> None:
        if self.stopping and scope["path"] not in _ALWAYS and scope["type"] == "http":
            detail, again = "The server is being stopped.", {"Retry-After": str(AWAY), "Connection": "close"}
            refusal = problem(exchange.id, 503, "server.stopping", detail, hint="Try again.", headers=again)
            await refusal(scope, receive, exchange.send)
            return
        announced = Headers(scope=scope).get("content-length", "0")
        body = Body(self._bodies, int(announced) if announced.isdecimal() else 0)
        scope["state"]["body"] = body
        entered: list[str] = []

        def enter(account: str) -> None:
            self._accounts.enter(account)
            entered.append(account)

        scope["state"]["enter"] = enter

        async def counted() -> Message:
            message = await receive()
            if message["type"] == "http.request":
                body.take(message.get("body", b""), more=message.get("more_body", False))
            return message

        try:
            await self._app(scope, counted, exchange.send)
        finally:
            body.release()
            for account in entered:
                self._accounts.leave(account)

    def _trusts(self, scope: Scope) -> bool:
        return _within(str((scope.get("client") or ("",))[0]), self._trusted)

    def _host(self, scope: Scope, headers: Headers) -> str:
        """Return the host for links in the answer: from a trusted proxy's headers, else the server's address."""
        if self._trusts(scope):
            said = headers.get("x-forwarded-host", "").rpartition(",")[2].strip() or headers.get("host", "")
            if _HOST.fullmatch(said):
                return said
        host, port = scope.get("server") or ("localhost", None)
        name = f"[{host}]" if ":" in str(host) else str(host)
        return f"{name}:{port}" if port else name

    def _who(self, scope: Scope, headers: Headers) -> str:
        """Return the last address that is not a trusted proxy; a client can forge the entries before it."""
        ip = str((scope.get("client") or ("",))[0])
        for said in reversed(headers.get("x-forwarded-for", "").split(",")):
            if not _within(ip, self._trusted) or not (text := said.strip()):
                break
            ip = text[:64]
        return ip

    def _write(self, scope: Scope, exchange: "_Exchange") -> None:
        """Write one line of JSON, without the query: it may contain secrets."""
        caller = scope["state"].get("caller")
        line = {
            "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "request": exchange.id,
            "method": scope.get("method", "WEBSOCKET"),
            "path": scope["path"],
            "status": exchange.status,
            "ms": round((time.monotonic() - exchange.began) * 1000, 1),
            "bytes": exchange.size,
            "ip": exchange.ip,
            "account": caller.account if caller else None,
            "key": str(caller.key) if caller and caller.key else None,
        }
        with suppress(OSError, ValueError):  # a closed log must not stop requests
            self._log.write(orjson.dumps(line).decode() + "\n")
            self._log.flush()


class _Exchange:
    """One request and its response."""

    def __init__(self, identifier: str, ip: str, scope: Scope, send: Send) -> None:
        self.id = identifier
        self.ip = ip
        self.secure = False
        self.status = 0
        self.size = 0
        self.began = time.monotonic()
        self._state = scope.setdefault("state", {})
        self._send = send

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message = {**message, "headers": self._headers(message.get("headers", ()))}
        elif message["type"] == "http.response.body":
            self.size += len(message.get("body", b""))
        elif message["type"] == "websocket.accept":
            self.status = 101
        elif message["type"] == "websocket.close" and not self.status:
            self.status = 403
        await self._send(message)

    def _headers(self, given: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
        """Return the answer's headers, completed by the standard headers that it lacks."""
        headers = [(name, value) for name, value in given if name.lower() != b"x-request-id"]
        said = {name.lower() for name, _ in headers}
        more = [(name.lower().encode(), value.encode()) for name, value in self._state.get("headers", {}).items()]
        headers += [pair for pair in (*_HEADERS, *more) if pair[0] not in said]
        if self.secure:
            headers.append((b"strict-transport-security", b"max-age=31536000"))
        headers.append((b"x-request-id", self.id.encode()))
        return headers


def _within(ip: str, networks: Sequence[IPv4Network | IPv6Network]) -> bool:
    try:
        address = ip_address(ip)
    except ValueError:
        return False
    return any(address in network for network in networks)


def _is_secure(scope: Scope, headers: Headers, trusted: bool) -> bool:
    said = headers.get("x-forwarded-proto", "") if trusted else ""
    return said == "https" or scope.get("scheme") in ("https", "wss")
