"""How an emulated provider gets a page: from hosts of an address map and from nowhere else, with powers a reader lacks.

What needs a browser or a better address is asked of the sample web in a header that it knows. Any other server gives
what it gives to everybody.
"""

import re
from dataclasses import dataclass
from datetime import timedelta
from urllib.parse import urljoin, urlsplit

from wreq import Client
from wreq.redirect import Policy

from gossamer.fetch import FetchError
from gossamer.fetch.body import BodyLimit, read_body, read_headers
from gossamer.fetch.connect_to import find_rule, parse_connect_to
from gossamer.fetch.errors import CLIENT_ERRORS, translate
from gossamer.model.trouble import Reason
from gossamer.testing.web.visitors import HEADER, NOBODY, Visitor

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_MOST_HOPS = 10
_CONNECT = timedelta(seconds=5)
_CHARSET = re.compile(r"charset=[\"']?([\w-]+)", re.IGNORECASE)
_META = re.compile(rb"<meta[^>]{0,200}charset=[\"']?([\w-]+)", re.IGNORECASE)
_MARKS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))


class Unreachable(Exception):
    """There is nobody at the address, or nobody who speaks HTTP."""


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
        self, url: str, visitor: Visitor = NOBODY, *, seconds: float = 30.0, follow: bool = True
    ) -> Visited:
        """A page behind its redirects. Raises Unreachable, TooSlow or TooLarge."""
        first = 0
        for _ in range(_MOST_HOPS):
            found = await self._get(url, visitor, seconds)
            first = first or found.status
            location = found.headers.get("location")
            if not follow or found.status not in _REDIRECTS or not location:
                return Visited(first, found.status, found.headers, found.body, url)
            url = urljoin(url, location)
        raise Unreachable("too many redirects")

    async def _get(self, url: str, visitor: Visitor, seconds: float) -> Visited:
        address = urlsplit(url)
        rule = find_rule(self._rules, address.hostname or "") if address.scheme in ("http", "https") else None
        if rule is None:
            raise Unreachable(url)
        host = f"[{rule.address}]" if rule.address.version == 6 else str(rule.address)
        there = address._replace(netloc=f"{host}:{rule.port or address.port or 80}", fragment="").geturl()
        claimed = {"Host": address.netloc} | ({HEADER: ",".join(sorted(visitor))} if visitor else {})
        limit = timedelta(seconds=seconds)
        try:
            async with self._client.get(there, headers=claimed, timeout=limit) as arrived:
                headers = read_headers(arrived)
                body = await read_body(arrived, headers, BodyLimit(self._largest))
                return Visited(0, arrived.status.as_int(), headers, body, url)
        except CLIENT_ERRORS as error:
            raise _told(translate(error, connect_timeout=_CONNECT, timeout=limit), url) from error
        except FetchError as error:
            raise _told(error, url) from error


def _told(error: FetchError, url: str) -> Exception:
    match error.trouble.reason:
        case Reason.TIMEOUT:
            return TooSlow(url)
        case Reason.TOO_LARGE:
            return TooLarge(url)
        case _:
            return Unreachable(url)
