"""Pages: every URL of a job and its state."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import bindparam, insert, literal_column, select, update

from gossamer.db.bulk import BulkStatement, KeyQuery
from gossamer.db.tables import pages, visits
from gossamer.db.transactions import Tx
from gossamer.model.page import ASKED_AGAIN, Page, PageRequest
from gossamer.model.rungs import DIRECT
from gossamer.model.states import PageState
from gossamer.store.history import attempts_of

_UNTIL = b"\xff" * 8


@dataclass(frozen=True, slots=True)
class EndedPage:
    """Data that a visit needs of a page that has ended."""

    key: bytes
    url: str
    depth: int
    state: PageState
    reason: str
    detail: str
    http_status: int | None
    identity: bytes | None
    tries: int
    handed: int = 0
    rank: int = 0
    links: bytes = b""
    rung: str = DIRECT.name
    step: str | None = None  # of a page that a recipe requested

    @property
    def is_apart(self) -> bool:
        """Like `Page.is_apart`: not part of the crawl of its site."""
        return self.handed > 0 or self.step is not None


class Settled(NamedTuple):
    """State of a page after an attempt; `pending` with `due_at` if it waits for another."""

    page: Page
    state: PageState
    reason: str = ""
    detail: str = ""
    http_status: int | None = None
    identity: bytes | None = None
    bytes_in: int = 0
    links: bytes | None = None


class PagesOfVisit(NamedTuple):
    """Initial pages of a visit."""

    waiting: list[Page]  # its own, in crawl order
    ended: list[EndedPage]  # of its site, in any lane
    elsewhere: list[Page]  # of its site, waiting in other lanes


_OF_VISIT = (
    select(pages)
    .join(visits, visits.c.site_id == pages.c.site_id)
    .where(
        visits.c.id == bindparam("visit"),
        pages.c.job_id == bindparam("job"),
        # The key range of the site, which another site may share.
        pages.c.key >= bindparam("since"),
        pages.c.key <= bindparam("until"),
    )
    .order_by(pages.c.rank, pages.c.key)
)


def of_visit(tx: Tx, job_id: UUID, visit_id: UUID, prefix: bytes) -> PagesOfVisit:
    """Return the pages of a visit's site. `prefix` is the site's part of the key."""
    asked = {"visit": visit_id, "job": job_id, "since": prefix, "until": prefix + _UNTIL}
    waiting: list[Page] = []
    elsewhere: list[Page] = []
    ended = []
    for row in tx.run(_OF_VISIT, asked):
        if row.state == PageState.PENDING:
            (waiting if row.visit_id == visit_id else elsewhere).append(_page(row))
        else:
            ended.append(
                EndedPage(
                    bytes(row.key),
                    row.url,
                    row.depth,
                    PageState(row.state),
                    row.reason,
                    row.detail,
                    row.http_status,
                    bytes(row.identity) if row.identity is not None else None,
                    sum(attempt[0] != ASKED_AGAIN for attempt in row.attempts),
                    row.handed,
                    row.rank,
                    bytes(row.links or b""),
                    row.rung,
                    row.step,
                )
            )
    return PagesOfVisit(waiting, ended, elsewhere)


_HOLDERS = KeyQuery(pages, [pages.c.key, pages.c.visit_id], ["job_id"])


def holders(tx: Tx, job_id: UUID, keys: Sequence[bytes]) -> dict[bytes, UUID]:
    """Return the visits of the existing pages of these keys."""
    return {bytes(key): visit_id for key, visit_id in _HOLDERS.rows(tx, {"job_id": job_id}, keys)}


_MOVE = BulkStatement(
    update(pages)
    .where(pages.c.job_id == bindparam("b_job"), pages.c.key == bindparam("b_key"))
    .values(visit_id=bindparam("b_visit", type_=pages.c.visit_id.type))
)


def move(tx: Tx, job_id: UUID, moved: Mapping[bytes, UUID]) -> None:
    """Move pages to other visits of their sites."""
    _MOVE.run(tx, [{"b_job": job_id, "b_key": key, "b_visit": visit_id} for key, visit_id in sorted(moved.items())])


_STATES = KeyQuery(pages, [pages.c.key, pages.c.state], ["job_id"])


def states(tx: Tx, job_id: UUID, keys: Sequence[bytes]) -> dict[bytes, PageState]:
    """Return the states of the existing pages of these keys."""
    return {bytes(key): PageState(state) for key, state in _STATES.rows(tx, {"job_id": job_id}, keys)}


_SETTLE = BulkStatement(
    update(pages)
    .where(pages.c.job_id == bindparam("b_job"), pages.c.key == bindparam("b_key"))
    .values(
        state=bindparam("b_state"),
        rung=bindparam("b_rung"),
        due_at=bindparam("b_due", type_=pages.c.due_at.type),
        reason=bindparam("b_reason"),
        detail=bindparam("b_detail"),
        http_status=bindparam("b_status"),
        attempts=bindparam("b_attempts", type_=pages.c.attempts.type),
        identity=bindparam("b_identity"),
        bytes_in=bindparam("b_bytes"),
        links=bindparam("b_links"),
        settled_at=bindparam("b_at", type_=pages.c.settled_at.type),
    ),
    together=True,
)


def settle(tx: Tx, job_id: UUID, settled: Sequence[Settled]) -> None:
    _SETTLE.run(tx, [_change(job_id, one, tx.now) for one in settled])


_ASKED = ("step", "request", "carry")  # left out of the statements for ordinary pages


def _choosing(*more: str) -> BulkStatement:
    # Values that are the same for every chosen page are part of the statement.
    names = ("job_id", "site_id", "visit_id", "key", "url", "depth", "rank", "handed", "found_on", "rung", *more)
    statement = insert(pages).values(
        state=literal_column(f"'{PageState.PENDING}'"),
        reason=literal_column("''"),
        detail=literal_column("''"),
        attempts=literal_column("'[]'"),
        bytes_in=literal_column("0"),
        **{name: bindparam(name, type_=pages.c[name].type) for name in names},
    )
    return BulkStatement(statement, together=True)


_CHOOSE, _CHOOSE_ASKED = _choosing(), _choosing(*_ASKED)


def choose(tx: Tx, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert pages that were chosen and not requested yet."""
    _run_apart(tx, _CHOOSE, _CHOOSE_ASKED, rows)


