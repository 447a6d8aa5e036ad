"""After trouble: retry, climb or fail, by the reason's cure and what the server asked for."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.judge import Climb, Fail, Retry, next_step
from gossamer.judge.next_step import in_words
from gossamer.model.page import Attempt, Page
from gossamer.model.rungs import DIRECT, RUNGS, Ladder, Lane, Rung
from gossamer.model.trouble import Cure, Reason, Trouble

NOW = datetime(2026, 5, 6, 7, 8, 9, tzinfo=UTC)
BROWSER = Rung("browser", Lane.BROWSER, renders=True)
ALONE = Ladder((DIRECT,))
TALL = Ladder((DIRECT, BROWSER))

BUSY = Trouble(Reason.RATE_LIMITED, http_status=429)
BLOCKED = Trouble(Reason.BLOCKED, "Cloudflare", 403)
GONE = Trouble(Reason.GONE, http_status=410)


def page(tries: int, rung: str = "direct") -> Page:
    tried = Page.at("https://shop.example/")
    for _ in range(tries):
        tried = tried.tried(Attempt(rung, 429, "RATE_LIMITED", 5, 0))
    return Page(tried.url, tried.key, 0, rung=rung, attempts=tried.attempts)


def seconds(step: Retry | Climb | Fail) -> float:
    assert isinstance(step, Retry), step
    return (step.at - NOW).total_seconds()


def asked(wait: float) -> Trouble:
    return Trouble(Reason.UNAVAILABLE, http_status=503, retry_after=wait)


def test_one_try_and_three_retries_ever_slower() -> None:
    assert [seconds(next_step(page(tries), ALONE, BUSY, NOW, 0)) for tries in (1, 2, 3)] == [1, 2, 4]
    assert next_step(page(4), ALONE, BUSY, NOW, 0) == Fail(BUSY)


def test_jitter_adds_up_to_a_quarter() -> None:
    assert [seconds(next_step(page(3), ALONE, BUSY, NOW, jitter)) for jitter in (0, 0.5, 1)] == [4, 4.5, 5]


def test_backing_off_never_takes_longer_than_half_a_minute() -> None:
    patient = Ladder((Rung("direct", Lane.HTTP, retries=40),))
    waits = [seconds(next_step(page(tries), patient, BUSY, NOW, 1)) for tries in range(1, 41)]
    assert waits == sorted(waits)
    assert max(waits) == 30


def test_a_rung_without_retries_fails_at_once() -> None:
    assert next_step(page(1), Ladder((Rung("direct", Lane.HTTP, retries=0),)), BUSY, NOW, 0) == Fail(BUSY)


def test_what_waiting_may_cure_is_retried_once_and_then_climbs() -> None:
    assert seconds(next_step(page(1), TALL, BUSY, NOW, 0)) == 1
    assert next_step(page(2), TALL, BUSY, NOW, 0) == Climb(BROWSER)


def test_on_the_last_rung_all_retries_are_made() -> None:
    assert seconds(next_step(page(3, "browser"), TALL, BUSY, NOW, 0)) == 4
    assert next_step(page(4, "browser"), TALL, BUSY, NOW, 0) == Fail(BUSY)


def test_tries_on_a_lower_rung_do_not_count() -> None:
    climbed = page(2).tried(Attempt("browser", 429, "RATE_LIMITED", 5, 0))
    climbed = Page(climbed.url, climbed.key, 0, rung="browser", attempts=climbed.attempts)
    assert seconds(next_step(climbed, TALL, BUSY, NOW, 0)) == 1


def test_what_a_stronger_rung_may_cure_climbs_at_once_or_fails() -> None:
    assert next_step(page(1), TALL, BLOCKED, NOW, 0) == Climb(BROWSER)
    assert next_step(page(1), ALONE, BLOCKED, NOW, 0) == Fail(BLOCKED)
    assert next_step(page(1, "browser"), TALL, BLOCKED, NOW, 0) == Fail(BLOCKED)


def test_what_nothing_cures_fails_at_once() -> None:
    assert next_step(page(1), TALL, GONE, NOW, 0) == Fail(GONE)


@pytest.mark.parametrize(("wait", "due"), [(0, 1), (0.5, 1), (20, 20), (45, 45), (3_600, 3_600)])
def test_retry_after_is_the_least_we_wait(wait: float, due: float) -> None:
    assert seconds(next_step(page(1), ALONE, asked(wait), NOW, 0)) == due


def test_with_a_stronger_rung_a_page_waits_a_minute_at_most() -> None:
    assert seconds(next_step(page(1), TALL, asked(60), NOW, 0)) == 60
    assert next_step(page(1), TALL, asked(61), NOW, 0) == Climb(BROWSER)


@pytest.mark.parametrize("ladder", [ALONE, TALL])
def test_more_than_an_hour_is_too_long(ladder: Ladder) -> None:
    step = next_step(page(1), ladder, asked(7_200), NOW, 0)
    assert step == Fail(Trouble(Reason.ASKED_TO_WAIT, "2 hours", 503, 7_200))
    assert isinstance(step, Fail)
    assert step.trouble.sentence == "The site asked us to wait 2 hours"


@pytest.mark.parametrize(
    ("wait", "words"),
    [(90, "90 seconds"), (3_601, "61 minutes"), (5_400, "90 minutes"), (7_200, "2 hours"), (90_000, "25 hours"),
     (259_200, "3 days"), (315_360_000, "3,650 days")],
)  # fmt: skip
def test_long_waits_are_said_in_words(wait: float, words: str) -> None:
    assert in_words(wait) == words


@settings(deadline=None)
@given(
    st.integers(1, 9),
    st.sampled_from([ALONE, TALL]),
    st.sampled_from(list(Reason)),
    st.none() | st.floats(0, 4e8),
    st.floats(0, 1),
)
def test_every_trouble_has_a_step_and_no_page_waits_for_ever(
    tries: int, ladder: Ladder, reason: Reason, wait: float | None, jitter: float
) -> None:
    trouble = Trouble(reason, retry_after=wait)
    match next_step(page(tries), ladder, trouble, NOW, jitter):
        case Retry(at):
            assert reason.cure is Cure.WAIT
            assert tries <= 3
            assert timedelta(seconds=max(1, wait or 0)) <= at - NOW + timedelta(microseconds=1)
            assert at - NOW <= timedelta(hours=1)
        case Climb(rung):
            assert reason.cure is not Cure.NONE
            assert rung == BROWSER
            assert ladder is TALL
        case Fail(final):
            assert final.reason in (reason, Reason.ASKED_TO_WAIT)


def test_a_page_that_waits_for_its_scripts_climbs_to_what_renders() -> None:
    bee = Ladder(tuple(RUNGS[name] for name in ("direct", "scrapingbee-standard", "scrapingbee-js")))
    hollow, empty = Trouble(Reason.HOLLOW, http_status=200), Trouble(Reason.EMPTY, http_status=200)
    for trouble in (hollow, empty):
        assert next_step(page(1), bee, trouble, NOW, 0) == Climb(RUNGS["scrapingbee-js"])
    assert next_step(page(1), bee, BLOCKED, NOW, 0) == Climb(RUNGS["scrapingbee-standard"])
    plain = Ladder(bee.rungs[:2])
    assert next_step(page(1), plain, hollow, NOW, 0) == Fail(hollow)
    assert next_step(page(1), plain, empty, NOW, 0) == Climb(RUNGS["scrapingbee-standard"])


def test_a_page_whose_rung_is_missing_says_which() -> None:
    cut = Ladder((DIRECT,), (RUNGS["scrapingbee-standard"], RUNGS["scrapingbee-js"]))
    step = next_step(page(1), cut, Trouble(Reason.HOLLOW, http_status=200), NOW, 0)
    assert isinstance(step, Fail)
    assert step.trouble.sentence == "Needs a method that is not configured here (scrapingbee-js: Page needs JavaScript)"
    assert next_step(page(4), cut, BUSY, NOW, 0) == Fail(BUSY), "what waiting may cure needs no other rung"


@pytest.mark.parametrize("reason", [Reason.PROVIDER_KEY, Reason.PROVIDER_CREDITS])
def test_a_provider_that_cannot_be_used_is_left_for_another_and_not_for_its_dearer_rungs(reason: Reason) -> None:
    bees = ("direct", "scrapingbee-standard", "scrapingbee-js")
    both = Ladder(tuple(RUNGS[name] for name in (*bees, "scraperapi", "scraperapi-js")))
    alone = Ladder(tuple(RUNGS[name] for name in bees))
    trouble = Trouble(reason, "ScrapingBee: HTTP 401")
    assert next_step(page(1, "scrapingbee-standard"), both, trouble, NOW, 0) == Climb(RUNGS["scraperapi"])
    assert next_step(page(1, "scrapingbee-js"), both, trouble, NOW, 0) == Climb(RUNGS["scraperapi-js"])
    assert next_step(page(1, "scrapingbee-standard"), alone, trouble, NOW, 0) == Fail(trouble)
