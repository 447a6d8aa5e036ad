"""States of jobs, sites, visits and pages, and their legal transitions. The store refuses all others."""

from collections.abc import Mapping
from enum import StrEnum
from typing import TypeVar


class JobState(StrEnum):
    PENDING = "pending"
    RUNNING = "running"
    PAUSING = "pausing"
    PAUSED = "paused"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    ARCHIVED = "archived"


class SiteState(StrEnum):
    OPEN = "open"
    DONE = "done"
    FAILED = "failed"
    PARTIAL = "partial"


class VisitState(StrEnum):
    READY = "ready"
    ISSUED = "issued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    DEAD = "dead"


class PageState(StrEnum):
    PENDING = "pending"
    DONE = "done"
    FAILED = "failed"
    SKIPPED = "skipped"
    CLIMBING = "climbing"


class Phase(StrEnum):
    """Phase of a running job whose recipe concludes. Its state stays `running` meanwhile."""

    WALKING = "walking"
    CALLING = "calling"  # the crawl is over: pages still to be requested are determined
    LAST_CALL = "last-call"  # those pages are requested
    CONCLUDING = "concluding"
    OVER = "over"


JOB_MOVES: Mapping[JobState, frozenset[JobState]] = {
    JobState.PENDING: frozenset({JobState.RUNNING, JobState.CANCELLED}),
    JobState.RUNNING: frozenset({JobState.PAUSING, JobState.COMPLETED, JobState.FAILED, JobState.CANCELLED}),
    JobState.PAUSING: frozenset({JobState.PAUSED, JobState.RUNNING, JobState.CANCELLED}),
    JobState.PAUSED: frozenset({JobState.RUNNING, JobState.CANCELLED}),
    JobState.COMPLETED: frozenset({JobState.RUNNING, JobState.ARCHIVED}),
    JobState.FAILED: frozenset({JobState.RUNNING, JobState.ARCHIVED}),
    JobState.CANCELLED: frozenset({JobState.RUNNING, JobState.ARCHIVED}),
    JobState.ARCHIVED: frozenset(),
}

VISIT_MOVES: Mapping[VisitState, frozenset[VisitState]] = {
    VisitState.READY: frozenset({VisitState.ISSUED, VisitState.RUNNING}),
    VisitState.ISSUED: frozenset({VisitState.RUNNING, VisitState.READY}),
    VisitState.RUNNING: frozenset({VisitState.READY, VisitState.DONE, VisitState.FAILED, VisitState.DEAD}),
    VisitState.DONE: frozenset({VisitState.READY}),
    VisitState.FAILED: frozenset({VisitState.READY}),
    VisitState.DEAD: frozenset({VisitState.READY}),
}

PAGE_MOVES: Mapping[PageState, frozenset[PageState]] = {
    PageState.PENDING: frozenset({PageState.DONE, PageState.FAILED, PageState.SKIPPED, PageState.CLIMBING}),
    PageState.CLIMBING: frozenset({PageState.PENDING}),
    PageState.FAILED: frozenset({PageState.PENDING}),
    PageState.DONE: frozenset(),
    PageState.SKIPPED: frozenset(),
}

SITE_MOVES: Mapping[SiteState, frozenset[SiteState]] = {
    SiteState.OPEN: frozenset({SiteState.DONE, SiteState.FAILED, SiteState.PARTIAL}),
    SiteState.DONE: frozenset({SiteState.OPEN}),
    SiteState.FAILED: frozenset({SiteState.OPEN}),
    SiteState.PARTIAL: frozenset({SiteState.OPEN}),
}

OVER = frozenset({JobState.COMPLETED, JobState.FAILED, JobState.CANCELLED, JobState.ARCHIVED})

_State = TypeVar("_State", JobState, SiteState, VisitState, PageState)


def origins(moves: Mapping[_State, frozenset[_State]], target: _State) -> tuple[_State, ...]:
    """Return the states from which `target` may be reached, for the WHERE of an UPDATE."""
    return tuple(state for state, targets in moves.items() if target in targets)
