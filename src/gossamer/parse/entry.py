"""One entry of a sitemap or feed, and how it comes together from tags and texts."""

import re
from dataclasses import dataclass
from functools import lru_cache
from html import unescape
from html.entities import html5

LONGEST_ADDRESS = 4_096
_LONGEST_TEXT = 65_536
_DEEPEST = 64
_REFERENCE = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_ATTRIBUTE = re.compile(r"""(?<![\w:-])(href|rel|ispermalink)\s*=\s*("[^"]*"|'[^']*')""", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Entry:
    """One listed address, as written: neither joined nor normalised."""

    url: str
    priority: float | None = None
    is_index: bool = False  # it names another sitemap, not a page


class Draft:
    """An entry being read: its tags and texts come one after the other, and may be wrong."""

    def __init__(self, prefix: str, name: str, fields: frozenset[str]) -> None:
        self.prefix = prefix
        self.name = name
        self.field = ""  # the one whose text is being read
        self._fields = fields
        self._open: list[tuple[str, str]] = []  # elements that are no fields: what stands in them is not ours
        self._said: list[str] = []
        self._length = 0
        self._values: dict[str, str] = {}

    def start(self, prefix: str, name: str, tag: str) -> None:
        empty = tag.endswith("/")
        if not self._open and name in self._fields and prefix == self.prefix:
            attributes = _attributes_of(tag) if " " in tag or "\n" in tag or "\t" in tag else {}
            href = attributes.get("href", "").strip()
            if href:
                if attributes.get("rel", "alternate").strip().lower() == "alternate":
                    self._values.setdefault(name, href)
            elif not empty and attributes.get("ispermalink", "").strip().lower() != "false":
                self.field = name
        elif not empty and "href" not in tag and len(self._open) < _DEEPEST:
            # A link has nothing inside, whether it is closed or not.
            self._open.append((prefix, name))

    def end(self, prefix: str, name: str) -> None:
        """Close the element and what was left open in it; one that was never opened is nobody's end."""
        if (prefix, name) in self._open:
            while self._open.pop() != (prefix, name):
                pass

    def say(self, text: str) -> None:
        if self.field:
            self._said.append(text)
            self._length += len(text)
            if self._length > _LONGEST_TEXT:
                self.forget_field()

    def forget_field(self) -> None:
        self.field, self._said, self._length = "", [], 0

    def end_field(self) -> None:
        if self.field:
            value = decoded("".join(self._said)).strip()
            if value and len(value) <= LONGEST_ADDRESS:
                self._values.setdefault(self.field, value)
            self.forget_field()

    def done(self) -> Entry | None:
        """The entry, if it names an address. A text that no tag has ended may be half of one, and is left out."""
        values = self._values
        url = values.get("loc") or values.get("link") or values.get("guid", "")
        return Entry(url, number_of(values.get("priority")), self.name == "sitemap") if url else None


@lru_cache(maxsize=256)
def name_of(tag: str) -> tuple[str, str]:
    """Prefix and local name, in lower case."""
    name = (tag.split(None, 1) or [""])[0].partition("/")[0].lower()
    prefix, _, local = name.rpartition(":")
    return prefix, local


def _attributes_of(tag: str) -> dict[str, str]:
    return {name.lower(): decoded(value[1:-1]) for name, value in _ATTRIBUTE.findall(tag)}


def decoded(text: str) -> str:
    """Character references resolved if they are whole: `&copy=1` in an address is a parameter, not a sign."""
    if "\0" in text:
        text = text.replace("\0", "")
    return _REFERENCE.sub(_character, text) if "&" in text else text


def _character(reference: re.Match[str]) -> str:
    written = reference[0]
    return unescape(written).replace("\0", "") if written[1] == "#" else html5.get(written[1:], written)


def number_of(text: str | None) -> float | None:
    """A priority, if it is one."""
    try:
        value = float((text or "").replace(",", "."))
    except ValueError:
        return None
    return value if 0 <= value <= 1 else None
