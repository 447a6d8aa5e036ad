"""`/firecrawl/v2/*`: pages, batches and crawls, as programs written for Firecrawl ask for them.

The same endpoints are at `/v2/*`, since their Python client drops the path of the address it is given.
"""

import time
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Annotated, Any
from urllib.parse import urlsplit
from uuid import UUID

from fastapi import APIRouter, Header, Path, Query, Request
from starlette.responses import Response

from gossamer.api.answers import JsonAnswer
from gossamer.api.caller import Reader, Spender, Submitter
from gossamer.api.dialects import fire_documents as shapes
from gossamer.api.dialects.fire_map import MapAnswer, MapBody, map_site
from gossamer.api.dialects.fire_options import FORMATS, BatchBody, CrawlBody, ScrapeBody, pattern_of
from gossamer.api.dialects.route import sentence, speaking
from gossamer.api.parts import GivenParts, Parts
from gossamer.api.scrape import problem_of, read_page
from gossamer.api.tenant import Tenant
from gossamer.errors import UserError
from gossamer.intake.addresses import AddressList, read_address, read_addresses
from gossamer.intake.domain import Refusal
from gossamer.intake.submit import LONGEST_KEY
from gossamer.model.job import Job, JobRequest
from gossamer.model.states import OVER, PageState
from gossamer.model.trouble import Reason
from gossamer.store.given_pages import ScrapedPage

BATCH, CRAWL = "firecrawl-batch", "firecrawl-crawl"
_AT_ONCE = 100  # documents of one answer,
_MOST_BYTES = 10_000_000  # which are not larger than that together, but for the last of them
_MOST_ERRORS = 1_000
_WITHOUT_LIMIT = 1_000_000_000  # their clients want a number

_ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": shapes.Refusal, "description": "An error."}
    for status in (400, 401, 402, 403, 404, 408, 409, 410, 413, 429, 500, 503)
}

SPEAKING = speaking(lambda told: {"success": False, "error": sentence(told), "code": told["code"]})

router = APIRouter(tags=["as Firecrawl"], route_class=SPEAKING)

Skip = Annotated[str, Query(max_length=200, description="From `next`.")]
TheirKey = Annotated[str | None, Header(alias="x-idempotency-key", max_length=LONGEST_KEY)]


@router.post("/scrape", response_model=shapes.ScrapeAnswer, responses=_ERRORS, summary="Scrape a page")
async def scrape(body: ScrapeBody, tenant: Spender, parts: GivenParts) -> Response | shapes.ScrapeAnswer:
    """Waits for the page up to `timeout`, and then gives it up. One that answers 404 is a document without content."""
    until = time.monotonic() + body.timeout / 1_000
    listed = read_addresses([body.url])
    wanted = body.wanted(parts.app.rungs)
    job, page = await read_page(tenant, parts, wanted.request(listed, parts, "", None), "firecrawl", until)
    if page is None:
        await tenant.give_up(job)
        late = f"The page did not come within {body.timeout:,} ms, or its job was stopped."
        return _refusal(408, late, "SCRAPE_TIMEOUT")
    if page.state is not PageState.DONE and (page.http_status or 0) < 400:
        return _failed(page)
    done = page.state is PageState.DONE
    page = await tenant.with_files(job, page)
    credits = parts.prices.get(str(page.data.get("crawl_method") or ""), 1) if done else 0
    formats = body.named_formats() if done else ()
    return shapes.ScrapeAnswer(data=shapes.document(page, formats, job, credits, body.warning))


def _failed(page: ScrapedPage) -> Response:
    status, code = problem_of(page)
    reason = page.trouble.reason if page.trouble else None
    if status == 422:
        status = 408 if reason is Reason.TIMEOUT else 500
        code = shapes.CODES.get(reason, reason.name) if reason else code
    return _refusal(status, f"{page.url}: {page.error or 'it could not be read'}.", code)


def _refusal(status: int, error: str, code: str) -> Response:
    return JsonAnswer(shapes.Refusal(error=error, code=code).model_dump(), status)


@router.post("/map", response_model=MapAnswer, responses=_ERRORS, summary="The addresses of a site")
async def addresses(body: MapBody, tenant: Spender, parts: GivenParts) -> MapAnswer:
    """Those its sitemap lists, and those the page links to; each page and file that is read for it costs as ever."""
    return await map_site(body, tenant, parts)


