"""First stop of every request: may this address be contacted at all, and at which machines exactly?

The guard never trusts a spelling. The URL is parsed the way browsers parse it, so that a host written as a decimal,
octal, hexadecimal or shortened number is the address it stands for; a name is resolved here and stands or falls with
all of its addresses, and the caller connects to just those. Redirects come here again, hop by hop.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Protocol

import ada_url

from gossamer.fetch.addresses import Address, Network, is_within, real_address, why_not_public
from gossamer.fetch.connect_to import ConnectRule, find_rule
from gossamer.fetch.errors import FetchError
from gossamer.model.trouble import Reason, Trouble

# The spelling the parser leaves behind. Hosts are stricter than the URL standard: no name on the web needs more, and
# two parsers cannot disagree about letters, digits, dots, hyphens and underscores.
_URL = re.compile(
    r"(?P<scheme>https?)://(?P<host>[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::(?P<port>\d+))?(?P<target>/[^\s#]*)(?:#.*)?"
)
_DEFAULT_PORTS = {"http": 80, "https": 443}

# Names that mean something only inside a machine, a home or a company; the public DNS has no true answer for them.
_LOCAL_NAMES = frozenset(
    {
        "localhost",
        "localdomain",
        "local",
        "internal",
        "intranet",
        "lan",
        "home",
        "corp",
        "private",
        "onion",
        "home.arpa",
    }
)
_LOCAL_ENDINGS = tuple(f".{name}" for name in _LOCAL_NAMES)

# Below 1024 only the web's own two. Above it sites use what they like, except where another protocol is at home that
# takes orders from a stray line of text, or that has no business with strangers.
_OTHER_SERVICES = frozenset(
    {1080, 1433, 1434, 1521, 1719, 1720, 1723, 2049, 2181, 2375, 2376, 2379, 2380, 3128, 3260, 3306, 3389, 3659, 4045}
    | {4190, 4369, 5060, 5061, 5432, 5671, 5672, 5900, 5901, 5984, 5985, 5986, 6000, 6379, 6380, 6443, 6566}
    | {6665, 6666, 6667, 6668, 6669, 6697, 9042, 9092, 9100, 9160, 9200, 9300, 10080, 10250, 10255, 11211, 15672}
    | {16379, 26379, 27017, 27018, 27019, 28017, 33060, 61616}
)


class Lookup(Protocol):
    """Whoever can turn a name into its addresses."""

    async def resolve(self, host: str) -> tuple[Address, ...]: ...


@dataclass(frozen=True, slots=True)
class Clearance:
    """Leave to contact one host."""

    host: str  # of `send`, as the client will look it up
    addresses: tuple[Address, ...]  # checked; no other may be contacted
    send: str  # the address to send: the requested one, but for what a CONNECT_TO rule changes
    authority: str = ""  # the Host to claim where `send` shows another one


@dataclass(frozen=True, slots=True)
class _Parsed:
    scheme: str
    host: str
    port: int
    target: str

    @property
    def name(self) -> str:
        """The host as it is compared: without the dot that only says the name is complete."""
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

    def spelled(self, host: str, port: int) -> str:
        return f"{self.scheme}://{self._authority(host, port)}{self.target}"

    @property
    def authority(self) -> str:
        return self._authority(self.host, self.port)

    def _authority(self, host: str, port: int) -> str:
        return host if port == _DEFAULT_PORTS[self.scheme] else f"{host}:{port}"


class Guard:
    """Decides what may be contacted; every refusal is a FetchError."""

    def __init__(self, lookup: Lookup, *, rules: tuple[ConnectRule, ...] = (), allow: Sequence[Network] = ()) -> None:
        self._lookup = lookup
        self._rules = rules
        self._allow = tuple(allow)

    async def admit(self, url: str) -> Clearance:
        """Leave to send one request to `url`, valid for the addresses it names and for nothing else."""
        parsed = _parse(url)
        rule = find_rule(self._rules, parsed.name)
        if rule is not None:
            return _by_rule(parsed, rule)
        _check_port(parsed.port)
        literal = parsed.literal
        if literal is not None:
            addresses: tuple[Address, ...] = (literal,)
        else:
            _check_name(parsed.name)
            addresses = await self._lookup.resolve(parsed.name)
        self._check_addresses(parsed, addresses)
        return Clearance(parsed.host, addresses, parsed.spelled(parsed.host, parsed.port))

    def _check_addresses(self, parsed: _Parsed, addresses: tuple[Address, ...]) -> None:
        for address in addresses:
            kind = why_not_public(address)
            if kind and not is_within(address, self._allow):
                found = "is" if parsed.literal else f"leads to {real_address(address)},"
                raise _forbidden(f"{parsed.host} {found} {kind}")


def _parse(url: str) -> _Parsed:
    try:
        spelled = str(ada_url.normalize_url(url))
    except ValueError:
        raise FetchError(Trouble(Reason.BAD_URL, url[:80])) from None
    match = _URL.fullmatch(spelled)
    if match is None or not match["host"].strip(".") or match["port"] == "0":
        raise FetchError(Trouble(Reason.BAD_URL, url[:80]))
    port = int(match["port"]) if match["port"] else _DEFAULT_PORTS[match["scheme"]]
    return _Parsed(match["scheme"], match["host"], port, match["target"])


def _by_rule(parsed: _Parsed, rule: ConnectRule) -> Clearance:
    if rule.port is None:
        # The operator chose the machine, not the port: that still comes from whoever wrote the URL.
        _check_port(parsed.port)
    port = rule.port or parsed.port
    host = parsed.host
    if parsed.literal is not None:
        # The client dials an address it reads in the URL, whatever it was told, so the rule's own is written there.
        host = f"[{rule.address}]" if rule.address.version == 6 else str(rule.address)
    send = parsed.spelled(host, port)
    changed = send != parsed.spelled(parsed.host, parsed.port)
    return Clearance(host, (rule.address,), send, parsed.authority if changed else "")


def _check_port(port: int) -> None:
    if port in _OTHER_SERVICES or (port < 1024 and port not in _DEFAULT_PORTS.values()):
        raise _forbidden(f"port {port} is not for web pages")


def _check_name(name: str) -> None:
    if "." not in name or name in _LOCAL_NAMES or name.endswith(_LOCAL_ENDINGS):
        raise _forbidden(f"{name} is a local name")


def _forbidden(detail: str) -> FetchError:
    return FetchError(Trouble(Reason.FORBIDDEN_ADDRESS, detail))
