"""What a worker may not do that was stopped for longer than its leases and woke up: write to what is not its own.

Seen from the rows: from the moment a visit is taken back until somebody claims it again it is in nobody's hands, so
nothing of it may be written. Its claim after that is always told.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

RAN_OUT = "its lease ran out"
_TAKEN_BACK = (RAN_OUT, "its worker is gone", "worker ended with")
_ENDINGS = ("visit.done", "visit.failed")


@dataclass(frozen=True, slots=True)
class Happened:
    """An event of a visit. Moments are as the database gives them: they can be compared with each other."""

    visit: Any
    at: Any
    kind: str
    why: str


@dataclass(frozen=True, slots=True)
class Settled:
    """A page that has ended."""

    visit: Any
    at: Any
    url: str


def lost_leases(events: Iterable[Happened]) -> int:
    """Visits that were taken from a worker because it was silent for too long."""
    return sum(event.why == RAN_OUT for event in events)


def written_unheld(events: Iterable[Happened], pages: Iterable[Settled]) -> list[str]:
    """What was written of a visit while nobody held it."""
    of_visit: dict[Any, list[Happened]] = defaultdict(list)
    for event in events:
        of_visit[event.visit].append(event)
    read: dict[Any, list[Settled]] = defaultdict(list)
    for page in pages:
        read[page.visit].append(page)
    found = []
    for visit, told in of_visit.items():
        claims = [event.at for event in told if event.kind == "visit.running"]
        for taken in (event for event in told if event.why.startswith(_TAKEN_BACK)):
            again = min((at for at in claims if at >= taken.at), default=None)
            written = [(page.at, page.url) for page in read[visit]]
            written += [(event.at, event.kind) for event in told if event.kind in _ENDINGS]
            found += [
                f"{what} was written although {taken.why!r} and nobody had claimed the visit again"
                for at, what in written
                if at > taken.at and (again is None or at < again)
            ]
    return found
