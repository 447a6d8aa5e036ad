"""Cache of recent answers, served and marked as stale while the database is down.

It keeps the answers to GET requests, by account and address, and the callers recognised by their keys. It is not
used while the database can be reached.
"""

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import orjson
from starlette.responses import Response

from gossamer.api.views import JsonAnswer

if TYPE_CHECKING:
    from gossamer.api.caller import Caller

_LARGEST = 64 * 1024  # bytes of one answer
_LONGEST = 2_000  # characters of an address
_BESIDE = 500  # bytes that an entry takes besides its body and address
_MOST = 32 * 1024 * 1024  # bytes of all entries
_ANSWERS_LAST = 3_600.0  # seconds
_CALLERS_LAST = 600.0  # a key that was revoked during an outage reads old answers for so long
_MOST_CALLERS = 10_000
_PROVEN_FOR = 3_600.0  # seconds for which a verified key is not counted as a try


@dataclass(frozen=True, slots=True)
class _StoredAnswer:
    body: bytes
    at: float


class StaleCache:
    """Recent answers and callers of one server."""

    def __init__(self, is_away: Callable[[], bool], clock: Callable[[], float] = time.time) -> None:
        self.is_away = is_away
        self._clock = clock
        self._answers: OrderedDict[tuple[str, str], _StoredAnswer] = OrderedDict()
        self._size = 0
        self._callers: OrderedDict[bytes, tuple[Caller, float]] = OrderedDict()

    def keep(self, account: str, address: str, body: bytes) -> None:
        if len(body) > _LARGEST or len(address) > _LONGEST:
            return
        self._drop((account, address))
        self._answers[account, address] = _StoredAnswer(body, self._clock())
        self._size += len(body) + len(address) + _BESIDE
        while self._size > _MOST:
            self._drop(next(iter(self._answers)))

    def answer(self, account: str, address: str) -> Response | None:
        """Return the last answer, marked by `Age`, `Warning` and, in objects with that field, `as_of`."""
        found = self._answers.get((account, address))
        if found is None or (age := self._clock() - found.at) > _ANSWERS_LAST:
            return None
        as_of = datetime.fromtimestamp(found.at, UTC).isoformat()
        told = orjson.loads(found.body)
        if isinstance(told, dict) and "as_of" in told:
            told["as_of"] = as_of
        marks = {"Age": str(round(age)), "Warning": '110 gossamer "Response is Stale"', "X-Gossamer-As-Of": as_of}
        return JsonAnswer(told, headers=marks)

    def _drop(self, place: tuple[str, str]) -> None:
        if former := self._answers.pop(place, None):
            self._size -= len(former.body) + len(place[1]) + _BESIDE

    def recognised(self, digest: bytes, caller: "Caller") -> None:
        self._callers[digest] = (caller, self._clock())
        self._callers.move_to_end(digest)
        if len(self._callers) > _MOST_CALLERS:
            self._callers.popitem(last=False)

    def is_proven(self, digest: bytes) -> bool:
        _, at = self._callers.get(digest, (None, -_PROVEN_FOR))
        return self._clock() - at < _PROVEN_FOR

    def unknown(self, digest: bytes) -> None:
        self._callers.pop(digest, None)

    def caller(self, digest: bytes) -> "Caller | None":
        caller, at = self._callers.get(digest, (None, 0.0))
        return caller if self._clock() - at <= _CALLERS_LAST else None
