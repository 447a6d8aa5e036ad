"""Cursors of lists: the position at which a page ended, as a text that only this server can make.

It ends in a signature of its list, account and position, made with the server's secret: a cursor that
was forged, or that belongs to another list or account, is refused.
"""

from base64 import b64decode, urlsafe_b64encode
from hashlib import blake2b
from hmac import compare_digest
from typing import Annotated
from uuid import UUID

from fastapi import Query

from gossamer.errors import UserError

_MARK = 9  # bytes

NoCursor = Annotated[str | None, Query(include_in_schema=False)]
"""Parameter of lists without pages: a cursor sent to one belongs to another list and is refused."""


class Cursors:
    """Cursors of one account."""

    def __init__(self, secret: bytes, account: str) -> None:
        self._secret = secret
        self._account = account

    def cursor(self, of: str, place: bytes) -> str:
        return urlsafe_b64encode(place + self._mark(of, place)).decode().rstrip("=")

    def place(self, of: str, text: str | None) -> bytes:
        """Return the position at which to continue this list; empty at the beginning."""
        if not text:
            return b""
        try:
            whole = b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        except ValueError:
            raise _not_ours() from None
        at = whole[:-_MARK]
        if not at or not compare_digest(whole[-_MARK:], self._mark(of, at)):
            raise _not_ours()
        return at

    def id_place(self, of: str, text: str | None) -> UUID | None:
        at = self.place(of, text)
        return UUID(bytes=at) if at else None

    def _mark(self, of: str, at: bytes) -> bytes:
        said = b"\0".join((b"gossamer cursor", self._account.encode(), of.encode(), at))
        return blake2b(said, digest_size=_MARK, key=self._secret[:64]).digest()


def refuse(text: str | None) -> None:
    if text:
        raise _not_ours()


def _not_ours() -> UserError:
    return UserError("request.cursor", "This cursor is not one of ours.", hint="Take `next_cursor` of the last page.")
