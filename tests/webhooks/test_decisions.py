"""What follows a try: when the next one is, when it is given up, and when nothing is sent there any more."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from gossamer.model.webhook import Delivery, DeliveryState, Endpoint, EndpointAnswer, EndpointState, EventType, next_try
from gossamer.webhooks.sender import judge

NOW = datetime(2026, 1, 2, tzinfo=UTC)
PATIENCE = timedelta(days=3)
ENDPOINT = Endpoint(
    UUID(int=1), "default", "https://a.example/", frozenset(), EndpointState.ACTIVE, "", NOW, None, 0, None
)
MESSAGE = Delivery(
    UUID(int=2), ENDPOINT.id, EventType.TEST, None, "{}", DeliveryState.PENDING, NOW, NOW, NOW, 0, (), None
)


def middle() -> float:
    return 0.5


@pytest.mark.parametrize("status", [200, 201, 202, 204, 299])
def test_every_2xx_is_an_arrival(status: int) -> None:
    assert judge(EndpointAnswer(status), ENDPOINT, MESSAGE, NOW, PATIENCE).state is DeliveryState.DELIVERED


@pytest.mark.parametrize("status", [None, 101, 301, 302, 307, 400, 401, 404, 409, 429, 500, 502, 503, 504])
def test_everything_else_is_tried_again(status: int | None) -> None:
    verdict = judge(EndpointAnswer(status), ENDPOINT, MESSAGE, NOW, PATIENCE, middle)
    assert (verdict.state, verdict.due_at) == (DeliveryState.PENDING, NOW + timedelta(seconds=5))
    assert verdict.error
    assert not verdict.switch_off


def test_tries_go_on_for_a_day() -> None:
    at, waits = NOW, []
    for tries in range(1, 100):
        due = next_try(tries, NOW, at, 0.5)
        if due is None:
            break
        waits.append(due - at)
        at = due
    assert len(waits) == 7
    assert waits == sorted(waits[:-1]) + waits[-1:]
    assert timedelta(hours=24) <= at - NOW < timedelta(hours=24, minutes=1)


def test_jitter_keeps_near_the_day() -> None:
    for jitter in (0.0, 1.0):
        at = NOW
        for tries in range(1, 8):
            due = next_try(tries, NOW, at, jitter)
            assert due is not None
            at = due
        assert timedelta(hours=21) < at - NOW < timedelta(hours=27)


def test_a_message_that_waited_for_its_turn_for_a_day_is_not_tried_for_another() -> None:
    late = replace(MESSAGE, tries=4, queued_at=NOW - timedelta(hours=25))
    assert judge(EndpointAnswer(500), ENDPOINT, late, NOW, PATIENCE, middle).state is DeliveryState.FAILED


def test_an_endpoint_that_asks_for_time_gets_it_up_to_an_hour() -> None:
    for asked, rest in ((120, 120), (1, 5), (90_000, 3600)):
        verdict = judge(EndpointAnswer(429, asked=timedelta(seconds=asked)), ENDPOINT, MESSAGE, NOW, PATIENCE, middle)
        assert verdict.rest == timedelta(seconds=rest)
        assert verdict.due_at == NOW + timedelta(seconds=rest)
    # Nobody else has anything to ask.
    heard = EndpointAnswer(500, asked=timedelta(minutes=2))
    assert judge(heard, ENDPOINT, MESSAGE, NOW, PATIENCE, middle).rest == timedelta(seconds=5)


def test_the_more_failures_the_longer_the_rest() -> None:
    rests = [
        judge(
            EndpointAnswer(None, "x"), replace(ENDPOINT, failures=failures), MESSAGE, NOW, PATIENCE
        ).rest.total_seconds()
        for failures in (0, 1, 2, 5, 6, 1000)
    ]
    assert rests == [5, 10, 20, 160, 300, 300]


def test_gone_means_gone() -> None:
    verdict = judge(EndpointAnswer(410), ENDPOINT, MESSAGE, NOW, PATIENCE)
    assert verdict.state is DeliveryState.FAILED
    assert "410" in verdict.switch_off


def test_it_is_switched_off_only_after_long_failure() -> None:
    last = replace(MESSAGE, tries=7, queued_at=NOW - timedelta(hours=24))
    for days, off in ((0, False), (1, False), (2.9, False), (3, True), (30, True)):
        failing = replace(ENDPOINT, failures=9, failing_since=NOW - timedelta(days=days))
        verdict = judge(EndpointAnswer(500), failing, last, NOW, PATIENCE)
        assert verdict.state is DeliveryState.FAILED
        assert bool(verdict.switch_off) is off
