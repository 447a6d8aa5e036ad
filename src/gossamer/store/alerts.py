"""Alerts: at most one open row per kind and subject, so that each is reported once."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import Row, bindparam, or_, select, update

from gossamer.db.tables import alerts
from gossamer.db.transactions import Tx
from gossamer.model.alert import Alert, AlertKind
from gossamer.model.ids import new_id
from gossamer.model.money import LEVELS, BudgetKey, Scope
from gossamer.store import outbox
from gossamer.store.named_slots import lock_slot

_OPEN = alerts.c.cleared_at.is_(None)


def fire(
    tx: Tx,
    kind: AlertKind,
    subject: str,
    sentence: str,
    *,
    job_id: UUID | None = None,
    lasted: timedelta = timedelta(),
) -> bool:
    """Raise an alert; False if it was raised before and still holds.

    `lasted` is how long it has held so far: its start is set to that time. If it was cleared since then,
    the former alert is reopened.
    """
    if lasted and _hold_again(tx, kind, subject, tx.now - lasted):
        return False
    fresh = tx.dialect.insert_new(alerts)
    values = {
        "id": new_id(tx.now),
        "kind": kind,
        "subject": subject,
        "job_id": job_id,
        "sentence": sentence,
        "fired_at": tx.now - lasted,
        "holds": True,
    }
    if not tx.run(fresh, values).rowcount:
        return False
    outbox.alert_fired(tx, kind, sentence, job_id)
    return True


def _hold_again(tx: Tx, kind: AlertKind, subject: str, since: datetime) -> bool:
    mine = (alerts.c.kind == kind) & (alerts.c.subject == subject)
    taken_back = select(alerts.c.id).where(mine, alerts.c.cleared_at >= since).order_by(alerts.c.id.desc()).limit(1)
    if tx.run(taken_back).scalar() is None:
        return False
    lock_slot(tx, f"alert/{kind}/{subject}")  # several processes may notice at once; one of them reopens it
    if tx.run(select(alerts.c.id).where(mine, _OPEN)).scalar() is not None:
        return True
    again = update(alerts).where(alerts.c.id == tx.run(taken_back).scalar())
    return bool(tx.run(again.values(cleared_at=None, holds=True)).rowcount)


def clear(tx: Tx, kind: AlertKind, subject: str) -> bool:
    """Clear an alert; False if it was not raised."""
    held = _OPEN & (alerts.c.kind == kind) & (alerts.c.subject == subject)
    return bool(tx.run(update(alerts).where(held).values(cleared_at=tx.now, holds=None)).rowcount)


def tell_of_past(tx: Tx, kind: AlertKind, subject: str, sentence: str, lasted: timedelta) -> None:
    """Record afterwards an alert that is over and already delivered: the database was unreachable at the time."""
    if fire(tx, kind, subject, sentence, lasted=lasted):
        mine = _OPEN & (alerts.c.kind == kind) & (alerts.c.subject == subject)
        tx.run(update(alerts).where(mine).values(delivered_at=tx.now))
    clear(tx, kind, subject)


def clear_of_job(tx: Tx, job_id: UUID) -> int:
    """Clear the alerts of a job after a manual action on it, except dead letters; return their number."""
    held = _OPEN & (alerts.c.job_id == job_id) & (alerts.c.kind != AlertKind.DEAD_LETTER)
    return tx.run(update(alerts).where(held).values(cleared_at=tx.now, holds=None)).rowcount


# By kind and subject, which are indexed: every single-page request ends a job.
_REACHED = (alerts.c.kind == AlertKind.BUDGET) & (alerts.c.subject == bindparam("b_job"))
_SPENT = (alerts.c.kind == AlertKind.SPENDING) & alerts.c.subject.in_([bindparam(f"b_{level}") for level in LEVELS])
_OF_BUDGET = update(alerts).where(or_(_REACHED, _SPENT), alerts.c.holds.is_(True))


def clear_of_budget(tx: Tx, job_id: UUID) -> int:
    """Clear the spending alerts of a job that is over."""
    own = BudgetKey(Scope.JOB, job_id.hex)
    levels = {f"b_{level}": spending_subject(own, level) for level in LEVELS}
    return tx.run(_OF_BUDGET, {"b_job": str(job_id), **levels, "cleared_at": tx.now, "holds": None}).rowcount


def spending_subject(budget: BudgetKey, level: int) -> str:
    """Return the subject of an alert about a percentage of a budget."""
    return ":".join((budget.scope, budget.subject, budget.period, str(level)))


_HELD = select(alerts).where(
    alerts.c.kind == bindparam("kind"), alerts.c.subject == bindparam("subject"), alerts.c.holds.is_(True)
)


def held(tx: Tx, kind: AlertKind, subject: str) -> Alert | None:
    """Return the alert if it is still raised."""
    row = tx.run(_HELD, {"kind": kind, "subject": subject}).first()
    return _alert(row) if row else None


def held_of_kind(tx: Tx, kind: AlertKind) -> list[Alert]:
    """Return all raised alerts of a kind."""
    return [_alert(row) for row in tx.run(select(alerts).where(_OPEN, alerts.c.kind == kind).order_by(alerts.c.id))]


def hold_exactly(tx: Tx, kind: AlertKind, subject: str, sentence: str | None) -> bool:
    """Raise an alert with this sentence, or clear it for None; True if that changed anything."""
    return clear(tx, kind, subject) if sentence is None else fire(tx, kind, subject, sentence)


def recent(tx: Tx, limit: int, *, cleared: bool = False) -> list[Alert]:
    """Return alerts, newest first; with `cleared` also those that are over."""
    query = select(alerts).order_by(alerts.c.id.desc()).limit(limit)
    if not cleared:
        query = query.where(_OPEN)
    return [_alert(row) for row in tx.run(query)]


def of_job(tx: Tx, job_id: UUID) -> list[Alert]:
    """Return the open alerts of a job, oldest first."""
    return [_alert(row) for row in tx.run(select(alerts).where(_OPEN, alerts.c.job_id == job_id).order_by(alerts.c.id))]


# Prepared once: the runner asks every second.
_UNDELIVERED = select(alerts).where(alerts.c.delivered_at.is_(None)).order_by(alerts.c.id).limit(bindparam("most"))


def undelivered(tx: Tx, limit: int = 100) -> list[Alert]:
    """Return alerts that were not delivered to any channel yet, oldest first."""
    return [_alert(row) for row in tx.run(_UNDELIVERED, {"most": limit})]


def delivered(tx: Tx, ids: Sequence[UUID]) -> None:
    tx.run(update(alerts).where(alerts.c.id.in_(ids)).values(delivered_at=tx.now))


def _alert(row: Row[Any]) -> Alert:
    kind = AlertKind(row.kind)
    return Alert(row.id, kind, row.subject, row.sentence, row.fired_at, row.job_id, row.cleared_at)
