"""Reports that read a whole job: audit, politeness and summary."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from gossamer.crawl.audit import AuditReport, audit
from gossamer.db.database import Database
from gossamer.errors import UserError
from gossamer.history.politeness import DomainManners, prove_politeness
from gossamer.model.ids import short
from gossamer.model.job import Job
from gossamer.model.money import Budget
from gossamer.questions.view import Text, View, recipe_of, refuse_gone
from gossamer.recipes.base import TableQuery
from gossamer.recipes.overview import Overview, PageSummary, ScreenSummary, SummaryAnswer
from gossamer.store import budgets


@dataclass(frozen=True, slots=True)
class Audited:
    job: Job
    report: AuditReport
    runner: int | None


@dataclass(frozen=True, slots=True)
class Politeness:
    job: Job
    domains: tuple[DomainManners, ...]


@dataclass(frozen=True, slots=True)
class Summary:
    overview: Overview
    screen: ScreenSummary
    page: PageSummary
    answer: SummaryAnswer
    manners: tuple[DomainManners, ...]
    budget: Budget | None  # None: costs are left out
    runner: int | None


async def audited(view: View, job: Text) -> Audited:
    found, database = await view.job(job)
    return Audited(found, await audit(database, found.id, view.recipes), await view.runner())


async def politeness(view: View, job: Text) -> Politeness:
    """Return how politely each domain of a job was crawled, worst first."""
    found, database = await view.job(job)
    await refuse_gone(view, database, found)
    return Politeness(found, tuple(await _manners(view, database, found)))


async def _manners(view: View, database: Database, job: Job) -> list[DomainManners]:
    rates, usual = view.settings.domain_rates, view.settings.domain_rate
    return await prove_politeness(database, job.id, lambda domain: timedelta(seconds=1 / rates.get(domain, usual)))


async def summary(
    view: View, job: Text, since: Text, excluded: Sequence[str], *, costs: bool = True, client: Text = ""
) -> Summary:
    """Summarise a job, compared with an earlier one if given; `client` is the name of the person it is for."""
    found, database = await view.job(job)
    await refuse_gone(view, database, found)
    recipe = recipe_of(view.recipes, found)
    if recipe.survey is None:
        raise UserError(
            "summary.recipe",
            f"Job {short(found.id)} is of the recipe {found.recipe}: "
            "there is nothing to rank in it, so it has no summary.",
            hint=f"See 'gossamer job status {short(found.id)}' and 'gossamer job results {short(found.id)}'.",
        )
    earlier = None
    if since:
        earlier, its_database = await view.job(since)
        await refuse_gone(view, its_database, earlier)
    asked = TableQuery(found, (), since=earlier, excluded=frozenset(excluded), prices=view.prices if costs else None)
    survey = recipe.survey(database, asked)
    overview = await survey.read()
    manners = [one for one in await _manners(view, database, found) if one.requests]
    return Summary(
        overview,
        survey.screen(),
        survey.page(client),
        survey.answer(),
        tuple(manners),
        await database.read(budgets.of_job, found.id) if overview.bill else None,
        await view.runner(),
    )
