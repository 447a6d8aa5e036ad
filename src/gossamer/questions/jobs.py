"""State of jobs: lists, progress, costs and status reports."""

from dataclasses import dataclass, replace
from datetime import datetime

from gossamer.billing.bill import Bill, read_bill
from gossamer.billing.prices import PriceList
from gossamer.db.database import Database
from gossamer.db.transactions import Tx
from gossamer.intake.submit import request_again
from gossamer.model.alert import Alert
from gossamer.model.job import Checkpoint, Estimate, Job, JobRequest, Progress
from gossamer.model.money import NOTHING, Amount, Budget
from gossamer.model.states import JobState, SiteState
from gossamer.model.trouble import Reason
from gossamer.questions.view import Few, Many, Text, View, deletion_schedule
from gossamer.recipes.registry import is_listed
from gossamer.retention import queries as retention_queries
from gossamer.retention.service import PlannedStep
from gossamer.store import accounts, alerts, budgets, counters, estimates, jobs, reservations, sites, visits
from gossamer.store.sites import SiteSummary

_FAILED_SHOWN = 1_000  # failed domains of a status


@dataclass(frozen=True, slots=True)
class Standing:
    """A job's current state, its runner, and its visits and paid requests in progress."""

    job: Job
    progress: Progress
    runner: int | None
    busy: int  # leased visits
    paid: int  # requests in flight that cost something


@dataclass(frozen=True, slots=True)
class Listed:
    """One line of a list of jobs."""

    job: Job
    progress: Progress
    spent: Amount


@dataclass(frozen=True, slots=True)
class JobList:
    runner: int | None
    jobs: tuple[Listed, ...]
    hides: bool = False  # scrapes of single pages, which are listed only with a filter


@dataclass(frozen=True, slots=True)
class Sites:
    progress: Progress
    sites: tuple[SiteSummary, ...]


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
    estimate: Estimate | None  # of the cost, made before the start


@dataclass(frozen=True, slots=True)
class JobReport:
    """All data of a status report."""

    now: datetime
    runner: int | None
    ended: Ended
    failed: tuple[SiteSummary, ...]
    alerts: tuple[Alert, ...]
    checkpoint: Checkpoint | None
    outlook: PlannedStep | None


async def find(view: View, job: Text) -> Job:
    found, _ = await view.job(job)
    return found


async def standing(view: View, job: Text) -> Standing:
    found, database = await view.job(job)
    progress, busy, paid = await database.read(_standing, found)
    return Standing(found, await view.ahead(database, found, progress), await view.runner(), busy, paid)


def _standing(tx: Tx, job: Job) -> tuple[Progress, int, int]:
    return counters.progress(tx, job.id), visits.busy_of_job(tx, job.id), reservations.under_way(tx, job.id)


async def listing(
    view: View,
    limit: Few,
    *,
    archived: bool = False,
    recipe: Text = "",
    state: JobState | None = None,
    name: Text = "",
) -> JobList:
    """List the newest jobs, optionally of one recipe or state, or with these words in their name."""
    wanted = jobs.JobFilter(recipe, state, name, archived)

    def read(tx: Tx, owner: str | None) -> tuple[tuple[Listed, ...], bool]:
        found = jobs.recent(tx, limit, wanted, owner)
        spent = budgets.spent_by_jobs(tx, [job.id for job in found])
        hides = not wanted.asks and jobs.any_single_page(tx, owner)
        return tuple(Listed(job, counters.progress(tx, job.id), spent.get(job.id, NOTHING)) for job in found), hides

    found, hides = await view.of_owner(read)
    return JobList(await view.runner(), tuple([await _with_ahead(view, one) for one in found]), hides)


async def _with_ahead(view: View, one: Listed) -> Listed:
    if one.job.state is not JobState.RUNNING:
        return one
    job, database = await view.job(str(one.job.id))
    return replace(one, progress=await view.ahead(database, job, one.progress))


async def again(view: View, job: Text, name: Text = "") -> JobRequest:
    """Return the request for a job like this one."""
    found, database = await view.job(job)
    return await database.read(request_again, found, name, view.account, listed=is_listed(found.recipe))


async def running(view: View) -> list[Job]:
    """Return the jobs in the state RUNNING."""

    def read(tx: Tx, owner: str | None) -> list[Job]:
        if owner is None:
            return jobs.in_states(tx, JobState.RUNNING)
        return accounts.jobs_in_states(tx, owner, JobState.RUNNING)

    return await view.of_owner(read)


async def deleted_at(view: View, job: Text) -> datetime | None:
    """Return when the job's results were deleted; None if they were not."""
    found, database = await view.job(job)
    return await database.read(retention_queries.deleted_at, found.id)


async def domains(view: View, job: Text, state: SiteState | None, limit: Many) -> Sites:
    found, database = await view.job(job)
    summaries = await database.read(sites.summaries, found.id, state, limit=limit)
    return Sites(await database.read(counters.progress, found.id), tuple(summaries))


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


async def ended(view: View, job: Text) -> Ended:
    """Return the summary printed when a job is no longer followed."""
    found, database = await view.job(job)
    return await _ended(view, database, found)


async def _ended(view: View, database: Database, job: Job) -> Ended:
    found = await database.read(read_ended, job, view.prices)
    return replace(found, progress=await view.ahead(database, job, found.progress))


async def status(view: View, job: Text) -> JobReport:
    found, database = await view.job(job)
    return JobReport(
        view.now,
        await view.runner(),
        await _ended(view, database, found),
        tuple(await database.read(sites.summaries, found.id, SiteState.FAILED, limit=_FAILED_SHOWN)),
        tuple(await database.read(alerts.of_job, found.id)),
        await database.read(counters.last, found.id),
        await deletion_schedule(view, database, found),
    )
