"""How often somebody may ask: counted by the Gate, so that several servers count together."""

import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from math import ceil
from uuid import uuid4

from gossamer.api.problems import Limited
from gossamer.errors import StorageAway, UserError
from gossamer.gate import Places

WINDOW = timedelta(minutes=1)

_REMEMBERED = 10_000


class Rates:
    """`places` decides; what is left, as headers tell it, is what this server has seen: a hint, and no promise."""

    def __init__(self, places: Places, alone: Places, is_away: Callable[[], str]) -> None:
        self._shared = places
        self._alone = alone
        self._is_away = is_away
        self._seen: dict[str, deque[float]] = {}

    async def take(self, kind: str, who: str, limit: int) -> dict[str, str]:
        """Count a request; headers that say how it stands. One too many is `Limited`."""
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

    async def _enter(self, place: str, limit: int) -> bool:
        """Where the others cannot be seen each server counts alone: better than to refuse everybody."""
        holder = uuid4().hex
        if not self._is_away():
            with suppress(StorageAway):
                if await self._shared.enter(place, holder, limit, WINDOW):
                    return True
                if not self._is_away():  # else that was no answer
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
