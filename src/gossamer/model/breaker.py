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

_GONE = 200.0  # seconds after which a probe nobody has heard of is not coming back: longer than any request
_KEPT = 3_600.0  # seconds for which an open breaker is remembered when nobody asks for it any more


@dataclass(frozen=True, slots=True)
class Rule:
    """When a breaker opens, and how it closes again."""

    failures: int  # in a row, with nothing good between them, open it;
    share: float  # and so does this share of the requests in the window, if there were as many as `failures`
    window: timedelta
    buckets: int  # that the window is counted in
    rest: timedelta  # nobody goes
    probes: int  # that may be under way after it, and that must be good for it to close


PROVIDER = Rule(10, 0.5, timedelta(seconds=60), 6, timedelta(seconds=30), 3)
# A server of the operator's own does everything free or nothing: the second failure in a row says which.
OWN_SERVER = Rule(2, 0.5, timedelta(seconds=60), 6, timedelta(seconds=60), 1)
SITE = Rule(5, 0.8, timedelta(seconds=120), 12, timedelta(seconds=60), 2)


class News(StrEnum):
    """Outcome of a request, as evidence about the service."""

    GOOD = "good"
    BAD = "bad"
    POOR = "poor"  # counts only among others like it: a failure that may be about the one page
    GRAVE = "grave"  # one is enough: nothing will work until a person has mended it
    NOTHING = "nothing"  # it came to no answer either way


@dataclass(frozen=True, slots=True)
class Standing:
    """State of a circuit breaker as callers see it; times are relative to now."""

    open: bool = False  # also while it is being probed
    wait: timedelta = timedelta()  # until anybody may go
    in_a_row: int = 0  # failures since anything was good
    down: timedelta = timedelta()  # since it opened first
    failed: timedelta = timedelta.max  # since the last failure
    why: str = ""  # of the last failure, in the words of whoever told


@dataclass(frozen=True, slots=True)
class State:
    """Stored state of a circuit breaker after a failure."""

    in_a_row: int = 0
    since: float | None = None  # when it opened first; None while it is closed
    until: float = 0.0  # nobody goes before
    out: int = 0  # probes under way
    out_at: float = 0.0  # when the last of them went
    good: int = 0  # probes that came to something
    failed_at: float | None = None
    why: str = ""
    counted: tuple[tuple[int, int, int], ...] = ()  # number of the bucket, requests, failures among them

    def lives(self, rule: Rule, now: float) -> float:
        """For how many seconds it is worth keeping."""
        return max(self.until - now, 0.0) + _KEPT if self.since is not None else rule.window.total_seconds()


def standing(state: State, now: float) -> Standing:
    return Standing(
        open=state.since is not None,
        wait=timedelta(seconds=max(state.until - now, 0.0)) if state.since is not None else timedelta(),
        in_a_row=state.in_a_row,
        down=timedelta(seconds=max(now - state.since, 0.0)) if state.since is not None else timedelta(),
        failed=timedelta(seconds=max(now - state.failed_at, 0.0)) if state.failed_at is not None else timedelta.max,
        why=state.why,
    )


def trouble_of(standing: Standing) -> Trouble:
    """Return the cause of a provider's open circuit breaker: its `why` is the name of a Reason and the details."""
    name, _, detail = standing.why.partition(" ")
    return Trouble(Reason.__members__.get(name, Reason.PROVIDER_AWAY), detail)


def ask(state: State, rule: Rule, now: float) -> tuple[State, timedelta]:
    """Return how long to wait before a request; zero means go, as a probe if the breaker is open."""
    if state.since is None:
        return state, timedelta()
    if now < state.until:
        return state, timedelta(seconds=state.until - now)
    out = 0 if now - state.out_at > _GONE else state.out
    if out >= rule.probes:
        return state, rule.rest / rule.probes
    return replace(state, out=out + 1, out_at=now), timedelta()


def tell(state: State, rule: Rule, now: float, news: News, why: str = "", goods: int = 0) -> State:
    """Update the state after a permitted request, and after `goods` unreported successes before it."""
    if state.since is None:
        return _closed(state, rule, now, news, why, goods)
    if news is News.GRAVE:
        return _rest(state, rule, now, why)
    if now < state.until:
        # It went before the breaker opened.
        return replace(state, failed_at=now) if news is News.BAD else state
    return _probed(state, rule, now, news, why)


def _probed(state: State, rule: Rule, now: float, news: News, why: str) -> State:
    match news:
        case News.GOOD if state.good + 1 >= rule.probes:
            return State()
        case News.GOOD:
            return replace(state, out=max(state.out - 1, 0), good=state.good + 1)
        case News.BAD | News.POOR if news is News.BAD or not state.good:
            return _rest(state, rule, now, why)
        case _:
            return replace(state, out=max(state.out - 1, 0))


def _closed(state: State, rule: Rule, now: float, news: News, why: str, goods: int) -> State:
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
        return _rest(State(in_a_row=state.in_a_row, since=now), rule, now, why)
    return state


def _rest(state: State, rule: Rule, now: float, why: str) -> State:
    until = now + rule.rest.total_seconds()
    return State(in_a_row=state.in_a_row, since=state.since, until=until, failed_at=now, why=why)


def _count(state: State, rule: Rule, now: float, requests: int, failures: int) -> tuple[tuple[int, int, int], ...]:
    number = int(now // (rule.window.total_seconds() / rule.buckets))
    kept = [one for one in state.counted if one[0] > number - rule.buckets]
    if kept and kept[-1][0] == number:
        _, before, failed = kept.pop()
        requests, failures = requests + before, failures + failed
    return (*kept, (number, requests, failures))
