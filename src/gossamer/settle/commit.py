"""Commit a batch of outcomes, the only place where they become rows.

Locks are taken in one order: sites, visits, pages, records, counters, budgets.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias
from uuid import UUID

from gossamer.db.transactions import Tx
from gossamer.model.states import PAGE_MOVES, PageState, SiteState, VisitState
from gossamer.model.trouble import Reason, Trouble
from gossamer.settle.batch import VisitWork, experiences, gather
from gossamer.settle.step import Finished, HandBack, Rested, Step
from gossamer.store import (
    charges,
    counters,
    events,
    lanes,
    openings,
    pages,
    reclaim,
    records,
    robots,
    rung_stats,
    sites,
    visits,
)
from gossamer.store.counters import OF_PAGE, OF_SITE, Change
from gossamer.store.events import Event
from gossamer.store.lanes import Place
from gossamer.store.openings import Met, Opening
from gossamer.store.sites import Closing, SiteRow
from gossamer.store.visit_transitions import Ending, end
from gossamer.store.visits import VisitChange


@dataclass(slots=True)
class Climbs:
    """Of one batch. Nearly always there is none, and then this costs nothing."""

    visits: Mapping[Place, UUID] = field(default_factory=dict)  # who gets pages
    changes: dict[UUID, VisitChange] = field(default_factory=dict)  # what that does to them

    @classmethod
    def meet(cls, tx: Tx, works: Iterable[VisitWork]) -> "Climbs":
        """Return the visits that receive pages; created for sites that had no visit in that lane."""
        places = {place for work in works for place in work.places()}
        return cls(lanes.meet(tx, places)) if places else cls()

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
        """One open page less there, one more here."""
        work.change.open_pages -= 1
        self.changes.setdefault(to, VisitChange()).open_pages += 1

    def wake(self, tx: Tx) -> None:
        """Reopen the visits that received pages."""
        for (site_id, lane), visit_id in sorted(self.visits.items()):
            if visit_id in self.changes:
                visits.reopen(tx, site_id, lane, "pages of its site need this lane")


# A page that waits for another try has moved nowhere, but its attempts are written.
_WAITS_ON = {state: frozenset({state} if state is PageState.PENDING else ()) for state in PageState}


Close: TypeAlias = Callable[[Tx, UUID], None]
"""Ends a job in the transaction of its last visit, if it is over."""


@dataclass(slots=True)
class Committed:
    """Results of a batch for the visits in it, by lease."""

    lost: set[UUID] = field(default_factory=set)  # no longer its own
    proven: set[UUID] = field(default_factory=set)  # they had died before, and have now brought a page to its end
    ended: set[UUID] = field(default_factory=set)  # handed back or through


def commit(
    tx: Tx,
    steps: list[Step],
    shard: int,
    checkpoint_visits: int = counters.EVERY,
    closing: tuple[Collection[UUID], Close] | None = None,
    wrote: Sequence[int] = (),
) -> Committed:
    """Write a batch. A visit whose lease is gone is left out and reported; the others are written.

    `closing` are visits, by lease, with which their jobs may end, and what ends a job. `wrote` are the milliseconds
    that earlier batches of this process took to be written: how long this one takes is known when it is over.
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
    changes: dict[UUID, Change] = defaultdict(Change)
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
    # By account: its credits of the month are held from here to the commit.
    for job_id in sorted(ending, key=lambda job_id: (ending[job_id], job_id)):
        if closing:
            closing[1](tx, job_id)
    charged = [charge for work in held for charge in work.charges]
    if charged:
        # Last of all: every paid request of all jobs waits for the budgets from here to the commit.
        charges.settle(tx, charged)
    return done


def _ending_with(held: list[VisitWork], waited_for: Collection[UUID]) -> dict[UUID, str]:
    """Jobs that may end with these visits, and whose they are. What was paid for is booked last of all, and no job ends
    before that."""
    return {
        work.visit.job_id: work.visit.account
        for work in held
        if work.visit.lease in waited_for and isinstance(work.ending, Finished) and not work.charges
    }


def _still_ours(tx: Tx, works: dict[UUID, VisitWork], makes: Callable[[VisitWork], bool]) -> list[VisitWork]:
    """A first look, without a lock: a visit that lost its lease must not make new sites or visits either."""
    making = {visit_id: work for visit_id, work in works.items() if makes(work)}
    if not making:
        return []
    leases = visits.leases(tx, list(making))
    return [work for visit_id, work in making.items() if leases.get(visit_id) == work.visit.lease]


def _woken(tx: Tx, works: dict[UUID, VisitWork], met: Iterable[Met]) -> list[UUID]:
    """Return visits that others of the batch may wake: those of sites that get pages, or that rest in one lane.

    They are locked together with the others, by id, because a transaction that holds one of them may need
    one of ours next.
    """
    resting = {work.visit.site_id for work in works.values() if isinstance(work.ending, Rested)}
    woken = {*resting, *(site_id for of_job in met for site_id in of_job.known)}
    return visits.of_sites(tx, woken) if woken else []


