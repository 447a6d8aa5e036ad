"""What a job may spend: given when it is made, and changed by whoever lets it go on."""

from gossamer.errors import UserError
from gossamer.model.ids import short
from gossamer.model.job import Job
from gossamer.model.money import MEGABYTE, MICROS, Cap, shown
from gossamer.store import budgets, counters
from gossamer.store.database import Database

OPTIONS = {
    "credits": "--max-credits",
    "micros": "--max-usd",
    "traffic": "--max-mb",
    "bytes": "--max-residential-mb",
}


def cap_of(max_credits: int | None, max_usd: float | None, max_mb: int | None, max_residential_mb: int | None) -> Cap:
    """Limits as people give them; None: not named."""
    return Cap(
        credits=max_credits,
        micros=None if max_usd is None else round(max_usd * MICROS),
        bytes=None if max_residential_mb is None else max_residential_mb * MEGABYTE,
        traffic=None if max_mb is None else max_mb * MEGABYTE,
    )


async def set_limits(database: Database, job: Job, cap: Cap) -> None:
    """Change the limits that are named. None can be below what was used already."""
    traffic = (await database.read(counters.progress, job.id)).bytes_in
    if cap.traffic is not None and cap.traffic < traffic:
        raise _too_low(job, "traffic", traffic)
    before = await database.write(budgets.set_cap, job.id, cap)
    part = cap.crossed(before.used)
    if part:
        raise _too_low(job, part, getattr(before.used, part))


def _too_low(job: Job, part: str, used: int) -> UserError:
    return UserError(
        "budget.too_low",
        f"Job {short(job.id)} has used {shown(part, used)} already, so {OPTIONS[part]} cannot be less.",
        hint="Give a higher limit, or take what there is with 'gossamer job export'.",
    )
