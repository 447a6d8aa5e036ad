"""Structured data of a page: JSON-LD, microdata, RDFa and Open Graph, as values that JSON can hold.

Most blocks are plain JSON. The others are read once more by a reader that forgives what hands and templates do: raw
line breaks in texts, trailing and missing commas, comments, wrappers of HTML, JavaScript around the value, entities,
values in a row, quotes of the wrong kind, names without any.
"""

import json
import math
import re
import sys
from html import unescape
from typing import Any

from turbohtml import Document as Tree
from turbohtml import Element, MicrodataItem, RdfaItem, StructuredData, parse

from gossamer.model.record import Value

MOST_BLOCKS = 200
_LONGEST_JSON_LD = 2_000_000  # characters of one block
_DEEPEST_JSON_LD = 100  # levels; what is nested deeper was not written by a person
_MOST_VALUES = 50  # in a row, in one block
_LONGEST_NAME = 200

_TYPE = re.compile(r"\s*application/ld\+json\s*(?:;.*)?", re.IGNORECASE)
# What may stand wherever white space may: also what wraps a block, in HTML or in JavaScript.
_NOTHING = re.compile(r"(?:[\s\ufeff\u200b;]+|/\*.*?\*/|//[^\n]*|<!--|-->|<!\[CDATA\[|\]\]>)+", re.DOTALL)
_ASSIGNED = re.compile(r"(?:(?:var|let|const)\s+)?[A-Za-z_$][\w$.]{0,100}\s*=(?=\s*[{\[])")
_LITERAL = re.compile(r"[+-]?[\w.+-]+")
_NAME = re.compile(r"[A-Za-z_$@][\w$@.-]*(?::[\w$.-]+(?=\s*:))?")
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_ZEROS = re.compile(r"0\d")
_CONSTANTS = {
    "true": True, "false": False, "null": None, "none": None, "undefined": None, "nan": None, "infinity": None,
    "-infinity": None,
}  # fmt: skip
# Those of JSON, two of them where a character needs it, and those of JavaScript.
_ESCAPE = re.compile(
    r"\\(u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|u\{[0-9a-fA-F]{1,6}\}|x[0-9a-fA-F]{2}|\r\n|.)",
    re.DOTALL,
)
_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "0": "", "\n": "", "\r\n": ""}
_QUOTES = "\"'“”„"


class _Unreadable(Exception):
    """A block that makes no sense even so; the message says where."""


def read_json_ld(tree: Tree) -> tuple[list[Any], list[str]]:
    """The values of all blocks in their order, and a sentence for each block that could not be read."""
    values: list[Any] = []
    problems: list[str] = []
    blocks = [each.text for each in tree.find_all("script") if _TYPE.fullmatch(each.attr("type") or "")]
    for number, block in enumerate(blocks[:MOST_BLOCKS], start=1):
        try:
            values += _values_of(block)
        except _Unreadable as problem:
            problems.append(f"JSON-LD block {number} of {len(blocks)} could not be read: {problem}")
    if len(blocks) > MOST_BLOCKS:
        problems.append(f"only the first {MOST_BLOCKS} of {len(blocks)} JSON-LD blocks were read")
    return values, problems


def _values_of(block: str) -> list[Any]:
    if not block or block.isspace():
        return []
    if len(block) > _LONGEST_JSON_LD:
        raise _Unreadable(f"it is longer than {_LONGEST_JSON_LD:,} characters")
    try:
        # Not strict: line breaks and tabs in texts.
        return [json.loads(block, strict=False)]
    except (ValueError, RecursionError):
        pass
    try:
        return _Lenient(block).read()
    except _Unreadable:
        # Last of all: an entity may as well be meant in a text.
        if "&" not in block or (plain := unescape(block)) == block:
            raise
        return _Lenient(plain).read()


