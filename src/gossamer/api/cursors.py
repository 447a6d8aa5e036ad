"""Where a page of a list ended, as a text that means nothing to anybody but us.

It ends in a mark of its list and place, so that one that somebody made up, or that another list gave, is refused
instead of leading somewhere. That is no secret: whoever computes one gets what they may read anyway.
"""

from base64 import b64decode, urlsafe_b64encode
from hashlib import blake2b
from typing import Annotated
from uuid import UUID

from fastapi import Query

from gossamer.errors import UserError

_MARK = 6  # bytes

NoCursor = Annotated[str | None, Query(include_in_schema=False)]
"""Of a list that is given whole: none was ever given, so whoever sends one means another list."""


def cursor(of: str, place: bytes) -> str:
    return urlsafe_b64encode(place + _mark(of, place)).decode().rstrip("=")


def place(of: str, text: str | None) -> bytes:
    """Where to go on in this list. Nothing: at the beginning."""
    if not text:
        return b""
    try:
        whole = b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except ValueError:
        raise _not_ours() from None
    at = whole[:-_MARK]
    if not at or whole[-_MARK:] != _mark(of, at):
        raise _not_ours()
    return at


def id_place(of: str, text: str | None) -> UUID | None:
    at = place(of, text)
    return UUID(bytes=at) if at else None


def refuse(text: str | None) -> None:
    if text:
        raise _not_ours()


def _mark(of: str, at: bytes) -> bytes:
    return blake2b(at, digest_size=_MARK, person=of.encode()).digest()


def _not_ours() -> UserError:
    return UserError("request.cursor", "This cursor is not one of ours.", hint="Take `next_cursor` of the last page.")
