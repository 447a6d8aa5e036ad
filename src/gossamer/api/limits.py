"""Rate limits of the API, counted by the Gate, so that several servers count together."""

import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from ipaddress import IPv6Address, ip_address
from math import ceil
from uuid import uuid4

from gossamer.api.problems import Limited
from gossamer.errors import StorageAway, UserError
from gossamer.gate import Places

WINDOW = timedelta(minutes=1)

_REMEMBERED = 10_000
_REFUSED_FOR = 2.0  # seconds for which an address with too many wrong keys is refused without counting


@dataclass(frozen=True, slots=True)
class Tried:
    """A key that was counted and not looked up yet."""

    place: str
    holder: str


class Rates:
    """Rate limits per sender, decided by `places`, or by `alone` while the shared counts cannot be reached.

    The remaining number in the headers counts only requests to this server: a hint, not a guarantee.
    """

    def __init__(self, places: Places, alone: Places, is_away: Callable[[], str]) -> None:
        self._shared = places
        self._alone = alone
        self._is_away = is_away
        self._seen: dict[str, deque[float]] = {}
        self._refused: dict[str, float] = {}  # full places, and until when they are refused without asking the gate

    async def take(self, kind: str, who: str, limit: int) -> dict[str, str]:
        """Count a request; return the rate limit headers. Raises `Limited` if the limit is exceeded."""
        if not limit:
            return {}
        allowed = await self._enter(f"rate/{kind}/{who}", limit)
        seen = self._recent(f"{kind}/{who}")
        now = time.monotonic()
        if allowed:
            seen.append(now)
        wait = max(1, ceil(seen[0] + WINDOW.total_seconds() - now)) if seen else 1
        left = max(0, limit - len(seen)) if allowed else 0
        headers = {
            "RateLimit-Policy": f'"{kind}";q={limit};w={round(WINDOW.total_seconds())}',
            "RateLimit": f'"{kind}";r={left};t={wait}',
        }
        if not allowed:
            whose = "this key" if kind == "key" else "this address"
            error = UserError(
                "rate.exceeded",
                f"More than {limit:,} requests in a minute came with {whose}.",
                hint=f"Try again in {wait} seconds, and slower.",
            )
            raise Limited(error, {**headers, "Retry-After": str(wait)})
        return headers

    async def try_key(self, ip: str, limit: int) -> "Tried | None":
        """Count a key that was not proven yet, before its lookup. Raises `Limited` if an address tries too many."""
        if not limit:
            return None
        tried = Tried(_place_of(ip), uuid4().hex)
        now = time.monotonic()
        if self._refused.get(tried.place, 0.0) < now:
            if await self._enter(tried.place, limit, tried.holder):
                return tried
            self._refused[tried.place] = now + _REFUSED_FOR
            if len(self._refused) > _REMEMBERED:
                self._refused = {place: until for place, until in self._refused.items() if until > now}
        raise _too_many_keys(limit)

    def refuse_keyless(self, ip: str, limit: int) -> None:
        """Raise `Limited` for a request without a key from an address that was just refused for wrong keys."""
        if limit and self._refused.get(_place_of(ip), 0.0) >= time.monotonic():
            raise _too_many_keys(limit)

    async def was_good(self, tried: "Tried") -> None:
        """Remove a key that turned out to be valid from the count of wrong keys."""
        with suppress(StorageAway):
            await self._shared.leave(tried.place, tried.holder)
        await self._alone.leave(tried.place, tried.holder)

    async def _enter(self, place: str, limit: int, holder: str = "") -> bool:
        """Count an attempt.

        If the shared counts cannot be reached, each server counts alone, instead of refusing all.
        """
        holder = holder or uuid4().hex
        if not self._is_away():
            with suppress(StorageAway):
                if await self._shared.enter(place, holder, limit, WINDOW):
                    return True
                if not self._is_away():  # otherwise the shared counts went away during the call
                    return False
        return await self._alone.enter(place, holder, limit, WINDOW)

    def _recent(self, name: str) -> deque[float]:
        since = time.monotonic() - WINDOW.total_seconds()
        if len(self._seen) > _REMEMBERED:
            self._seen = {one: times for one, times in self._seen.items() if times and times[-1] > since}
        seen = self._seen.setdefault(name, deque())
        while seen and seen[0] <= since:
            seen.popleft()
        return seen


def _network(ip: str) -> str:
    """Return the network that is counted as one caller: a /64 for IPv6, a single address for IPv4."""
    try:
        address = ip_address(ip)
    except ValueError:
        return ip
    return f"{IPv6Address(int(address) >> 64 << 64)}/64" if address.version == 6 else ip


def _place_of(ip: str) -> str:
    return f"rate/failed-keys/{_network(ip)}"


def _too_many_keys(limit: int) -> Limited:
    error = UserError(
        "rate.failed_keys",
        f"More than {limit:,} wrong API keys in a minute came with this address.",
        hint="Check the key, and try again in a minute.",
    )
    return Limited(error, {"Retry-After": str(ceil(WINDOW.total_seconds()))})
