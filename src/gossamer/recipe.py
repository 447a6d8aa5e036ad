"""The whole plug-in API: what a recipe must say so that the engine can run it.

A recipe is pure and synchronous. It never fetches, sleeps or writes: it says where to start, how far to go, and what a
page yields. `bind` is called once per job and process, so whatever is expensive to build is built there.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Protocol, TypeVar

from pydantic import AfterValidator, BaseModel, Field

from gossamer.model.document import Document
from gossamer.model.fetching import Ladder
from gossamer.model.fields import Strict
from gossamer.model.job import CrawlPolicy
from gossamer.model.ladders import RUNGS, Mode, ladder_of
from gossamer.model.page import Page
from gossamer.model.record import Follow, Harvest, Record, RecordKind
from gossamer.model.trouble import Trouble


def _distinct_rungs(names: list[str]) -> list[str]:
    for at, name in enumerate(names):
        if name not in RUNGS or name in names[:at]:
            raise ValueError(f'"{name}" is not a rung, or stands there twice')
    return names


P_contra = TypeVar("P_contra", bound=BaseModel, contravariant=True)


class FetchingParams(Strict):
    """What every recipe is told about how pages are got."""

    mode: Mode = Field(default=Mode.FREE_ONLY, description="What pages are fetched with, and what that may cost.")
    ladder: Annotated[list[str], Field(max_length=len(RUNGS)), AfterValidator(_distinct_rungs)] = Field(
        default_factory=list, description="The ways to fetch, as far as they are configured here, in their order."
    )

    @property
    def rungs(self) -> Ladder:
        return ladder_of(self.mode, self.ladder)


class Bound(Protocol):
    """A recipe with one job's parameters."""

    def seeds(self) -> Iterable[Follow]:
        """Addresses the parameters themselves name; the job's targets come on top of these."""
        ...

    def policy(self) -> CrawlPolicy:
        """Ladder, pages per site, depth."""
        ...

    def rules(self) -> Mapping[str, Any]:
        """Extraction rules, run for `Document.fields` before `accept` and `harvest`; may be empty."""
        ...

    def accept(self, page: Page, doc: Document) -> Trouble | None:
        """The recipe's own objection to a page that is otherwise fine."""
        ...

    def harvest(self, page: Page, doc: Document) -> Harvest:
        """Records and follows of one page. The same page gives the same harvest."""
        ...

    def finish(self, kind: str, groups: Iterable[Sequence[Record]]) -> Iterable[Record]:
        """Merge what several pages said, when the job closes."""
        ...


class Recipe(Protocol[P_contra]):
    """One kind of job."""

    name: ClassVar[str]
    params: ClassVar[type[BaseModel]]
    kinds: ClassVar[tuple[RecordKind, ...]]

    def bind(self, params: P_contra) -> Bound: ...
