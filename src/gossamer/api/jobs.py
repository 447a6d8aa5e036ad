"""Jobs of any recipe: submit, list, show, control and delete."""

from dataclasses import replace
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Header, Query, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.requests import HTTPConnection

from gossamer.api import views
from gossamer.api.caller import Continuer, Reader, Spender, Submitter
from gossamer.api.dependencies import GivenParts, Parts
from gossamer.api.error_codes import JOB, ONCE, ROOM, STEER, declared
from gossamer.api.guarded import ReadAgain
from gossamer.api.tenant import Tenant
from gossamer.api.views import ShapedAnswer
from gossamer.billing.estimating import EstimateInputs
from gossamer.errors import UserError
from gossamer.intake.addresses import MAX_ADDRESSES, read_addresses
from gossamer.intake.domain import BadEntry, clean, read_domain, target_of
from gossamer.intake.ladders import agreed_ladder
from gossamer.intake.limits import cap_of
from gossamer.intake.submit import LONGEST_KEY, check_key
from gossamer.intake.targets import MAX_TARGETS
from gossamer.model.fields import Strict
from gossamer.model.job import Given, Job, JobRequest, Priority, Target
from gossamer.model.money import Cap, Scope
from gossamer.model.states import JobState
from gossamer.model.url import site_of
from gossamer.recipes.prospect import PROSPECT

router = APIRouter(prefix="/v1/jobs", tags=["jobs"], route_class=ReadAgain)

IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        max_length=LONGEST_KEY,
        description="Repeating a request with the same key returns the first job again. A different request with "
        "that key is refused.",
        examples=["nightly-2026-11-16"],
    ),
]


class Limits(Strict):
    """Spending limits of a job. It pauses before it exceeds one of them.

    Only the limit of all traffic can be exceeded, by the requests in flight when it is reached.
    """

    model_config = ConfigDict(extra="forbid")

    max_credits: int | None = Field(None, ge=0, le=10**12, description="Provider credits.")
    max_usd: float | None = Field(None, ge=0, le=10**9, allow_inf_nan=False, description="Dollars, for providers.")
    max_mb: int | None = Field(
        None, ge=0, le=10**9, description="Megabytes of all traffic; requests in flight may exceed it."
    )
    max_residential_mb: int | None = Field(None, ge=0, le=10**9, description="Megabytes through residential proxies.")

    def cap(self) -> Cap:
        return cap_of(self.max_credits, self.max_usd, self.max_mb, self.max_residential_mb)


class NewJob(Strict):
    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "example": {
                "recipe": PROSPECT.name,
                "name": "Acme Q1",
                "domains": ["shop.example", "blog.example"],
                "params": {"keywords": ["CRM", "sales pipeline"], "client_domains": ["acme.com"]},
                "limits": {"max_credits": 5000},
            }
        },
    )

    recipe: str = Field(
        max_length=40, description="Name of the recipe: GET /v1/recipes lists them with their parameters."
    )
    name: str = Field(max_length=1_000, description="Name of the job.")
    params: dict[str, Any] = Field(default_factory=dict, description="Parameters of the recipe, by its own schema.")
    domains: Annotated[list[Annotated[str, Field(max_length=2_000)]], Field(fail_fast=True)] = Field(
        default_factory=list, max_length=MAX_TARGETS, description="Sites to visit, for recipes that take sites."
    )
    urls: Annotated[list[Annotated[str, Field(max_length=8_000)]], Field(fail_fast=True)] = Field(
        default_factory=list,
        max_length=MAX_ADDRESSES,
        description="Pages to fetch, for the recipe scrape; with `walk` it takes domains.",
    )
    mode: str | None = Field(None, max_length=40, description="free-only, hybrid or premium-only.")
    ladder: str | None = Field(None, max_length=400, description="Custom list of methods, like direct,stealth.")
    priority: Priority = Priority.NORMAL
    max_concurrency: int | None = Field(
        None,
        ge=1,
        le=10**6,
        description="Maximum number of its sites crawled at a time, and so of its requests in flight.",
    )
    limits: Limits = Field(default_factory=Limits)
    start: bool = Field(True, description="False: the job waits for POST .../resume.")


