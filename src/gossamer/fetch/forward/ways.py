"""Who may use the forward proxy, and for how much: one Way per browser, with a name and a password of its own."""

import asyncio
import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta

from gossamer.model.trouble import Reason, Trouble

REFUSED = frozenset({Reason.FORBIDDEN_ADDRESS, Reason.NEVER_VISIT, Reason.BAD_URL})
"""By the guard, and not by how things are out there."""

_REMEMBERED = 50  # troubles of one way


@dataclass(frozen=True, slots=True)
class ProxyLimits:
    """What one process's proxy bears, and how much of it one browser may have."""

    connections: int = 256
    per_way: int = 64  # a browser opens 32 to a proxy
    bytes_per_way: int = 300_000_000  # both directions
    upload: int = 10_000_000  # of one request that is not in a tunnel
    connect: timedelta = timedelta(seconds=10)
    head: timedelta = timedelta(seconds=10)
    idle: timedelta = timedelta(seconds=60)
    longest: timedelta = timedelta(minutes=10)


class NoMore(Exception):
    """A way has carried all that it may."""


@dataclass(slots=True, eq=False)
class Way:
    """One browser's leave to use the proxy, until it is closed. It says nothing of its password."""

    url: str  # of the proxy, as the browser reaches it
    mark: str = field(repr=False)  # what a page of the proxy's own has in it, and no other page can know
    limits: ProxyLimits = field(repr=False)
    name: str = field(default_factory=lambda: secrets.token_hex(8))
    password: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)
    carried: int = 0  # bytes
    tasks: set[asyncio.Task[None]] = field(default_factory=set, repr=False)
    _troubles: dict[str, Trouble] = field(default_factory=dict)
    _closed: Callable[["Way"], None] = field(default=lambda _: None, repr=False)

    def carry(self, size: int) -> None:
        self.carried += size
        if self.carried > self.limits.bytes_per_way:
            raise NoMore

    def note(self, host: str, trouble: Trouble) -> bool:
        """Remember why a host could not be had; whether that is new, and worth a line somewhere."""
        is_new = host not in self._troubles and len(self._troubles) < _REMEMBERED
        if is_new:
            self._troubles[host] = trouble
        return is_new

    def forget(self) -> None:
        """Before the next page: what is noted from now on is about it."""
        self._troubles.clear()

    def trouble_with(self, host: str) -> Trouble | None:
        """Why a page of `host` did not come. Where it led elsewhere, that was refused, since browsers ask for much that
        does not exist while they start; what a page pulls in is not asked for before the page is there."""
        refused = (one for one in self._troubles.values() if one.reason in REFUSED)
        return self._troubles.get(host) or next(refused, None) or next(iter(self._troubles.values()), None)

    def said_by_proxy(self, page: str) -> Trouble | None:
        """Why there is no page, where this one is the proxy's own; nothing for a site's."""
        if self.mark not in page:
            return None
        found = re.search(f'{self.mark}" data-host="([^"]*)"', page)
        return self.trouble_with(found[1] if found else "") or Trouble(Reason.UNREACHABLE)

    def close(self) -> None:
        """Nothing goes out on it any more, and what is on its way is cut off. Safe to call twice."""
        self._closed(self)
        for task in self.tasks:
            task.cancel()
