"""Results of pages: records with their kinds and columns, follows and files."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, TypeAlias

Value: TypeAlias = "str | int | float | bool | Sequence[Value] | Mapping[str, Value] | None"

# C0 except tabs and line ends, DEL, C1: invisible characters and terminal control.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
# The value must have no spaces: "JavaScript: The Good Parts" is a title.
_PROGRAM = re.compile(r"[\x00-\x20]*(?:java|vb)script:\S*", re.IGNORECASE)


FIRST_STEP = "page"
"""The step of ordinary pages: those given by the user and those found by links."""

NOTHING_CARRIED: Mapping[str, Any] = MappingProxyType({})

CellKind: TypeAlias = Literal["text", "number", "decimal", "money", "time", "url", "value"]
Shown: TypeAlias = Literal["always", "with-client", "never"]


@dataclass(frozen=True, slots=True)
class SheetLooks:
    """Display options of a workbook's column, where its kind is not enough."""

    width: int = 0  # characters; 0: the default of its kind
    is_day: bool = False  # text such as 2026-11-16, shown as a date
    words: tuple[tuple[str, str], ...] = ()  # display texts of values
    separator: str = ""  # between several values in one cell
    colours: tuple[tuple[str, str], ...] = ()  # cell colours of values
    bar_to: float | None = None  # maximum of the bar shown in the cell


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table. A number is whole, a decimal is not, money is in dollars.

    A time is text in ISO 8601, UTC: `2026-11-16T01:42:18Z`. A value is any JSON value, written as JSON in files with
    plain cells. `shown` decides if the column is in files for which no columns were requested.
    """

    name: str
    kind: CellKind = "text"
    shown: Shown = "always"
    sheet: SheetLooks = SheetLooks()

    def in_words(self, value: str) -> str:
        """Return a value of this column as display text."""
        if not self.sheet.words:
            return value
        words = dict(self.sheet.words)
        if not self.sheet.separator:
            return words.get(value, value)
        return ", ".join(words.get(one, one) for one in value.split(self.sheet.separator) if one)


@dataclass(frozen=True, slots=True)
class RecordKind:
    """A kind of result: its columns in export order, its unique columns, and those a comparison watches."""

    name: str
    key: tuple[str, ...]
    columns: tuple[Column, ...]
    watch: tuple[str, ...] = ()
    concluded: bool = False  # computed after the crawl instead of from single pages

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
    """A URL to visit next, on this site or another one of the job.

    A follow of the first step without options is treated like any link: on the same site it competes with all other
    links, on another site it opens that site for crawling. Any other follow is always requested.
    """

    url: str
    step: str = FIRST_STEP
    rung: str = ""  # only this rung; "": by the policy of the step
    method: str = "GET"
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()  # `{secret}` in a value stands for the secret that `credential` names
    credential: str = ""  # the name of a secret: of a key that came with the job, or of GOSSAMER_SECRETS
    carry: Mapping[str, "Value"] = NOTHING_CARRIED  # facts for the harvest of the page, 4 KB at most
    identity: str = ""  # distinguishes requests to the same URL: each is a page of its own

    @property
    def is_link(self) -> bool:
        """True if it has only a target and no further options."""
        return self[1:] == _LINK


_LINK = Follow("")[1:]


class PageFile(NamedTuple):
    """Content of a page stored in blobs for a day, because it is too large for a row or has a shorter retention."""

    name: str  # of letters, unique for the page
    content: bytes = b""


def without_controls(text: str) -> str:
    """Remove control characters, except line ends and tabs."""
    if text.isprintable():
        return text
    return _CONTROL.sub(lambda found: " " if found[0].isspace() else "", text.replace("\r\n", "\n"))


def escaped(text: str) -> str:
    """A text on one line: line breaks, terminal codes and invisible characters are spelled out."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def presentable(value: Value) -> Value:
    """Make a value from a page safe to display: no control characters, no `javascript:` URLs."""
    match value:
        case str():
            return "" if _PROGRAM.fullmatch(value) else without_controls(value)
        case Mapping():
            return {without_controls(name): presentable(one) for name, one in value.items()}
        case Sequence():
            return [presentable(one) for one in value]
    return value


class Harvest(NamedTuple):
    """Everything that one page yielded. `links` are plain follows on the same site: a page may have hundreds."""

    records: tuple[Record, ...] = ()
    follows: tuple[Follow, ...] = ()
    files: tuple[PageFile, ...] = ()
    links: Sequence[str] = ()
