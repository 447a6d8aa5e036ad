"""Sites that end, and sites that are opened again."""

from collections.abc import Collection, Sequence
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import bindparam, exists, select, update

from gossamer.model.states import SITE_MOVES, SiteState, VisitState, origins
from gossamer.store import events
from gossamer.store.events import Event
from gossamer.store.many import Many
from gossamer.store.tables import sites, visits
from gossamer.store.tx import Tx


class Closing(NamedTuple):
    """How a site has come out."""

    id: UUID
    state: SiteState
    reason: str = ""
    detail: str = ""
    http_status: int | None = None
    retries: int = 0


# A visit in another lane may have nothing left to do and not know it yet: its end comes first.
_WALKED = exists().where(
    visits.c.site_id == sites.c.id,
    visits.c.state.in_((VisitState.READY, VisitState.ISSUED, VisitState.RUNNING)),
)
_CLOSABLE = select(sites.c.id).where(
    sites.c.id.in_(bindparam("ids", expanding=True)),
    sites.c.state == SiteState.OPEN,
    sites.c.open_pages == 0,
    ~_WALKED,
)
_CLOSE = Many(
    update(sites)
    .where(sites.c.id == bindparam("b_id"), sites.c.state == bindparam("b_open"))
    .values(
        **{
            name: bindparam(f"b_{name}", type_=sites.c[name].type)
            for name in ("state", "reason", "detail", "http_status", "retries", "finished_at")
        }
    )
)


def close(tx: Tx, closings: Sequence[Closing]) -> set[UUID]:
    """End those that are open, have no open page left, and of which no visit is to be walked."""
    if not closings:
        return set()
    free = set(tx.run(tx.locked(_CLOSABLE), {"ids": sorted(closing.id for closing in closings)}).scalars())
    _CLOSE.run(
        tx,
        [
            {
                "b_id": closing.id,
                "b_open": SiteState.OPEN,
                "b_state": closing.state,
                "b_reason": closing.reason,
                "b_detail": closing.detail,
                "b_http_status": closing.http_status,
                "b_retries": closing.retries,
                "b_finished_at": tx.now,
            }
            for closing in closings
            if closing.id in free and SiteState.OPEN in origins(SITE_MOVES, closing.state)
        ],
    )
    return free


_ANEW = {"reason": "", "detail": "", "http_status": None, "retries": 0, "finished_at": None}


def reopen(tx: Tx, ids: Collection[UUID], why: str = "a page was handed over to it", *, who: str = "") -> set[UUID]:
    """Let sites that have ended go on, each with its event; those of them that had not are left as they are."""
    over = sites.c.id.in_(ids) & sites.c.state.in_(origins(SITE_MOVES, SiteState.OPEN))
    opened = update(sites).where(over).values(state=SiteState.OPEN, **_ANEW).returning(sites.c.id, sites.c.job_id)
    found = sorted(tx.rows(opened, {})) if ids else []
    events.add_many(tx, [(job_id, Event(tx.now, "site.open", who, why, site_id)) for site_id, job_id in found])
    return {site_id for site_id, _ in found}


def want_whole(tx: Tx, site_id: UUID) -> None:
    """It was only known by pages handed over to it; all of it is wanted from now on."""
    tx.run(update(sites).where(sites.c.id == site_id).values(whole=True))
