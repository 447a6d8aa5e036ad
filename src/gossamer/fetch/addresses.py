"""Which addresses, names and ports are the public web. Pure tables, asked by the guard before anything is contacted.

Python's own `is_global` differs between its releases, so the registries are written out: IANA's special-purpose blocks
for IPv4 and IPv6, and the public address that leads into a cloud machine's own control plane.
"""

from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

_NOT_PUBLIC_4: tuple[tuple[IPv4Network, str], ...] = tuple(
    (IPv4Network(block), kind)
    for block, kind in (
        ("0.0.0.0/8", "this host"),
        ("10.0.0.0/8", "a private network"),
        ("100.64.0.0/10", "a provider's shared network"),
        ("127.0.0.0/8", "this machine"),
        ("168.63.129.16/32", "a cloud control address"),
        ("169.254.0.0/16", "a link-local address"),
        ("172.16.0.0/12", "a private network"),
        ("192.0.0.0/24", "a reserved network"),
        ("192.0.2.0/24", "a documentation network"),
        ("192.88.99.0/24", "a reserved network"),
        ("192.168.0.0/16", "a private network"),
        ("198.18.0.0/15", "a benchmark network"),
        ("198.51.100.0/24", "a documentation network"),
        ("203.0.113.0/24", "a documentation network"),
        ("224.0.0.0/4", "a multicast address"),
        ("240.0.0.0/4", "a reserved network"),
    )
)

_GLOBAL_6 = IPv6Network("2000::/3")  # the only part of IPv6 given out for the public internet so far
_NOT_PUBLIC_6: tuple[tuple[IPv6Network, str], ...] = tuple(
    (IPv6Network(block), kind)
    for block, kind in (
        ("2001::/32", "a Teredo tunnel"),
        ("2001::/23", "a reserved network"),
        ("2001:db8::/32", "a documentation network"),
        ("3fff::/20", "a documentation network"),
        ("::1/128", "this machine"),
        ("fc00::/7", "a private network"),
        ("fe80::/10", "a link-local address"),
        ("ff00::/8", "a multicast address"),
    )
)

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
_WEB_PORTS = frozenset({80, 443})

_MAPPED = IPv6Network("::ffff:0:0/96")
_NAT64 = IPv6Network("64:ff9b::/96")
_SIX_TO_FOUR = IPv6Network("2002::/16")


def real_address(address: Address) -> Address:
    """The IPv4 address that an IPv6 spelling wraps, where a packet would end; else the address, without its zone."""
    if isinstance(address, IPv4Address):
        return address
    number = int(address)
    plain = IPv6Address(number)
    if plain in _MAPPED or plain in _NAT64:
        return IPv4Address(number & 0xFFFFFFFF)
    if plain in _SIX_TO_FOUR:
        return IPv4Address((number >> 80) & 0xFFFFFFFF)
    return plain


@lru_cache(maxsize=8_192)
def why_not_public(address: Address) -> str:
    """Return the kind of a non-public address, "" for a public one. Wrapped addresses are unwrapped first."""
    real = real_address(address)
    if isinstance(real, IPv4Address):
        return next((kind for network, kind in _NOT_PUBLIC_4 if real in network), "")
    found = next((kind for network, kind in _NOT_PUBLIC_6 if real in network), "")
    return found or ("" if real in _GLOBAL_6 else "a reserved network")


def is_within(address: Address, networks: tuple[Network, ...]) -> bool:
    """Return True if an address lies in one of the networks, whether or not it is wrapped in IPv6."""
    spellings = {real_address(address), address}
    return any(spelling in network for spelling in spellings for network in networks)


def is_local_name(name: str) -> bool:
    return "." not in name or name in _LOCAL_NAMES or name.endswith(_LOCAL_ENDINGS)


def is_web_port(port: int) -> bool:
    """Return True if the port may serve a web site and is not assigned to another kind of service."""
    return port in _WEB_PORTS or (port >= 1024 and port not in _OTHER_SERVICES)
