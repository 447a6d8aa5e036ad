"""Worker processes: as their rows show them, the express slots they offer, and the kinds of background work."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from types import MappingProxyType
from uuid import UUID

SILENT_AFTER = timedelta(seconds=20)
"""A worker without a heartbeat for this long gets no more work."""


@dataclass(frozen=True, slots=True)
class Worker:
    id: str  # the name that its leases carry
    host: str
    pid: int
    lanes: Mapping[str, int]  # concurrent visits per lane
    version: str
    started_at: datetime
    beat_at: datetime
    holds: int = 0  # visits it has leased
    is_silent: bool = False


@dataclass(frozen=True, slots=True)
class ExpressSlot:
    """An express slot: the worker that would crawl the visit, its token, and the lease it is granted."""

    worker: str
    token: UUID
    lease: timedelta
    since: float  # start of the lease, by the machine's monotonic clock


class DeskKind(StrEnum):
    FINISH = "finish"  # audit and complete a job whose last site is closed
    CONCLUDE = "conclude"  # compute results from all pages of a job, if its recipe does that
    WEBHOOK = "webhook"  # send messages to an endpoint
    EXPORT = "export"  # make a file from a job's rows
    CLEANUP = "cleanup"  # delete rows and files whose retention period is over


@dataclass(frozen=True, slots=True)
class DeskRule:
    limit: int  # concurrency limit over all processes that share the database
    priority: int  # the lower, the sooner


DESK_RULES: Mapping[DeskKind, DeskRule] = MappingProxyType(
    {
        DeskKind.FINISH: DeskRule(50, 0),
        DeskKind.CONCLUDE: DeskRule(8, 5),
        DeskKind.WEBHOOK: DeskRule(20, 0),
        DeskKind.EXPORT: DeskRule(50, 10),
        DeskKind.CLEANUP: DeskRule(5, 20),
    }
)


def desk_rules(limits: Mapping[DeskKind, int], priorities: Mapping[DeskKind, int]) -> Mapping[DeskKind, DeskRule]:
    """Return the rules with the operator's own limits and priorities."""
    return {
        kind: replace(rule, limit=limits.get(kind, rule.limit), priority=priorities.get(kind, rule.priority))
        for kind, rule in DESK_RULES.items()
    }
