"""Commit a batch of steps of many visits, the only place where outcomes become rows.

Locks are taken in one order: sites, visits, pages, records, counters, budgets.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias
from uuid import UUID

from gossamer.db.transactions import Tx
from gossamer.model.money import Charge
from gossamer.model.page import Page, Visit
from gossamer.model.rungs import Experience
from gossamer.model.states import PAGE_MOVES, PageState, SiteState, VisitState
from gossamer.model.trouble import Reason, Trouble
from gossamer.model.url import site_of_url, url_key
from gossamer.settle.step import Finished, HandBack, HandOver, Packable, PageStep, Rested, Step
from gossamer.store import (
    charges,
    counters,
    events,
    openings,
    pages,
    reclaim,
    records,
    robots,
    rung_stats,
    sites,
    visits,
)
from gossamer.store.counters import OF_PAGE, OF_SITE, CounterChange
from gossamer.store.events import Event
from gossamer.store.openings import OpenedSites, Opening
from gossamer.store.pages import Settled
from gossamer.store.records import NewRecord, place
from gossamer.store.robots import RobotsAnswer
from gossamer.store.sites import SiteChange, SiteEnding, SiteRow
from gossamer.store.visit_transitions import Ending, end
from gossamer.store.visits import Place, VisitChange


@dataclass(slots=True)
class VisitWork:
    """All steps of one visit in a batch; later steps override earlier ones."""

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
            # Only a completed page proves that this visit does not crash its worker.
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
        """Return the other lanes of its site that receive pages."""
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
    """Return the opening of a page handed over by another site."""
    page = Page.at(handed.url, 0 if handed.entry else handed.depth, found_on=handed.found_on, handed=handed.times)
    if handed.of and handed.of.request:
        request = handed.of.request
        key = url_key(handed.url, request.identity)
        page = page._replace(key=key, step=handed.of.step, request=request, carry=handed.of.carry)
    return Opening(page.on(handed.rung), site_of_url(handed.url), handed.lane, whole=handed.entry)


def gather(steps: list[Step]) -> dict[UUID, VisitWork]:
    """Group steps by visit, in their order."""
    works: dict[UUID, VisitWork] = {}
    for step in steps:
        work = works.get(step.visit.id)
        if work is None or work.visit.lease != step.visit.lease:
            # A second lease in one batch is the newer one; steps of the older one would be refused anyway.
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


@dataclass(slots=True)
class Climbs:
    """Pages of a batch that move to another lane; usually there are none."""

    visits: Mapping[Place, UUID] = field(default_factory=dict)  # visits that receive pages
    changes: dict[UUID, VisitChange] = field(default_factory=dict)  # their changes

    @classmethod
    def meet(cls, tx: Tx, works: Iterable[VisitWork]) -> "Climbs":
        """Return the visits that receive pages; created for sites that had no visit in that lane."""
        places = {place for work in works for place in work.places()}
        return cls(visits.meet(tx, places)) if places else cls()

    def leaving(
        self, tx: Tx, job_id: UUID, works: Sequence[VisitWork], before: Mapping[bytes, PageState]
    ) -> dict[bytes, UUID]:
        """Return the pages that really move, with their new visits; pages already moved or ended stay.

        A batch is repeated if the response to its commit was lost: a page that no longer belongs to this
        visit was moved the first time.
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
        """Move one open page from a visit to another."""
        work.change.open_pages -= 1
        self.changes.setdefault(to, VisitChange()).open_pages += 1

    def wake(self, tx: Tx) -> None:
        """Reopen the visits that received pages."""
        for (site_id, lane), visit_id in sorted(self.visits.items()):
            if visit_id in self.changes:
                visits.reopen(tx, site_id, lane, "pages of its site need this lane")


# A page that waits for a retry keeps its state, but its attempts are written.
_WAITS_ON = {state: frozenset({state} if state is PageState.PENDING else ()) for state in PageState}


