"""What an export is made of: a table of a job, streamed from the database a bounded number of rows at a time."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

from gossamer.errors import UserError
from gossamer.ledger.prices import PriceList
from gossamer.model.job import Job
from gossamer.store.database import Database

AT_ONCE = 5_000  # rows of one read, and of one batch at most

Kind: TypeAlias = Literal["text", "number", "decimal", "money", "time", "url", "value"]
Cell: TypeAlias = "str | int | float | None"
Line: TypeAlias = Sequence[Any]
Lines: TypeAlias = AsyncGenerator[list[Line], None]


@dataclass(frozen=True, slots=True)
class Column:
    """One column. A number is whole, a decimal is not, money is dollars.

    A time is text in ISO 8601, UTC: `2026-11-16T01:42:18Z`. A value is whatever JSON can hold; in a file that holds
    only plain cells it is written as JSON.
    """

    name: str
    kind: Kind = "text"


@dataclass(frozen=True, slots=True)
class Asked:
    """Which part of a table of a job somebody wants."""

    job: Job
    columns: tuple[Column, ...]  # in this order, one cell each in every line
    only: str = ""  # name of one of the table's filters
    order: tuple[str, ...] = ()  # columns to sort by within a domain, where the format needs another order
    since: Job | None = None  # an earlier job to compare with
    excluded: frozenset[str] = frozenset()  # sites, or domains with all their sites, that shall not be in it
    domains: frozenset[str] = frozenset()  # the only ones of interest, likewise; none: all
    prices: PriceList | None = None  # what requests cost here; None: nothing is to be said of costs
    told: Callable[[int], None] | None = field(
        default=None, compare=False
    )  # hears how far it is before there are lines


@dataclass(frozen=True, slots=True)
class Looks:
    """How a file is written, whatever is in it."""

    bom: bool = False
    raw: bool = False  # formulas are left as they are
    costs: bool = True  # a workbook says what the job has cost
    title: str = ""  # of a workbook; none: the job's name
    client: str = ""  # whom it is for, as it calls them; none: their domains alone


Stream: TypeAlias = Callable[[Database, Asked], Lines]
Count: TypeAlias = Callable[[Database, Asked], Awaitable[int]]
Workbook: TypeAlias = Callable[[Path, Database, Asked, Looks], Awaitable[int]]


@dataclass(frozen=True, slots=True)
class Table:
    """One type of export."""

    name: str
    columns: tuple[Column, ...]  # all there are
    lines: Stream
    count: Count  # how many lines there will be, as far as is quick to say: for progress only
    usual: tuple[str, ...] = ()  # those one gets without asking; none: all
    of_client: tuple[str, ...] = ()  # those that follow them where the job was given a client's domain
    nested: tuple[str, ...] = ()  # columns by which JSON is keyed, outermost first; none: a list of objects
    renamed: dict[str, str] = field(default_factory=dict)  # columns that are called otherwise in nested JSON
    filters: tuple[str, ...] = ()
    workbook: Workbook | None = None  # writes XLSX itself, with several sheets, and says how many rows it has
    file_name: str = ""  # what the file is called instead of the table's name

    def choose(self, names: Sequence[str] = ()) -> tuple[Column, ...]:
        """The columns of these names in this order, or the usual ones."""
        known = {column.name: column for column in self.columns}
        wanted = names or self.usual or tuple(known)
        missing = next((name for name in wanted if name not in known), None)
        if missing is not None:
            raise UserError(
                "export.column",
                f"{missing!r} is no column of {self.name}.",
                hint=f"There are {', '.join(known)}.",
            )
        return tuple(known[name] for name in dict.fromkeys(wanted))