@router.post("/batch/scrape", response_model=shapes.Started, responses=_ERRORS, summary="Scrape many pages")
async def batch(
    body: BatchBody, request: Request, tenant: Spender, parts: GivenParts, key: TheirKey = None
) -> shapes.Started:
    wanted = body.wanted(parts.app.rungs)
    bad, listed = await parts.heavy.run(tenant.id, len(body.urls), lambda: _read(body))
    job = (await tenant.submit(wanted.request(listed, parts, "", key), BATCH, len(listed.urls))).job
    return shapes.Started(id=str(job.id), url=_place(request, parts, job), invalidURLs=bad or None)


def _read(body: BatchBody) -> tuple[list[str], AddressList]:
    """The addresses that are none, where those are left out, and the others."""
    bad = [url for url in body.urls if isinstance(read_address(url), Refusal)] if body.ignore_invalid else []
    unread = set(bad)
    return bad, read_addresses(url for url in body.urls if url not in unread)


@router.post("/crawl", response_model=shapes.Started, responses=_ERRORS, summary="Scrape a site")
async def crawl(
    body: CrawlBody, request: Request, tenant: Spender, parts: GivenParts, key: TheirKey = None
) -> shapes.Started:
    """Reads the site from this address on, what lies below it, by its links and its sitemap, as politely as ever."""
    job = (await tenant.submit(_crawl_request(body, parts, key), CRAWL, 1)).job
    return shapes.Started(id=str(job.id), url=_place(request, parts, job))


def _crawl_request(body: CrawlBody, parts: Parts, key: str | None) -> JobRequest:
    body.check()
    listed = read_addresses([body.url])
    (url,), (target,) = listed.urls, listed.targets
    request = body.options.wanted(parts.app.rungs).request(listed, parts, f"Crawl of {url}"[:200], key)
    include = [pattern_of(one) for one in body.include_paths]
    below = urlsplit(url).path.rpartition("/")[0] if "." in url.rpartition("/")[2] else urlsplit(url).path.rstrip("/")
    if below and not include and not body.whole_domain:
        include = [below, f"{below}/*"]
    walk = {
        "max_pages": body.limit,
        "include": include,
        "exclude": [pattern_of(one) for one in body.exclude_paths],
        **({} if body.max_depth is None else {"depth": body.max_depth}),
    }
    return replace(
        request, params={**request.params, "walk": walk}, targets=(replace(target, entries=(url,), pages=()),)
    )


def _place(request: Request, parts: Parts, job: Job) -> str:
    return parts.link(request, f"{request.url.path}/{job.id}")


@router.get("/crawl/active", responses=_ERRORS, summary="Crawls at work")
async def active(tenant: Reader) -> dict[str, Any]:
    found = [job for job in await tenant.jobs_by(CRAWL, "", 200) if job.state not in OVER]
    shown = [{"id": str(job.id), "teamId": tenant.id, "url": job.name.removeprefix("Crawl of ")} for job in found]
    return {"success": True, "crawls": shown}


@router.get("/batch/scrape/{job_id}", responses=_ERRORS, summary="How a batch stands, and its pages")
async def batch_status(
    job_id: UUID, request: Request, tenant: Reader, parts: GivenParts, skip: Skip = ""
) -> shapes.JobAnswer:
    return await _status(await tenant.job(job_id), request, tenant, parts, skip)


@router.get("/crawl/{job_id}", responses=_ERRORS, summary="How a crawl stands, and its pages")
async def crawl_status(
    job_id: UUID, request: Request, tenant: Reader, parts: GivenParts, skip: Skip = ""
) -> shapes.JobAnswer:
    return await _status(await tenant.job(job_id), request, tenant, parts, skip)


async def _status(job: Job, request: Request, tenant: Tenant, parts: Parts, skip: str) -> shapes.JobAnswer:
    progress, use = await tenant.progress(job), await tenant.use_of(job)
    of = f"firecrawl {job.id}"
    listing = await tenant.scraped_after(job, tenant.cursors.place(of, skip).hex(), _AT_ONCE)
    formats = [name for name, ours in FORMATS.items() if ours in (job.params.get("formats") or ())]
    documents: list[shapes.Document] = []
    size, following = 0, listing.next
    async for page in _with_files(tenant, job, listing.pages):
        credits = parts.prices.get(str(page.data.get("crawl_method") or ""), 1)
        documents.append(shapes.document(page, formats, job, credits))
        size += sum(len(value) for value in page.data.values() if isinstance(value, str | bytes))
        if size > _MOST_BYTES and page is not listing.pages[-1]:
            following = page.place
            break
    walks = bool(job.params.get("walk"))
    pages = progress.pages_done + progress.pages_failed + progress.pages_open
    total = pages if walks or use is None else use.urls
    credits = use.credits if use and not use.is_open else progress.pages_done
    skip = tenant.cursors.cursor(of, bytes.fromhex(following)) if following else ""
    link = parts.link(request, f"{request.url.path}?skip={skip}") if skip else None
    return shapes.job_answer(job, documents, total, progress.pages_done, credits, link)


