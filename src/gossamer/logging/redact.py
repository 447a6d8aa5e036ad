"""Before anything is written down: from whatever was logged to plain values without secrets."""

import re
import reprlib
import traceback
from collections.abc import Callable, Iterable, Mapping
from datetime import date, timedelta
from enum import Enum
from functools import lru_cache
from pathlib import PurePath
from typing import Any
from urllib.parse import quote, quote_plus
from uuid import UUID

from gossamer.model.record import Value

HIDDEN = "[redacted]"

_SHORTEST_SECRET = 4  # a shorter one would be found inside ordinary words
_LONGEST_READ = 64 * 1024
_LONGEST_KEPT = 8 * 1024
_DEEPEST = 6
_MOST_ITEMS = 100

_SECRET_WORDS = frozenset(
    {"key", "apikey", "token", "accesstoken", "password", "passwd", "passphrase", "pwd", "secret", "secretkey"}
    | {"authorization", "auth", "cookie", "credential", "signature"}
)
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_USER_INFO = re.compile(r"([a-z][a-z0-9+.-]{0,20}://)[^\s/?#\"'<>]*@", re.IGNORECASE)
_BEARER = re.compile(r"\b(bearer)\s+[A-Za-z0-9._~+/=-]{16,}", re.IGNORECASE)
_SIGNING_KEY = re.compile(r"whsec_[A-Za-z0-9+/=_-]+")
_COOKIES = re.compile(r"\b((?:set-)?cookie)(\s*[:=]\s*)[^\r\n\"']+", re.IGNORECASE)
_LABEL = re.compile(
    r"(?P<name>[A-Za-z][A-Za-z0-9_.-]{0,63})(?P<between>[\"']?\s{0,2}(?:=|:|%3D)\s{0,2}[\"']?)", re.IGNORECASE
)
_LABELLED = re.compile(r"(?:(?:bearer|basic|token)\s+)?[^\s&,;\"'<>()\[\]{}]+", re.IGNORECASE)

_REPR = reprlib.Repr()  # unlike repr(), survives objects whose own __repr__ fails
_REPR.maxother = _REPR.maxstring = _LONGEST_KEPT


@lru_cache(maxsize=4_096)
def names_a_secret(name: str) -> bool:
    """Return True if a field, header or parameter of this name holds a secret."""
    return any(word.lower().removesuffix("s") in _SECRET_WORDS for word in _WORDS.findall(name))


class Redactor:
    """Removes secrets from text: by known patterns, and by the literal values of this installation."""

    def __init__(self) -> None:
        self._values: frozenset[str] = frozenset()
        self._known: re.Pattern[str] | None = None

    def learn(self, secrets: Iterable[str]) -> None:
        """Hide these values wherever they appear, also as they are written in an address."""
        kept = [secret for secret in secrets if len(secret) >= _SHORTEST_SECRET]
        self._values |= {
            spelling for secret in kept for spelling in (secret, quote(secret, safe=""), quote_plus(secret))
        }
        if self._values:
            # Longest first, or a secret that begins another one would leave the rest of it standing.
            longest_first = sorted(self._values, key=lambda value: (-len(value), value))
            self._known = re.compile("|".join(map(re.escape, longest_first)))

    def text(self, text: str) -> str:
        """The text without secrets, at most 8 KB of it."""
        text = text[:_LONGEST_READ]
        if self._known is not None:
            text = self._known.sub(HIDDEN, text)
        if "@" in text:
            text = _USER_INFO.sub(rf"\1{HIDDEN}@", text)
        if ":" in text or "=" in text or "%3" in text:
            text = _COOKIES.sub(rf"\1\2{HIDDEN}", text)
            text = _hide_labelled(text)
        if "earer" in text or "EARER" in text:
            text = _BEARER.sub(rf"\1 {HIDDEN}", text)
        if "whsec_" in text:
            text = _SIGNING_KEY.sub(HIDDEN, text)
        if not text.isascii():
            text = text.encode("utf-8", "backslashreplace").decode()  # halves of characters no file can hold
        return text if len(text) <= _LONGEST_KEPT else text[: _LONGEST_KEPT - 1] + "…"

    def plain(self, value: object, name: str = "", depth: int = 0) -> Value:
        """The value as JSON could hold it, without secrets; all of it hidden where the name alone says so."""
        if value is None or isinstance(value, bool):
            return value
        if names_a_secret(name) and value != "":
            return HIDDEN
        if isinstance(value, Mapping):
            return self._mapping(value, depth)
        if isinstance(value, (list, tuple, set, frozenset)):
            return self._items(value, depth)
        if isinstance(value, (int, float)):
            return _number(value)
        return self.text(_as_text(value))

    def _mapping(self, value: Mapping[object, object], depth: int) -> Value:
        if depth >= _DEEPEST:
            return "…"
        items = list(value.items())[:_MOST_ITEMS]
        return {self.text(str(key)): self.plain(inner, str(key), depth + 1) for key, inner in items}

    def _items(self, value: Iterable[object], depth: int) -> Value:
        if depth >= _DEEPEST:
            return "…"
        return [self.plain(inner, "", depth + 1) for inner in list(value)[:_MOST_ITEMS]]


def _hide_labelled(text: str) -> str:
    """Hide what follows the name of a secret. Labels are looked at one by one: `Error: token=x` has two."""
    pieces: list[str] = []
    done = 0
    for label in _LABEL.finditer(text):
        if label.start() < done or not _labels_a_secret(label["name"], label["between"]):
            continue
        if value := _LABELLED.match(text, label.end()):
            pieces += [text[done : label.end()], HIDDEN]
            done = value.end()
    return "".join([*pieces, text[done:]])


def _labels_a_secret(name: str, between: str) -> bool:
    # "key: value" is how people write about anything at all.
    return names_a_secret(name) and not (":" in between and name.lower() in ("key", "keys"))


def _number(value: float) -> Value:
    # Subclasses (IntEnum) print differently from what they count, and JSON knows no NaN or infinity.
    if isinstance(value, int):
        return int(value)
    return float(value) if value - value == 0 else str(value)


def _as_text(value: object) -> str:
    for kind, spell in _SPELLINGS:
        if isinstance(value, kind):
            return spell(value)
    return _REPR.repr(value)


_SPELLINGS: tuple[tuple[Any, Callable[[Any], str]], ...] = (
    (Enum, lambda value: value.name),
    (str, str),
    ((UUID, PurePath), str),
    (bytes, lambda value: value[:_LONGEST_READ].decode("utf-8", "backslashreplace")),
    (date, lambda value: value.isoformat()),  # a datetime is one too
    (timedelta, lambda value: f"{value.total_seconds():.12g}s"),
    (BaseException, lambda value: "".join(traceback.format_exception_only(value)).strip()),
)

# One per process, as logging itself is.
redactor = Redactor()
