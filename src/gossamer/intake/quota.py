"""Before a job of an account is made, or goes on: whether there is room for it, and credits."""

from collections.abc import Callable
from typing import TypeAlias
from uuid import UUID

from gossamer.db.transactions import Tx
from gossamer.errors import UserError
from gossamer.model.account import Bill, Quota
from gossamer.model.states import JobState
from gossamer.store import account_jobs, accounts, jobs, queue, usage

Limits: TypeAlias = Callable[[Tx, str], Quota]
"""What an account may have, by its name."""

AT_WORK = (JobState.RUNNING, JobState.PAUSING)


def admit(tx: Tx, account: str, bill: Bill) -> bool:
    """Whether the job may begin at once; otherwise it waits for another to end. What is too much is a UserError."""
    quota = bill.quota.of(accounts.hold(tx, account))
    begins = has_room(tx, account, quota)
    refuse_unpaid(tx, account, quota, bill.credits)
    return begins


def refuse(tx: Tx, account: str, usual: Quota) -> None:
    """A UserError where there is no room for another job, or nothing left to pay for it."""
    quota = usual.of(accounts.get(tx, account))
    has_room(tx, account, quota)
    refuse_unpaid(tx, account, quota)


def has_room(tx: Tx, account: str, quota: Quota) -> bool:
    if _is_free(tx, account, quota):
        return True
    if quota.queued is not None and usage.count_waiting(tx, account) >= quota.queued:
        raise _full(tx, account)
    return False


def _is_free(tx: Tx, account: str, quota: Quota) -> bool:
    return quota.running is None or account_jobs.count(tx, account, *AT_WORK) < quota.running


def _full(tx: Tx, account: str) -> UserError:
    working, waiting = account_jobs.count(tx, account, *AT_WORK), usage.count_waiting(tx, account)
    return UserError(
        "account.queue",
        f"This account has {_number(working, 'job')} at work and {_number(waiting, 'job')} waiting: "
        "there is no room for another.",
        hint="Wait until one of them has ended, or cancel one.",
    )


def go_on(tx: Tx, account: str, usual: Quota, job_id: UUID) -> bool:
    """Whether a job may be set going, in the transaction that does; one that has not begun waits for its turn if not.

    Any other has no place to wait in: that is a UserError. What is at work already has its room.
    """
    quota = usual.of(accounts.hold(tx, account))
    state = jobs.states(tx, [job_id]).get(job_id)
    waits = state is JobState.PENDING and hold_back(tx, job_id)
    if waits or (state not in AT_WORK and not _is_free(tx, account, quota)):
        if state is not JobState.PENDING:
            raise _full(tx, account)
        if not usage.is_waiting(tx, account, job_id):
            has_room(tx, account, quota)
            usage.wait(tx, account, job_id)
        return False
    # What it takes from here on is counted, too.
    usage.reopen(tx, account, job_id)
    return True


def hold_back(tx: Tx, job_id: UUID) -> bool:
    """Let a pending job wait where the queue is full, and say so; True if it has to."""
    full = queue.full(tx)
    if full is None or jobs.names_pages_of_one_site(tx, job_id):
        return False
    jobs.hold_back(tx, job_id, full)
    return True


def refuse_unpaid(tx: Tx, account: str, quota: Quota, wanted: int = 1) -> None:
    if quota.credits is None:
        return
    left = quota.credits - usage.spent(tx, account, f"{tx.now:%Y-%m}")
    if wanted > left:
        raise UserError(
            "account.credits",
            f"This takes {_number(wanted, 'credit')}, "
            f"and {max(left, 0):,} of {quota.credits:,} are left in this month.",
            hint="Ask for less, wait for the next month, or have the account's credits raised.",
        )


def _number(count: int, of: str) -> str:
    return f"{count:,} {of}{'' if count == 1 else 's'}"


def let_in(tx: Tx, limits: Limits) -> int:
    """Start jobs that wait, as far as there is room by now; how many."""
    started = 0
    for account, job_id in usage.waiting(tx):
        quota = limits(tx, account)
        accounts.hold(tx, account)
        if not _is_free(tx, account, quota) or hold_back(tx, job_id):
            continue
        if jobs.move(tx, job_id, JobState.RUNNING, who="queue"):
            usage.begun(tx, account, job_id)
            started += 1
    return started
