"""Rows users want, and what else a page yields."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

Value: TypeAlias = "str | int | float | bool | Sequence[Value] | Mapping[str, Value] | None"


@dataclass(frozen=True, slots=True)
class RecordKind:
    """A table of results: its columns in export order, the ones that make a row unique, the ones a diff watches."""

    name: str
    key: tuple[str, ...]
    columns: tuple[str, ...]
    watch: tuple[str, ...] = ()


class Record(NamedTuple):
    """One row of a kind. `identity` is unique per job and kind."""

    kind: str
    identity: tuple[str, ...]
    data: Mapping[str, Value]


class Follow(NamedTuple):
    """An address worth visiting next, in this site or another one of the job."""

    url: str
    step: str = "page"


class PageFile(NamedTuple):
    """Something of a page that is too large for a row, or not to be kept as long as one: a day, in blobs."""

    name: str  # of letters, unique for the page
    content: bytes = b""


class Harvest(NamedTuple):
    """Everything one page yielded.

    `links` are follows of which nothing is to be said but where they lead, on the same site: a page has hundreds.
    """

    records: tuple[Record, ...] = ()
    follows: tuple[Follow, ...] = ()
    files: tuple[PageFile, ...] = ()
    links: Sequence[str] = ()
