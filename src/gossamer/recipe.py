"""A recipe with one job's parameters: what it must say so that the engine can run it.

A recipe is pure and synchronous. It never fetches, sleeps or writes: it says where to start, how far to go, and what a
page yields. It is bound once per job and process, so anything that is expensive to build is built then.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from gossamer.model.document import Document
from gossamer.model.job import CrawlPolicy
from gossamer.model.page import Page
from gossamer.model.record import Follow, Harvest, Record
from gossamer.model.trouble import Trouble


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
