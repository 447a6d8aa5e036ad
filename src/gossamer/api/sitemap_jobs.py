"""The endpoints `/api/jobs`: the pages of a site's sitemap, or of a list, as a job."""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any
from uuid import UUID

import orjson
from fastapi import APIRouter, Depends, Query, Request
from pydantic import BaseModel, ConfigDict, Field, SecretStr
from starlette.responses import Response

from gossamer.api.caller import Caller, Reader, Spender, Submitter, tenant_of
from gossamer.api.dependencies import GivenParts, Parts
from gossamer.api.error_codes import PAGES, ROOM, declared
from gossamer.api.guarded import ReadAgain
from gossamer.api.live import Update
from gossamer.api.scrape import Url, Urls, Wanted
from gossamer.api.streams import FOLLOWER, EventStream
from gossamer.api.tenant import Tenant
from gossamer.crawl.sitemap_import import SitemapPages
from gossamer.errors import UserError
from gossamer.intake.addresses import MAX_ADDRESSES, read_addresses
from gossamer.intake.limits import cap_of
from gossamer.model.job import Job
from gossamer.model.money import MEGABYTE
from gossamer.model.rungs import DIRECT, FIRECRAWL, RUNGS
from gossamer.model.states import OVER, JobState
from gossamer.store.accounts import NotTheirs

router = APIRouter(prefix="/api/jobs", tags=["sitemap jobs"], route_class=ReadAgain)

DOOR = "sitemap"  # marks these jobs in the usage
_READING = "sitemap-files"
_UNKNOWN = "Job not found"
_PATIENCE = 60.0  # seconds for all files of a sitemap together
_MOST_FILES = 500
_MOST_ENTRIES = 500_000  # entries read in all files of a sitemap together
_LOOK = 0.1


class SitemapJobStatus(StrEnum):
    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


_STATUS: Mapping[JobState, SitemapJobStatus] = {
    JobState.PENDING: SitemapJobStatus.QUEUED,
    JobState.RUNNING: SitemapJobStatus.RUNNING,
    JobState.PAUSING: SitemapJobStatus.RUNNING,
    JobState.PAUSED: SitemapJobStatus.QUEUED,
    JobState.COMPLETED: SitemapJobStatus.SUCCEEDED,
    JobState.ARCHIVED: SitemapJobStatus.SUCCEEDED,
    JobState.FAILED: SitemapJobStatus.FAILED,
    JobState.CANCELLED: SitemapJobStatus.CANCELLED,
}


class Options(BaseModel):
    domain: str = Field("", max_length=300, description="Name of the job; default: the domain of the first address.")
    max_urls: int = Field(10_000, ge=1, le=MAX_ADDRESSES)
    max_concurrency: int = Field(
        2,
        ge=1,
        le=100,
        description="Maximum number of requests in flight. Requests to one site keep their usual distance.",
    )
    allow_residential: bool = False
    enable_firecrawl: bool = Field(False, description="Use Firecrawl for pages that cannot be fetched directly.")
    firecrawl_api_key: SecretStr | None = Field(
        None,
        max_length=200,
        description="Your own Firecrawl key, for this job only: stored encrypted, never shown, deleted with the job. "
        "Used only with enable_firecrawl; the default is the operator's key. Without any key the job is refused.",
    )
    traffic_budget_mb: int = Field(100, ge=1, le=10**6)
    residential_limit_mb: int = Field(50, ge=0, le=10**6)


class NewSitemapJob(BaseModel):
    model_config = ConfigDict(
        json_schema_extra={
            "example": {"sitemap_url": "https://shop.example/sitemap.xml", "options": {"domain": "shop.example"}}
        }
    )

    sitemap_url: Url | None = Field(None, description="Address of a sitemap whose pages are scraped.")
    sitemap_urls: Urls | None = Field(
        None, max_length=MAX_ADDRESSES, description="Addresses of pages, if no sitemap_url is given."
    )
    options: Options = Field(default_factory=Options)


class SitemapJob(BaseModel):
    id: str
    domain: str
    status: SitemapJobStatus
    created_at: datetime
    started_at: datetime | None = None
    finished_at: datetime | None = None
    total_urls: int = 0
    success_urls: int = 0
    failed_urls: int = 0
    traffic_mb_used: float = 0.0
    residential_mb_used: float = 0.0
    error_message: str | None = None


class Ok(BaseModel):
    ok: bool = True


