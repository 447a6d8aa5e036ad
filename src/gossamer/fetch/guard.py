"""The SSRF guard, first stop of every request: decides if an address may be contacted, and at which IPs.

It runs before the resolver: a name covered by a rule is never looked up, and the address written in the
rule needs no other permission, since the operator wrote it.

The guard never trusts a spelling. The URL is parsed as browsers parse it, so that a host written as a
decimal, octal, hexadecimal or shortened number counts as the address it means; a name is resolved here, and
one bad address refuses it. The caller connects only to the checked addresses. Redirects are checked again,
hop by hop. Hosts that the operator never wants visited are refused before any lookup.

Most pages have the same origin as the page before, so the result for a scheme, host and port is cached.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import NamedTuple, Protocol

import ada_url

from gossamer.errors import UserError
from gossamer.fetch.addresses import (
    Address,
    Network,
    is_local_name,
    is_web_port,
    is_within,
    real_address,
    why_not_public,
)
from gossamer.fetch.deny_list import NOTHING, DenyList
from gossamer.fetch.errors import FetchError
from gossamer.model.trouble import Reason, Trouble

_TARGET = re.compile(r"(?:\[(?P<six>[^\]]+)\]|(?P<four>[^:\[\]]+))(?::(?P<port>\d{1,5}))?")
_PATTERN = re.compile(r"\*|(?:\*\.)?[a-z0-9_-]+(?:\.[a-z0-9_-]+)*|\[[0-9a-f:.]+\]")


@dataclass(frozen=True, slots=True)
class ConnectRule:
    """A rule that names matching `pattern` are contacted at `address`, and on `port` if one was written."""

    pattern: str
    address: IPv4Address | IPv6Address
    port: int | None = None

    def covers(self, host: str) -> bool:
        """`*` covers everything, `*.test` every name below `test` but not `test` itself, a name only itself."""
        if self.pattern == "*":
            return True
        if self.pattern.startswith("*."):
            return host.endswith(self.pattern[1:])
        return host == self.pattern


def parse_connect_to(text: str) -> tuple[ConnectRule, ...]:
    """The rules in the order written; a host takes the first that covers it."""
    return tuple(_parse_rule(part.strip()) for part in text.split(",") if part.strip())


def find_rule(rules: tuple[ConnectRule, ...], host: str) -> ConnectRule | None:
    return next((rule for rule in rules if rule.covers(host)), None)


def _parse_rule(text: str) -> ConnectRule:
    pattern, equals, target = (part.strip() for part in text.partition("="))
    pattern = pattern.lower().rstrip(".")
    match = _TARGET.fullmatch(target)
    if not equals or match is None or _PATTERN.fullmatch(pattern) is None:
        raise _bad_rule(text)
    try:
        address = ip_address(match["six"] or match["four"])
    except ValueError:
        raise _bad_rule(text) from None
    port = int(match["port"]) if match["port"] else None
    if port is not None and not 0 < port < 65536:
        raise _bad_rule(text)
    return ConnectRule(pattern, address, port)


def _bad_rule(text: str) -> UserError:
    return UserError(
        "settings.invalid",
        f"GOSSAMER_CONNECT_TO has {text[:60]!r}, expected name=address or name=address:port.",
        hint="For example *.test=127.0.0.1:8080 or shop.example=[fd00::5]:8443.",
    )


# The spelling the parser leaves behind. Hosts are stricter than the URL standard: no name on the web needs more, and
# two parsers cannot disagree about letters, digits, dots, hyphens and underscores.
_URL = re.compile(
    r"(?P<scheme>https?)://(?P<host>[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::(?P<port>\d+))?(?P<target>/[^\s#]*)(?:#.*)?"
)
_DEFAULT_PORTS = {"http": 80, "https": 443}

# Beginnings and ends of addresses that no parser changes or reads in another way: with these the host cannot depend on
# what comes after it, so it needs no parsing the next time.
_PLAIN_ORIGIN = re.compile(r"https?://[a-z0-9._-]+(?::\d+)?")
_PLAIN_TARGET = re.compile(r"(?:/(?!\.|%2[Ee])[A-Za-z0-9_.~!$&()*+,;=:@%?-]*)+")  # dots may be a way up
_REMEMBERED = 10_000


class Lookup(Protocol):
    """Resolves names to addresses."""

    def recall(self, host: str) -> tuple[Address, ...] | None:
        """Return the addresses if they are known without a lookup."""
        ...

    async def resolve(self, host: str) -> tuple[Address, ...]: ...


class Clearance(NamedTuple):
    """Permission to contact one host."""

    host: str  # of `send`, as the client will look it up
    addresses: tuple[Address, ...]  # checked; no other may be contacted
    send: str  # the address to send: the requested one, but for what a CONNECT_TO rule changes
    authority: str = ""  # the Host to claim where `send` shows another one
    by_rule: bool = False  # the operator said where the host is: contacted without a proxy


@dataclass(frozen=True, slots=True)
class _Parsed:
    scheme: str
    host: str
    port: int

    @property
    def name(self) -> str:
        """The host as compared: without the trailing dot of a fully qualified name."""
        return self.host.rstrip(".")

    @property
    def literal(self) -> Address | None:
        """The address, if the host is one."""
        if not self.host[-1].isdigit() and self.host[-1] != "]":
            return None  # the parser has written every address in digits or brackets
        try:
            return ip_address(self.host.strip("[]"))
        except ValueError:
            return None

    @property
    def authority(self) -> str:
        return self.authority_for(self.host, self.port)

    def authority_for(self, host: str, port: int) -> str:
        return host if port == _DEFAULT_PORTS[self.scheme] else f"{host}:{port}"


@dataclass(slots=True)
class _Place:
    """A scheme, host and port that may be contacted as far as their spelling shows."""

    name: str
    host: str  # as it is sent, and so are the next two
    origin: str
    authority: str = ""
    by_rule: bool = False
    fixed: tuple[Address, ...] | None = None  # addresses that need no look-up
    checked: tuple[Address, ...] | None = None  # the addresses last found fit


class Guard:
    """Decides what may be contacted; every refusal is a FetchError."""

    def __init__(
        self,
        lookup: Lookup,
        *,
        rules: tuple[ConnectRule, ...] = (),
        allow: Sequence[Network] = (),
        never: DenyList = NOTHING,
    ) -> None:
        self._lookup = lookup
        self._rules = rules
        self._allow = tuple(allow)
        self._never = never
        self._places: dict[str, _Place] = {}

    def with_rules(self, rules: tuple[ConnectRule, ...]) -> "Guard":
        """Return the same guard with other rules for where names are."""
        return Guard(self._lookup, rules=rules, allow=self._allow, never=self._never)

    async def admit(self, url: str) -> Clearance:
        """Return the clearance to send one request to `url`, valid only for the addresses that it names."""
        place, target = self._find(url)
        addresses = self._recall(place)
        return self._clear(place, target, await self._lookup.resolve(place.name) if addresses is None else addresses)

    def recall(self, url: str) -> Clearance | None:
        """Return the same clearance, if it needs no lookup."""
        place, target = self._find(url)
        addresses = self._recall(place)
        return None if addresses is None else self._clear(place, target, addresses)

    def _find(self, url: str) -> tuple[_Place, str]:
        """Return the destination of a URL, with its spelling checked, and the request target."""
        origin = url[: url.find("/", 8)]
        target = url[len(origin) :]
        is_plain = _PLAIN_TARGET.fullmatch(target) is not None
        place = self._places.get(origin) if is_plain else None
        if place is None:
            parsed, target = _parse(url)
            place = self._place(parsed)
            if is_plain and _PLAIN_ORIGIN.fullmatch(origin):
                if len(self._places) >= _REMEMBERED:
                    self._places.clear()
                self._places[origin] = place
        if entry := self._never.covers(place.name):
            raise _unwanted(entry)
        return place, target

    def _place(self, parsed: _Parsed) -> _Place:
        rule = find_rule(self._rules, parsed.name)
        if rule is not None:
            return _by_rule(parsed, rule)
        _check_port(parsed.port)
        place = _Place(parsed.name, parsed.host, f"{parsed.scheme}://{parsed.authority}")
        literal = parsed.literal
        if literal is not None:
            place.fixed = (literal,)
        else:
            _check_name(parsed.name)
        return place

    def _recall(self, place: _Place) -> tuple[Address, ...] | None:
        return place.fixed or self._lookup.recall(place.name)

    def _clear(self, place: _Place, target: str, addresses: tuple[Address, ...]) -> Clearance:
        if addresses is not place.checked:
            self._check_addresses(place, addresses)
            place.checked = addresses
        if not place.by_rule and (entry := self._never.covers_any(addresses)):
            raise _unwanted(entry)
        return Clearance(place.host, addresses, place.origin + target, place.authority, place.by_rule)

    def _check_addresses(self, place: _Place, addresses: tuple[Address, ...]) -> None:
        for address in addresses:
            kind = why_not_public(address)
            if kind and not is_within(address, self._allow):
                found = "is" if place.fixed else f"leads to {real_address(address)},"
                raise _forbidden(f"{place.host} {found} {kind}")


def _parse(url: str) -> tuple[_Parsed, str]:
    """Scheme, host and port of a URL, and its path with the query."""
    try:
        spelled = str(ada_url.normalize_url(url))
    except ValueError:
        raise FetchError(Trouble(Reason.BAD_URL, url[:80])) from None
    match = _URL.fullmatch(spelled)
    if match is None or not match["host"].strip(".") or match["port"] == "0":
        raise FetchError(Trouble(Reason.BAD_URL, url[:80]))
    port = int(match["port"]) if match["port"] else _DEFAULT_PORTS[match["scheme"]]
    return _Parsed(match["scheme"], match["host"], port), match["target"]


def _by_rule(parsed: _Parsed, rule: ConnectRule) -> _Place:
    if rule.port is None:
        # The operator chose the machine, not the port: that still comes from the author of the URL.
        _check_port(parsed.port)
    host = parsed.host
    if parsed.literal is not None:
        # The client dials an address it reads in the URL, whatever it was told, so the rule's own is written there.
        host = f"[{rule.address}]" if rule.address.version == 6 else str(rule.address)
    sent = parsed.authority_for(host, rule.port or parsed.port)
    addresses = (rule.address,)
    return _Place(
        parsed.name,
        host,
        f"{parsed.scheme}://{sent}",
        authority=parsed.authority if sent != parsed.authority else "",
        by_rule=True,
        fixed=addresses,
        checked=addresses,  # by the operator, who wrote it
    )


def _check_port(port: int) -> None:
    if not is_web_port(port):
        raise _forbidden(f"port {port} is not for web pages")


def _check_name(name: str) -> None:
    if is_local_name(name):
        raise _forbidden(f"{name} is a local name")


def _forbidden(detail: str) -> FetchError:
    return FetchError(Trouble(Reason.FORBIDDEN_ADDRESS, detail))


def _unwanted(entry: str) -> FetchError:
    return FetchError(Trouble(Reason.NEVER_VISIT, entry))
