"""A recipe: everything the rest of the program asks about one kind of job, as one value.

Importing this module, and the folder of a recipe, loads no library. The heavy parts of a recipe (its parameters, its
harvest, its tables) may be named as "package.module:NAME"; they are imported when they are first read.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeAlias, TypeVar, overload

from gossamer.errors import UserError
from gossamer.model.job import Given as Given  # re-exported, as the next two: with these a recipe is declared
from gossamer.model.job import Job
from gossamer.model.record import Column as Column
from gossamer.model.record import RecordKind as RecordKind
from gossamer.model.record import SheetLooks as SheetLooks
from gossamer.model.registry import Registry, resolve

if TYPE_CHECKING:
    from pydantic import BaseModel

    from gossamer.billing.prices import PriceList
    from gossamer.db.database import Database
    from gossamer.model.recipe import Bound
    from gossamer.recipes.overview import FrontSheet, Overview, PageSummary, ScreenSummary, SummaryAnswer

T = TypeVar("T")

AT_ONCE = 5_000  # rows of one read, and of one batch at most

Cell: TypeAlias = "str | int | float | None"
Line: TypeAlias = Sequence[Any]
Lines: TypeAlias = AsyncGenerator[list[Line], None]


@dataclass(frozen=True, slots=True)
class Nouns:
    """The words, in the singular, for one input of a job and for one of its results."""

    given: str
    found: str

    def count_found(self, count: int) -> str:
        """`1,204 matches`."""
        return f"{count:,} {self.found if count == 1 else plural_form(self.found)}"


def plural_form(noun: str) -> str:
    """The English plural of a regular noun: matches, pages, entries."""
    if noun.endswith(("ch", "sh", "s", "x", "z")):
        return noun + "es"
    return noun[:-1] + "ies" if noun[-1:] == "y" and noun[-2:-1] not in "aeiou" else noun + "s"


@dataclass(frozen=True, slots=True)
class Keep:
    """Retention rules of results after the end of a job."""

    days: int | None = None  # None: as long as the operator's setting says
    whole_job: bool = False  # the job is deleted with its results, at once when they are due


@dataclass(frozen=True, slots=True)
class AutomaticFile:
    """A file made when a job is completed. `{job}` in its name is the short id of the job."""

    table: str
    format: str
    name: str
    if_param: str = ""  # only for jobs whose parameter of this name is set


@dataclass(frozen=True, slots=True)
class Option:
    """An option of a recipe's command.

    It gives a parameter of the recipe, unless `param` is empty: then it is for the command's `read` or `request`. One
    whose default is False is a switch; one that may be repeated is a list.
    """

    flag: str
    help: str
    param: str = ""
    type: type = str
    default: Any = None
    metavar: str | None = None
    least: float | None = None
    most: float | None = None
    repeated: bool = False
    choices: tuple[str, ...] = ()  # offered by the shell; of an option that is repeated, several with commas


@dataclass(frozen=True, slots=True)
class Typed:
    """The parameters that were typed in another way than by one option each, and what is said about them."""

    params: Mapping[str, Any]
    said: tuple[str, ...] = ()
    skipped: int = 0  # lines of lists that are not valid


@dataclass(frozen=True, slots=True)
class Command:
    """The command that makes a job of a recipe: `("job", "run")` is `gossamer job run`.

    Options that all such commands have (`--name`, `--mode`, limits ...) are added. Where one of them shall stand
    between the recipe's own in the help, its flag is written there.
    """

    path: tuple[str, ...]
    help: str  # its first sentence is the short form
    options: tuple[Option | str, ...] = ()
    # "package.module:NAME" of what makes parameters of the values of options, by flag: (values) -> Typed.
    read: str = ""
    # The same for a recipe that is given pages: (values, their list, the rungs configured here) -> JobRequest.
    request: str = ""

    @property
    def name(self) -> str:
        """The name as typed after `gossamer`."""
        return " ".join(self.path)

    @property
    def own(self) -> tuple[Option, ...]:
        """The options that are parameters of the recipe."""
        return tuple(one for one in self.options if isinstance(one, Option))

    def flag_of(self, param: str) -> str:
        """The option that gives a parameter: `--client-domain` for `client_domains`."""
        return next((one.flag for one in self.own if one.param == param), default_flag(param))


def default_flag(param: str) -> str:
    """The option that gives a parameter, unless the command of its recipe says otherwise."""
    return "--" + param.replace("_", "-")


@dataclass(frozen=True, slots=True)
class TableQuery:
    """The part of a table of a job that is wanted."""

    job: Job
    columns: tuple[Column, ...]  # in this order, one cell each in every line
    only: str = ""  # name of one of the table's filters
    order: tuple[str, ...] = ()  # columns to sort by within a domain, where the format needs another order
    since: Job | None = None  # an earlier job to compare with
    excluded: frozenset[str] = frozenset()  # sites, or domains with all their sites, that shall not be in it
    domains: frozenset[str] = frozenset()  # the only ones of interest, likewise; none: all
    prices: "PriceList | None" = None  # what requests cost here; None: nothing is said of costs
    told: Callable[[int], None] | None = field(
        default=None, compare=False
    )  # called with the progress made before there are lines


@dataclass(frozen=True, slots=True)
class Looks:
    """Options of a file's format, independent of its table."""

    bom: bool = False
    raw: bool = False  # formulas are left as they are
    costs: bool = True  # a workbook says what the job has cost
    title: str = ""  # of a workbook; none: the job's name
    client: str = ""  # the name of the client it is for; none: only the client's domains


