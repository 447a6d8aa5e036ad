"""From what a person types to the id that is meant: a whole one, one of its ends, or the beginning of what is shown."""

from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

from gossamer.model.ids import short
from gossamer.store.database import Database
from gossamer.store.tx import Tx

SHORTEST = 4
WRITTEN_IN = f"at least {SHORTEST} characters of an id, which are 0-9 and a-f, as shown by"  # what a hint says
_SHOWN = 4
_WHOLE = 32  # digits
_DIGITS = frozenset("0123456789abcdef")


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


async def find_id(
    database: Database, text: str, matching: Callable[[Tx, str], list[UUID]]
) -> UUID | NotAnId | Several | None:
    """The one that `matching` finds by these hexadecimal digits; None if it finds none."""
    digits = text.strip().lower().replace("-", "")
    if len(digits) < SHORTEST or not _DIGITS.issuperset(digits):
        return NotAnId()
    found = await database.read(matching, digits)
    if len(found) > 1:
        more = " and more" if len(found) > _SHOWN else ""
        return Several(", ".join(short(identifier) for identifier in found[:_SHOWN]) + more)
    return found[0] if found else None
