"""Find the id that a user typed: complete, one of its ends, or the beginning of a displayed one."""

from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

from gossamer.db.database import Database
from gossamer.db.transactions import Tx
from gossamer.model.ids import short

SHORTEST = 4
WRITTEN_IN = f"at least {SHORTEST} characters of an id, which are 0-9 and a-f, as shown by"  # what a hint says
_SHOWN = 4
_WHOLE = 32  # digits
_DIGITS = frozenset("0123456789abcdef")
_WRITTEN = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx"  # where dashes stand in an id


@dataclass(frozen=True, slots=True)
class NotAnId:
    """Too short, or with other characters than ids have."""


@dataclass(frozen=True, slots=True)
class Several:
    """It fits more than one."""

    some: str  # the first of them, as they are shown


def whole_id(text: str) -> UUID | None:
    """An id that was given whole, which need not be looked for."""
    digits = text.strip().lower().replace("-", "")
    return UUID(hex=digits) if len(digits) == _WHOLE and _DIGITS.issuperset(digits) else None


def looks_like_id(text: str) -> bool:
    """Return True if this could be an id or the end of one: enough digits, and dashes only at valid positions."""
    return _digits(text) is not None


def _digits(text: str) -> str | None:
    written = text.strip().lower()
    digits = written.replace("-", "")
    if len(digits) < SHORTEST or not _DIGITS.issuperset(digits):
        return None
    form = "".join("-" if one == "-" else "x" for one in written)
    # A date, 2026-01-18, has dashes elsewhere.
    is_end = "-" not in form or _WRITTEN.startswith(form) or _WRITTEN.endswith(form)
    return digits if is_end and len(digits) <= _WHOLE else None


async def find_id(
    database: Database, text: str, matching: Callable[[Tx, str], list[UUID]]
) -> UUID | NotAnId | Several | None:
    """The one that `matching` finds by these hexadecimal digits; None if it finds none."""
    digits = _digits(text)
    if digits is None:
        return NotAnId()
    found = await database.read(matching, digits)
    if len(found) > 1:
        more = " and more" if len(found) > _SHOWN else ""
        return Several(", ".join(short(identifier) for identifier in found[:_SHOWN]) + more)
    return found[0] if found else None
