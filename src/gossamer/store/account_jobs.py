"""The jobs of one account: find and list them, and limit a database to one of them.

Every function names the account, and `AccountScopedDatabase` is a database on which each transaction first makes sure
that the job it is about belongs to the account: what is asked on it later cannot forget to.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Concatenate, ParamSpec, TypeVar
from uuid import UUID

from sqlalchemy import bindparam, func, select

from gossamer.db.database import Database
from gossamer.db.tables import jobs
from gossamer.db.tables_accounts import usage
from gossamer.db.transactions import Tx
from gossamer.errors import GossamerError
from gossamer.model.ids import fits
from gossamer.model.job import Job, Progress
from gossamer.model.money import Amount, Cap
from gossamer.model.states import JobState
from gossamer.store import counters
from gossamer.store import jobs as all_jobs
from gossamer.store import usage as waiting

P = ParamSpec("P")
T = TypeVar("T")


class NotTheirs(GossamerError):
    """The account has no such job. The error does not reveal if another account has one."""


# Prepared once: nearly every request asks for one of these.
_MINE = (jobs.c.account_id == bindparam("account")) & (jobs.c.id == bindparam("job"))
_JOB, _IS_MINE = select(jobs).where(_MINE), select(jobs.c.id).where(_MINE)
# Found by their state: few jobs are at work, and an account may have had a hundred thousand. What is added to the name
# keeps SQLite, which knows nothing of numbers, from going by the account.
_COUNT = select(func.count()).where(
    jobs.c.account_id + "" == bindparam("account"), jobs.c.state.in_(bindparam("states", expanding=True))
)


def job(tx: Tx, account: str, job_id: UUID) -> Job | None:
    row = tx.run(_JOB, {"account": account, "job": job_id}).first()
    return all_jobs.of_row(row) if row else None


def matching(tx: Tx, account: str, text: str, limit: int = 5) -> list[UUID]:
    """Jobs of the account whose id these hexadecimal digits fit, newest first."""
    ids = tx.run(select(jobs.c.id).where(jobs.c.account_id == account).order_by(jobs.c.id.desc())).scalars()
    return list(islice((identifier for identifier in ids if fits(identifier, text)), limit))


@dataclass(frozen=True, slots=True)
class Status:
    """A job of an account and its state."""

    job: Job
    progress: Progress
    spent: Amount
    cap: Cap
    is_waiting: bool  # for another job of the account to end


def status(tx: Tx, account: str, job_id: UUID) -> Status | None:
    """All of it in one look: who waits for a job asks again and again."""
    found = job(tx, account, job_id)
    if found is None:
        return None
    waits = found.state is JobState.PENDING and waiting.is_waiting(tx, account, job_id)
    progress, spent, cap = counters.totals(tx, job_id)
    return Status(found, progress, spent, cap, waits)


def page(
    tx: Tx,
    account: str,
    *,
    before: UUID | None,
    limit: int,
    states: Collection[JobState] = (),
    recipe: str = "",
    since: datetime | None = None,
    archived: bool = False,
) -> list[Job]:
    """Return a page of jobs, newest first, from the end of the last one; archived jobs only with `archived`."""
    query = select(jobs).where(jobs.c.account_id == account).order_by(jobs.c.id.desc()).limit(limit)
    if before:
        query = query.where(jobs.c.id < before)
    if recipe:
        query = query.where(jobs.c.recipe == recipe)
    if since:
        query = query.where(jobs.c.created_at >= since)
    if states or not archived:
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
    return int(tx.run(_COUNT, {"account": account, "states": states}).scalar_one())


class AccountScopedDatabase:
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

    async def write_untold(self, work: Callable[Concatenate[Tx, P], T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._database.write_untold(self._checked(work), *args, **kwargs)

    async def flush(self) -> None:
        await self._database.flush()

    async def read(self, work: Callable[Concatenate[Tx, P], T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._database.read(self._checked(work), *args, **kwargs)

    async def glance(self, work: Callable[Concatenate[Tx, P], T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._database.glance(self._checked(work), *args, **kwargs)

    async def read_together(self, *works: Callable[[Tx], T]) -> list[T]:
        return await self._database.read_together(*(self._checked(work) for work in works))

    async def close(self) -> None:
        """It is not ours to close."""

    def _checked(self, work: Callable[Concatenate[Tx, P], T]) -> Callable[Concatenate[Tx, P], T]:
        def checked(tx: Tx, /, *args: P.args, **kwargs: P.kwargs) -> T:
            if tx.run(_IS_MINE, {"account": self._account, "job": self._job_id}).first() is None:
                raise NotTheirs(f"There is no job {self._job_id}.")
            return work(tx, *args, **kwargs)

        return checked
