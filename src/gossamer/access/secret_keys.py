"""API keys: made here, shown once, kept as a digest."""

import secrets
from dataclasses import dataclass
from hashlib import sha256

_PREFIX = "gsk_"
_RANDOM = 32  # bytes: more than anybody can guess, so that a plain digest is enough
_SHOWN = 12
_LONGEST = 200


@dataclass(frozen=True, slots=True)
class NewKey:
    """A key in the only moment at which it is known."""

    text: str

    @property
    def start(self) -> str:
        """Enough to tell it from others, and of no use to anybody."""
        return self.text[:_SHOWN]

    @property
    def digest(self) -> bytes:
        return digest_of(self.text)


def make_key() -> NewKey:
    return NewKey(_PREFIX + secrets.token_urlsafe(_RANDOM))


def looks_like_key(text: str) -> bool:
    return text.startswith(_PREFIX) and len(text) <= _LONGEST


def digest_of(text: str) -> bytes:
    return sha256(text.encode("utf-8", "surrogateescape")).digest()
