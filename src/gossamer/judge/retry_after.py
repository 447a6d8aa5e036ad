"""How long a server asks us to stay away: the Retry-After header, in seconds or as a date."""

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

_SECONDS = re.compile(r"\s*(\d+)(?:\.\d*)?\s*(?:,|$)")
_LONGEST = 10 * 365 * 86_400.0  # beyond this it is only "for ever"


def seconds_asked(header: str, now: datetime) -> float | None:
    """Seconds from `now`, never negative; None if the header is missing or says nothing usable."""
    if not header:
        return None
    plain = _SECONDS.match(header)
    if plain:
        digits = plain[1].lstrip("0")
        return min(float(digits or 0), _LONGEST) if len(digits) <= 12 else _LONGEST
    try:
        at = parsedate_to_datetime(header)
    except (ValueError, OverflowError):
        return None
    if at.tzinfo is None:
        at = at.replace(tzinfo=UTC)
    return min(max(0.0, (at - now).total_seconds()), _LONGEST)
