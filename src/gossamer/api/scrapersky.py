"""The endpoints `/scrapersky`: scan one address or a batch, poll its status, and get the metadata."""

from operator import itemgetter
from typing import Any
from uuid import UUID

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from gossamer.api.caller import Continuer, Reader, Spender
from gossamer.api.dependencies import GivenParts, Parts
from gossamer.api.error_codes import PAGES, ROOM, STEER, declared
from gossamer.api.guarded import ReadAgain
from gossamer.api.scrape import Url, Urls, Wanted
from gossamer.api.tenant import Tenant
from gossamer.errors import UserError
from gossamer.intake.addresses import MAX_ADDRESSES, read_addresses
from gossamer.model.job import Job
from gossamer.model.states import OVER, PageState
from gossamer.store.given_pages import ScrapedPage

router = APIRouter(prefix="/scrapersky", tags=["scrapersky"], route_class=ReadAgain)

_AT_ONCE = 500
_STATES = {PageState.DONE: "completed", PageState.FAILED: "failed", PageState.SKIPPED: "failed"}


class One(BaseModel):
    model_config = ConfigDict(json_schema_extra={"example": {"url": "https://shop.example/"}})

    url: Url


class Many(BaseModel):
    model_config = ConfigDict(json_schema_extra={"example": {"urls": ["https://a.example/", "https://b.example/"]}})

    urls: Urls = Field(min_length=1, max_length=MAX_ADDRESSES)


class JobAccepted(BaseModel):
    job_id: str
    status: str
    status_url: str


class BatchAccepted(BaseModel):
    batch_id: str
    status: str
    status_url: str


class UrlStatus(BaseModel):
    url: str
    status: str = Field(description="pending, completed or failed.")
    error: str | None = None
    metadata: dict[str, Any] | None = None


class SingleStatus(UrlStatus):
    job_id: str


class BatchStatus(BaseModel):
    batch_id: str
    status: str
    total: int
    completed: int
    failed: int
    pending: int
    results: list[UrlStatus] = Field(description="In the order of the request.")


class RetriedBatch(BatchAccepted):
    retried: int = Field(description="Number of addresses that are retried.")
    message: str = Field(description="The same as a sentence.")


@router.post("", status_code=202, responses=declared(*ROOM, *PAGES), summary="Scan an address")
async def scan(body: One, tenant: Spender, parts: GivenParts) -> JobAccepted:
    job = await _submit([body.url], tenant, parts)
    return JobAccepted(job_id=str(job.id), status="pending", status_url=f"/scrapersky/status/{job.id}")


@router.get("/status/{job_id}", responses=declared("job.not_found", "results.deleted"), summary="Status of a scan")
async def status(job_id: UUID, tenant: Reader) -> SingleStatus:
    job = await tenant.job(job_id)
    (page,) = (await tenant.scraped_after(job, "", 1)).pages or (ScrapedPage("", PageState.PENDING),)
    return SingleStatus(job_id=str(job.id), **_shown(page).model_dump())


@router.post("/batch", status_code=202, responses=declared(*ROOM, *PAGES), summary="Scan many addresses")
async def scan_batch(body: Many, tenant: Spender, parts: GivenParts) -> BatchAccepted:
    return _batch(await _submit(body.urls, tenant, parts))


@router.get(
    "/batch/status/{batch_id}", responses=declared("job.not_found", "results.deleted"), summary="Status of a batch"
)
async def batch_status(batch_id: UUID, tenant: Reader) -> BatchStatus:
    return await _standing(tenant, await tenant.job(batch_id))


async def _standing(tenant: Tenant, job: Job) -> BatchStatus:
    pages: list[tuple[int, UrlStatus]] = []
    after = ""
    while True:
        listing = await tenant.scraped_after(job, after, _AT_ONCE)
        pages += [(page.listed, _shown(page)) for page in listing.pages]
        after = listing.next
        if not after:
            break
    found = [one for _, one in sorted(pages, key=itemgetter(0))]
    counts = {state: sum(one.status == state for one in found) for state in ("completed", "failed", "pending")}
    return BatchStatus(batch_id=str(job.id), status=_overall(job, counts), total=len(found), **counts, results=found)


@router.post(
    "/batch/{batch_id}/retry-failed",
    status_code=202,
    responses=declared(*ROOM, *STEER, "results.deleted", "results.hidden"),
    summary="Retry what failed",
)
async def retry_failed(batch_id: UUID, tenant: Continuer) -> RetriedBatch:
    """Retry failed pages once the batch is over, except those that would fail again, such as missing pages."""
    job = await tenant.job(batch_id)
    before = await _standing(tenant, job)
    if before.pending and job.state not in OVER:
        done = f"{before.completed + before.failed} of {before.total} addresses are done"
        raise UserError("job.state", f"The batch is still running: {done}.", hint="Try again when it is over.")
    retried = (await tenant.retry_failed(job)).pages
    if retried:
        message = f"Tried again: {retried} of the {before.failed} that failed."
        if before.failed > retried:
            message += " The others would fail again."
    elif before.failed:
        message = f"Nothing to retry: the {before.failed} that failed would fail again."
    else:
        message = "Nothing to retry: none failed."
    status = "pending" if retried else before.status
    return RetriedBatch(**{**_batch(job).model_dump(), "status": status}, retried=retried, message=message)


async def _submit(urls: list[str], tenant: Tenant, parts: Parts) -> Job:
    listed = await parts.heavy.run(tenant.id, len(urls), lambda: read_addresses(urls))
    request = Wanted(formats=["metadata"]).request(listed, parts, "", None)
    return (await tenant.submit(request, "scrapersky", len(listed.urls))).job


def _batch(job: Job) -> BatchAccepted:
    return BatchAccepted(batch_id=str(job.id), status="pending", status_url=f"/scrapersky/batch/status/{job.id}")


def _shown(page: ScrapedPage) -> UrlStatus:
    state = _STATES.get(page.state, "pending")
    metadata = page.data.get("metadata") if state == "completed" else None
    return UrlStatus(url=page.url, status=state, error=page.error or None, metadata=metadata)


def _overall(job: Job, counts: dict[str, int]) -> str:
    if counts["pending"]:
        return "running" if counts["completed"] + counts["failed"] else "pending"
    return "failed" if counts["failed"] and not counts["completed"] else "completed"
