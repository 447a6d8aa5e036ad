"""Webhooks: who wants to hear of what, what is sent to them, and what became of each try."""

from base64 import b64encode
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from uuid import UUID


class EventType(StrEnum):
    """Types of messages, as in their `type` field."""

    JOB_STARTED = "job.started"
    JOB_RESUMED = "job.resumed"
    JOB_PAGES = "job.pages"  # some more pages have ended; only for those who ask for it
    JOB_PAUSED = "job.paused"
    JOB_COMPLETED = "job.completed"
    JOB_FAILED = "job.failed"
    JOB_CANCELLED = "job.cancelled"
    EXPORT_READY = "export.ready"
    RESULT_READY = "result.ready"  # of a scrape that nobody waited for; it carries the result, or where that is
    BUDGET_REACHED = "budget.reached"  # 50, 80 or 100 per cent of it
    ALERT_FIRED = "alert.fired"
    TEST = "webhook.test"


WANTED = tuple(kind for kind in EventType if kind is not EventType.TEST)
"""What can be asked for. The test reaches whoever it is meant for."""

USUAL = frozenset(WANTED) - {EventType.JOB_PAGES}
"""What those hear who did not say what they want: everything but what there is much of."""


class EndpointState(StrEnum):
    ACTIVE = "active"
    OFF = "off"  # nothing is sent there, and nothing is kept for it


class DeliveryState(StrEnum):
    PENDING = "pending"
    DELIVERED = "delivered"
    FAILED = "failed"  # given up; it can be replayed


@dataclass(frozen=True, slots=True, repr=False)
class SigningKey:
    """A key that signs messages. Its value is shown only by `spelled`."""

    key: bytes
    until: datetime | None = None  # of one that was replaced: it signs until then

    @property
    def spelled(self) -> str:
        """As Standard Webhooks writes it, and as the receiver is given it once."""
        return f"whsec_{b64encode(self.key).decode()}"

    def __repr__(self) -> str:
        return "SigningKey(...)"


@dataclass(frozen=True, slots=True)
class KeptKey:
    """A signing key as stored in the database, encrypted."""

    id: UUID
    endpoint_id: UUID
    kept: bytes = field(repr=False)
    until: datetime | None


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A URL that receives an account's messages."""

    id: UUID
    account: str
    url: str
    events: frozenset[EventType]  # none: the usual
    state: EndpointState
    reason: str  # why it is off
    created_at: datetime
    failing_since: datetime | None  # the first failure after which nothing has arrived
    failures: int  # in a row
    not_before: datetime | None  # it rests until then

    def wants(self, kind: EventType) -> bool:
        return kind in (self.events or USUAL)


@dataclass(frozen=True, slots=True)
class Heard:
    """Response to a message: the head of an answer, or the reason why there is none."""

    status: int | None
    error: str = ""  # of no answer, as a sentence
    asked: timedelta | None = None  # how long it wants to be left alone


@dataclass(frozen=True, slots=True)
class Attempt:
    at: datetime
    status: int | None  # None: no answer
    milliseconds: int
    error: str = ""  # why it counts as failed


@dataclass(frozen=True, slots=True)
class Delivery:
    """One message to one endpoint. Its id is the same on every try."""

    id: UUID
    endpoint_id: UUID
    type: EventType
    job_id: UUID | None
    body: str
    state: DeliveryState
    created_at: datetime
    queued_at: datetime  # from when its tries count: when it was made, or replayed
    due_at: datetime
    tries: int
    attempts: tuple[Attempt, ...]  # the last of them
    delivered_at: datetime | None

    @property
    def message_id(self) -> str:
        """The value of the `webhook-id` header."""
        return f"msg_{self.id.hex}"


WITHIN = timedelta(hours=24)
"""For how long a message is tried."""

_WAITS = tuple(
    timedelta(seconds=seconds) for seconds in (5, 300, 1_800, 7_200, 18_000, 36_000, 23_100)
)  # after each failed try; together 24 hours and 5 seconds
_SLACK = timedelta(hours=3)  # what jitter and rests may add


def next_try(tries: int, queued_at: datetime, now: datetime, jitter: float) -> datetime | None:
    """When a message is tried again after `tries` that failed; None: never. `jitter` is a number from 0 to 1."""
    if tries > len(_WAITS):
        return None
    at = now + _WAITS[tries - 1] * (0.9 + 0.2 * jitter)
    return at if at - queued_at <= WITHIN + _SLACK else None


_SHORTEST_REST, _LONGEST_REST = timedelta(seconds=5), timedelta(minutes=5)


def rest_after(failures: int, asked: timedelta | None) -> timedelta:
    """Return the back-off after so many failures in a row, or the one the endpoint requested, up to an hour."""
    own = min(_SHORTEST_REST * float(2 ** min(failures - 1, 10)), _LONGEST_REST)
    return max(own, min(asked or timedelta(), timedelta(hours=1)))
