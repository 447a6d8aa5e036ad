"""What waits for desks and what is done at them, per kind: read from rows, whoever does it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, func, select

from gossamer.model.desk import DeskKind, DeskRule
from gossamer.model.export import ExportState
from gossamer.model.states import JobState
from gossamer.store import deliveries
from gossamer.store.exports import count_expired
from gossamer.store.jobs import ready_to_close
from gossamer.store.tables import exports, jobs, places
from gossamer.store.tx import Tx


@dataclass(frozen=True, slots=True)
class DeskLine:
    """The work of one kind."""

    kind: DeskKind
    priority: int
    limit: int
    ready: int  # waiting for a turn
    running: int
    oldest_wait: timedelta | None  # of files that wait to be made, and of messages


def place_of(kind: DeskKind) -> str:
    """What whoever does work of this kind holds for as long as it lasts."""
    return f"desk/{kind}"


def lines(tx: Tx, rules: Mapping[DeskKind, DeskRule]) -> list[DeskLine]:
    """The most urgent first."""
    held = {place_of(kind): kind for kind in rules}
    query = select(places.c.place, func.count().label("holders")).group_by(places.c.place)
    found = tx.run(query.where(places.c.place.in_(held), places.c.until > tx.now))
    running = {held[row.place]: row.holders for row in found}
    waits = _waiting(tx, running)
    ordered = sorted(rules.items(), key=lambda rule: rule[1].priority)
    return [
        DeskLine(kind, rule.priority, rule.limit, waits[kind][0], running.get(kind, 0), _age(tx, waits[kind][1]))
        for kind, rule in ordered
    ]


def _waiting(tx: Tx, running: Mapping[DeskKind, int]) -> dict[DeskKind, tuple[int, datetime | None]]:
    pending = exports.c.state == ExportState.PENDING
    files = tx.run(
        select(func.count().label("all"), func.min(exports.c.created_at).label("oldest")).where(pending)
    ).one()
    # Half deleted jobs, and files that nobody wants any more.
    old = _count(tx, (jobs.c.state == JobState.ARCHIVED) & jobs.c.hidden_at.is_not(None)) + count_expired(tx)
    ended = len(ready_to_close(tx)) - running.get(DeskKind.FINISH, 0)
    return {
        DeskKind.FINISH: (max(0, ended), None),
        DeskKind.WEBHOOK: deliveries.waiting(tx),
        DeskKind.EXPORT: (files.all, files.oldest),
        DeskKind.CLEANUP: (old, None),
    }


def _count(tx: Tx, wanted: ColumnElement[bool]) -> int:
    return int(tx.run(select(func.count()).where(wanted)).scalar_one())


def _age(tx: Tx, since: datetime | None) -> timedelta | None:
    return None if since is None else max(tx.now - since, timedelta())
