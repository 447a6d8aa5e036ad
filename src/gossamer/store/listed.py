"""Pages a person has listed one by one: they are rows from the moment their job is created."""

from collections.abc import Sequence
from uuid import UUID

from gossamer.model.fetching import HOME_LANE, Rung
from gossamer.model.job import Target
from gossamer.model.page import Page
from gossamer.model.url import url_key
from gossamer.store import lanes, pages, visits
from gossamer.store.tx import Tx
from gossamer.store.visits import VisitChange


def give_pages(
    tx: Tx, job_id: UUID, targets: Sequence[Target], created: Sequence[tuple[UUID, UUID]], first: Rung
) -> None:
    """Give new sites the pages of their targets, to be asked for on this rung. `created` is what the targets became.

    The job's counters have known of these pages since it was made.
    """
    rows = []
    for target, (site_id, home) in zip(targets, created, strict=True):
        if not target.pages:
            continue
        visit_id = home if first.lane == HOME_LANE else _move(tx, site_id, home, first.lane, len(target.pages))
        for rank, url in zip(target.places or range(len(target.pages)), target.pages, strict=True):
            page = Page(url, url_key(url), 0, first.name, rank=rank)
            rows.append(pages.chosen_row(job_id, site_id, visit_id, page))
    pages.choose(tx, rows)


def _move(tx: Tx, site_id: UUID, home: UUID, lane: str, count: int) -> UUID:
    """The site's visit in another lane gets its pages."""
    lanes.meet(tx, [(site_id, lane)])
    visit_id = visits.reopen(tx, site_id, lane, "its pages were listed")
    visits.apply(tx, {home: VisitChange(open_pages=-count), visit_id: VisitChange(open_pages=count)})
    return visit_id
