"""Passwords as argon2 digests. Digesting is slow on purpose: call it in a thread."""

from functools import cache

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from gossamer.errors import UserError

SHORTEST, LONGEST = 12, 1_000

_hasher = PasswordHasher()


def check(password: str) -> None:
    if not SHORTEST <= len(password) <= LONGEST:
        raise UserError(
            "account.password",
            f"A password has {SHORTEST} to {LONGEST:,} characters, this one has {len(password):,}.",
            hint="Take a sentence that only you would say.",
        )


def digest(password: str) -> str:
    check(password)
    return _hasher.hash(password)


def fits(password: str, kept: str | None) -> bool:
    """Return True if `password` matches the stored digest.

    An unknown user (`kept` is None) takes as long as a known one.
    """
    try:
        _hasher.verify(kept or _unused_digest(), password[:LONGEST])
    except (VerificationError, InvalidHashError):
        return False
    return kept is not None


@cache
def _unused_digest() -> str:
    return _hasher.hash("a password that nobody has")
