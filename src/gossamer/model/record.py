"""Rows users want, and what else a page yields."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, TypeAlias

Value: TypeAlias = "str | int | float | bool | Sequence[Value] | Mapping[str, Value] | None"

# C0 but for tabs and line ends, DEL, C1: what steers a terminal, and what nobody can see.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
# A whole value without a space in it: "JavaScript: The Good Parts" is a title.
_PROGRAM = re.compile(r"[\x00-\x20]*(?:java|vb)script:\S*", re.IGNORECASE)


FIRST_STEP = "page"
"""The step of ordinary pages: those that were given, and those that links lead to."""

NOTHING_CARRIED: Mapping[str, Any] = MappingProxyType({})

CellKind: TypeAlias = Literal["text", "number", "decimal", "money", "time", "url", "value"]
Shown: TypeAlias = Literal["always", "with-client", "never"]


@dataclass(frozen=True, slots=True)
class SheetLooks:
    """Display options of a workbook's column, where its kind is not enough."""

    width: int = 0  # characters; 0: that of its kind
    is_day: bool = False  # text such as 2026-11-16, shown as a date
    words: tuple[tuple[str, str], ...] = ()  # values, and what people read instead
    separator: str = ""  # of values of which a cell may hold several
    colours: tuple[tuple[str, str], ...] = ()  # values, and the colours of their cells
    bar_to: float | None = None  # a bar in the cell shows how much of this a number is


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table. A number is whole, a decimal is not, money is in dollars.

    A time is text in ISO 8601, UTC: `2026-11-16T01:42:18Z`. A value is anything JSON can hold; in a file that holds
    only plain cells it is written as JSON. `shown` says when it is in a file for which no columns were named.
    """

    name: str
    kind: CellKind = "text"
    shown: Shown = "always"
    sheet: SheetLooks = SheetLooks()

    def in_words(self, value: str) -> str:
        """A value of this column as people read it."""
        if not self.sheet.words:
            return value
        words = dict(self.sheet.words)
        if not self.sheet.separator:
            return words.get(value, value)
        return ", ".join(words.get(one, one) for one in value.split(self.sheet.separator) if one)


@dataclass(frozen=True, slots=True)
class RecordKind:
    """A kind of result: its columns in export order, those that make a row unique, those a comparison watches."""

    name: str
    key: tuple[str, ...]
    columns: tuple[Column, ...]
    watch: tuple[str, ...] = ()
    concluded: bool = False  # not of single pages: worked out when the walk is over

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its columns."""
        return tuple(column.name for column in self.columns)


class Record(NamedTuple):
    """One row of a kind. `identity` is unique per job and kind."""

    kind: str
    identity: tuple[str, ...]
    data: Mapping[str, Value]


class Follow(NamedTuple):
    """An address worth visiting next, on this site or another one of the job.

    A follow of the first step with no other options is treated like any link: on the same site it is weighed
    against all other links, on another site it opens that site, which is then walked. Any other follow is
    always requested.
    """

    url: str
    step: str = FIRST_STEP
    rung: str = ""  # this one only; nothing: as the policy of the step says
    method: str = "GET"
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()  # `{secret}` in a value stands for the secret that `credential` names
    credential: str = ""  # the name of a secret: of a key that came with the job, or of GOSSAMER_SECRETS
    carry: Mapping[str, "Value"] = NOTHING_CARRIED  # facts for the harvest of the page, 4 KB at most
    identity: str = ""  # tells requests to one address apart: each is a page of its own

    @property
    def is_link(self) -> bool:
        """True if it has only a target and no further options."""
        return self[1:] == _LINK


_LINK = Follow("")[1:]


class PageFile(NamedTuple):
    """Something of a page that is too large for a row, or not to be kept as long as one: a day, in blobs."""

    name: str  # of letters, unique for the page
    content: bytes = b""


def without_controls(text: str) -> str:
    """A text without control characters. Lines and tabs stay."""
    if text.isprintable():
        return text
    return _CONTROL.sub(lambda found: " " if found[0].isspace() else "", text.replace("\r\n", "\n"))


def presentable(value: Value) -> Value:
    """A value of a page that may be shown anywhere: no control characters, no address that is a program."""
    match value:
        case str():
            return "" if _PROGRAM.fullmatch(value) else without_controls(value)
        case Mapping():
            return {without_controls(name): presentable(one) for name, one in value.items()}
        case Sequence():
            return [presentable(one) for one in value]
    return value


class Harvest(NamedTuple):
    """Everything one page yielded.

    `links` are follows of which nothing is to be said but where they lead, on the same site: a page has hundreds.
    """

    records: tuple[Record, ...] = ()
    follows: tuple[Follow, ...] = ()
    files: tuple[PageFile, ...] = ()
    links: Sequence[str] = ()
