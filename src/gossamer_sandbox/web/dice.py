"""Chance that repeats itself: everything about a sample site is drawn from dice thrown from its seed and its name."""

from hashlib import blake2b
from random import Random


def number(*parts: object) -> int:
    """A 64-bit number that depends on the parts alone, in every process and every version of Python."""
    digest = blake2b("\x1f".join(map(str, parts)).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big")


def dice(*parts: object) -> Random:
    """Dice that fall the same way for the same parts."""
    return Random(number(*parts))
