"""Identifiers that sort by the time they were made (UUIDv7)."""

import os
import random
import threading
from datetime import datetime
from uuid import UUID

_SHORT = 8  # digits of the displayed form

_lock = threading.Lock()
_random = random.Random()  # seeded by the system; ids are names, not secrets
# A forked process would otherwise generate the same random ends as its siblings.
os.register_at_fork(after_in_child=_random.seed)
_last = 0


def new_id(now: datetime) -> UUID:
    """A UUIDv7 for `now`; within this process each one is greater than the one before."""
    global _last
    milliseconds = int(now.timestamp() * 1000)
    value = (milliseconds << 80) | _random.getrandbits(80)
    with _lock:
        # Set the fixed bits first: the comparison has to use the final value.
        value = _versioned(value)
        if value <= _last and _last >> 80 <= milliseconds + 1000:
            # Same millisecond, or a clock that stepped back a little: increment the random part.
            value = _versioned(_last + 1 + _random.getrandbits(32))
        _last = value
    return UUID(int=value)


def _versioned(value: int) -> int:
    value &= ~(0xF << 76)
    value |= 0x7 << 76
    value &= ~(0x3 << 62)
    return value | (0x2 << 62)


def short(identifier: UUID) -> str:
    """Return the id that people type: the random end of the id, because the beginning is only the time."""
    return identifier.hex[-_SHORT:]


def fits(identifier: UUID, digits: str) -> bool:
    """Return True if these digits are the beginning or end of an id, or the beginning of its displayed part."""
    whole = identifier.hex
    return whole.startswith(digits) or whole.endswith(digits) or whole[-_SHORT:].startswith(digits)