@router.post(
    "",
    status_code=201,
    responses=declared(
        *(*ROOM, *PAGES, "sitemap.missing", "sitemap.empty"),
        *("keys.missing", "keys.no_secret", "keys.unusable", "residential.missing"),
    ),
    summary="Scrape the pages of a sitemap",
)
async def create(body: NewSitemapJob, tenant: Spender, parts: GivenParts) -> SitemapJob:
    """Create a job from a sitemap; without pages no job is created.

    The sitemap is read first, including nested and compressed ones, for up to a minute.
    """
    await tenant.check_quota()
    options = body.options
    # Checked before the sitemap is read, which may take a minute.
    sealed = _sealed(options, tenant, parts)
    if options.enable_firecrawl and FIRECRAWL.name not in (*parts.app.rungs, *sealed):
        raise UserError(
            "keys.missing",
            "enable_firecrawl needs a key to Firecrawl, and neither the request nor this server has one.",
            hint="Give yours in options.firecrawl_api_key, or leave out enable_firecrawl.",
        )
    if options.allow_residential:
        raise UserError(
            "residential.missing",
            "allow_residential needs proxies with residential addresses, and this server has none.",
            hint="Leave out allow_residential: pages are then asked for from this server's own address.",
        )
    if body.sitemap_url:
        urls = await _pages_of(tenant, parts, body.sitemap_url, options.max_urls)
    elif body.sitemap_urls:
        urls = body.sitemap_urls[: options.max_urls]
    else:
        raise UserError("sitemap.missing", "Either sitemap_url or sitemap_urls required", hint="Give one of them.")
    listed = await parts.heavy.run(tenant.id, len(urls), lambda: read_addresses(urls))
    name = options.domain or listed.targets[0].host
    own = [name for name in parts.app.rungs if RUNGS[name].is_own_server]
    ladder = ",".join([DIRECT.name, *own, FIRECRAWL.name]) if options.enable_firecrawl else None
    wanted = Wanted(formats=["metadata"], ladder=ladder)
    request = replace(wanted.request(listed, parts, name, None, sealed), sealed_keys=sealed)
    cap = cap_of(request.cap.credits, None, options.traffic_budget_mb, options.residential_limit_mb)
    request = replace(request, cap=cap, max_concurrency=options.max_concurrency)
    job = (await tenant.submit(request, DOOR, len(listed.urls))).job
    return await _shown(tenant, await tenant.job(job.id))


def _sealed(options: Options, tenant: Tenant, parts: Parts) -> dict[str, bytes]:
    """Return the Firecrawl key that came with the request, sealed for storage; empty if there is none."""
    given = options.firecrawl_api_key.get_secret_value().strip() if options.firecrawl_api_key else ""
    if not given or not options.enable_firecrawl:
        return {}
    if not (given.isascii() and given.isprintable()) or " " in given:
        raise UserError(
            "keys.unusable", "options.firecrawl_api_key is no key.", hint="A key has no spaces and plain letters only."
        )
    return {FIRECRAWL.name: parts.app.seal_key(given, tenant.id, FIRECRAWL.name)}


async def _pages_of(tenant: Tenant, parts: Parts, address: str, most: int) -> list[str]:
    """Return the pages of a sitemap and of the sitemaps it names, in order.

    They are fetched as politely as any page.
    """
    until = time.monotonic() + _PATIENCE
    found = SitemapPages(address, most, _MOST_FILES, _MOST_ENTRIES)
    waiting = [address]
    while waiting and not found.is_full():
        files, waiting = waiting, []
        async for body in _bodies(tenant, parts, files, until):
            if found.is_full() or time.monotonic() > until:
                break
            async with parts.listing_turns.of(tenant.id):
                read = await parts.listings.listed_in(body, found.domain, found.room)
            waiting += found.add(read) if read else ()
    if not found.urls:
        raise UserError(
            "sitemap.empty",
            f"No page could be read from the sitemap {address[:200]}.",
            hint="Open it in a browser, or give the pages in sitemap_urls.",
        )
    return found.urls


async def _bodies(tenant: Tenant, parts: Parts, files: list[str], until: float) -> AsyncIterator[bytes]:
    """Yield the bodies of the files one by one: together they may not fit into memory."""
    listed = read_addresses(files)
    request = Wanted(formats=["raw"]).request(listed, parts, f"Sitemap {files[0][:150]}", None)
    job = (await tenant.submit(request, _READING, len(listed.urls))).job
    while time.monotonic() < until:
        if (await tenant.job(job.id)).state in OVER:
            break
        await asyncio.sleep(_LOOK)
    for url in listed.urls:
        page = await tenant.scraped(job, url)
        body = await tenant.raw_of(job, page) if page else None
        if body is not None:
            yield body


