"""What the readings of all providers have in common: numbers in headers, documents, and their own failures."""

from collections.abc import Mapping
from typing import Any

import orjson

from gossamer.fetch.errors import ProviderBusy, ProviderTrouble
from gossamer.fetch.providers.seam import Head
from gossamer.model.trouble import Reason, Trouble

_MOST_CREDITS = 1_000_000  # no call costs that: a number beyond it is none
_LONGEST_REST = 3_600.0

# Headers that speak of the way the answer came and not of the page.
_OF_THE_WAY = frozenset(
    {"connection", "content-encoding", "content-length", "date", "keep-alive", "transfer-encoding", "vary"}
)


def number_in(headers: Mapping[str, str], name: str) -> int | None:
    """A count of credits; None if the header is missing or is no such count."""
    text = headers.get(name, "").strip()
    if not (text.isascii() and text.isdigit() and len(text) <= 9):
        return None
    number = int(text)
    return number if number <= _MOST_CREDITS else None


def whole(value: object) -> int | None:
    """The same of a value in a document, where `true` is no number."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST_CREDITS else None


def count_of(value: object) -> int | None:
    """Credits of a whole plan, which go into the millions."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def status_in(headers: Mapping[str, str], name: str, otherwise: int) -> int:
    """A status the provider passes on, or `otherwise` where it is garbled."""
    text = headers.get(name, "").strip()
    return int(text) if text.isascii() and text.isdigit() and 100 <= int(text[:4]) <= 999 else otherwise


def of_the_page(headers: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in headers.items() if name not in _OF_THE_WAY}


def document_in(body: bytes) -> dict[str, Any] | None:
    """A JSON object, or None."""
    try:
        found = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    return found if isinstance(found, dict) else None


def failed(
    name: str, title: str, reason: Reason, head: Head | None = None, credits: int | None = 0, why: str = ""
) -> ProviderTrouble:
    """The provider's own failure, to be raised. Its words are left out: they may repeat what we sent."""
    said = why or (f"HTTP {head.status}" if head else "")
    trouble = Trouble(
        reason,
        f"{title}: {said}" if said else title,
        head.status if head else None,
        _asked_to_wait(head) if head else None,
    )
    kind = ProviderBusy if reason is Reason.PROVIDER_BUSY else ProviderTrouble
    return kind(name, trouble, credits)


def _asked_to_wait(head: Head) -> float | None:
    text = head.headers.get("retry-after", "").strip()
    return min(float(text), _LONGEST_REST) if text.isascii() and text.isdigit() else None