def open_many(tx: Tx, rows: Sequence[Mapping[str, Any]]) -> None:
    """Like `choose`, with a constant number of statements."""
    ours = [row for row in rows if "step" in row]
    _CHOOSE.run_as_one(tx, [row for row in rows if "step" not in row])
    _CHOOSE_ASKED.run_as_one(tx, ours)


def _inserting(*without: str) -> BulkStatement:
    names = [column.name for column in pages.c if column.name not in without]
    return BulkStatement(insert(pages).values({name: bindparam(name) for name in names}), together=True)


_INSERT, _INSERT_ASKED = _inserting(*_ASKED), _inserting()


def insert_new(tx: Tx, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert new pages that already have an outcome."""
    _run_apart(tx, _INSERT, _INSERT_ASKED, rows)


def _run_apart(tx: Tx, ordinary: BulkStatement, asked: BulkStatement, rows: Sequence[Mapping[str, Any]]) -> None:
    ours = [row for row in rows if "step" in row]
    ordinary.run(tx, [row for row in rows if "step" not in row] if ours else rows)
    asked.run(tx, ours)


def chosen_row(job_id: UUID, site_id: UUID, visit_id: UUID, page: Page) -> dict[str, Any]:
    row: dict[str, Any] = {
        "job_id": job_id,
        "site_id": site_id,
        "visit_id": visit_id,
        "key": page.key,
        "url": page.url,
        "depth": page.depth,
        "rank": page.rank,
        "handed": page.handed,
        "found_on": page.found_on,
        "rung": page.rung,
    }
    if page.request is not None:
        row |= {"step": page.step, "request": page.request.pack(), "carry": dict(page.carry) or None}
    return row


def new_row(job_id: UUID, site_id: UUID, visit_id: UUID, outcome: Settled, now: datetime) -> dict[str, Any]:
    """Return the row of a new page that already has an outcome."""
    page = outcome.page
    return {
        **chosen_row(job_id, site_id, visit_id, page),
        "state": outcome.state.value,
        "due_at": page.due_at if outcome.state is PageState.PENDING else None,
        "reason": outcome.reason,
        "detail": outcome.detail,
        "http_status": outcome.http_status,
        "attempts": page.attempts,
        "identity": outcome.identity,
        "bytes_in": outcome.bytes_in,
        "links": outcome.links,
        "settled_at": now,
    }


def _change(job_id: UUID, outcome: Settled, now: datetime) -> dict[str, Any]:
    page = outcome.page
    return {
        "b_job": job_id,
        "b_key": page.key,
        "b_state": outcome.state.value,
        "b_rung": page.rung,
        "b_due": page.due_at if outcome.state is PageState.PENDING else None,
        "b_reason": outcome.reason,
        "b_detail": outcome.detail,
        "b_status": outcome.http_status,
        "b_attempts": page.attempts,
        "b_identity": outcome.identity,
        "b_bytes": outcome.bytes_in,
        "b_links": outcome.links,
        "b_at": now,
    }


def _page(row: Any) -> Page:
    page = Page(
        url=row.url,
        key=bytes(row.key),
        depth=row.depth,
        rung=row.rung,
        state=PageState(row.state),
        due_at=row.due_at,
        attempts=attempts_of(row.attempts),
        found_on=row.found_on,
        rank=row.rank,
        handed=row.handed,
    )
    if row.step is None:
        return page
    return page._replace(step=row.step, request=PageRequest.unpack(bytes(row.request)), carry=row.carry or {})