class Renamed(Strict):
    model_config = ConfigDict(extra="forbid", json_schema_extra={"example": {"name": "Acme Q1, second round"}})

    name: str = Field(max_length=1_000, description="New name of the job.")


class Rerun(Strict):
    model_config = ConfigDict(extra="forbid", json_schema_extra={"example": {"name": "Acme Q2"}})

    name: str = Field(
        "", max_length=1_000, description="Name of the new job; none: the job's name with the next number."
    )
    start: bool = Field(True, description="False: the job waits for POST .../resume.")


class Steered(BaseModel):
    id: str
    state: JobState


class Resumed(Steered):
    waiting: bool = Field(False, description="The job starts when another job of the account has ended.")


class RetriedView(Steered):
    sites: int = Field(description="Sites that are retried.")
    pages: int = Field(description="Pages that are retried.")


class Deleted(Steered):
    rows: int = Field(description="Rows that were deleted.")


@router.post("", status_code=201, responses=declared(*ROOM, *JOB, *ONCE), summary="Submit a job")
async def submit(
    body: NewJob, tenant: Spender, parts: GivenParts, response: Response, idempotency_key: IdempotencyKey = None
) -> views.JobView:
    """Submit a job of any recipe. It starts at once, or as soon as the account has room for it."""
    listed = len(body.domains) + len(body.urls)
    request = await parts.heavy.run(tenant.id, listed, lambda: job_request(body, parts, idempotency_key))
    return await _submitted(request, tenant, parts, response)


async def _submitted(request: JobRequest, tenant: Tenant, parts: Parts, response: Response) -> views.JobView:
    asked = asked_of(parts, request)
    if asked.costs_something and not asked.policy.as_given:
        # Kept with the job: later estimates compare it with the actual cost.
        request = replace(request, estimate=(await tenant.foresee(asked)).estimate)
    urls = sum(len(target.pages) for target in request.targets)
    made = await tenant.submit(request, "jobs", max(1, len(request.targets), urls))
    job = made.job
    response.headers["Location"] = f"/v1/jobs/{job.id}"
    if not made.is_new:
        response.headers["Idempotent-Replayed"] = "true"
    return _as_submitted(job, start=request.start)


def _as_submitted(job: Job, *, start: bool) -> views.JobView:
    """Return the answer to the first submission, regardless of the job's progress since."""
    state = views.first_state(job)
    fields = views.job_fields(job, waiting=start and state is JobState.PENDING)
    why = job.reason if job.state is JobState.PENDING else ""  # the queue is full
    return views.JobView(**{**fields, "state": state, "reason": why, "started_at": None, "finished_at": None})