class _Lenient:
    """A reader of one block. Each character is looked at a bounded number of times."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def read(self) -> list[Any]:
        self._skip()
        if assigned := _ASSIGNED.match(self._text, self._at):
            self._at = assigned.end()
        found: list[Any] = []
        while len(found) < _MOST_VALUES:
            self._skip()
            if found and self._peek() == ",":
                self._at += 1
                self._skip()
            if self._at >= len(self._text):
                return found
            if self._peek() not in "{[":
                raise self._stuck("a value is expected")
            found.append(self._value(0))
        raise self._stuck("too many values follow each other")

    def _value(self, depth: int) -> Any:
        if depth > _DEEPEST_JSON_LD:
            raise self._stuck("it is nested too deep")
        self._skip()
        match self._peek():
            case "{":
                return self._object(depth)
            case "[":
                return self._array(depth)
            case quote if quote and quote in _QUOTES:
                return self._string()
        literal = _LITERAL.match(self._text, self._at)
        if literal is None:
            raise self._stuck("a value is expected")
        self._at = literal.end()
        if literal[0].lower() in _CONSTANTS:
            return _CONSTANTS[literal[0].lower()]
        if _NUMBER.fullmatch(literal[0]) is None:
            self._at = literal.start()
            raise self._stuck("a value is expected")
        # A number that begins with zeros is the name of something: GTINs and telephone numbers.
        return literal[0] if _ZEROS.match(literal[0]) else _json_number(literal[0])

    def _object(self, depth: int) -> dict[str, Any]:
        self._at += 1
        found: dict[str, Any] = {}
        while not self._closes("}"):
            name = self._name()
            found[name] = self._member(depth)
        return found

    def _member(self, depth: int) -> Any:
        self._skip()
        if self._peek() != ":":
            raise self._stuck("a colon is expected")
        self._at += 1
        self._skip()
        return None if self._peek() in (",", "}") else self._value(depth + 1)

    def _array(self, depth: int) -> list[Any]:
        self._at += 1
        found: list[Any] = []
        while not self._closes("]"):
            found.append(self._value(depth + 1))
        return found

    def _closes(self, bracket: str) -> bool:
        """Return True if an object or array ends here. Extra and missing commas are accepted."""
        while True:
            self._skip()
            if self._peek() != ",":
                break
            self._at += 1
        if not self._peek():
            raise self._stuck(f"it ends before a {bracket}")
        if self._peek() != bracket:
            return False
        self._at += 1
        return True

    def _name(self) -> str:
        if self._peek() in _QUOTES:
            return self._string()
        name = _NAME.match(self._text, self._at, self._at + _LONGEST_NAME)
        if name is None:
            raise self._stuck("a name is expected")
        self._at = name.end()
        return name[0]

    def _string(self) -> str:
        """Read a quoted text. An unescaped quote inside it is kept as text if no delimiter follows it."""
        text, start = self._text, self._at + 1
        opening = text[self._at]
        closing = {"“": "”", "„": "“"}.get(opening, opening)
        at = start
        while True:
            at = text.find(closing, at)
            if at < 0:
                raise self._stuck("a text does not end")
            if not _is_escaped(text, at) and self._may_end(at + 1):
                break
            at += 1
        self._at = at + 1
        said = text[start:at]
        return _ESCAPE.sub(_unescaped, said) if "\\" in said else said

    def _may_end(self, at: int) -> bool:
        after = _SPACES.match(self._text, at)
        end = after.end() if after else at
        following = self._text[end : end + 1]
        if following == ",":
            return _AFTER_COMMA.match(self._text, end + 1) is not None
        # A missing comma is forgiven only where the line ends, as hands forget it.
        return following in ("", ":", "}", "]", "/", "<") or (following in _QUOTES and "\n" in self._text[at:end])

    def _skip(self) -> None:
        nothing = _NOTHING.match(self._text, self._at)
        if nothing is not None:
            self._at = nothing.end()

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _stuck(self, why: str) -> _Unreadable:
        line = self._text.count("\n", 0, self._at) + 1
        return _Unreadable(f"{why} (line {line}, character {self._at - self._text.rfind(chr(10), 0, self._at)})")


_SPACES = re.compile(r"[\s\ufeff]*")
_AFTER_COMMA = re.compile(r"\s*(?:[\"'“„{\[\]}\d/+-]|(?:true|false|null)\b|[A-Za-z_@$][\w$@-]*\s*:|<!--|$)")


def _is_escaped(text: str, at: int) -> bool:
    slashes = 0
    while at - slashes > 0 and slashes < _LONGEST_NAME and text[at - slashes - 1] == "\\":
        slashes += 1
    return slashes % 2 == 1


def _unescaped(match: re.Match[str]) -> str:
    said = match[1]
    if len(said) == 1 or said == "\r\n":
        return _ESCAPES.get(said, said)
    if len(said) == 11:
        return chr(0x10000 + ((int(said[1:5], 16) & 0x3FF) << 10 | int(said[7:], 16) & 0x3FF))
    code = int(said[1:].strip("{}"), 16)
    return chr(code) if code <= sys.maxunicode else said


def _json_number(text: str) -> float | int:
    plain = text.removeprefix("+")
    return int(plain) if plain.lstrip("-").isdigit() and len(plain) < _LONGEST_NAME else float(plain)


_DEEPEST = 60  # levels that are kept; what is nested deeper was not written by a person
_MOST = 2_000  # entries of one list or object
_LONGEST = 100_000  # characters of one text
_MOST_ORPHANS = 50


def structured_data(tree: Tree, url: str) -> dict[str, Value]:
    """`json_ld`, `microdata`, `rdfa` and `open_graph`, each only where the page has some. Never raises.

    `unreadable` has a sentence for each block that is not among them because it makes no sense.
    """
    found = _read(tree, url)
    json_ld, unreadable = read_json_ld(tree)
    open_graph = found.opengraph if found else {}
    kinds = {
        "json_ld": json_ld,
        "microdata": [*(found.microdata if found else []), *_orphans(tree, url)],
        "rdfa": found.rdfa if found else [],
        "open_graph": {
            **{name: said for name, said in open_graph.items() if not name.startswith("twitter:")},
            **_product_metas(tree),
        },
        "unreadable": unreadable,
    }
    return {name: plain(value) for name, value in kinds.items() if value}


def _read(tree: Tree, url: str) -> StructuredData | None:
    for base in (url, None):
        try:
            return tree.structured_data(base)
        except ValueError:
            continue  # the page's own base is not a valid URL
        except RecursionError:
            return None  # items that contain themselves
    return None


def _product_metas(tree: Tree) -> dict[str, str]:
    """Return prices and the like, in a vocabulary separate from Open Graph; the first of each name."""
    found: dict[str, str] = {}
    for meta in tree.find_all("meta", limit=_MOST):
        name = (meta.attr("property") or meta.attr("name") or "").strip().lower()
        if name.startswith("product:") and (content := (meta.attr("content") or "").strip()):
            found.setdefault(name, content)
    return found


def _orphans(tree: Tree, url: str) -> list[MicrodataItem]:
    """Return microdata items marked as a property (`itemprop`) that have no parent item.

    Their product has no markup of its own.
    """
    found: list[MicrodataItem] = []
    items = tree.select("[itemprop][itemscope]")
    if not items:
        return found
    referred = {name for each in tree.select("[itemref]") for name in (each.attr("itemref") or "").split()}
    for item in items:
        above = [each for each in item.ancestors if isinstance(each, Element)]
        if len(found) == _MOST_ORPHANS or any(each.attr("itemscope") is not None for each in above):
            continue
        if not referred.isdisjoint(each.attr("id") for each in (item, *above)):
            continue
        source = item.html
        if len(source) <= _LONGEST:
            alone = parse(source, positions=False, scripting=True)
            for again in alone.select("[itemprop][itemscope]")[:1]:
                del again.attrs["itemprop"]
            read = _read(alone, url)
            found += read.microdata[:1] if read else []
    return found


def plain(value: Any, depth: int = 0) -> Value:
    """Convert a value to JSON, without the characters and numbers that databases reject."""
    if depth > _DEEPEST:
        return None
    match value:
        case bool() | int() | float() | None:
            return _number(value)
        case MicrodataItem() | RdfaItem():
            kept = {"type": value.type, "properties": value.properties}
            named = value.id if isinstance(value, MicrodataItem) else value.resource
            return plain({**kept, "id": named} if named else kept, depth)
        case dict():
            return {clean(str(name)): plain(one, depth + 1) for name, one in list(value.items())[:_MOST]}
        case list() | tuple():
            return [plain(one, depth + 1) for one in value[:_MOST]]
    return clean(str(value))


def _number(value: float | None) -> Value:
    """Return a number all JSON readers agree on: None for integers beyond 64 bits, infinity and NaN.

    Booleans and None are unchanged.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if abs(value) < 1 << 63 else None
    return value if math.isfinite(value) else None


def clean(text: str) -> str:
    """Text any database takes: JSON in a page may write characters that no page can hold itself."""
    text = text[:_LONGEST]
    if text.isascii():
        return text.replace("\0", "")
    return text.replace("\0", "").encode("utf-8", "replace").decode()
