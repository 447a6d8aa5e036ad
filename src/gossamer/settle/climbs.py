"""Pages that go on in another lane: from one visit of their site to another, in the transaction that says so."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from gossamer.db.transactions import Tx
from gossamer.model.states import PageState
from gossamer.settle.batch import VisitWork
from gossamer.store import lanes, pages, visits
from gossamer.store.lanes import Place
from gossamer.store.visits import VisitChange


@dataclass(slots=True)
class Climbs:
    """Of one batch. Nearly always there is none, and then this costs nothing."""

    visits: Mapping[Place, UUID] = field(default_factory=dict)  # who gets pages
    changes: dict[UUID, VisitChange] = field(default_factory=dict)  # what that does to them

    @classmethod
    def meet(cls, tx: Tx, works: Iterable[VisitWork]) -> "Climbs":
        """The visits that pages go to, made where a site was never walked in that lane."""
        places = {place for work in works for place in work.places()}
        return cls(lanes.meet(tx, places)) if places else cls()

    def leaving(
        self, tx: Tx, job_id: UUID, works: Sequence[VisitWork], before: Mapping[bytes, PageState]
    ) -> dict[bytes, UUID]:
        """The pages that really go, and to whom. One that went already, or has ended, stays as it is.

        A batch whose commit was not heard of comes again: a page that is not ours any more has gone the first time.
        """
        there = [key for work in works for key in work.lanes if key in before]
        holders = pages.holders(tx, job_id, sorted(there)) if there else {}
        going = {}
        for work in works:
            for key, lane in work.lanes.items():
                is_ours = holders.get(key) == work.visit.id and before[key] is PageState.PENDING and key in work.pages
                if key not in before or is_ours:
                    going[key] = self.visits[work.visit.site_id, lane]
        return going

    def pass_on(self, work: VisitWork, to: UUID) -> None:
        """One open page less there, one more here."""
        work.change.open_pages -= 1
        self.changes.setdefault(to, VisitChange()).open_pages += 1

    def wake(self, tx: Tx) -> None:
        """Whoever got pages has something to walk."""
        for (site_id, lane), visit_id in sorted(self.visits.items()):
            if visit_id in self.changes:
                visits.reopen(tx, site_id, lane, "pages of its site need this lane")