def _write_pages(tx: Tx, job_id: UUID, works: list[VisitWork], change: Change, climbs: Climbs) -> None:
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
                # It climbs and waits there in one go: nobody ever sees it in between.
                outcome, state = outcome and outcome._replace(state=PageState.PENDING), PageState.PENDING
            place = (job_id, work.visit.site_id, leaving.get(key, work.visit.id))
            if was is None and outcome is None:
                chosen.append(pages.chosen_row(*place, work.chosen[key]))
            elif was is None and outcome is not None:
                inserts.append(pages.new_row(*place, outcome, tx.now))
            elif was is None or outcome is None or state not in (PAGE_MOVES[was] | _WAITS_ON[was]):
                continue  # chosen before, or over already: the first word stands
            elif key in work.lanes and key not in leaving:
                continue  # it has left already
            else:
                updates.append(outcome)
            _count_page(work, change, was, state)
            if key in leaving:
                climbs.pass_on(work, leaving[key])
            # Only of what is written: a batch whose commit was not heard of comes again.
            change.bytes_in += outcome.bytes_in if outcome else 0
    pages.choose(tx, chosen)
    pages.insert_new(tx, inserts)
    pages.settle(tx, job_id, updates)
    pages.move(tx, job_id, {key: visit_id for key, visit_id in leaving.items() if key in before})


def _count_page(work: VisitWork, change: Change, was: PageState | None, state: PageState) -> None:
    opened = (state is PageState.PENDING) - (was is PageState.PENDING)
    work.site.open_pages += opened
    work.change.open_pages += opened
    change.pages_open += opened
    if state in OF_PAGE:
        name = OF_PAGE[state]
        setattr(change, name, getattr(change, name) + 1)
        work.site.pages_done += state is PageState.DONE


def _meet_sites(tx: Tx, works: Iterable[VisitWork]) -> dict[UUID, Met]:
    """The sites pages go to, by job, made where the job has not met them yet."""
    wanted: dict[UUID, list[Opening]] = defaultdict(list)
    for work in works:
        wanted[work.visit.job_id].extend(work.openings)
    return {job_id: openings.meet(tx, job_id, some) for job_id, some in sorted(wanted.items())}


def _pass_on(
    tx: Tx,
    job_id: UUID,
    works: list[VisitWork],
    met: Mapping[UUID, Met],
    locked: dict[UUID, SiteRow],
    change: Change,
) -> None:
    """Give pages to the sites they belong to."""
    if passed := [opening for work in works for opening in work.openings]:
        locked |= openings.place(tx, job_id, passed, met[job_id], locked, change)


def _end_visits(tx: Tx, works: list[VisitWork], locked: dict[UUID, SiteRow], changes: dict[UUID, Change]) -> None:
    """Hand visits back or end them, and their sites with them."""
    over = {work.visit.id: work for work in works if work.ending is not None}
    ended = end(tx, [_ending(tx, work, locked[work.visit.site_id]) for work in over.values()])
    # A page was handed over to some of them in the meantime.
    busy = [work.visit for identifier, work in over.items() if identifier not in ended]
    end(tx, [Ending(visit.id, visit.lease, VisitState.READY, "a page was handed over to it") for visit in busy])
    through = [work for identifier, work in over.items() if identifier in ended]
    _close_sites(tx, through, locked, changes)
    _conclude(tx, [work for work in through if isinstance(work.ending, Rested)], locked, changes)


def _conclude(tx: Tx, rested: list[VisitWork], locked: dict[UUID, SiteRow], changes: dict[UUID, Change]) -> None:
    """Wake a site's own visit if its last open page has ended in another lane; that visit decides what follows."""
    left = lanes.open_pages(tx, {work.visit.site_id for work in rested}) if rested else {}
    for work in rested:
        visit = work.visit
        if not left[visit.site_id] and not lanes.wake_home(tx, visit.site_id, "its pages in other lanes have ended"):
            trouble = Trouble(Reason.CRASHED, str(reclaim.MOST_DEATHS))
            work.ending = Finished(SiteState.FAILED, trouble)
            _close_sites(tx, [work], locked, changes)


def _ending(tx: Tx, work: VisitWork, site: SiteRow) -> Ending:
    visit = work.visit
    match work.ending:
        case HandBack(due_at):
            return Ending(visit.id, visit.lease, VisitState.READY, "", due_at)
        case Finished() if site.whole and not visit.whole:
            # It walked single pages; meanwhile the whole site has come to be wanted.
            work.ending = HandBack(tx.now)
            return Ending(visit.id, visit.lease, VisitState.READY, "the whole site is wanted")
        case Rested():
            return Ending(visit.id, visit.lease, VisitState.DONE)
        case Finished(state):
            failed = state is SiteState.FAILED
            return Ending(visit.id, visit.lease, VisitState.FAILED if failed else VisitState.DONE)
        case None:
            raise AssertionError("only visits that end come here")


def _close_sites(tx: Tx, works: list[VisitWork], locked: dict[UUID, SiteRow], changes: dict[UUID, Change]) -> None:
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


def _closing(site_id: UUID, ending: Finished) -> Closing:
    trouble = ending.trouble
    if trouble is None:
        return Closing(site_id, ending.state, retries=ending.retries)
    return Closing(site_id, ending.state, trouble.reason.name, trouble.detail, trouble.http_status, ending.retries)
