"""What a job may spend: given when it is made, and changed by whoever lets it go on."""

from uuid import UUID

from gossamer.db.transactions import Tx
from gossamer.errors import UserError
from gossamer.model.ids import short
from gossamer.model.money import MEGABYTE, MICROS, Budget, Cap, shown
from gossamer.store import budgets, counters

OPTIONS = {
    "credits": "--max-credits",
    "micros": "--max-usd",
    "traffic": "--max-mb",
    "bytes": "--max-residential-mb",
}

_PAID = ("credits", "micros", "bytes")  # what is reserved before it is used


def cap_of(max_credits: int | None, max_usd: float | None, max_mb: int | None, max_residential_mb: int | None) -> Cap:
    """Limits as people give them; None: not named."""
    return Cap(
        credits=max_credits,
        micros=None if max_usd is None else round(max_usd * MICROS),
        bytes=None if max_residential_mb is None else max_residential_mb * MEGABYTE,
        traffic=None if max_mb is None else max_mb * MEGABYTE,
    )


def set_limits(tx: Tx, job_id: UUID, cap: Cap) -> None:
    """Change the limits that are named. None can be below what was used already."""
    traffic = counters.progress(tx, job_id).bytes_in
    if cap.traffic is not None and cap.traffic < traffic:
        raise _too_low(job_id, "traffic", traffic)
    before = budgets.set_cap(tx, job_id, cap)
    part = cap.crossed(before.used)
    if part:
        raise _too_low(job_id, part, getattr(before.used, part))


def refuse_spent(tx: Tx, job_id: UUID, before: Cap) -> None:
    """A job that was paused at its limit, and runs again: it would pause at once if that is no higher than before."""
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
    """The part of which the largest share of its limit is used, and how much that is."""
    capped = [(part, getattr(budget.used, part), most) for part in _PAID if (most := getattr(budget.cap, part))]
    part, used, _ = max(capped, key=lambda one: one[1] / one[2], default=("credits", budget.used.credits, 0))
    return part, used


def _too_low(job_id: UUID, part: str, used: int) -> UserError:
    return UserError(
        "budget.too_low",
        f"Job {short(job_id)} has used {shown(part, used)} already, so {OPTIONS[part]} cannot be less.",
        hint="Give a higher limit, or take what there is with 'gossamer job export'.",
    )