@dataclass(frozen=True, slots=True)
class ScreenColumn:
    """A column of a table on the terminal."""

    title: str
    columns: tuple[str, ...]  # the first of them that has a value
    most: int  # characters it may take
    least: int  # and must have
    right: bool = False
    counted: bool = False  # a number, as 1,204
    in_words: bool = False  # as people read the values of the column
    path_only: bool = False  # of an address, what follows the name of the host
    if_any: bool = False  # only where a row has a value
    room: int = 0  # only on a terminal of so many columns


@dataclass(frozen=True, slots=True)
class Condition:
    """A column by whose values the rows on the terminal can be chosen, and the option for that."""

    column: str
    help: str
    check: "Callable[[Job, str], str]"  # the value as rows have it, of what was typed, or a UserError
    metavar: str = ""
    switch: tuple[str, str, str] | None = None  # another option for one of the values: it, the value, its help


@dataclass(frozen=True, slots=True)
class Screen:
    """Layout of a table's rows on the terminal."""

    columns: tuple[ScreenColumn, ...]
    context: tuple[str, str] | None = None  # a text next to the row or below it, and the words to be marked in it
    conditions: tuple[Condition, ...] = ()
    last: str = ""  # rows that have a value in this column come after all others
    # A row in one line: what is said of it, a text, and the words in that text it is about.
    line: "Callable[[Mapping[str, Any]], tuple[str, str, str]] | None" = None

    @property
    def names(self) -> frozenset[str]:
        """The columns of the table that it shows."""
        return frozenset((*(name for one in self.columns for name in one.columns), *(self.context or ())))