def job_request(body: NewJob, parts: Parts, key: str | None, *, needs_targets: bool = True) -> JobRequest:
    """Build a job request from a body, validated by its recipe's schema; every way to submit a job uses this."""
    recipe = parts.recipes.get(body.recipe)
    if recipe is None:
        raise UserError(
            "recipe.unknown", f"There is no recipe {body.recipe!r} here.", hint=f"There are {', '.join(parts.recipes)}."
        )
    if key:
        check_key(key)
    try:
        params = recipe.params.model_validate(body.params)
    except ValidationError as error:
        found = [{**one, "loc": ("body", "params", *one["loc"])} for one in error.errors(include_url=False)]
        raise RequestValidationError(found) from None
    within = params.model_dump(include={"mode", "ladder"}, exclude_unset=True)
    params = params.model_copy(update=agreed_ladder(body.mode, body.ladder, within, parts.app.rungs))
    given, wanted = ("urls", "domains") if body.urls else ("domains", "urls")
    bound = recipe.bind(params)
    takes_pages = bound.policy().as_given
    if recipe.given is Given.NOTHING:
        if getattr(body, given):
            raise UserError(
                "job.targets",
                f"The recipe {body.recipe} is not given {given}.",
                hint="Name what you want in `params`.",
            )
    elif (body.urls and body.domains) or (getattr(body, given) and (given == "urls") != takes_pages):
        raise UserError(
            "job.targets", f"The recipe {body.recipe} is not given {given}.", hint=f"Name what you want in `{wanted}`."
        )
    targets = read_addresses(body.urls, "#/body/urls/").targets if body.urls else _targets(body.domains)
    if needs_targets and not targets and not any(True for _ in bound.seeds()):
        raise UserError("job.no_targets", "This job has no site to visit.", hint="Name some in `domains`.")
    kept = params.model_dump(mode="json")
    cap, usual = body.limits.cap(), parts.app.caps[Scope.JOB].credits
    return JobRequest(
        body.name,
        body.recipe,
        kept,
        targets,
        body.start,
        key or "",
        body.priority,
        cap,
        max_concurrency=body.max_concurrency,
        usual_credits=usual,
    )


def asked_of(parts: Parts, request: JobRequest, unnamed: int = 0) -> EstimateInputs:
    """Return the inputs of an estimate."""
    recipe = parts.recipes[request.recipe]
    policy = recipe.bind(recipe.params.model_validate(request.params)).policy()
    return EstimateInputs(request.recipe, policy, request.targets, parts.app.prices, unnamed=unnamed)


def _targets(domains: list[str]) -> tuple[Target, ...]:
    found: dict[str, Target] = {}
    for number, text in enumerate(domains):
        domain = read_domain(clean(text))
        if isinstance(domain, BadEntry):
            raise UserError(
                "job.domain",
                f"#/body/domains/{number}: {text[:200]!r} is no domain: it {domain.why}.",
                hint="Give one like shop.example.",
            )
        found.setdefault(site_of(domain.host), target_of(domain, text))
    return tuple(found.values())


@router.get("", responses=declared("request.cursor"), summary="List jobs")
async def list_jobs(
    tenant: Reader,
    cursor: Annotated[str | None, Query(max_length=200)] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    state: Annotated[list[JobState] | None, Query(description="Only those in one of these states.")] = None,
    recipe: Annotated[str, Query(max_length=40)] = "",
) -> views.JobPage:
    """List jobs, newest first. Archived jobs are left out unless `state` includes them."""
    found = await tenant.jobs(tenant.cursors.id_place("jobs", cursor), limit + 1, state or (), recipe)
    more = len(found) > limit
    items = [views.JobView(**views.job_fields(job)) for job in found[:limit]]
    after = tenant.cursors.cursor("jobs", found[limit - 1].id.bytes) if more else None
    return views.JobPage(items=items, has_more=more, next_cursor=after)


@router.get(
    "/{job_id}",
    response_model=views.JobStatus,
    responses=declared("job.not_found"),
    summary="Get the status of a job",
)
async def look(job_id: UUID, tenant: Reader, parts: GivenParts, connection: HTTPConnection) -> Response:
    found = await tenant.status(job_id)
    result = None
    if found.job.params.get("result_file"):
        file = await tenant.result_file(found.job)
        link = await parts.signed(connection, file) if file else None
        result = views.result(found.job, file, link)
    status = views.JobStatus(
        **views.job_fields(found.job, waiting=found.is_waiting, doing=found.progress.doing),
        progress=views.counts(found.job, found.progress),
        params=found.job.params,
        priority=found.job.priority,
        max_concurrency=found.job.max_concurrency,
        limits=views.limits(found.cap),
        spent_credits=found.spent.credits,
        spent_usd=found.spent.micros / 1_000_000,
        result=result,
    )
    return ShapedAnswer(status)


