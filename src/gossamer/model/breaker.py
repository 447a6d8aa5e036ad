"""Circuit breaker: decides from the outcomes of recent requests if a service we depend on is usable.

While it is closed, all requests may be sent. After too many failures it opens and blocks all requests
for a while. Then a few may be sent as probes: if all of them succeed it closes, and the first failure
opens it again. Pure, so that all stores of the state (memory, rows; Redis has the same in its own
language) decide alike. Times are seconds of the store's clock.
"""

from dataclasses import dataclass, replace
from datetime import timedelta
from enum import StrEnum

from gossamer.model.trouble import Reason, Trouble

_GONE = 200.0  # seconds after which a probe without an outcome counts as lost: longer than any request
_KEPT = 3_600.0  # seconds for which the state of an open breaker is kept without being read


@dataclass(frozen=True, slots=True)
class BreakerRule:
    """Thresholds at which a circuit breaker opens and closes again."""

    failures: int  # in a row, with nothing good between them, open it;
    share: float  # and so does this share of the requests in the window, if there were as many as `failures`
    window: timedelta
    buckets: int  # that the window is counted in
    rest: timedelta  # no request is sent
    probes: int  # sent after the rest; all must succeed for the breaker to close


PROVIDER = BreakerRule(10, 0.5, timedelta(seconds=60), 6, timedelta(seconds=30), 3)
# A server of the operator's own either works or does not: two failures in a row are enough to tell.
OWN_SERVER = BreakerRule(2, 0.5, timedelta(seconds=60), 6, timedelta(seconds=60), 1)
SITE = BreakerRule(5, 0.8, timedelta(seconds=120), 12, timedelta(seconds=60), 2)


class News(StrEnum):
    """Outcome of a request, as evidence about the service."""

    GOOD = "good"
    BAD = "bad"
    POOR = "poor"  # a failure that may be caused by the single page: only a series of them counts
    GRAVE = "grave"  # opens the breaker at once: nothing works until a person has fixed it
    NOTHING = "nothing"  # no evidence either way


@dataclass(frozen=True, slots=True)
class BreakerStanding:
    """State of a circuit breaker as callers see it; times are relative to now."""

    open: bool = False  # also while it is being probed
    wait: timedelta = timedelta()  # until a request may be sent
    in_a_row: int = 0  # failures since the last success
    down: timedelta = timedelta()  # time since it first opened
    failed: timedelta = timedelta.max  # time since the last failure
    why: str = ""  # reason of the last failure, as reported


@dataclass(frozen=True, slots=True)
class BreakerState:
    """Stored state of a circuit breaker after a failure."""

    in_a_row: int = 0
    since: float | None = None  # when it first opened; None while it is closed
    until: float = 0.0  # no request is sent before
    out: int = 0  # probes under way
    out_at: float = 0.0  # when the last of them was sent
    good: int = 0  # probes that succeeded
    failed_at: float | None = None
    why: str = ""
    counted: tuple[tuple[int, int, int], ...] = ()  # number of the bucket, requests, failures among them

    def lives(self, rule: BreakerRule, now: float) -> float:
        """Return for how many seconds the state has to be kept."""
        return max(self.until - now, 0.0) + _KEPT if self.since is not None else rule.window.total_seconds()


def standing(state: BreakerState, now: float) -> BreakerStanding:
    return BreakerStanding(
        open=state.since is not None,
        wait=timedelta(seconds=max(state.until - now, 0.0)) if state.since is not None else timedelta(),
        in_a_row=state.in_a_row,
        down=timedelta(seconds=max(now - state.since, 0.0)) if state.since is not None else timedelta(),
        failed=timedelta(seconds=max(now - state.failed_at, 0.0)) if state.failed_at is not None else timedelta.max,
        why=state.why,
    )


def trouble_of(standing: BreakerStanding) -> Trouble:
    """Return the cause of a provider's open circuit breaker: its `why` is the name of a Reason and the details."""
    name, _, detail = standing.why.partition(" ")
    return Trouble(Reason.__members__.get(name, Reason.PROVIDER_AWAY), detail)


def ask(state: BreakerState, rule: BreakerRule, now: float) -> tuple[BreakerState, timedelta]:
    """Return how long to wait before a request; zero means go, as a probe if the breaker is open."""
    if state.since is None:
        return state, timedelta()
    if now < state.until:
        return state, timedelta(seconds=state.until - now)
    out = 0 if now - state.out_at > _GONE else state.out
    if out >= rule.probes:
        return state, rule.rest / rule.probes
    return replace(state, out=out + 1, out_at=now), timedelta()


def tell(state: BreakerState, rule: BreakerRule, now: float, news: News, why: str = "", goods: int = 0) -> BreakerState:
    """Update the state after a permitted request, and after `goods` unreported successes before it."""
    if state.since is None:
        return _closed(state, rule, now, news, why, goods)
    if news is News.GRAVE:
        return _rest(state, rule, now, why)
    if now < state.until:
        # The request was sent before the breaker opened.
        return replace(state, failed_at=now) if news is News.BAD else state
    return _probed(state, rule, now, news, why)


def _probed(state: BreakerState, rule: BreakerRule, now: float, news: News, why: str) -> BreakerState:
    match news:
        case News.GOOD if state.good + 1 >= rule.probes:
            return BreakerState()
        case News.GOOD:
            return replace(state, out=max(state.out - 1, 0), good=state.good + 1)
        case News.BAD | News.POOR if news is News.BAD or not state.good:
            return _rest(state, rule, now, why)
        case _:
            return replace(state, out=max(state.out - 1, 0))


def _closed(state: BreakerState, rule: BreakerRule, now: float, news: News, why: str, goods: int) -> BreakerState:
    goods += news is News.GOOD
    if goods:
        state = replace(state, in_a_row=0, counted=_count(state, rule, now, goods, 0))
    if news in (News.GOOD, News.NOTHING):
        return state
    fresh = state.failed_at is not None and now - state.failed_at <= rule.window.total_seconds()
    state = replace(state, in_a_row=(state.in_a_row if fresh else 0) + 1, failed_at=now, why=why)
    if news is News.BAD:
        state = replace(state, counted=_count(state, rule, now, 1, 1))
    requests = sum(number for _, number, _ in state.counted)
    failures = sum(number for _, _, number in state.counted)
    too_many = requests >= rule.failures and failures >= requests * rule.share and news is News.BAD
    if news is News.GRAVE or state.in_a_row >= rule.failures or too_many:
        return _rest(BreakerState(in_a_row=state.in_a_row, since=now), rule, now, why)
    return state


def _rest(state: BreakerState, rule: BreakerRule, now: float, why: str) -> BreakerState:
    until = now + rule.rest.total_seconds()
    return BreakerState(in_a_row=state.in_a_row, since=state.since, until=until, failed_at=now, why=why)


def _count(
    state: BreakerState, rule: BreakerRule, now: float, requests: int, failures: int
) -> tuple[tuple[int, int, int], ...]:
    number = int(now // (rule.window.total_seconds() / rule.buckets))
    kept = [one for one in state.counted if one[0] > number - rule.buckets]
    if kept and kept[-1][0] == number:
        _, before, failed = kept.pop()
        requests, failures = requests + before, failures + failed
    return (*kept, (number, requests, failures))