async def pages_of_sitemap(tenant: Tenant, parts: Parts, address: str, most: int) -> list[str]:
    """Return the pages of a sitemap; empty if there is none."""
    try:
        return await _pages_of(tenant, parts, address, most)
    except UserError as error:
        if error.code != "sitemap.empty":
            raise
        return []


async def _job(tenant: Tenant, given: str) -> Job:
    try:
        return await tenant.job(_id_of(given))
    except NotTheirs:
        raise NotTheirs(_UNKNOWN) from None


def _id_of(given: str) -> UUID:
    """Return the id of a job; an invalid id counts as unknown."""
    try:
        return UUID(given)
    except ValueError:
        raise NotTheirs(_UNKNOWN) from None


@router.get("", responses=declared(), summary="List sitemap jobs")
async def list_jobs(
    tenant: Reader,
    domain: Annotated[str | None, Query(max_length=300)] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> list[SitemapJob]:
    return [await _shown(tenant, job) for job in await tenant.jobs_by(DOOR, domain or "", limit)]


@router.get("/{job_id}", responses=declared("job.not_found"), summary="Status of a sitemap job")
async def look(job_id: str, tenant: Reader) -> SitemapJob:
    return await _shown(tenant, await _job(tenant, job_id))


@router.post(
    "/{job_id}/cancel",
    status_code=202,
    responses=declared("job.not_found", "sitemap.status", "job.state"),
    summary="Cancel a sitemap job",
)
async def cancel(job_id: str, tenant: Submitter) -> Ok:
    job = await _job(tenant, job_id)
    status = _STATUS[job.state]
    if status not in (SitemapJobStatus.QUEUED, SitemapJobStatus.RUNNING):
        raise UserError("sitemap.status", f"Cannot cancel job in status: {status}", hint="It is over already.")
    await tenant.cancel(job)
    return Ok()


@router.get(
    "/{job_id}/exports", responses=declared("job.not_found", "recipe.missing"), summary="Tables of a sitemap job"
)
async def exports(job_id: str, tenant: Reader) -> Response:
    """Not available yet: the tables full, seo and diff belong to the recipe `site`."""
    job = await _job(tenant, job_id)
    raise UserError(
        "recipe.missing",
        "The tables full, seo and diff are made by the recipe site, which this server does not have.",
        hint=f"What was read is at GET /v1/jobs/{job.id}/results.",
    )


@router.get(
    "/{job_id}/stream",
    response_class=Response,
    responses={**declared("job.not_found"), 200: {"description": "Progress.", "content": {"text/event-stream": {}}}},
    summary="Follow a sitemap job",
)
async def stream(
    job_id: str, request: Request, parts: GivenParts, caller: Annotated[Caller, Depends(FOLLOWER)]
) -> Response:
    job = await _job(tenant_of(parts, caller), job_id)
    return EventStream(parts.live, caller.account, job.id, None, _told)


def _told(update: Update) -> str:
    job, progress = update.job, update.progress
    ended = progress.pages_done + progress.pages_failed + progress.pages_skipped
    total = ended + progress.pages_open
    said = [f"{one.event.kind} {one.host} {one.event.why}".replace("  ", " ").strip() for one in update.events]
    message = "; ".join([f"{ended}/{total} pages", *said])
    percent = ended * 100 // total if total else 0
    data = {"job_id": str(job.id), "message": message, "progress": 100 if update.is_last else percent}
    lines: list[dict[str, Any]] = [{"type": "progress", "data": data}]
    if update.is_last:
        lines.append({"type": "complete"})
    return "".join(f"data: {orjson.dumps(line).decode()}\n\n" for line in lines)


async def _shown(tenant: Tenant, job: Job) -> SitemapJob:
    progress, budget = await tenant.progress(job), await tenant.budget(job)
    total = progress.pages_done + progress.pages_failed + progress.pages_skipped + progress.pages_open
    return SitemapJob(
        id=str(job.id),
        domain=job.name,
        status=_STATUS[job.state],
        created_at=job.created_at,
        started_at=job.started_at,
        finished_at=job.finished_at,
        total_urls=total,
        success_urls=progress.pages_done,
        failed_urls=progress.pages_failed,
        traffic_mb_used=progress.bytes_in / MEGABYTE,
        residential_mb_used=budget.spent.bytes / MEGABYTE,
        error_message=job.reason or None,
    )
