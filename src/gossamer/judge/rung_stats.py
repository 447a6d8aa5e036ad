"""Choice of the rung that a page begins with, from earlier tries of each rung on its domain."""

from collections.abc import Mapping

from gossamer.model.page import Attempt
from gossamer.model.rungs import Experience, Ladder, Rung
from gossamer.model.trouble import PROVIDERS_OWN, Cure, Reason

ENOUGH = 5  # tries before anything is concluded
WORKS = 0.9  # a rung that gets more than this is one to begin with,
FUTILE = 0.1  # and a free one below it that gets less than this is not worth its time
_PROBES = 20  # one page in so many begins at the bottom all the same: sites change

_SLOWED = frozenset({Reason.RATE_LIMITED, Reason.UNAVAILABLE, Reason.TIMEOUT})


def lesson(attempt: Attempt) -> bool | None:
    """Return True if the rung got the available content; None if the try does not show how good the rung is."""
    if not attempt.reason:
        return True
    reason = Reason[attempt.reason]
    if reason in PROVIDERS_OWN or reason is Reason.RUNG_SKIPPED:
        return None
    return False if reason.cure is Cure.CLIMB or reason in _SLOWED else None


# Refused by ourselves, before anything was asked of the site.
_NOT_ASKED = frozenset({
    Reason.ROBOTS, Reason.NEVER_VISIT, Reason.NEVER_SEND, Reason.FORBIDDEN_ADDRESS, Reason.BAD_URL,
    Reason.NOT_WORTH_PAYING, Reason.RUNG_SKIPPED, Reason.NOT_CONFIGURED,
})  # fmt: skip


def has_failed(attempt: Attempt) -> bool | None:
    """Return True if a request for a page failed; None if nothing was requested.

    The error rate is based on this.
    """
    if not attempt.reason:
        return False
    return None if not attempt.sent and Reason[attempt.reason] in _NOT_ASKED else True


def begin_with(ladder: Ladder, known: Mapping[str, Experience]) -> Rung:
    """Return the cheapest rung that works here, if all below it are known not to; else the first.

    A free rung that works now and then is still tried first: it costs nothing.
    """
    for rung in ladder.rungs:
        seen = known.get(rung.name, Experience())
        if seen.tries < ENOUGH:
            break
        if seen.rate > WORKS:
            return rung
        if not rung.is_paid and seen.rate >= FUTILE:
            break
    return ladder.first


def is_probe(key: bytes) -> bool:
    """Decide by the page's key, so that a resumed crawl decides the same."""
    return key[-1] % _PROBES == 0
