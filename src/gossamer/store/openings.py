"""Pages of sites without a current visit here: from a redirect, from a recipe, or from a job's parameters.

A fixed number of statements writes them, however many they are. If new sites count in the job, the
caller locks the job before any of its sites; it locks what `meet` returns before it calls `place`.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import Table, bindparam, insert, literal_column, select, update

from gossamer.db.bulk import BulkStatement
from gossamer.db.tables import sites as site_rows
from gossamer.db.tables import visits as visit_rows
from gossamer.db.transactions import Tx
from gossamer.model.alert import AlertKind
from gossamer.model.ids import new_id
from gossamer.model.page import Page
from gossamer.model.rungs import HOME_LANE
from gossamer.model.states import SiteState, VisitState
from gossamer.model.url import domain_of, origin_of, shard_of, site_of_url
from gossamer.store import alerts, counters, jobs, pages, sites, visits
from gossamer.store.counters import OF_SITE, CounterChange
from gossamer.store.sites import SiteRow
from gossamer.store.visit_transitions import Moving, moving, tell

_VISIT = ("id", "job_id", "site_id", "domain", "shard", "due_at")
_HANDED, _ASKED = "a page was handed over to it", "a page of it is asked for"


class Opening(NamedTuple):
    """A page of a site that the current visits do not cover."""

    page: Page
    host: str
    lane: str
    given: str = ""  # display text of a new site in lists; "": found by a redirect, not listed
    whole: bool = False  # the whole site is wanted
    enters: bool = False  # the page is only the start URL of its site's crawl


def entry_of(url: str, found_on: str) -> Opening:
    """Return the opening of a site that is crawled from this URL on."""
    page = Page.at(url, found_on=found_on)
    return Opening(page, site_of_url(url), HOME_LANE, f"linked from {found_on}", whole=True, enters=True)


@dataclass(slots=True)
class OpenedSites:
    """The sites of some openings."""

    sites: dict[str, UUID] = field(default_factory=dict)  # by host
    new: Mapping[UUID, SiteRow] = field(default_factory=dict)  # created in this transaction
    homes: Mapping[UUID, UUID] = field(default_factory=dict)  # visits of new sites

    @property
    def known(self) -> list[UUID]:
        """Sites that existed before, which have to be locked before any change."""
        return [site_id for site_id in self.sites.values() if site_id not in self.new]


def meet(tx: Tx, job_id: UUID, openings: Sequence[Opening]) -> OpenedSites:
    """Return the sites of these pages; new sites are created with a visit each."""
    wanted: dict[str, Opening] = {}
    for opening in openings:
        known = wanted.get(opening.host)
        if known is None or (opening.whole and not known.whole):
            wanted[opening.host] = opening
    if any(opening.given for opening in wanted.values()):
        jobs.hold(tx, job_id)
    present = sites.by_host(tx, job_id, list(wanted))
    made = {new_id(tx.now): opening for host, opening in wanted.items() if host not in present}
    if not made:
        return OpenedSites(present)
    _CREATE_SITES.run_as_one(tx, [_site_row(job_id, site_id, opening) for site_id, opening in made.items()])
    if tx.dialect.row_locks:
        # Another process may have created one of them at the same time.
        present = sites.by_host(tx, job_id, list(wanted))
        there = set(present.values())
        made = {site_id: opening for site_id, opening in made.items() if site_id in there}
    else:
        present |= {opening.host: site_id for site_id, opening in made.items()}
    new = [_visit_row(tx, job_id, site_id, opening) for site_id, opening in made.items()]
    _CREATE_VISITS.run_as_one(tx, new)
    if listed := sum(bool(opening.given) for opening in made.values()):
        jobs.count_sites(tx, job_id, listed)
    rows = {one: SiteRow(one, SiteState.OPEN, bool(opening.given), opening.whole) for one, opening in made.items()}
    return OpenedSites(present, rows, {row["site_id"]: row["id"] for row in new})


def place(
    tx: Tx,
    job_id: UUID,
    openings: Sequence[Opening],
    met: OpenedSites,
    locked: Mapping[UUID, SiteRow],
    change: CounterChange,
    *,
    last: bool = False,
) -> dict[UUID, SiteRow]:
    """Add pages to their sites and reopen sites that had ended; return the changed sites in their new state.

    A page that exists already is unchanged, and so is its site, unless the whole site is wanted from now on.
    `last`: the crawl is over, and sites are opened for these pages only.
    """
    locked = {**locked, **met.new}
    there = pages.states(tx, job_id, [opening.page.key for opening in openings])
    fresh: dict[bytes, Opening] = {}
    whole: set[UUID] = set()
    touched: dict[UUID, str] = {}  # and the reason
    for opening in openings:
        site = locked[met.sites[opening.host]]
        enlarged = opening.whole and not site.whole
        known = opening.enters or opening.page.key in there or opening.page.key in fresh
        if not known:
            fresh[opening.page.key] = opening
        if enlarged:
            whole.add(site.id)
        if enlarged or not known:
            touched.setdefault(site.id, _ASKED if opening.given or last else _HANDED)
    places = {(met.sites[opening.host], opening.lane) for opening in fresh.values()}
    places |= {(site_id, HOME_LANE) for site_id in whole - {site_id for site_id, _ in places}}
    homes = {(site_id, lane) for site_id, lane in places if lane == HOME_LANE and site_id in met.homes}
    visit_of: dict[tuple[UUID, str], UUID] = {(site_id, HOME_LANE): met.homes[site_id] for site_id, _ in homes}
    if elsewhere := places - homes:
        visit_of |= visits.meet(tx, elsewhere)
    # Visits of new sites are ready as they are, but for those in other lanes.
    _wake(
        tx,
        {visit_of[place]: touched[place[0]] for place in elsewhere},
    )
    changed = {site_id: locked[site_id] for site_id in touched}
    _reopen(tx, [(changed[site_id], why) for site_id, why in touched.items()], change, last=last)
    changed = {
        site_id: replace(site, state=SiteState.OPEN, whole=site.whole or site_id in whole)
        for site_id, site in changed.items()
        if site.state is not SiteState.OPEN or site_id in whole
    }
    sites.want_whole(tx, sorted(whole - met.new.keys()))
    _write(tx, job_id, list(fresh.values()), met, visit_of)
    change.pages_open += len(fresh)
    return changed


def open_pages(tx: Tx, job_id: UUID, openings: Sequence[Opening], *, last: bool = False) -> int:
    """Meet and place pages in a transaction without other locks of the job; return the number of new pages."""
    jobs.hold(tx, job_id)
    met = meet(tx, job_id, openings)
    locked = sites.lock(tx, met.known) if met.known else {}
    if met.known:
        visits.leases(tx, visits.of_sites(tx, met.known), held=True)
    change = CounterChange()
    place(tx, job_id, openings, met, locked, change, last=last)
    counters.add(tx, 0, {job_id: change})
    return change.pages_open


def _wake(tx: Tx, waking: Mapping[UUID, str]) -> None:
    """Reopen visits that have ended."""
    if not waking:
        return
    mine = visit_rows.c.id.in_(list(waking))
    over = mine & visit_rows.c.state.in_((VisitState.DONE, VisitState.FAILED, VisitState.DEAD))
    dead = set(tx.run(select(visit_rows.c.id).where(mine, visit_rows.c.state == VisitState.DEAD)).scalars())
    woken = Moving.read(tx, moving(over))
    if not woken:
        return
    tx.run(update(visit_rows).where(over).values(state=VisitState.READY, due_at=tx.now))
    for why in sorted({waking[one.id] for one in woken}):
        tell(tx, VisitState.READY, [one for one in woken if waking[one.id] == why], why)
    for visit_id in sorted(dead):
        # A visit that runs again is no longer a dead letter.
        alerts.clear(tx, AlertKind.DEAD_LETTER, str(visit_id))


def _reopen(tx: Tx, touched: Sequence[tuple[SiteRow, str]], change: CounterChange, *, last: bool) -> None:
    """Reopen sites that have ended, and correct the counters of listed ones."""
    ended = [(site, why) for site, why in touched if site.state is not SiteState.OPEN]
    for site, _ in ended:
        if site.listed:
            name = OF_SITE[site.state]
            setattr(change, name, getattr(change, name) - 1)
    for why in sorted({why for _, why in ended}):
        sites.reopen(tx, sorted(site.id for site, reason in ended if reason == why), why, last=last)


def _write(
    tx: Tx, job_id: UUID, fresh: Sequence[Opening], met: OpenedSites, visit_of: Mapping[tuple[UUID, str], UUID]
) -> None:
    placed = [(site_id := met.sites[one.host], visit_of[site_id, one.lane], one.page) for one in fresh]
    pages.open_many(tx, [pages.chosen_row(job_id, site_id, visit_id, page) for site_id, visit_id, page in placed])
    of_sites = Counter(site_id for site_id, _, _ in placed)
    of_visits = Counter(visit_id for _, visit_id, _ in placed)
    _ADD_TO_SITES.run_as_one(tx, [{"b_id": one, "b_open": number} for one, number in sorted(of_sites.items())])
    _ADD_TO_VISITS.run_as_one(tx, [{"b_id": one, "b_open": number} for one, number in sorted(of_visits.items())])


def _adding(rows: Table) -> BulkStatement:
    added = rows.c.open_pages + bindparam("b_open")
    return BulkStatement(update(rows).where(rows.c.id == bindparam("b_id")).values(open_pages=added), together=True)


_ADD_TO_SITES, _ADD_TO_VISITS = _adding(site_rows), _adding(visit_rows)

# Values that are the same for every new row are part of the statement.
_CREATE_SITES = BulkStatement(
    insert(site_rows).values(
        state=literal_column(f"'{SiteState.OPEN}'"),
        reason=literal_column("''"),
        detail=literal_column("''"),
        pages_done=literal_column("0"),
        open_pages=literal_column("0"),
        size=literal_column("0"),
        retries=literal_column("0"),
        robots=literal_column("'{}'"),
        **{
            name: bindparam(name, type_=site_rows.c[name].type)
            for name in ("id", "job_id", "host", "domain", "given", "entries", "listed", "whole", "notes", "step")
        },
    ),
    " ON CONFLICT (job_id, host) DO NOTHING",
    together=True,
)
_CREATE_VISITS = BulkStatement(
    insert(visit_rows).values(
        lane=literal_column(f"'{HOME_LANE}'"),
        state=literal_column(f"'{VisitState.READY}'"),
        deaths=literal_column("0"),
        walked_ms=literal_column("0"),
        open_pages=literal_column("0"),
        last_error=literal_column("''"),
        **{name: bindparam(name, type_=visit_rows.c[name].type) for name in _VISIT},
    ),
    together=True,
)


def _site_row(job_id: UUID, site_id: UUID, opening: Opening) -> dict[str, Any]:
    url, given = opening.page.url, opening.given
    return {
        "id": site_id,
        "job_id": job_id,
        "host": opening.host,
        "domain": domain_of(opening.host),
        "given": given or f"redirect from {opening.page.found_on}",
        "entries": [url if opening.enters else origin_of(url) + "/"],
        "listed": bool(given),
        "whole": opening.whole,
        "notes": b"",
        "step": opening.page.step if given else None,
    }


def _visit_row(tx: Tx, job_id: UUID, site_id: UUID, opening: Opening) -> dict[str, Any]:
    domain = domain_of(opening.host)
    return {
        "id": new_id(tx.now),
        "job_id": job_id,
        "site_id": site_id,
        "domain": domain,
        "shard": shard_of(domain),
        "due_at": tx.now,
    }
