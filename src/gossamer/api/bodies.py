"""Limits on the size and the number of values of request bodies, checked while the bodies arrive.

Each piece is counted as it arrives: a body that is too large is refused before it has been read completely, and no
single step blocks other requests for long.
"""

import re
from collections import Counter

from gossamer.errors import UserError

KEYLESS = 16_384
"""Bytes of a body without an API key: enough for a login."""
MOST_KEYS = 20_000
"""Fields of all objects in a body together; a normal request has some dozens."""
MOST_VALUES = 120_000
"""Values in a body: two lists of 50,000 and other fields. Routes with longer lists allow more."""

MOST_NESTED = 20_000
"""Objects and lists in a body."""

_AT_ONCE = 8  # bodies of the largest size in memory, for all connections together
_OF_ONE = 2  # and for one account

# A zero character, or half of a pair of surrogates, as JSON writes them.
_NO_TEXT = re.compile(
    rb"\\u0000|\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])|(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F]"
)
_LONGEST_MARK = 12  # bytes that one match of the expression can span
_NO_STRUCTURE = bytes(set(range(256)) - set(b'"{}[],:'))


class Bodies:
    """Number of bytes of all request bodies in memory. A body counts until its request is answered."""

    def __init__(self, largest: int) -> None:
        self.largest = largest
        self.held = 0
        self._of: Counter[str] = Counter()

    def hold(self, account: str, size: int) -> None:
        if self._of[account] + size > _OF_ONE * self.largest:
            most = _OF_ONE * self.largest
            detail = f"This account is sending more than {most:,} bytes at the same time."
            raise UserError("request.busy", detail, hint="Try again in a few seconds.")
        if self.held + size > _AT_ONCE * self.largest:
            detail = "The server is handling as many large requests as it can."
            raise UserError("request.busy", detail, hint="Try again in a few seconds.")
        self.held += size
        self._of[account] += size

    def release(self, account: str, size: int) -> None:
        self.held -= size
        self._of[account] -= size
        if self._of[account] <= 0:
            del self._of[account]


class Body:
    """One body. Raises a `UserError` if it is invalid."""

    def __init__(self, bodies: Bodies, announced: int) -> None:
        self._bodies = bodies
        self._announced = announced
        self._shape = Shape(MOST_VALUES)
        self._account = ""
        self._seen = 0
        self._tail = b""

    def open(self, account: str, longest_list: int = 0) -> None:
        """Set the sender and the limits of a body; refuse it unread if its announced length is too large."""
        self._account = account
        self._shape = Shape(most_values(longest_list))
        self._refuse_large(self._announced)

    def take(self, piece: bytes, *, more: bool) -> None:
        self._refuse_large(self._seen + len(piece))
        self._bodies.hold(self._account, len(piece))
        self._seen += len(piece)
        if _has_no_text(self._tail, piece, more=more):
            raise no_text()
        self._tail = (self._tail + piece)[-2 * _LONGEST_MARK :]
        self._shape.take(piece)

    def release(self) -> None:
        if self._seen:
            self._bodies.release(self._account, self._seen)
            self._seen = 0

    def _refuse_large(self, size: int) -> None:
        most = self._bodies.largest if self._account else min(KEYLESS, self._bodies.largest)
        if size > most:
            detail = f"A request may have {most:,} bytes, this one has more."
            raise UserError("request.too_large", detail, hint="Send it in parts.")


class Shape:
    """Counts the fields and values of JSON that arrives in pieces."""

    def __init__(self, most_values: int) -> None:
        self._most_values = most_values
        self.keys = 0
        self.values = 0
        self.nested = 0
        self._in_text = False
        self._rest = b""  # a backslash whose character has not come yet

    def take(self, piece: bytes) -> None:
        piece = self._rest + piece
        slashes = len(piece) - len(piece.rstrip(b"\\"))
        self._rest = b"\\" if slashes % 2 else b""
        if self._rest:
            piece = piece[:-1]
        # Without what is escaped, a quotation mark begins a text or ends one.
        plain = piece.replace(b"\\\\", b"").replace(b'\\"', b"").translate(None, _NO_STRUCTURE)
        parts = plain.split(b'"')
        outside = b"".join(parts[1 if self._in_text else 0 :: 2])
        if len(parts) % 2 == 0:
            self._in_text = not self._in_text
        self.keys += outside.count(b":")
        self.nested += outside.count(b"[") + outside.count(b"{")
        self.values += outside.count(b",")
        for found, most, what in (
            (self.keys, MOST_KEYS, "fields"),
            (self.values, self._most_values, "values"),
            (self.nested, MOST_NESTED, "objects and lists"),
        ):
            if found > most:
                detail = f"The body has more than {most:,} {what}."
                raise UserError("request.invalid", detail, hint="Send it in parts, or without what is not needed.")


def most_values(longest_list: int) -> int:
    """Values that a body may have where lists of this length are taken."""
    return max(MOST_VALUES, longest_list + MOST_VALUES // 2)


def no_text() -> UserError:
    detail = "The request has zero characters, or halves of characters, in it."
    return UserError("request.invalid", detail, hint="Send valid text.")


def _has_no_text(tail: bytes, piece: bytes, *, more: bool) -> bool:
    """Return True if an invalid character begins in this piece, or in the unfinished end of the piece before.

    Invalid are the zero character and halves of surrogate pairs, as JSON escapes them.
    """
    if b"\\u" not in piece and b"\\u" not in tail and not tail.endswith(b"\\"):
        return False
    text = tail + piece
    since = max(0, len(tail) - _LONGEST_MARK)
    until = len(text) - (_LONGEST_MARK if more else 0)
    return any(since <= found.start() < until for found in _NO_TEXT.finditer(text))
