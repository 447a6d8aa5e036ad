"""Recent answers, used while the database is down: better old and marked than none.

Only answers to reads of status are kept, by account and address, and the callers recognised by their
keys. Nothing is answered from here while the database can be reached.
"""

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import orjson
from starlette.responses import Response

from gossamer.api.answers import JsonAnswer

if TYPE_CHECKING:
    from gossamer.api.caller import Caller

_LARGEST = 64 * 1024  # bytes of one answer
_LONGEST = 2_000  # characters of an address
_BESIDE = 500  # bytes that the memory of one takes beside itself and its address
_MOST = 32 * 1024 * 1024  # of all
_ANSWERS_LAST = 3_600.0  # seconds
_CALLERS_LAST = 600.0  # a key that was revoked during an outage reads old answers for so long
_MOST_CALLERS = 10_000
_PROVEN_FOR = 3_600.0  # a key that was right so long ago is not counted as one that nobody has proven


@dataclass(frozen=True, slots=True)
class _Answer:
    body: bytes
    at: float


class StaleCache:
    """The memory of one server."""

    def __init__(self, is_away: Callable[[], bool], clock: Callable[[], float] = time.time) -> None:
        self.is_away = is_away
        self._clock = clock
        self._answers: OrderedDict[tuple[str, str], _Answer] = OrderedDict()
        self._size = 0
        self._callers: OrderedDict[bytes, tuple[Caller, float]] = OrderedDict()

    def keep(self, account: str, address: str, body: bytes) -> None:
        if len(body) > _LARGEST or len(address) > _LONGEST:
            return
        self._drop((account, address))
        self._answers[account, address] = _Answer(body, self._clock())
        self._size += len(body) + len(address) + _BESIDE
        while self._size > _MOST:
            self._drop(next(iter(self._answers)))

    def answer(self, account: str, address: str) -> Response | None:
        """The last answer, marked: `Age`, `Warning` and, in an object that has room for it, `as_of`."""
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
