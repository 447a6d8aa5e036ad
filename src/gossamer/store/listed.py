"""Pages a person has listed one by one: they are rows from the moment their job is created."""

from collections.abc import Sequence
from uuid import UUID

from gossamer.model.fetching import HOME_LANE, Rung
from gossamer.model.job import Target
from gossamer.model.page import Page
from gossamer.store import counters, lanes, pages, sites, visits
from gossamer.store.sites import SiteChange
from gossamer.store.tx import Tx
from gossamer.store.visits import VisitChange

LISTED = "list"
"""What says how large such a site is."""


def give_pages(
    tx: Tx, job_id: UUID, targets: Sequence[Target], created: Sequence[tuple[UUID, UUID]], first: Rung
) -> None:
    """Give new sites the pages of their targets, to be asked for on this rung. `created` is what the targets became."""
    rows = []
    of_sites, of_visits = dict[UUID, SiteChange](), dict[UUID, VisitChange]()
    for target, (site_id, home) in zip(targets, created, strict=True):
        if not target.pages:
            continue
        visit_id = home if first.lane == HOME_LANE else _visit_in(tx, site_id, first.lane)
        for rank, url in enumerate(target.pages):
            rows.append(pages.chosen_row(job_id, site_id, visit_id, Page.at(url, rank=rank).on(first.name)))
        of_sites[site_id] = SiteChange(open_pages=len(target.pages), size=len(target.pages), size_source=LISTED)
        of_visits[visit_id] = VisitChange(open_pages=len(target.pages))
    if rows:
        pages.choose(tx, rows)
        sites.apply(tx, of_sites)
        visits.apply(tx, of_visits)
        counters.begin_with(tx, job_id, len(rows))


def _visit_in(tx: Tx, site_id: UUID, lane: str) -> UUID:
    lanes.meet(tx, [(site_id, lane)])
    return visits.reopen(tx, site_id, lane, "its pages were listed")