Close: TypeAlias = Callable[[Tx, UUID], None]
"""Ends a job in the transaction of its last visit, if it is over."""


@dataclass(slots=True)
class Committed:
    """Results of a batch for the visits in it, by lease."""

    lost: set[UUID] = field(default_factory=set)  # lost their lease
    proven: set[UUID] = field(default_factory=set)  # died before, and have now completed a page
    ended: set[UUID] = field(default_factory=set)  # handed back or ended


def commit(
    tx: Tx,
    steps: list[Step],
    shard: int,
    checkpoint_visits: int = counters.EVERY,
    closing: tuple[Collection[UUID], Close] | None = None,
    wrote: Sequence[int] = (),
) -> Committed:
    """Write a batch. A visit whose lease is gone is left out and reported; the others are written.

    `closing` has the leases of visits with which their jobs may end, and the function that ends a job. `wrote` are the
    durations in milliseconds of earlier writes of this process.
    """
    works = gather(steps)
    met = _meet_sites(tx, _still_ours(tx, works, lambda work: bool(work.openings)))
    met_sites = [site_id for of_job in met.values() for site_id in of_job.known]
    locked = sites.lock(tx, [*{work.visit.site_id for work in works.values()}, *met_sites])
    climbs = Climbs.meet(tx, _still_ours(tx, works, lambda work: bool(work.lanes)))
    leases = visits.leases(tx, [*works, *climbs.visits.values(), *_woken(tx, works, met.values())], held=True)
    done = Committed()
    held: list[VisitWork] = []
    for work in works.values():
        if leases.get(work.visit.id) == work.visit.lease:
            held.append(work)
        else:
            done.lost.add(work.visit.lease)
    changes: dict[UUID, CounterChange] = defaultdict(CounterChange)
    by_job: dict[UUID, list[VisitWork]] = defaultdict(list)
    for work in held:
        by_job[work.visit.job_id].append(work)
    for job_id, job_works in by_job.items():
        _write_pages(tx, job_id, job_works, changes[job_id], climbs)
        _pass_on(tx, job_id, job_works, met, locked, changes[job_id])
        changes[job_id].requests += sum(work.requests for work in job_works)
        changes[job_id].failed += sum(work.failed for work in job_works)
        fresh = [new for work in job_works for new in work.new_records()]
        if fresh:
            changes[job_id].records += records.add(tx, job_id, fresh)
    sites.apply(tx, {work.visit.site_id: work.site_change() for work in held})
    visits.apply(tx, {**climbs.changes, **{work.visit.id: work.change for work in held}})
    climbs.wake(tx)
    done.proven = {work.visit.lease for work in held if work.change.lived and work.visit.deaths}
    robots.keep(tx, [answer for work in held for answer in work.answers])
    _end_visits(tx, held, locked, changes)
    if wrote and changes:
        first = changes[min(changes)]
        first.writes, first.write_ms = len(wrote), sum(wrote)
    counters.add(tx, shard, changes)
    rung_stats.learn(tx, experiences(held))
    done.ended = {work.visit.lease for work in held if work.ending is not None}
    ending = _ending_with(held, closing[0]) if closing else {}
    finished = {job_id for job_id, change in changes.items() if change.sites_finished}
    counters.take_due(tx, sorted(finished - ending.keys()), checkpoint_visits)
    # By account: its monthly credits are locked from here to the commit.
    for job_id in sorted(ending, key=lambda job_id: (ending[job_id], job_id)):
        if closing:
            closing[1](tx, job_id)
    charged = [charge for work in held for charge in work.charges]
    if charged:
        # Last: every paid request of all jobs waits for the budgets from here to the commit.
        charges.settle(tx, charged)
    return done


def _ending_with(held: list[VisitWork], waited_for: Collection[UUID]) -> dict[UUID, str]:
    """Return the jobs that may end with these visits, with their accounts; not those with charges to be booked."""
    return {
        work.visit.job_id: work.visit.account
        for work in held
        if work.visit.lease in waited_for and isinstance(work.ending, Finished) and not work.charges
    }


