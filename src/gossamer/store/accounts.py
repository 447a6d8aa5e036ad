"""Accounts and their jobs: create and change accounts, find and list an account's jobs.

Functions about jobs name the account. `AccountScopedDatabase` is a database on which each transaction first checks
that its job belongs to the account, so that no later query can forget to.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any, Concatenate, ParamSpec, TypeVar
from uuid import UUID

from sqlalchemy import Row, bindparam, func, insert, select, update

from gossamer.db.database import Database
from gossamer.db.tables import accounts, jobs, usage
from gossamer.db.transactions import Tx
from gossamer.errors import GossamerError
from gossamer.model.account import DEFAULT, Account
from gossamer.model.ids import fits
from gossamer.model.job import Job, Progress
from gossamer.model.money import Amount, Cap
from gossamer.model.states import JobState
from gossamer.store import counters
from gossamer.store import jobs as all_jobs
from gossamer.store import usage as waiting


def create(tx: Tx, identifier: str, name: str) -> Account | None:
    """Create an account; None if the id is taken."""
    fresh = tx.dialect.insert_new(accounts)
    if not tx.run(fresh, {"id": identifier, "name": name, "created_at": tx.now}).rowcount:
        return None
    return get(tx, identifier)


def ensure_default(tx: Tx) -> Account:
    """Return the default account, which owns the jobs of the command line; created at first use."""
    found = get(tx, DEFAULT)
    if found is None:
        tx.run(insert(accounts), {"id": DEFAULT, "name": DEFAULT, "created_at": tx.now})
        found = Account(DEFAULT, DEFAULT, tx.now)
    return found


_GET = select(accounts).where(accounts.c.id == bindparam("id"))


def get(tx: Tx, account: str) -> Account | None:
    row = tx.run(_GET, {"id": account}).first()
    return _account(row) if row else None


def hold(tx: Tx, identifier: str) -> Account | None:
    """Like `get`, but locked: no other transaction admits a job of the account until commit."""
    row = tx.run(tx.locked(_GET), {"id": identifier}).first()
    return _account(row) if row else None


def known(tx: Tx) -> list[Account]:
    return [_account(row) for row in tx.run(select(accounts).order_by(accounts.c.id))]


def change(tx: Tx, identifier: str, values: Mapping[str, Any]) -> Account | None:
    """Change the limits of an account, or close it."""
    if values:
        tx.run(update(accounts).where(accounts.c.id == identifier).values(**values))
    return get(tx, identifier)


def _account(row: Row[Any]) -> Account:
    return Account(
        row.id, row.name, row.created_at, row.credits, row.running_jobs, row.queued_jobs, closed_at=row.closed_at
    )


P = ParamSpec("P")
T = TypeVar("T")


class NotTheirs(GossamerError):
    """The account has no such job. The error does not reveal if another account has one."""


# Constant statements are prepared once: nearly every request runs one of these.
_MINE = (jobs.c.account_id == bindparam("account")) & (jobs.c.id == bindparam("job"))
_JOB, _IS_MINE = select(jobs).where(_MINE), select(jobs.c.id).where(_MINE)
# Uses the index by state: few jobs are running, while an account may have a hundred thousand. The concatenation keeps
# SQLite, which has no statistics, from using the index by account.
_COUNT = select(func.count()).where(
    jobs.c.account_id + "" == bindparam("account"), jobs.c.state.in_(bindparam("states", expanding=True))
)


def job(tx: Tx, account: str, job_id: UUID) -> Job | None:
    row = tx.run(_JOB, {"account": account, "job": job_id}).first()
    return all_jobs.of_row(row) if row else None


def matching_jobs(tx: Tx, account: str, text: str, limit: int = 5) -> list[UUID]:
    """Return jobs of the account whose id matches these hexadecimal digits, newest first."""
    ids = tx.run(select(jobs.c.id).where(jobs.c.account_id == account).order_by(jobs.c.id.desc())).scalars()
    return list(islice((identifier for identifier in ids if fits(identifier, text)), limit))


@dataclass(frozen=True, slots=True)
class JobSnapshot:
    """A job of an account with its progress and spending."""

    job: Job
    progress: Progress
    spent: Amount
    cap: Cap
    is_waiting: bool  # for another job of the account to end


def job_status(tx: Tx, account: str, job_id: UUID) -> JobSnapshot | None:
    """Return a job's state in few statements, because callers poll it."""
    found = job(tx, account, job_id)
    if found is None:
        return None
    waits = found.state is JobState.PENDING and waiting.is_waiting(tx, account, job_id)
    progress, spent, cap = counters.totals(tx, job_id)
    return JobSnapshot(found, progress, spent, cap, waits)


def jobs_page(
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


def jobs_by_door(tx: Tx, account: str, door: str, name: str, limit: int) -> list[Job]:
    """Return the jobs that came in through an API door, newest first, optionally of one name."""
    came = usage.join(jobs, (jobs.c.id == usage.c.id) & (jobs.c.account_id == usage.c.account_id))
    wanted = (usage.c.account_id == account) & (usage.c.door == door)
    if name:
        wanted &= jobs.c.name == name
    query = select(jobs).select_from(came).where(wanted).order_by(jobs.c.id.desc()).limit(limit)
    return [all_jobs.of_row(row) for row in tx.run(query)]


def jobs_in_states(tx: Tx, account: str, *states: JobState) -> list[Job]:
    query = select(jobs).where(jobs.c.account_id == account, jobs.c.state.in_(states)).order_by(jobs.c.id)
    return [all_jobs.of_row(row) for row in tx.run(query)]


def count_jobs(tx: Tx, account: str, *states: JobState) -> int:
    return int(tx.run(_COUNT, {"account": account, "states": states}).scalar_one())


class AccountScopedDatabase:
    """A database as one account sees one of its jobs."""

    def __init__(self, database: Database, account: str, job_id: UUID) -> None:
        self.dialect = database.dialect
        self.retries = database.retries
        self._database = database
        self._account = account
        self._job_id = job_id

    async def write(self, work: Callable[Concatenate[Tx, P], T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._database.write(self._checked(work), *args, **kwargs)

    async def write_one(self, work: Callable[Concatenate[Tx, P], T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Like `write`: the check of the account is a second statement."""
        return await self.write(work, *args, **kwargs)

    async def write_nosync(self, work: Callable[Concatenate[Tx, P], T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._database.write_nosync(self._checked(work), *args, **kwargs)

    async def flush(self) -> None:
        await self._database.flush()

    async def read(self, work: Callable[Concatenate[Tx, P], T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._database.read(self._checked(work), *args, **kwargs)

    async def read_inline(self, work: Callable[Concatenate[Tx, P], T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._database.read_inline(self._checked(work), *args, **kwargs)

    async def read_together(self, *works: Callable[[Tx], T]) -> list[T]:
        return await self._database.read_together(*(self._checked(work) for work in works))

    async def close(self) -> None:
        """Do nothing: the underlying database is shared."""

    def _checked(self, work: Callable[Concatenate[Tx, P], T]) -> Callable[Concatenate[Tx, P], T]:
        def checked(tx: Tx, /, *args: P.args, **kwargs: P.kwargs) -> T:
            if tx.run(_IS_MINE, {"account": self._account, "job": self._job_id}).first() is None:
                raise NotTheirs(f"There is no job {self._job_id}.")
            return work(tx, *args, **kwargs)

        return checked
