"""Development mode, `gossamer serve --dev`: for a developer's own machine, before there are keys and secrets.

No key is needed, web pages of http://localhost:3000 may send requests, and secrets may be the samples
from the documentation. In return, the server accepts requests from this machine only, and from a
browser only on behalf of an allowed page: otherwise any page opened in that browser could use it.
"""

import re
from collections.abc import MutableMapping
from dataclasses import dataclass
from hashlib import sha256
from hmac import compare_digest
from ipaddress import ip_address

from starlette.requests import HTTPConnection

from gossamer.errors import UserError

ORIGINS = ("http://localhost:3000",)
_SHORTEST = 32  # characters of a secret; samples have fewer
_SECRETS = ("GOSSAMER_API_SECRET", "SECRET_KEY")
_TOKENS = ("GOSSAMER_ADMIN_TOKEN", "ADMIN_TOKEN")
_PORT = re.compile(r":\d+$")
# Set by proxies: one on this machine forwards requests from elsewhere.
_PASSED_ON = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "via")
_OUR_OWN = ("none", "same-origin")  # sent by browsers for typed addresses and for our own pages


@dataclass(frozen=True, slots=True)
class Development:
    """Access rules for the only user of a development server."""

    origins: tuple[str, ...]
    token: str = ""  # a sample key, which is accepted too

    def lets_in(self, connection: HTTPConnection, given: str) -> bool:
        """Return True if a request with no key or the sample key comes from this machine and an allowed page."""
        if given and not (self.token and compare_digest(given.encode("utf-8", "replace"), self.token.encode())):
            return False
        if any(name in connection.headers for name in _PASSED_ON):
            return False
        host = connection.headers.get("host", "")
        return _is_loopback(_PORT.sub("", host).strip("[]")) and self._may_ask(connection, host)

    def _may_ask(self, connection: HTTPConnection, host: str) -> bool:
        """Return True for requests of allowed pages, by the headers that browsers send.

        For embedded resources such as images, browsers send `Sec-Fetch-Site` instead of `Origin`.
        """
        origin = connection.headers.get("origin")
        if origin is not None:
            return origin in self.origins or origin == f"http://{host}"
        return connection.headers.get("sec-fetch-site", "none") in _OUR_OWN


def take_samples(environment: MutableMapping[str, str]) -> str:
    """Replace sample secrets in the environment, which child processes inherit, by real ones; return the sample key."""
    given = next((value for name in _SECRETS if (value := environment.get(name))), "")
    if given and len(given) < _SHORTEST:
        environment[_SECRETS[0]] = sha256(f"development {given}".encode()).hexdigest()
        environment.pop(_SECRETS[1], None)
    token = next((value for name in _TOKENS if (value := environment.get(name))), "")
    if not 0 < len(token) < _SHORTEST:
        return ""
    for name in _TOKENS:
        environment.pop(name, None)
    return token


def development_on(host: str, cors: tuple[str, ...], token: str) -> Development:
    """Return the access rules of a development server; a UserError if other machines could reach it."""
    if not _is_loopback(host):
        raise UserError(
            "serve.development",
            f"--dev is for this machine alone, and {host} can be reached from others.",
            hint="Leave out --host and GOSSAMER_API_HOST, or leave out --dev.",
        )
    return Development(tuple(dict.fromkeys((*cors, *ORIGINS))), token)


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
