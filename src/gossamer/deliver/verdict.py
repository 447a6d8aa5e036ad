"""From what an endpoint answered to what follows: the message has arrived, is tried again, or is given up."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from http import HTTPStatus

from gossamer.model.webhook import Delivery, DeliveryState, Endpoint, Heard, next_try, rest_after

# What overload looks like; how long to stay away may be said too.
_MAY_ASK_FOR_TIME = frozenset({429, 502, 503, 504})


@dataclass(frozen=True, slots=True)
class Verdict:
    state: DeliveryState
    error: str = ""
    due_at: datetime | None = None  # of the next try
    rest: timedelta = timedelta()  # in which nothing else is sent there either
    switch_off: str = ""  # why the endpoint is


def judge(
    heard: Heard,
    endpoint: Endpoint,
    delivery: Delivery,
    now: datetime,
    patience: timedelta,
    jitter: Callable[[], float] = random.random,
) -> Verdict:
    """`patience` is how long an endpoint may take nothing before it is switched off."""
    status = heard.status
    if status is not None and 200 <= status < 300:
        return Verdict(DeliveryState.DELIVERED)
    error = heard.error or _said(status)
    if status == HTTPStatus.GONE:
        return Verdict(DeliveryState.FAILED, error, switch_off="it answered 410, which says that it is gone for good")
    rest = rest_after(endpoint.failures + 1, heard.asked if status in _MAY_ASK_FOR_TIME else None)
    due_at = next_try(delivery.tries + 1, delivery.queued_at, now, jitter())
    if due_at is not None:
        return Verdict(DeliveryState.PENDING, error, max(due_at, now + rest), rest)
    since = endpoint.failing_since or now
    given_up = (
        f"nothing has arrived there since {since:%Y-%m-%d %H:%M} UTC ({error})" if since <= now - patience else ""
    )
    return Verdict(DeliveryState.FAILED, error, rest=rest, switch_off=given_up)


def _said(status: int | None) -> str:
    if status is None:
        return "no answer"
    if 300 <= status < 400:
        return f"HTTP {status}: redirects are not followed"
    return f"HTTP {status}"
