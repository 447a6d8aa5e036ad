"""Fetching of pages by an emulated provider: only from hosts of an address map, with abilities a crawler lacks.

A page that needs a browser or a better address is requested from the sample web with a header that it
recognises. All other servers answer as they do to any client.
"""

import re
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from ipaddress import ip_address
from urllib.parse import urljoin, urlsplit

from wreq import Client, Proxy
from wreq.redirect import Policy

from gossamer.fetch import FetchError
from gossamer.fetch.body import BodyLimit, read_body, read_headers
from gossamer.fetch.errors import CLIENT_ERRORS, ProxyAway, translate
from gossamer.fetch.guard import find_rule, parse_connect_to
from gossamer.model.trouble import Reason
from gossamer_sandbox.web.visitors import HEADER, NOBODY, Visitor

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_MOST_HOPS = 10
_CONNECT = timedelta(seconds=5)
_CHARSET = re.compile(r"charset=[\"']?([\w-]+)", re.IGNORECASE)
_META = re.compile(rb"<meta[^>]{0,200}charset=[\"']?([\w-]+)", re.IGNORECASE)
_PULLED = re.compile(r"<(?:img|script|iframe)[^>]{0,300}\bsrc=[\"']([^\"']+)", re.IGNORECASE)
_MARKS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))


class Unreachable(Exception):
    """No server answers at the address, or it does not speak HTTP."""


class NoTunnel(Unreachable):
    """The proxy does not let us through."""


class NoProxy(Exception):
    """The proxy itself is not there, or does not know us."""


class TooSlow(Exception):
    """No whole page in time."""


class TooLarge(Exception):
    """More than the provider hands on."""


@dataclass(frozen=True, slots=True)
class Visited:
    """A page as the provider got it."""

    first: int  # the status of the first answer, which may be a redirect
    status: int
    headers: dict[str, str]
    body: bytes
    url: str

    @property
    def text(self) -> str:
        """As a browser reads it."""
        for mark, charset in _MARKS:
            if self.body.startswith(mark):
                return self.body.decode(charset, "replace")
        told = _CHARSET.search(self.headers.get("content-type", ""))
        meta = _META.search(self.body[:2_048])
        charset = told[1] if told else meta[1].decode("ascii") if meta else "utf-8"
        try:
            return self.body.decode(charset, "replace")
        except LookupError:
            return self.body.decode("utf-8", "replace")


class Target:
    """The web as an emulated provider sees it."""

    def __init__(self, connect_to: str, *, largest: int = 2_000_000, agent: str = "provider") -> None:
        self._rules = parse_connect_to(connect_to)
        self._largest = largest
        self._client = Client(
            no_proxy=True, redirect=Policy.none(), connect_timeout=_CONNECT, user_agent=agent, tls_verify=False
        )

    async def visit(
        self,
        url: str,
        visitor: Visitor = NOBODY,
        *,
        seconds: float = 30.0,
        follow: bool = True,
        through: Client | None = None,
    ) -> Visited:
        """Fetch a page and follow its redirects. Raises Unreachable, TooSlow, TooLarge or NoProxy.

        With `through`, the request goes through that proxy, which resolves the host names.
        """
        first = 0
        for _ in range(_MOST_HOPS):
            found = await self._get(url, visitor, seconds, through)
            first = first or found.status
            location = found.headers.get("location")
            if not follow or found.status not in _REDIRECTS or not location:
                return Visited(first, found.status, found.headers, found.body, url)
            url = urljoin(url, location)
        raise Unreachable("too many redirects")

    async def pull(self, page: Visited, seconds: float, through: Client) -> None:
        """Fetch the subresources of a page as a browser does: images, scripts, frames. Failures are ignored."""
        for named in _PULLED.findall(page.text):
            with suppress(Unreachable, TooSlow, TooLarge):
                await self.visit(urljoin(page.url, named), seconds=seconds, through=through)

    async def _get(self, url: str, visitor: Visitor, seconds: float, through: Client | None) -> Visited:
        address = urlsplit(url)
        if address.scheme not in ("http", "https"):
            raise Unreachable(url)
        claimed = {HEADER: ",".join(sorted(visitor))} if visitor else {}
        there = url
        if through is None:
            rule = find_rule(self._rules, address.hostname or "")
            if rule is None:
                raise Unreachable(url)
            host = f"[{rule.address}]" if rule.address.version == 6 else str(rule.address)
            there = address._replace(netloc=f"{host}:{rule.port or address.port or 80}", fragment="").geturl()
            claimed["Host"] = address.netloc
        elif _is_bypassed(address.hostname or ""):
            raise Unreachable(url)  # a browser would ask its own machine, past the proxy; nobody is there
        limit = timedelta(seconds=seconds)
        try:
            async with (through or self._client).get(there, headers=claimed, timeout=limit) as arrived:
                headers = read_headers(arrived)
                body = await read_body(arrived, headers, BodyLimit(self._largest))
                return Visited(0, arrived.status.as_int(), headers, body, url)
        except CLIENT_ERRORS as error:
            raise _told(translate(error, connect_timeout=_CONNECT, timeout=limit), url) from error
        except FetchError as error:
            raise _told(error, url) from error


def client_through(proxy: str, username: str, password: str, agent: str) -> Client:
    """A browser whose requests all go through a proxy, but for those to its own machine."""
    way = Proxy.all(proxy, username=username, password=password) if username else Proxy.all(proxy)
    return Client(proxies=[way], redirect=Policy.none(), connect_timeout=_CONNECT, user_agent=agent, tls_verify=False)


def _is_bypassed(host: str) -> bool:
    """Return True if browsers by default send requests to this host without the proxy."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        address = ip_address(host)
    except ValueError:
        return False
    return address.is_loopback or address.is_link_local


def _told(error: FetchError, url: str) -> Exception:
    if isinstance(error, ProxyAway):
        return NoProxy(url)
    match error.trouble.reason:
        case Reason.PROXY:
            return NoTunnel(url)
        case Reason.TIMEOUT:
            return TooSlow(url)
        case Reason.TOO_LARGE:
            return TooLarge(url)
        case _:
            return Unreachable(url)
