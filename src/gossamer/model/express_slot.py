"""A free place in a working process, offered before there is a visit for it."""

from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID


@dataclass(frozen=True, slots=True)
class ExpressSlot:
    """An express slot: the worker that would crawl the visit, its token, and the lease it is granted."""

    worker: str
    token: UUID
    lease: timedelta
    since: float  # by the monotonic clock of the machine: the lease does not begin before
