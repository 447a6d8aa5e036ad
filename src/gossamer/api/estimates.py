"""Cost of a job before it is submitted: the forecast of `gossamer job estimate`, from the account's past jobs."""

from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from gossamer.api.caller import Reader
from gossamer.api.dependencies import GivenParts, Parts
from gossamer.api.error_codes import JOB, declared
from gossamer.api.guarded import Guarded
from gossamer.api.jobs import NewJob, asked_of, job_request
from gossamer.api.tenant import Tenant
from gossamer.billing.estimating import EstimateInputs, Forecast
from gossamer.errors import UserError
from gossamer.intake.addresses import MAX_ADDRESSES
from gossamer.model.job import JobRequest
from gossamer.model.money import MICROS
from gossamer.recipes.prospect import PROSPECT

router = APIRouter(prefix="/v1/estimate", tags=["jobs"], route_class=Guarded)

_MOST_NAMED = 200  # in an address; more of them go into a body


class AccountCredits(BaseModel):
    """Credits counted for your account, regardless of what providers charge."""

    at_least: int = Field(description="If each site has one page, read by the first method of the ladder.")
    at_most: int = Field(
        description="If every site has the maximum number of pages, and each needs the most expensive method."
    )
    left: int | None = Field(description="Credits left this month; null: no limit.")


class EstimateView(BaseModel):
    """Low and high estimates in provider credits and dollars; nine jobs in ten end in between."""

    low_credits: int = Field(examples=[2000])
    high_credits: int = Field(examples=[8000])
    low_usd: float = Field(examples=[20.0])
    high_usd: float = Field(examples=[80.0])
    sites: int = Field(0, description="Number of sites; of a scrape job, pages.")
    met_before: int = Field(0, description="Sites that were part of your earlier jobs.")
    similar_jobs: int = Field(0, description="Your earlier jobs that the estimate is based on.")
    similar_low_credits: int | None = Field(None, description="Credits those jobs would have used with as many sites.")
    similar_high_credits: int | None = None
    max_credits: int | None = Field(
        None, description="Limit at which the job would pause, unless another one is given."
    )
    account_credits: AccountCredits


@router.get("", responses=declared(*JOB), summary="Estimate the cost of a job")
async def estimate(
    tenant: Reader,
    parts: GivenParts,
    recipe: Annotated[str, Query(max_length=40)] = PROSPECT.name,
    domains: Annotated[
        list[Annotated[str, Field(max_length=2_000)]] | None,
        Query(max_length=_MOST_NAMED, description="Domain names of sites."),
    ] = None,
    urls: Annotated[
        list[Annotated[str, Field(max_length=8_000)]] | None,
        Query(max_length=_MOST_NAMED, description="Pages, for the recipe scrape."),
    ] = None,
    count: Annotated[int, Query(ge=0, le=MAX_ADDRESSES, description="Number of further sites that are not named.")] = 0,
    mode: Annotated[str | None, Query(max_length=40, description="free-only, hybrid or premium-only.")] = None,
    ladder: Annotated[str | None, Query(max_length=400)] = None,
    max_pages_per_domain: Annotated[int | None, Query(ge=1, le=50_000)] = None,
    top_pages: Annotated[int | None, Query(ge=1, le=50_000)] = None,
) -> EstimateView:
    """Estimate a job for named sites, or for a number of them. Nothing is created or fetched."""
    given = {"max_pages_per_domain": max_pages_per_domain, "top_pages": top_pages}
    params: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if known := parts.recipes.get(recipe):
        params = {**known.for_estimates, **params}
    body = NewJob(
        recipe=recipe,
        name="estimate",
        params=params,
        domains=domains or [],
        urls=urls or [],
        mode=mode,
        ladder=ladder,
    )
    if not domains and not urls and not count:
        raise UserError("job.no_targets", "This job has no site to visit.", hint="Give `domains`, `urls` or `count`.")
    return await _estimated(tenant, parts, job_request(body, parts, None, needs_targets=not count), count)


@router.post("", responses=declared(*JOB), summary="Estimate the cost of a complete job request")
async def estimate_job(body: NewJob, tenant: Reader, parts: GivenParts) -> EstimateView:
    """Estimate the job that `POST /v1/jobs` would create from the same body, without creating it."""
    listed = len(body.domains) + len(body.urls)
    request = await parts.heavy.run(tenant.id, listed, lambda: job_request(body, parts, None))
    return await _estimated(tenant, parts, request, 0)


async def _estimated(tenant: Tenant, parts: Parts, request: JobRequest, unnamed: int) -> EstimateView:
    asked = asked_of(parts, request, unnamed)
    found = await tenant.foresee(asked) if asked.costs_something else None
    limits, spent = await tenant.quota(), await tenant.spent()
    left = None if limits.credits is None else max(0, limits.credits - spent)
    return _shown(found, asked, request, parts, left)


def _shown(
    found: Forecast | None, asked: EstimateInputs, request: JobRequest, parts: Parts, left: int | None
) -> EstimateView:
    pages = sum(len(target.pages) for target in asked.targets) + asked.unnamed if asked.policy.as_given else asked.sites
    rungs = [parts.prices.get(rung.name, 1) for rung in asked.policy.ladder.rungs]
    largest = 1 if asked.policy.as_given else max(asked.policy.pages_per_site, asked.policy.top_pages)
    credits = AccountCredits(at_least=pages * rungs[0], at_most=pages * largest * max(rungs), left=left)
    if found is None:
        return EstimateView(
            low_credits=0,
            high_credits=0,
            low_usd=0.0,
            high_usd=0.0,
            sites=pages,
            max_credits=request.limit.credits,
            account_credits=credits,
        )
    said, used = found.estimate, found.used
    return EstimateView(
        low_credits=said.low,
        high_credits=said.high,
        low_usd=said.low_micros / MICROS,
        high_usd=said.high_micros / MICROS,
        sites=pages,
        met_before=said.known,
        similar_jobs=said.similar,
        similar_low_credits=used[0] if used else None,
        similar_high_credits=used[1] if used else None,
        max_credits=request.limit.credits,
        account_credits=credits,
    )