@router.patch("/{job_id}", responses=declared("job.not_found", "job.name"), summary="Rename a job")
async def rename(job_id: UUID, body: Renamed, tenant: Submitter) -> views.JobView:
    """Rename a job. Its existing exports keep their names."""
    job = await tenant.rename(await tenant.job(job_id), body.name)
    return views.JobView(**views.job_fields(job, waiting=await tenant.is_waiting(job)))


@router.post(
    "/{job_id}/rerun",
    status_code=201,
    responses=declared(
        *ROOM, *ONCE, "job.not_found", "job.name", "job.no_list", "job.params", "results.deleted", "results.hidden"
    ),
    summary="Run a job again",
)
async def rerun(
    job_id: UUID,
    tenant: Spender,
    parts: GivenParts,
    response: Response,
    body: Rerun | None = None,
    idempotency_key: IdempotencyKey = None,
) -> views.JobView:
    """Create a new job with the same recipe, sites or pages, parameters, priority and limits.

    The old job is unchanged.
    """
    if idempotency_key:
        check_key(idempotency_key)
    wanted = body or Rerun(name="", start=True)
    request = await tenant.again(await tenant.job(job_id), wanted.name, idempotency_key or "")
    request = replace(request, start=wanted.start, usual_credits=parts.app.caps[Scope.JOB].credits)
    return await _submitted(request, tenant, parts, response)


async def _steered(tenant: Tenant, job_id: UUID) -> Steered:
    now = await tenant.job(job_id)
    return Steered(id=str(job_id), state=now.state)


@router.post("/{job_id}/pause", status_code=202, responses=declared(*STEER), summary="Pause a job")
async def pause(job_id: UUID, tenant: Submitter) -> Steered:
    """Pause a job. Requests in flight finish; the job is `pausing` until then."""
    await tenant.pause(await tenant.job(job_id))
    return await _steered(tenant, job_id)


@router.post(
    "/{job_id}/resume",
    status_code=202,
    responses=declared(*ROOM, *STEER, "budget.too_low", "budget.spent"),
    summary="Resume a job",
)
async def resume(job_id: UUID, tenant: Continuer, limits: Limits | None = None) -> Resumed:
    """Resume a job exactly where it stopped, with other limits if some are given.

    Also starts a job that was created with `start: false`; it waits if the account has reached its limit of
    running jobs. Any other job is refused in that case. A job that paused at its limit resumes only with a
    higher one.
    """
    await tenant.resume(await tenant.job(job_id), (limits or Limits()).cap())
    now = await tenant.job(job_id)
    return Resumed(id=str(job_id), state=now.state, waiting=await tenant.is_waiting(now))


@router.post("/{job_id}/cancel", status_code=202, responses=declared(*STEER), summary="Cancel a job")
async def cancel(job_id: UUID, tenant: Submitter) -> Steered:
    """Cancel a job. Its results so far are kept, and it can still be resumed."""
    await tenant.cancel(await tenant.job(job_id))
    return await _steered(tenant, job_id)


@router.post(
    "/{job_id}/retry-failed",
    status_code=202,
    responses=declared(*ROOM, *STEER, "budget.spent"),
    summary="Retry what failed",
)
async def retry_failed(job_id: UUID, tenant: Continuer) -> RetriedView:
    """Retry the failed parts of a job, except permanent failures."""
    done = await tenant.retry_failed(await tenant.job(job_id))
    now = await tenant.job(job_id)
    return RetriedView(id=str(job_id), state=now.state, sites=done.sites, pages=done.pages)


@router.delete("/{job_id}", responses=declared(*STEER), summary="Delete the results of a job")
async def delete(job_id: UUID, tenant: Submitter) -> Deleted:
    """Delete results and files immediately and permanently. The job itself and its costs stay listed."""
    rows = await tenant.delete(await tenant.job(job_id))
    now = await tenant.job(job_id)
    return Deleted(id=str(job_id), state=now.state, rows=rows)
