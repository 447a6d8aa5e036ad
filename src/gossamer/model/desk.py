"""Kinds of desk work (tasks outside the crawl), with their concurrency limits and priorities."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from types import MappingProxyType


class DeskKind(StrEnum):
    FINISH = "finish"  # a job whose last site is closed is audited and completed
    CONCLUDE = "conclude"  # what the pages of a job amount to is worked out, if its recipe does that
    WEBHOOK = "webhook"  # an endpoint is told what happened
    EXPORT = "export"  # a file is made of a job's rows
    CLEANUP = "cleanup"  # rows and files that were kept long enough go


@dataclass(frozen=True, slots=True)
class DeskRule:
    limit: int  # at once, over all processes that share the database
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
    """The rules with what an operator has set otherwise."""
    return {
        kind: replace(rule, limit=limits.get(kind, rule.limit), priority=priorities.get(kind, rule.priority))
        for kind, rule in DESK_RULES.items()
    }
