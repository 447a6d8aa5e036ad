"""Collect the steps of many visits into the changes of each table."""

from dataclasses import dataclass, field
from uuid import UUID

from gossamer.model.money import Charge
from gossamer.model.page import Page, Visit
from gossamer.model.rungs import Experience
from gossamer.model.states import PageState
from gossamer.model.url import site_of_url, url_key
from gossamer.settle.step import Finished, HandBack, HandOver, Packable, PageStep, Rested, Step
from gossamer.store.lanes import Place
from gossamer.store.openings import Opening
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
    openings: list[Opening] = field(default_factory=list)
    notes: Packable | None = None
    answers: list[RobotsAnswer] = field(default_factory=list)
    site: SiteChange = field(default_factory=SiteChange)
    change: VisitChange = field(default_factory=VisitChange)
    ending: HandBack | Finished | Rested | None = None
    charges: list[Charge] = field(default_factory=list)
    lessons: dict[str, list[bool]] = field(default_factory=dict)  # by rung
    lanes: dict[bytes, str] = field(default_factory=dict)  # of the pages that go to another one
    requests: int = 0
    failed: int = 0  # of those requests

    def add(self, step: Step) -> None:
        if step.chosen:
            self.chosen.update((page.key, page) for page in step.chosen)
        if step.lane and step.lane != self.visit.lane:
            self._send(step)
        if step.handed or step.opened:
            self.openings += [*map(as_opening, step.handed), *step.opened]
        self.charges.extend(step.charges)
        self.change.walked += step.walked
        self.ending = step.ending or self.ending
        if step.failed is not None:
            self.requests += 1
            self.failed += step.failed
        if step.page:
            self.pages[step.page.page.key] = step.page
            # Only a page that is over proves that walking this visit can be survived.
            self.change.lived |= step.page.state is not PageState.PENDING
            self.site.attempted = True
            if step.lesson is not None:
                self.lessons.setdefault(step.page.page.attempts[-1].rung, []).append(step.lesson)
        if step.facts:
            self.notes = step.facts.notes or self.notes
            self.answers.extend(step.facts.answers)
            for name in ("robots", "not_before", "size", "size_source", "errands"):
                value = getattr(step.facts, name)
                if value is not None:
                    setattr(self.site, name, value)

    def _send(self, step: Step) -> None:
        self.lanes.update((page.key, step.lane) for page in step.chosen)
        if step.page and step.page.state is PageState.CLIMBING:
            self.lanes[step.page.page.key] = step.lane

    def places(self) -> set[Place]:
        """The other lanes of its site that are about to get pages."""
        return {(self.visit.site_id, lane) for lane in self.lanes.values()}

    def site_change(self) -> SiteChange:
        if self.notes:
            self.site.notes = self.notes.pack()
        return self.site

    def settled(self) -> list[Settled]:
        return [as_settled(step) for step in self.pages.values()]

    def new_records(self) -> list[NewRecord]:
        site_id = self.visit.site_id
        return [place(record, step.page.key, site_id) for step in self.pages.values() for record in step.records]


def as_settled(step: PageStep) -> Settled:
    trouble = step.trouble
    return Settled(
        page=step.page,
        state=step.state,
        reason=trouble.reason.name if trouble else "",
        detail=trouble.detail if trouble else "",
        http_status=step.http_status,
        identity=step.identity,
        bytes_in=step.bytes_in,
        links=step.links,
    )


def as_opening(handed: HandOver) -> Opening:
    """A page that another site has passed on."""
    page = Page.at(handed.url, 0 if handed.entry else handed.depth, found_on=handed.found_on, handed=handed.times)
    if handed.of and handed.of.request:
        request = handed.of.request
        key = url_key(handed.url, request.identity)
        page = page._replace(key=key, step=handed.of.step, request=request, carry=handed.of.carry)
    return Opening(page.on(handed.rung), site_of_url(handed.url), handed.lane, whole=handed.entry)


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


def experiences(works: list[VisitWork]) -> dict[tuple[str, str], Experience]:
    """Return the statistics of rungs by domain, from the pages of a batch."""
    met: dict[tuple[str, str], Experience] = {}
    for work in works:
        for rung, lessons in work.lessons.items():
            known = met.get((work.visit.domain, rung), Experience())
            met[work.visit.domain, rung] = Experience(known.tries + len(lessons), known.wins + sum(lessons))
    return met
