"""Costs of a job: spending, limits, and their breakdown."""

from dataclasses import dataclass

from gossamer.billing.bill import Bill, read_bill
from gossamer.billing.prices import PriceList
from gossamer.db.transactions import Tx
from gossamer.model.job import Estimate, Job, Progress
from gossamer.model.money import Budget
from gossamer.model.trouble import Reason
from gossamer.store import budgets, counters, estimates, sites


@dataclass(frozen=True, slots=True)
class Costs:
    budget: Budget
    bill: Bill


@dataclass(frozen=True, slots=True)
class Ended:
    """Summary of a job that is no longer followed."""

    job: Job
    progress: Progress
    reasons: tuple[tuple[Reason, int], ...]  # why domains failed, most frequent first
    costs: Costs
    estimate: Estimate | None  # what it was said to cost


def read_costs(tx: Tx, job: Job, progress: Progress, prices: PriceList) -> Costs:
    return Costs(budgets.of_job(tx, job.id), read_bill(tx, job, prices, progress))


def read_ended(tx: Tx, job: Job, prices: PriceList) -> Ended:
    progress = counters.progress(tx, job.id)
    return Ended(
        job,
        progress,
        tuple(sites.failure_reasons(tx, job.id)),
        read_costs(tx, job, progress, prices),
        estimates.of_job(tx, job.id),
    )
