"""How long jobs have been at work."""

from datetime import timedelta
from uuid import UUID

from sqlalchemy import select, update

from gossamer.model.states import JobState
from gossamer.store.tables import jobs
from gossamer.store.tx import Tx

_RUNNING = jobs.c.state == JobState.RUNNING


def any_running(tx: Tx) -> bool:
    return tx.run(select(jobs.c.id).where(_RUNNING).limit(1)).first() is not None


def count(tx: Tx, worked: timedelta, limit: timedelta) -> list[UUID]:
    """Add to the working time of every running job; those that have reached the limit."""
    more = worked // timedelta(milliseconds=1)
    tx.run(update(jobs).where(_RUNNING).values(ran_ms=jobs.c.ran_ms + more))
    over = jobs.c.ran_ms >= limit // timedelta(milliseconds=1)
    return list(tx.run(select(jobs.c.id).where(_RUNNING, over).order_by(jobs.c.id)).scalars())