Stream: TypeAlias = "Callable[[Database, TableQuery], Lines]"
Count: TypeAlias = "Callable[[Database, TableQuery], Awaitable[int]]"
Also: TypeAlias = Callable[[list[Line]], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Table:
    """One table of a job that can be exported: its lines are streamed, a bounded number of rows at a time."""

    name: str
    columns: tuple[Column, ...]  # all there are
    lines: Stream
    count: Count  # how many lines there will be, as far as is quick to say: for progress only
    client_param: str = ""  # the parameter that adds the columns shown with a client
    nested: tuple[str, ...] = ()  # columns by which JSON is keyed, outermost first; none: a list of objects
    renamed: Mapping[str, str] = field(default_factory=dict)  # columns that have another name in nested JSON
    filters: tuple[str, ...] = ()
    book: "Book | None" = None  # the workbook of several sheets that is made of it; none: one plain sheet
    file_name: str = ""  # the name of its files; none: that of the table
    noun: str = ""  # of one of its lines; none: the table's name in the singular
    # Why a filter means nothing for a job and the earlier one it is compared with, if it does not.
    refuse: "Callable[[str, Job, Job | None], UserError | None] | None" = None

    def choose(self, names: Sequence[str] = ()) -> tuple[Column, ...]:
        """The columns of these names in this order, or those that are always shown."""
        known = {column.name: column for column in self.columns}
        wanted = names or [column.name for column in self.columns if column.shown == "always"]
        missing = next((name for name in wanted if name not in known), None)
        if missing is not None:
            raise UserError(
                "export.column",
                f"{missing!r} is not a column of {self.name}.",
                hint=f"There are {', '.join(known)}.",
            )
        return tuple(known[name] for name in dict.fromkeys(wanted))

    def usual(self, params: Mapping[str, Any]) -> tuple[Column, ...]:
        """The columns of a job with these parameters for which none were named."""
        usual = self.choose()
        if self.client_param and params.get(self.client_param):
            usual += tuple(column for column in self.columns if column.shown == "with-client")
        return usual


class Survey(Protocol):
    """One reading of everything a job has found, of which its summary, its report and its workbook are made.

    All of these are of the same moment, and agree with each other though the job may be at work.
    """

    async def read(self, also: Also | None = None) -> "Overview":
        """Read all rows once; `also` is given those of the recipe's first table, with all columns, as they come."""
        ...

    def ranked(self, columns: tuple[Column, ...]) -> Lines:
        """The lines of the table that is ranked, once all rows are read."""
        ...

    @property
    def ranked_count(self) -> int:
        """Return the number of ranked lines."""
        ...

    def screen(self) -> "ScreenSummary":
        """Return the summary for the terminal."""
        ...

    def page(self, client: str = "") -> "PageSummary":
        """Return the summary for the report page; `client` is the name of the client it is for."""
        ...

    def front(self, client: str = "", only: str = "") -> "FrontSheet":
        """Return the contents of the workbook's first sheet; `only` is the filter of its rows."""
        ...

    def answer(self) -> "SummaryAnswer":
        """Return the summary for API answers."""
        ...


@dataclass(frozen=True, slots=True)
class BookSheet:
    """A sheet of a workbook that shows one table of the recipe."""

    table: str
    title: str
    columns: tuple[Column, ...]
    frozen: int = 1  # columns that stay in sight
    colour: str = ""  # of its tab; none: the usual one
    only_compared: tuple[str, ...] = ()  # columns that say nothing unless an earlier job is compared with


@dataclass(frozen=True, slots=True)
class Book:
    """A workbook: a summary, the ranked table, all rows, what it cost, and what failed."""

    survey: "Callable[[Database, TableQuery], Survey]"
    rows: BookSheet
    ranked: BookSheet
    filtered_by: str = ""  # the column of the rows whose value is the name of a filter


def typed_params(command: Command, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters set by a command's options; options at their default are omitted."""
    given = ((one.param, values[one.flag], one.default) for one in command.own if one.param)
    return {param: value for param, value, default in given if value not in (None, default, [], ())}


class Part(Generic[T]):
    """A field that is given as a value, or as its "package.module:NAME" and imported when it is first read."""

    def __init__(self, *default: T) -> None:
        self._default = default

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, one: None, owner: type) -> T: ...
    @overload
    def __get__(self, one: object, owner: type) -> T: ...
    def __get__(self, one: object | None, owner: type) -> T:
        if one is None:  # asked for the default of the field
            if not self._default:
                raise AttributeError(self._name)
            return self._default[0]
        kept: dict[str, Any] = one.__dict__
        if isinstance(kept[self._name], str):
            kept[self._name] = resolve(kept[self._name])
        found: T = kept[self._name]
        return found

    def __set__(self, one: object, value: "T | str") -> None:
        one.__dict__[self._name] = value


@dataclass(frozen=True, kw_only=True, eq=False)
class Recipe:
    """One kind of job."""

    name: str
    params: Part["type[BaseModel]"] = Part()  # their JSON schema is that of the API
    bind: Part["Callable[[Any], Bound]"] = Part()  # makes what the engine runs, of one job's parameters
    given: Given
    nouns: Nouns
    kinds: tuple[RecordKind, ...]
    tables: Part[tuple[Table, ...]] = Part()  # what can be exported; the first is that of its results
    survey: Part["Callable[[Database, TableQuery], Survey] | None"] = Part(None)  # None: its jobs have no summary
    command: Command
    screen: Screen | None = None  # none: the first columns of its results as they are
    keep: Keep = Keep()
    # Parameters a job must have, and that make no difference to what it costs.
    for_estimates: Mapping[str, Any] = field(default_factory=dict)
    files: tuple[AutomaticFile, ...] = ()
    concludes: bool = False  # it has a last call and a conclusion: see `Bound`

    def table(self, name: str) -> Table | None:
        """The table of this name."""
        return next((table for table in self.tables if table.name == name), None)

    def read(self, given: Mapping[str, Any]) -> "BaseModel":
        """The parameters of a job; a UserError names the option that is wrong."""
        from pydantic import ValidationError  # commands that show help start without it

        from gossamer.model.fields import sentence_of  # loads it, too

        try:
            return self.params.model_validate(given)
        except ValidationError as error:
            wrong = error.errors()[0]
            where = self.command.flag_of(str(wrong["loc"][0])) if wrong["loc"] else "The job"
            raise UserError(
                "job.params", f"{where}: {sentence_of(wrong)}.", hint=f"See 'gossamer {self.command.name} --help'."
            ) from error


RECIPES: Registry[Recipe] = Registry("recipe", Recipe, filled_by="gossamer.recipes.registry")
"""Import it from there: then those the program ships with are in it."""
