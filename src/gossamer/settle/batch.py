"""Gathering the steps of many visits into what each table will be told."""

from dataclasses import dataclass, field
from uuid import UUID

from gossamer.model.money import Charge
from gossamer.model.page import Page, Visit
from gossamer.model.states import PageState
from gossamer.settle.step import Finished, HandBack, HandOver, Packable, PageStep, Step
from gossamer.store.pages import Settled
from gossamer.store.records import NewRecord, place
from gossamer.store.robots import RobotsAnswer
from gossamer.store.sites import SiteChange
from gossamer.store.visits import VisitChange


@dataclass(slots=True)
class VisitWork:
    """All steps of one visit in a batch, the later ones winning where they speak of the same thing."""

    visit: Visit
    chosen: dict[bytes, Page] = field(default_factory=dict)
    pages: dict[bytes, PageStep] = field(default_factory=dict)
    handed: list[HandOver] = field(default_factory=list)
    notes: Packable | None = None
    answers: list[RobotsAnswer] = field(default_factory=list)
    site: SiteChange = field(default_factory=SiteChange)
    change: VisitChange = field(default_factory=VisitChange)
    ending: HandBack | Finished | None = None
    charges: list[Charge] = field(default_factory=list)

    def add(self, step: Step) -> None:
        self.chosen.update((page.key, page) for page in step.chosen)
        self.handed.extend(step.handed)
        self.charges.extend(step.charges)
        self.change.walked += step.walked
        self.ending = step.ending or self.ending
        if step.page:
            self.pages[step.page.page.key] = step.page
            # Only a page that is over proves that walking this visit can be survived.
            self.change.lived |= step.page.state is not PageState.PENDING
            self.site.attempted = True
        if step.facts:
            self.notes = step.facts.notes or self.notes
            self.answers.extend(step.facts.answers)
            for name in ("robots", "not_before", "size", "size_source", "errands"):
                value = getattr(step.facts, name)
                if value is not None:
                    setattr(self.site, name, value)

    def site_change(self) -> SiteChange:
        if self.notes:
            self.site.notes = self.notes.pack()
        return self.site

    def settled(self) -> list[Settled]:
        return [as_settled(step) for step in self.pages.values()]

    def new_records(self) -> list[NewRecord]:
        return [
            place(record, step.page.key, self.visit.site_id) for step in self.pages.values() for record in step.records
        ]


def as_settled(step: PageStep) -> Settled:
    trouble = step.trouble
    return Settled(
        page=step.page,
        state=step.state,
        reason=trouble.reason.name if trouble else "",
        detail=trouble.detail if trouble else "",
        http_status=step.http_status,
        identity=step.identity if step.state is PageState.DONE else None,
        bytes_in=step.bytes_in,
        links=step.links,
    )


def gather(steps: list[Step]) -> dict[UUID, VisitWork]:
    """Steps by visit, in the order they were made."""
    works: dict[UUID, VisitWork] = {}
    for step in steps:
        work = works.get(step.visit.id)
        if work is None or work.visit.lease != step.visit.lease:
            # A second lease in one batch can only be the newer one; what the older wrote would be refused anyway.
            work = works[step.visit.id] = VisitWork(step.visit)
        work.add(step)
    return works