def _still_ours(tx: Tx, works: dict[UUID, VisitWork], makes: Callable[[VisitWork], bool]) -> list[VisitWork]:
    """Filter works by a first check of their leases, so that lost visits create no sites or visits."""
    making = {visit_id: work for visit_id, work in works.items() if makes(work)}
    if not making:
        return []
    leases = visits.leases(tx, list(making))
    return [work for visit_id, work in making.items() if leases.get(visit_id) == work.visit.lease]


def _woken(tx: Tx, works: dict[UUID, VisitWork], met: Iterable[OpenedSites]) -> list[UUID]:
    """Return visits that others of the batch may wake: those of sites that get pages, or that rest in one lane.

    They are locked together with the others, by id, because a transaction that holds one of them may need
    one of ours next.
    """
    resting = {work.visit.site_id for work in works.values() if isinstance(work.ending, Rested)}
    woken = {*resting, *(site_id for of_job in met for site_id in of_job.known)}
    return visits.of_sites(tx, woken) if woken else []


def _write_pages(tx: Tx, job_id: UUID, works: list[VisitWork], change: CounterChange, climbs: Climbs) -> None:
    """Insert what is new, update what was there, and count by what the rows said before."""
    wanted = {key for work in works for key in (*work.chosen, *work.pages)}
    before = pages.states(tx, job_id, sorted(wanted)) if wanted else {}
    leaving = climbs.leaving(tx, job_id, works, before)
    chosen, inserts, updates = [], [], []
    for work in works:
        settled = {one.page.key: one for one in work.settled()}
        for key in {**work.chosen, **settled}:
            outcome = settled.get(key)
            state = outcome.state if outcome else PageState.PENDING
            was = before.get(key)
            if key in work.lanes:
                # It moves to the other lane in one step, without the intermediate state.
                outcome, state = outcome and outcome._replace(state=PageState.PENDING), PageState.PENDING
            place = (job_id, work.visit.site_id, leaving.get(key, work.visit.id))
            if was is None and outcome is None:
                chosen.append(pages.chosen_row(*place, work.chosen[key]))
            elif was is None and outcome is not None:
                inserts.append(pages.new_row(*place, outcome, tx.now))
            elif was is None or outcome is None or state not in (PAGE_MOVES[was] | _WAITS_ON[was]):
                continue  # chosen or ended before: the first outcome stands
            elif key in work.lanes and key not in leaving:
                continue  # moved before
            else:
                updates.append(outcome)
            _count_page(work, change, was, state)
            if key in leaving:
                climbs.pass_on(work, leaving[key])
            # Only for written pages: a batch whose commit was not confirmed is repeated.
            change.bytes_in += outcome.bytes_in if outcome else 0
    pages.choose(tx, chosen)
    pages.insert_new(tx, inserts)
    pages.settle(tx, job_id, updates)
    pages.move(tx, job_id, {key: visit_id for key, visit_id in leaving.items() if key in before})


def _count_page(work: VisitWork, change: CounterChange, was: PageState | None, state: PageState) -> None:
    opened = (state is PageState.PENDING) - (was is PageState.PENDING)
    work.site.open_pages += opened
    work.change.open_pages += opened
    change.pages_open += opened
    if state in OF_PAGE:
        name = OF_PAGE[state]
        setattr(change, name, getattr(change, name) + 1)
        work.site.pages_done += state is PageState.DONE


def _meet_sites(tx: Tx, works: Iterable[VisitWork]) -> dict[UUID, OpenedSites]:
    """Return the sites that receive pages, by job; new ones are created."""
    wanted: dict[UUID, list[Opening]] = defaultdict(list)
    for work in works:
        wanted[work.visit.job_id].extend(work.openings)
    return {job_id: openings.meet(tx, job_id, some) for job_id, some in sorted(wanted.items())}


