"""The operator's own answers to names: `*.test=127.0.0.1:8080,shop.example=10.0.0.5`.

Stands before the resolver: a name covered by a rule is never looked up, and the address written in the rule needs no
other permission, since the operator wrote it.
"""

import re
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address

from gossamer.errors import UserError

_TARGET = re.compile(r"(?:\[(?P<six>[^\]]+)\]|(?P<four>[^:\[\]]+))(?::(?P<port>\d{1,5}))?")
_PATTERN = re.compile(r"\*|(?:\*\.)?[a-z0-9_-]+(?:\.[a-z0-9_-]+)*|\[[0-9a-f:.]+\]")


@dataclass(frozen=True, slots=True)
class ConnectRule:
    """Names like `pattern` are answered by `address`, and on `port` if one was written."""

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
