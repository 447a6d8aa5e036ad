"""Outages on our side and not of any site: of the operator's own proxy, or of the network itself."""

import math
from collections import OrderedDict
from typing import NamedTuple

from gossamer.clock import Clock
from gossamer.fetch.guard import Clearance

_REMEMBERED = 64  # hosts
_RECENT = 1_800.0  # seconds
_FRESH = 5.0  # seconds for which a host that answers again keeps its place


class Outage:
    """An outage as one process sees it: why, and for how long it has lasted.

    That of the proxy begins with the first request it does not take, and ends with the first it takes.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._since: float | None = None
        self.why = ""  # of the last request that failed for it

    def begin(self, why: str) -> None:
        self.why = why
        if self._since is None:
            self._since = self._clock.monotonic()

    def end(self) -> None:
        self._since = None

    def lasts(self) -> float:
        """Return how long it has lasted, in seconds; 0 while there is none."""
        return 0.0 if self._since is None else self._clock.monotonic() - self._since


class Answered(NamedTuple):
    """A host that answered, and where it was reached."""

    clearance: Clearance
    at: float  # on the monotonic clock


class Answers:
    """The sites that answered this process lately: evidence that it has a network, and places to look whether it has.

    `began` is when the latest of the requests that were answered had begun, on the monotonic clock.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.began = -math.inf
        self._by_host: OrderedDict[str, Answered] = OrderedDict()

    def note(self, clearance: Clearance, began: float) -> None:
        """Note that a site answered a request sent at `began`."""
        self.began = max(self.began, began)
        # The pages of a site follow each other quickly, and to the second is exact enough.
        known = self._by_host.get(clearance.host)
        if known is not None and known.clearance.addresses == clearance.addresses and began - known.at < _FRESH:
            return
        self._by_host[clearance.host] = Answered(clearance, self._clock.monotonic())
        self._by_host.move_to_end(clearance.host)
        if len(self._by_host) > _REMEMBERED:
            self._by_host.popitem(last=False)

    def recent(self) -> list[Clearance]:
        """Return the hosts that answered within the last half hour, the latest first."""
        since = self._clock.monotonic() - _RECENT
        return [one.clearance for one in reversed(self._by_host.values()) if one.at >= since]
