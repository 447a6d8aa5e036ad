"""Webhooks: endpoints, the events they subscribe to, and the deliveries with their attempts."""

from base64 import b64encode
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from uuid import UUID


class EventType(StrEnum):
    """Types of messages, as in their `type` field."""

    JOB_STARTED = "job.started"
    JOB_RESUMED = "job.resumed"
    JOB_PAGES = "job.pages"  # a batch of pages has ended; only by explicit subscription
    JOB_PAUSED = "job.paused"
    JOB_COMPLETED = "job.completed"
    JOB_FAILED = "job.failed"
    JOB_CANCELLED = "job.cancelled"
    EXPORT_READY = "export.ready"
    RESULT_READY = "result.ready"  # of a scrape whose caller did not wait; with the result or a link to it
    BUDGET_REACHED = "budget.reached"  # 50, 80 or 100 per cent of it
    ALERT_FIRED = "alert.fired"
    TEST = "webhook.test"


WANTED = tuple(kind for kind in EventType if kind is not EventType.TEST)
"""Event types that can be subscribed to. Test messages are always delivered."""

USUAL = frozenset(WANTED) - {EventType.JOB_PAGES}
"""Default subscription: everything except the frequent page events."""


class EndpointState(StrEnum):
    ACTIVE = "active"
    OFF = "off"  # nothing is sent, and no messages are queued


class DeliveryState(StrEnum):
    PENDING = "pending"
    DELIVERED = "delivered"
    FAILED = "failed"  # retries exhausted; it can be replayed


@dataclass(frozen=True, slots=True, repr=False)
class SigningKey:
    """A key that signs messages. Its value is shown only by `spelled`."""

    key: bytes
    until: datetime | None = None  # end of validity, for a key that was replaced

    @property
    def spelled(self) -> str:
        """The key in the format of Standard Webhooks, shown to the receiver once."""
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
    events: frozenset[EventType]  # empty: the default subscription
    state: EndpointState
    reason: str  # reason for the state `off`
    created_at: datetime
    failing_since: datetime | None  # the first failure since the last successful delivery
    failures: int  # in a row
    not_before: datetime | None  # back-off until then

    def wants(self, kind: EventType) -> bool:
        return kind in (self.events or USUAL)


@dataclass(frozen=True, slots=True)
class EndpointAnswer:
    """Response of an endpoint to a message, or the reason why there is none."""

    status: int | None
    error: str = ""  # reason for a missing response, as a sentence
    asked: timedelta | None = None  # delay requested by the endpoint


@dataclass(frozen=True, slots=True)
class DeliveryAttempt:
    at: datetime
    status: int | None  # None: no answer
    milliseconds: int
    error: str = ""  # reason of the failure


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
    queued_at: datetime  # start of its retry schedule: its creation or last replay
    due_at: datetime
    tries: int
    attempts: tuple[DeliveryAttempt, ...]  # only the most recent
    delivered_at: datetime | None

    @property
    def message_id(self) -> str:
        """The value of the `webhook-id` header."""
        return f"msg_{self.id.hex}"


WITHIN = timedelta(hours=24)
"""How long a message is retried."""

_WAITS = tuple(
    timedelta(seconds=seconds) for seconds in (5, 300, 1_800, 7_200, 18_000, 36_000, 23_100)
)  # after each failed try; together 24 hours and 5 seconds
_SLACK = timedelta(hours=3)  # additional time for jitter and back-off


def next_try(tries: int, queued_at: datetime, now: datetime, jitter: float) -> datetime | None:
    """Return the time of the next attempt after `tries` failed ones; None: give up. `jitter` is from 0 to 1."""
    if tries > len(_WAITS):
        return None
    at = now + _WAITS[tries - 1] * (0.9 + 0.2 * jitter)
    return at if at - queued_at <= WITHIN + _SLACK else None


_SHORTEST_REST, _LONGEST_REST = timedelta(seconds=5), timedelta(minutes=5)


def rest_after(failures: int, asked: timedelta | None) -> timedelta:
    """Return the back-off after so many failures in a row, or the one the endpoint requested, up to an hour."""
    own = min(_SHORTEST_REST * float(2 ** min(failures - 1, 10)), _LONGEST_REST)
    return max(own, min(asked or timedelta(), timedelta(hours=1)))