async def _with_files(tenant: Tenant, job: Job, pages: list[ScrapedPage]) -> AsyncIterator[ScrapedPage]:
    for page in pages:
        if page.state is PageState.DONE:
            yield await tenant.with_files(job, page)


@router.get("/batch/scrape/{job_id}/errors", responses=_ERRORS, summary="Where a batch failed")
async def batch_errors(job_id: UUID, tenant: Reader) -> shapes.Errors:
    return await _errors(tenant, await tenant.job(job_id))


@router.get("/crawl/{job_id}/errors", responses=_ERRORS, summary="Where a crawl failed")
async def crawl_errors(job_id: UUID, tenant: Reader) -> shapes.Errors:
    return await _errors(tenant, await tenant.job(job_id))


async def _errors(tenant: Tenant, job: Job) -> shapes.Errors:
    found = await tenant.failed_pages(job, b"", _MOST_ERRORS)
    failed = list(found.items)
    while found.next and len(failed) < _MOST_ERRORS:
        found = await tenant.failed_pages(job, found.next, _MOST_ERRORS - len(failed))
        failed += found.items
    robots = [one.url for one in failed if one.trouble and one.trouble.reason is Reason.ROBOTS]
    return shapes.Errors(
        errors=[shapes.page_error(one) for one in failed if one.url not in robots], robotsBlocked=robots
    )


@router.delete("/batch/scrape/{job_id}", responses=_ERRORS, summary="Cancel a batch")
async def cancel_batch(job_id: UUID, tenant: Submitter) -> shapes.Cancelled:
    return await _cancel(tenant, job_id)


@router.delete("/crawl/{job_id}", responses=_ERRORS, summary="Cancel a crawl")
async def cancel_crawl(job_id: UUID, tenant: Submitter) -> shapes.Cancelled:
    return await _cancel(tenant, job_id)


async def _cancel(tenant: Tenant, job_id: UUID) -> shapes.Cancelled:
    job = await tenant.job(job_id)
    if job.state in OVER:
        raise UserError("job.state", f"The job is {shapes.status_of(job)} already.", hint="There is nothing to cancel.")
    await tenant.cancel(job)
    return shapes.Cancelled()


@router.get("/team/credit-usage", responses=_ERRORS, summary="What is left")
async def credit_usage(tenant: Reader) -> dict[str, Any]:
    """Without a limit of credits `planCredits` is null, and `remainingCredits` a number that is not used up."""
    limits, spent = await tenant.quota(), await tenant.spent()
    left = _WITHOUT_LIMIT if limits.credits is None else max(0, limits.credits - spent)
    return {"success": True, "data": {"remainingCredits": left, "planCredits": limits.credits}}


@router.get("/concurrency-check", responses=_ERRORS, summary="Jobs at work, and how many may be")
async def concurrency(tenant: Reader) -> dict[str, Any]:
    running, limits = (await tenant.at_work())[0], await tenant.quota()
    return {"success": True, "concurrency": running, "maxConcurrency": limits.running or _WITHOUT_LIMIT}


@router.get("/team/queue-status", responses=_ERRORS, summary="Jobs at work and waiting")
async def queue_status(tenant: Reader) -> dict[str, Any]:
    running, waiting = await tenant.at_work()
    limits = await tenant.quota()
    return {
        "success": True,
        "jobsInQueue": running + waiting,
        "activeJobsInQueue": running,
        "waitingJobsInQueue": waiting,
        "maxConcurrency": limits.running,
        "mostRecentSuccess": None,
    }


absent = APIRouter(route_class=SPEAKING, include_in_schema=False)
"""What Firecrawl has and this server does not, in the shape of all other errors. Asked after all other endpoints."""


@absent.api_route("/{rest:path}", methods=["GET", "POST", "PUT", "PATCH", "DELETE"])
async def not_here(rest: Annotated[str, Path(max_length=2_000)], request: Request, tenant: Reader) -> Response:
    named = f"{request.method} /{rest[:80]}"
    error = f"{named} is not available here: there are scrape, batch/scrape, crawl and map (docs/howto/dialects.md)."
    return _refusal(501, error, "NOT_AVAILABLE")
