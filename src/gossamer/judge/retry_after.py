"""How long a server asks us to stay away: the Retry-After header, in seconds or as a date."""

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

_SECONDS = re.compile(r"\s*(\d+)(?:\.\d*)?\s*(?:,|$)")
_LONGEST = 10 * 365 * 86_400.0  # beyond this it is only "for ever"


def seconds_asked(header: str, now: datetime, date: str = "") -> float | None:
    """Seconds from now, never negative; None if the header is missing or says nothing usable.

    A date is compared with the answer's own `Date`: the server's clock on both sides, so it matters neither whether
    ours is right nor whether the server's is. Without one it is compared with `now`.
    """
    if not header:
        return None
    plain = _SECONDS.match(header)
    if plain:
        digits = plain[1].lstrip("0")
        return min(float(digits or 0), _LONGEST) if len(digits) <= 12 else _LONGEST
    at = _date(header)
    if at is None:
        return None
    return min(max(0.0, (at - (_date(date) or now)).total_seconds()), _LONGEST)


def _date(header: str) -> datetime | None:
    if not header:
        return None
    try:
        at = parsedate_to_datetime(header)
    except (ValueError, OverflowError):
        return None
    return at if at.tzinfo else at.replace(tzinfo=UTC)
