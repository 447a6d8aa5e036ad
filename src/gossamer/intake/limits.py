"""Limits of jobs: spending limits, and the quota of an account on running and waiting jobs."""

from collections.abc import Callable
from typing import TypeAlias
from uuid import UUID

from gossamer.db.transactions import Tx
from gossamer.errors import UserError
from gossamer.model.account import Bill, Quota
from gossamer.model.ids import short
from gossamer.model.money import MEGABYTE, MICROS, Budget, Cap, shown
from gossamer.model.states import JobState
from gossamer.store import accounts, budgets, counters, jobs, queue_status, usage

OPTIONS = {
    "credits": "--max-credits",
    "micros": "--max-usd",
    "traffic": "--max-mb",
    "bytes": "--max-residential-mb",
}

_PAID = ("credits", "micros", "bytes")  # reserved before use


def cap_of(max_credits: int | None, max_usd: float | None, max_mb: int | None, max_residential_mb: int | None) -> Cap:
    """Convert limits from the units of the options; None: not given."""
    return Cap(
        credits=max_credits,
        micros=None if max_usd is None else round(max_usd * MICROS),
        bytes=None if max_residential_mb is None else max_residential_mb * MEGABYTE,
        traffic=None if max_mb is None else max_mb * MEGABYTE,
    )


def set_limits(tx: Tx, job_id: UUID, cap: Cap) -> None:
    """Change the given limits. Raises UserError for one below the amount already used."""
    traffic = counters.progress(tx, job_id).bytes_in
    if cap.traffic is not None and cap.traffic < traffic:
        raise _too_low(job_id, "traffic", traffic)
    before = budgets.set_cap(tx, job_id, cap)
    part = cap.crossed(before.used)
    if part:
        raise _too_low(job_id, part, getattr(before.used, part))


def refuse_spent(tx: Tx, job_id: UUID, before: Cap) -> None:
    """Raise UserError if a job resumed from its limit would pause at once, since its cap was not raised."""
    budget = budgets.of_job(tx, job_id)
    traffic = budgets.over_traffic(tx).get(job_id)
    if traffic is None and before.is_raised_in(budget.cap):
        return
    part, used = ("traffic", traffic) if traffic is not None else _nearest(budget)
    most = getattr(budget.cap, part) or 0
    identifier = short(job_id)
    raise UserError(
        "budget.spent",
        f"Job {identifier} has used {shown(part, used)}, and its limit is {shown(part, most)}: "
        "it would pause again at once.",
        hint=f"Go on with a higher limit, 'gossamer job resume {identifier} {OPTIONS[part]} N', "
        f"or take what there is with 'gossamer job export {identifier}'.",
    )


def _nearest(budget: Budget) -> tuple[str, int]:
    """Return the part with the highest usage relative to its limit, and its amount."""
    capped = [(part, getattr(budget.used, part), most) for part in _PAID if (most := getattr(budget.cap, part))]
    part, used, _ = max(capped, key=lambda one: one[1] / one[2], default=("credits", budget.used.credits, 0))
    return part, used


def _too_low(job_id: UUID, part: str, used: int) -> UserError:
    return UserError(
        "budget.too_low",
        f"Job {short(job_id)} has used {shown(part, used)} already, so {OPTIONS[part]} cannot be less.",
        hint="Give a higher limit, or take what there is with 'gossamer job export'.",
    )


Limits: TypeAlias = Callable[[Tx, str], Quota]
"""Returns the quota of an account."""

AT_WORK = (JobState.RUNNING, JobState.PAUSING)


def admit(tx: Tx, account: str, bill: Bill) -> bool:
    """Return True if the job may start at once, False if it waits for another to end.

    UserError beyond the quota.
    """
    quota = bill.quota.of(accounts.hold(tx, account))
    begins = has_room(tx, account, quota)
    refuse_unpaid(tx, account, quota, bill.credits)
    return begins


def refuse(tx: Tx, account: str, usual: Quota) -> None:
    """Raise UserError if there is no room for another job, or no credits are left to pay for it."""
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
    return quota.running is None or accounts.count_jobs(tx, account, *AT_WORK) < quota.running


def _full(tx: Tx, account: str) -> UserError:
    working, waiting = accounts.count_jobs(tx, account, *AT_WORK), usage.count_waiting(tx, account)
    return UserError(
        "account.queue",
        f"This account has {_number(working, 'job')} at work and {_number(waiting, 'job')} waiting: "
        "there is no room for another.",
        hint="Wait until one of them has ended, or cancel one.",
    )


def go_on(tx: Tx, account: str, usual: Quota, job_id: UUID) -> bool:
    """Return True if a job may be started, in the transaction that starts it.

    If not, a job that has not begun waits for its turn; any other job cannot wait, which is a UserError.
    A running job already has its room.
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
    # Its further usage is counted too.
    usage.reopen(tx, account, job_id)
    return True


def hold_back(tx: Tx, job_id: UUID) -> bool:
    """If the queue is full, let a pending job wait with a reason; return True if it has to wait."""
    full = queue_status.full(tx)
    if full is None or jobs.names_pages_of_one_site(tx, job_id):
        return False
    jobs.hold_back(tx, job_id, full)
    return True


def refuse_unpaid(tx: Tx, account: str, quota: Quota, wanted: int = 1) -> None:
    if quota.credits is None:
        return
    left = quota.credits - usage.credits_of_month(tx, account, f"{tx.now:%Y-%m}")
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
    """Start waiting jobs as far as their quotas allow; return their number."""
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
