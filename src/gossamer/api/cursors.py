"""Where a page of a list ended, as a text that means nothing to anybody but us."""

from base64 import b64decode, urlsafe_b64encode
from uuid import UUID

from gossamer.errors import UserError


def cursor(place: bytes) -> str:
    return urlsafe_b64encode(place).decode().rstrip("=")


def place(text: str | None) -> bytes:
    """Nothing: the beginning."""
    if not text:
        return b""
    try:
        return b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except ValueError:
        raise _not_ours() from None


def id_place(text: str | None) -> UUID | None:
    at = place(text)
    if at and len(at) != 16:
        raise _not_ours()
    return UUID(bytes=at) if at else None


def _not_ours() -> UserError:
    return UserError("request.cursor", "This cursor is not one of ours.", hint="Take `next_cursor` of the last page.")
