"""The operator's deny list: a file of names and networks that the guard asks before every request.

An entry covers its name, the `www` twin and everything below, so that a host is looked up by its endings and the length
of the list costs nothing. The file is looked at again while the program runs: a line added to it stops visits that are
under way.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address, ip_network
from pathlib import Path

from gossamer.clock import Clock, SystemClock
from gossamer.errors import UserError
from gossamer.fetch.addresses import Address, Network, is_within
from gossamer.logging import get_logger
from gossamer.model.url import host_of, normalise, site_of

_LOOK_EVERY = 3.0  # seconds between two looks at the file
_EXPECTED = "Expected one domain, IP address or network per line, such as example.com, *.gov or 203.0.113.0/24."
_NAME = re.compile(r"(?:[a-z0-9_-]+\.)*[a-z][a-z0-9-]*")
_NOT_IN_A_NAME = frozenset("/@:?# ")  # a path or a port would promise less than an entry does

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class _Entries:
    """The current entries of the list; each key maps to the text that the operator wrote."""

    names: Mapping[str, str] = field(default_factory=dict)
    networks: Mapping[Network, str] = field(default_factory=dict)

    def beside(self, other: "_Entries") -> "_Entries":
        return _Entries({**other.names, **self.names}, {**other.networks, **self.networks})


@dataclass(frozen=True, slots=True)
class _Flaw:
    """A line that is not a valid entry."""

    number: int
    text: str


class DenyList:
    """The list in force. Without a file nothing is on it. `setting` is where the operator names the file."""

    def __init__(self, path: Path | None, clock: Clock, setting: str = "GOSSAMER_NEVER_VISIT") -> None:
        self._path = path
        self._setting = setting
        self._clock = clock
        self._entries = _Entries()
        self._stamp: tuple[int, int] | None = None
        self._look_at = clock.monotonic() + _LOOK_EVERY
        if path is not None:
            self._read_first(path)

    def covers(self, host: str) -> str:
        """Return the entry that forbids a host (a name, or an address as written in a URL), or ""."""
        if self._path is None:
            return ""
        self._look_again(self._path)
        if host[-1:].isdigit() or host.endswith("]"):
            try:
                return self._network_of(ip_address(host.strip("[]")))
            except ValueError:
                pass  # a name after all
        names = self._entries.names
        ending = host
        while ending:
            if ending in names:
                return names[ending]
            ending = ending.partition(".")[2]
        return ""

    def covers_any(self, addresses: tuple[Address, ...]) -> str:
        """Return the entry that forbids one of the addresses of a name, or ""."""
        if not self._entries.networks:
            return ""
        return next((entry for address in addresses if (entry := self._network_of(address))), "")

    def _network_of(self, address: Address) -> str:
        networks = self._entries.networks
        return next((entry for network, entry in networks.items() if is_within(address, (network,))), "")

    def _read_first(self, path: Path) -> None:
        try:
            self._stamp = _stamp_of(path)
            entries, flaws = _read(path)
        except (OSError, UnicodeDecodeError) as error:
            raise UserError(
                "never_visit.unreadable",
                f"{self._setting} names {path}, which cannot be read ({_why(error)}).",
                hint=_EXPECTED,
            ) from error
        if flaws:
            more = f" {len(flaws) - 1:,} more lines are none either." if len(flaws) > 1 else ""
            raise UserError(
                "never_visit.bad_entry",
                f"{path}, line {flaws[0].number}: {flaws[0].text[:60]!r} is neither a domain nor a network.{more}",
                hint=_EXPECTED,
            )
        self._entries = entries

    def _look_again(self, path: Path) -> None:
        now = self._clock.monotonic()
        if now < self._look_at:
            return
        self._look_at = now + _LOOK_EVERY
        try:
            stamp = _stamp_of(path)
            if stamp == self._stamp:
                return
            entries, flaws = _read(path)
        except (OSError, UnicodeDecodeError) as error:
            if self._stamp is not None:
                log.warning("never_visit.unreadable", path=str(path), error=_why(error))
            self._stamp = None  # said once; whatever is there next is read
            return
        self._stamp = stamp
        if flaws:
            # The log may be read late, and half a list must not allow what the whole one had forbidden.
            log.warning("never_visit.bad_entry", path=str(path), line=flaws[0].number, entries=len(flaws))
            entries = entries.beside(self._entries)
        self._entries = entries
        log.info("never_visit.read", path=str(path), entries=len(entries.names) + len(entries.networks))


def _stamp_of(path: Path) -> tuple[int, int]:
    """Return the file's modification time and size.

    The size is included because two writes can fall into one tick of the clock.
    """
    found = path.stat()
    return found.st_mtime_ns, found.st_size


def _read(path: Path) -> tuple[_Entries, list[_Flaw]]:
    names: dict[str, str] = {}
    networks: dict[Network, str] = {}
    flaws: list[_Flaw] = []
    for number, text in _lines(path.read_text(encoding="utf-8-sig")):
        entry = _network(text) or _name(text)
        if not entry:
            flaws.append(_Flaw(number, text))
        elif isinstance(entry, str):
            names[entry] = text
        else:
            networks[entry] = text
    return _Entries(names, networks), flaws


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """The entries with their line numbers, without remarks: from a `#` at the beginning or after a space."""
    for number, line in enumerate(text.split("\n"), start=1):
        entry = " ".join(line.split())
        entry = "" if entry.startswith("#") else entry.partition(" #")[0]
        if entry:
            yield number, entry


def _network(text: str) -> Network | None:
    try:
        return ip_network(text.strip("[]"))
    except ValueError:
        return None


def _name(text: str) -> str:
    """Return the name whose endings are compared, or "". The URL of a homepage stands for its host."""
    bare = text.lower().removeprefix("http://").removeprefix("https://").removesuffix("/").rstrip(".")
    name = bare.removeprefix("*.").removeprefix(".")
    if not _NOT_IN_A_NAME.isdisjoint(name):
        return ""
    url = normalise(f"http://{name}/")
    host = host_of(url) if url else ""
    # A bare word is more likely a slip than a wish for a whole top-level domain, which is written `*.gov`.
    if _NAME.fullmatch(host) is None or ("." not in host and name == bare):
        return ""
    return site_of(host)


def _why(error: Exception) -> str:
    return (error.strerror or str(error)) if isinstance(error, OSError) else "it is not UTF-8 text"


NOTHING = DenyList(None, SystemClock())
"""The empty list, for operators without one."""