def _pass_on(
    tx: Tx,
    job_id: UUID,
    works: list[VisitWork],
    met: Mapping[UUID, OpenedSites],
    locked: dict[UUID, SiteRow],
    change: CounterChange,
) -> None:
    """Give pages to the sites they belong to."""
    if passed := [opening for work in works for opening in work.openings]:
        locked |= openings.place(tx, job_id, passed, met[job_id], locked, change)


def _end_visits(
    tx: Tx, works: list[VisitWork], locked: dict[UUID, SiteRow], changes: dict[UUID, CounterChange]
) -> None:
    """Hand visits back or end them, and their sites with them."""
    over = {work.visit.id: work for work in works if work.ending is not None}
    ended = end(tx, [_ending(tx, work, locked[work.visit.site_id]) for work in over.values()])
    # A page was handed over to some of them in the meantime.
    busy = [work.visit for identifier, work in over.items() if identifier not in ended]
    end(tx, [Ending(visit.id, visit.lease, VisitState.READY, "a page was handed over to it") for visit in busy])
    through = [work for identifier, work in over.items() if identifier in ended]
    _close_sites(tx, through, locked, changes)
    _conclude(tx, [work for work in through if isinstance(work.ending, Rested)], locked, changes)


def _conclude(tx: Tx, rested: list[VisitWork], locked: dict[UUID, SiteRow], changes: dict[UUID, CounterChange]) -> None:
    """Wake a site's own visit if its last open page has ended in another lane; that visit decides what follows."""
    left = visits.open_pages(tx, {work.visit.site_id for work in rested}) if rested else {}
    for work in rested:
        visit = work.visit
        if not left[visit.site_id] and not visits.wake_home(tx, visit.site_id, "its pages in other lanes have ended"):
            trouble = Trouble(Reason.CRASHED, str(reclaim.MOST_DEATHS))
            work.ending = Finished(SiteState.FAILED, trouble)
            _close_sites(tx, [work], locked, changes)


def _ending(tx: Tx, work: VisitWork, site: SiteRow) -> Ending:
    visit = work.visit
    match work.ending:
        case HandBack(due_at):
            return Ending(visit.id, visit.lease, VisitState.READY, "", due_at)
        case Finished() if site.whole and not visit.whole:
            # It crawled single pages; meanwhile the whole site is wanted.
            work.ending = HandBack(tx.now)
            return Ending(visit.id, visit.lease, VisitState.READY, "the whole site is wanted")
        case Rested():
            return Ending(visit.id, visit.lease, VisitState.DONE)
        case Finished(state):
            failed = state is SiteState.FAILED
            return Ending(visit.id, visit.lease, VisitState.FAILED if failed else VisitState.DONE)
        case None:
            raise AssertionError("only visits that end come here")


def _close_sites(
    tx: Tx, works: list[VisitWork], locked: dict[UUID, SiteRow], changes: dict[UUID, CounterChange]
) -> None:
    finished = [(work.visit, work.ending) for work in works if isinstance(work.ending, Finished)]
    again = [visit.site_id for visit, ending in finished if ending.again]
    closings = [_closing(visit.site_id, ending) for visit, ending in finished if not ending.again]
    closed = sites.close(tx, closings) | sites.close_again(tx, again)
    told = []
    for visit, ending in finished:
        if visit.site_id not in closed:
            continue
        why = ending.trouble.sentence if ending.trouble else ""
        told.append((visit.job_id, Event(tx.now, f"site.{ending.state}", "", why, visit.site_id)))
        if locked[visit.site_id].listed:
            name = OF_SITE[ending.state]
            change = changes[visit.job_id]
            setattr(change, name, getattr(change, name) + 1)
    events.add_many(tx, told)


def _closing(site_id: UUID, ending: Finished) -> SiteEnding:
    trouble = ending.trouble
    if trouble is None:
        return SiteEnding(site_id, ending.state, retries=ending.retries)
    return SiteEnding(site_id, ending.state, trouble.reason.name, trouble.detail, trouble.http_status, ending.retries)
