"""A process that walks visits, for a cluster or a home, as its row shows it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

SILENT_AFTER = timedelta(seconds=20)
"""A worker that has not been heard of for so long gets no more work."""


@dataclass(frozen=True, slots=True)
class Worker:
    id: str  # the name that its leases carry
    host: str
    pid: int
    lanes: Mapping[str, int]  # visits it walks at a time, per lane
    version: str
    started_at: datetime
    beat_at: datetime
    holds: int = 0  # visits in its hands
    is_silent: bool = False
