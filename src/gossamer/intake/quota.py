"""Before a job of an account is made: whether there is room for it, and credits."""

from collections.abc import Callable
from typing import TypeAlias

from gossamer.errors import UserError
from gossamer.model.account import Bill, Quota
from gossamer.model.states import JobState
from gossamer.store import accounts, jobs, owned, usage
from gossamer.store.tx import Tx

Limits: TypeAlias = Callable[[Tx, str], Quota]
"""What an account may have, by its name."""

AT_WORK = (JobState.RUNNING, JobState.PAUSING)


def admit(tx: Tx, account: str, bill: Bill) -> bool:
    """Whether the job may begin at once; otherwise it waits for another to end. What is too much is a UserError."""
    accounts.hold(tx, account)
    begins = has_room(tx, account, bill.quota)
    refuse_unpaid(tx, account, bill.quota, bill.credits)
    return begins


def has_room(tx: Tx, account: str, quota: Quota) -> bool:
    if quota.running is None or owned.count(tx, account, *AT_WORK) < quota.running:
        return True
    waiting = usage.count_waiting(tx, account)
    if quota.queued is not None and waiting >= quota.queued:
        raise UserError(
            "account.queue",
            f"{quota.running} jobs of this account are at work and {waiting} wait: there is no room for another.",
            hint="Wait until one of them has ended, or cancel one.",
        )
    return False


def refuse_unpaid(tx: Tx, account: str, quota: Quota, wanted: int = 1) -> None:
    if quota.credits is None:
        return
    left = quota.credits - usage.spent(tx, account, f"{tx.now:%Y-%m}")
    if wanted > left:
        raise UserError(
            "account.credits",
            f"This takes {wanted:,} credits, and {max(left, 0):,} of {quota.credits:,} are left in this month.",
            hint="Ask for less, wait for the next month, or have the account's credits raised.",
        )


def let_in(tx: Tx, limits: Limits) -> int:
    """Start jobs that wait, as far as there is room by now; how many."""
    started = 0
    for account, job_id in usage.waiting(tx):
        quota = limits(tx, account)
        accounts.hold(tx, account)
        if quota.running is not None and owned.count(tx, account, *AT_WORK) >= quota.running:
            continue
        if jobs.move(tx, job_id, JobState.RUNNING, who="queue"):
            usage.begun(tx, account, job_id)
            started += 1
    return started
