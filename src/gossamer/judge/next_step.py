"""After trouble: the same again later, a stronger rung, or the end."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil

from gossamer.model.page import Page
from gossamer.model.rungs import Ladder, Rung
from gossamer.model.trouble import PROVIDERS_OWN, Cure, Reason, Trouble

FIRST_BACKOFF = 1.0  # seconds; each next one is twice as long
LONGEST_BACKOFF = 30.0  # unless the server asks for more
MOST_JITTER = 0.25  # of a back-off: pages that failed together do not return together
LONGEST_WAIT = 3_600.0  # what a server may ask for before the page is given up
# With a stronger rung at hand a page waits no longer than this for its one polite retry.
LONGEST_POLITE_WAIT = 60.0
# What is missing on these pages a script may bring.
_WANTS_RENDERING = frozenset({Reason.HOLLOW, Reason.EMPTY, Reason.FIELD_MISSING})
_NOTHING_ELSE_HELPS = frozenset({Reason.HOLLOW, Reason.FIELD_MISSING})


@dataclass(frozen=True, slots=True)
class Retry:
    """The same rung again, not before `at`."""

    at: datetime


@dataclass(frozen=True, slots=True)
class Climb:
    """The next rung, at once."""

    rung: Rung


@dataclass(frozen=True, slots=True)
class Fail:
    """Nothing more to try."""

    trouble: Trouble


def next_step(page: Page, ladder: Ladder, trouble: Trouble, now: datetime, jitter: float) -> Retry | Climb | Fail:
    """Choose the next step for a page whose last attempt, already counted in `page.tries`, ended in `trouble`.

    `jitter` from 0 to 1 lengthens the back-off by up to `MOST_JITTER` of it.
    """
    above = _above(page, ladder, trouble)
    match trouble.reason.cure:
        case Cure.NONE:
            return Fail(trouble)
        case Cure.CLIMB:
            return Climb(above) if above else Fail(_out_of_reach(ladder, trouble))
        case Cure.WAIT:
            return _wait(page, ladder, above, trouble, now, jitter)


def _above(page: Page, ladder: Ladder, trouble: Trouble) -> Rung | None:
    """A page that waits for its scripts needs a rung that runs them; one that is only empty may do without."""
    if trouble.reason in PROVIDERS_OWN:
        return ladder.beyond(page.rung)
    if trouble.reason in _WANTS_RENDERING and (rung := ladder.above(page.rung, rendering=True)):
        return rung
    return None if trouble.reason in _NOTHING_ELSE_HELPS else ladder.above(page.rung)


def _out_of_reach(ladder: Ladder, trouble: Trouble) -> Trouble:
    """Return the trouble, replaced by NOT_CONFIGURED if a requested rung that might have helped is unavailable."""
    lacking = ladder.lacks(rendering=trouble.reason in _WANTS_RENDERING)
    if lacking is None:
        return trouble
    return Trouble(Reason.NOT_CONFIGURED, f"{lacking.name}: {trouble.sentence}", trouble.http_status)


def _wait(
    page: Page, ladder: Ladder, above: Rung | None, trouble: Trouble, now: datetime, jitter: float
) -> Retry | Climb | Fail:
    asked = trouble.retry_after or 0.0
    if asked > LONGEST_WAIT:
        return Fail(Trouble(Reason.ASKED_TO_WAIT, in_words(asked), trouble.http_status, trouble.retry_after))
    tries = max(page.tries, 1)
    if above and (tries > 1 or asked > LONGEST_POLITE_WAIT):
        return Climb(above)
    if tries > ladder.named(page.rung).retries:
        return Climb(above) if above else Fail(trouble)
    backoff = min(FIRST_BACKOFF * 2.0 ** (min(tries, 10) - 1) * (1 + jitter * MOST_JITTER), LONGEST_BACKOFF)
    return Retry(now + timedelta(seconds=max(backoff, asked)))


def in_words(seconds: float) -> str:
    """Spell a long wait for people."""
    for unit, length in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        # Two of the larger unit say more than ninety of the smaller.
        if seconds >= 2 * length:
            return f"{ceil(seconds / length):,} {unit}s"
    return f"{ceil(seconds):,} seconds"
