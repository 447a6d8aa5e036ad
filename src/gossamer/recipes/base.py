"""A recipe: everything the rest of the program asks about one kind of job, as one value.

Importing this module, and the folder of a recipe, loads no library. The heavy parts of a recipe (its parameters, its
harvest, its tables) may be named as "package.module:NAME"; they are imported when they are first read.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar, overload

from gossamer.errors import UserError
from gossamer.model.job import Given as Given  # re-exported, as the next two: with these a recipe is declared
from gossamer.model.job import Job
from gossamer.model.record import Column as Column
from gossamer.model.record import RecordKind as RecordKind
from gossamer.model.registry import Registry

if TYPE_CHECKING:
    from pydantic import BaseModel

    from gossamer.db.database import Database
    from gossamer.ledger.prices import PriceList
    from gossamer.model.recipe import Bound

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
        return f"{count:,} {self.found if count == 1 else plural(self.found)}"


def plural(noun: str) -> str:
    """The English plural of a regular noun: matches, pages, entries."""
    if noun.endswith(("ch", "sh", "s", "x", "z")):
        return noun + "es"
    return noun[:-1] + "ies" if noun[-1:] == "y" and noun[-2:-1] not in "aeiou" else noun + "s"


@dataclass(frozen=True, slots=True)
class Keep:
    """How long results are kept after the end of a job."""

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
    """An option of a recipe's command that is a parameter of the recipe, and how it is explained.

    An option that may be repeated is a list; one whose default is False is a switch.
    """

    flag: str
    param: str
    help: str
    type: type = str
    default: Any = None
    metavar: str | None = None
    least: float | None = None
    most: float | None = None
    repeated: bool = False


@dataclass(frozen=True, slots=True)
class Command:
    """The command that makes a job of a recipe: `("job", "run")` is `gossamer job run`."""

    path: tuple[str, ...]
    help: str
    options: tuple[Option | str, ...] = ()  # in the order of its help; a text is the flag of an option all jobs have

    @property
    def name(self) -> str:
        """As it is typed after `gossamer`."""
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
class Asked:
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
    """How a file is written, independent of its table."""

    bom: bool = False
    raw: bool = False  # formulas are left as they are
    costs: bool = True  # a workbook says what the job has cost
    title: str = ""  # of a workbook; none: the job's name
    client: str = ""  # the name of the client it is for; none: only the client's domains


Stream: TypeAlias = "Callable[[Database, Asked], Lines]"
Count: TypeAlias = "Callable[[Database, Asked], Awaitable[int]]"
Workbook: TypeAlias = "Callable[[Path, Database, Asked, Looks], Awaitable[int]]"


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
    workbook: "Workbook | None" = None  # writes XLSX itself, with several sheets, and returns the number of rows
    file_name: str = ""  # the name of its files; none: that of the table

    def choose(self, names: Sequence[str] = ()) -> tuple[Column, ...]:
        """The columns of these names in this order, or those that are always shown."""
        known = {column.name: column for column in self.columns}
        wanted = names or [column.name for column in self.columns if column.shown == "always"]
        missing = next((name for name in wanted if name not in known), None)
        if missing is not None:
            raise UserError(
                "export.column",
                f"{missing!r} is no column of {self.name}.",
                hint=f"There are {', '.join(known)}.",
            )
        return tuple(known[name] for name in dict.fromkeys(wanted))

    def usual(self, params: Mapping[str, Any]) -> tuple[Column, ...]:
        """The columns of a job with these parameters for which none were named."""
        usual = self.choose()
        if self.client_param and params.get(self.client_param):
            usual += tuple(column for column in self.columns if column.shown == "with-client")
        return usual


def imported(name: str) -> Any:
    """Import a value by its "package.module:NAME"."""
    module, _, attribute = name.partition(":")
    return getattr(import_module(module), attribute)


class Part(Generic[T]):
    """A field that is given as a value, or as its "package.module:NAME" and imported when it is first read."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, one: None, owner: type) -> "Part[T]": ...
    @overload
    def __get__(self, one: object, owner: type) -> T: ...
    def __get__(self, one: object | None, owner: type) -> "Part[T] | T":
        if one is None:
            raise AttributeError(self._name)  # so that the field has no default
        kept: dict[str, Any] = one.__dict__
        if isinstance(kept[self._name], str):
            kept[self._name] = imported(kept[self._name])
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
    command: Command
    keep: Keep = Keep()
    files: tuple[AutomaticFile, ...] = ()

    def read(self, given: Mapping[str, Any]) -> "BaseModel":
        """The parameters of a job; a UserError names the option that is wrong."""
        from pydantic import ValidationError  # commands that show help start without it

        from gossamer.model.fields import sentence_of

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
