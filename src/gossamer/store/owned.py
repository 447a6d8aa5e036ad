"""The jobs of one account: found, listed, and fenced in.

Whoever asks for somebody else must come through here. Every function names the account, and `Fenced` is a database on
which each transaction first makes sure that the job it is about belongs to the account: what is asked on it later
cannot forget to.
"""

from collections.abc import Callable, Collection
from datetime import datetime
from typing import Concatenate, ParamSpec, TypeVar
from uuid import UUID

from sqlalchemy import func, select

from gossamer.errors import GossamerError
from gossamer.model.job import Job
from gossamer.model.states import JobState
from gossamer.store import jobs as all_jobs
from gossamer.store.access_tables import usage
from gossamer.store.database import Database
from gossamer.store.tables import jobs
from gossamer.store.tx import Tx

P = ParamSpec("P")
T = TypeVar("T")


class NotTheirs(GossamerError):
    """The account has no such job. Whether somebody else has one is nobody's business."""


def job(tx: Tx, account: str, job_id: UUID) -> Job | None:
    row = tx.run(select(jobs).where(jobs.c.account_id == account, jobs.c.id == job_id)).first()
    return all_jobs.of_row(row) if row else None


def page(
    tx: Tx,
    account: str,
    *,
    before: UUID | None,
    limit: int,
    states: Collection[JobState] = (),
    recipe: str = "",
    since: datetime | None = None,
) -> list[Job]:
    """Newest first, from where the last page ended. Archived ones only if they are asked for."""
    query = select(jobs).where(jobs.c.account_id == account).order_by(jobs.c.id.desc()).limit(limit)
    if before:
        query = query.where(jobs.c.id < before)
    if recipe:
        query = query.where(jobs.c.recipe == recipe)
    if since:
        query = query.where(jobs.c.created_at >= since)
    query = query.where(jobs.c.state.in_(states) if states else jobs.c.state != JobState.ARCHIVED)
    return [all_jobs.of_row(row) for row in tx.run(query)]


def by_door(tx: Tx, account: str, door: str, name: str, limit: int) -> list[Job]:
    """Newest first, by where the request came in; of one name only, if it is given."""
    came = usage.join(jobs, (jobs.c.id == usage.c.id) & (jobs.c.account_id == usage.c.account_id))
    wanted = (usage.c.account_id == account) & (usage.c.door == door)
    if name:
        wanted &= jobs.c.name == name
    query = select(jobs).select_from(came).where(wanted).order_by(jobs.c.id.desc()).limit(limit)
    return [all_jobs.of_row(row) for row in tx.run(query)]


def in_states(tx: Tx, account: str, *states: JobState) -> list[Job]:
    query = select(jobs).where(jobs.c.account_id == account, jobs.c.state.in_(states)).order_by(jobs.c.id)
    return [all_jobs.of_row(row) for row in tx.run(query)]


def count(tx: Tx, account: str, *states: JobState) -> int:
    mine = (jobs.c.account_id == account) & jobs.c.state.in_(states)
    return int(tx.run(select(func.count()).where(mine)).scalar_one())


class Fenced:
    """A database as one account sees one of its jobs."""

    def __init__(self, database: Database, account: str, job_id: UUID) -> None:
        self.dialect = database.dialect
        self.patience = database.patience
        self._database = database
        self._account = account
        self._job_id = job_id

    async def write(self, work: Callable[Concatenate[Tx, P], T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._database.write(self._checked(work), *args, **kwargs)

    async def write_one(self, work: Callable[Concatenate[Tx, P], T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Whose the job is, is a second statement."""
        return await self.write(work, *args, **kwargs)

    async def read(self, work: Callable[Concatenate[Tx, P], T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._database.read(self._checked(work), *args, **kwargs)

    async def read_together(self, *works: Callable[[Tx], T]) -> list[T]:
        return await self._database.read_together(*(self._checked(work) for work in works))

    async def close(self) -> None:
        """It is not ours to close."""

    def _checked(self, work: Callable[Concatenate[Tx, P], T]) -> Callable[Concatenate[Tx, P], T]:
        def checked(tx: Tx, /, *args: P.args, **kwargs: P.kwargs) -> T:
            mine = (jobs.c.account_id == self._account) & (jobs.c.id == self._job_id)
            if tx.run(select(jobs.c.id).where(mine)).first() is None:
                raise NotTheirs(f"There is no job {self._job_id}.")
            return work(tx, *args, **kwargs)

        return checked
