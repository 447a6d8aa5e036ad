"""The endpoints `/firecrawl/v2/*`: pages, batches, crawls and maps, for programs written for Firecrawl.

The same endpoints are at `/v2/*`, because Firecrawl's Python client drops the path of its base address.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import replace
from typing import Annotated, Any
from urllib.parse import urlsplit
from uuid import UUID

from fastapi import APIRouter, Header, Path, Query, Request
from starlette.responses import Response

from gossamer.api.caller import Reader, Spender, Submitter
from gossamer.api.dependencies import GivenParts, Parts
from gossamer.api.dialects import fire_shapes as shapes
from gossamer.api.dialects import sentence, speaking
from gossamer.api.dialects.fire_shapes import FORMATS, BatchBody, CrawlBody, ScrapeBody, pattern_of, refuse_unavailable
from gossamer.api.scrape import Wanted, problem_of, read_page
from gossamer.api.sitemap_jobs import pages_of_sitemap
from gossamer.api.tenant import Tenant
from gossamer.api.views import JsonAnswer
from gossamer.errors import UserError
from gossamer.intake.addresses import AddressList, read_address, read_addresses
from gossamer.intake.domain import BadEntry
from gossamer.intake.submit import LONGEST_KEY
from gossamer.model.job import Job, JobRequest
from gossamer.model.states import OVER, PageState
from gossamer.model.trouble import Reason
from gossamer.model.url import domain_of, normalise, origin_of, site_of_url
from gossamer.store.given_pages import ScrapedPage

BATCH, CRAWL, MAP = "firecrawl-batch", "firecrawl-crawl", "firecrawl-map"
_AT_ONCE = 100  # documents in one answer
_MOST_BYTES = 10_000_000  # of the documents in one answer; the last one may exceed it
_MOST_ERRORS = 1_000
_WITHOUT_LIMIT = 1_000_000_000  # Firecrawl's clients expect a number

_ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": shapes.FirecrawlError, "description": "An error."}
    for status in (400, 401, 402, 403, 404, 408, 409, 410, 413, 429, 500, 503)
}

SPEAKING = speaking(lambda told: {"success": False, "error": sentence(told), "code": told["code"]})

router = APIRouter(tags=["as Firecrawl"], route_class=SPEAKING)

Skip = Annotated[str, Query(max_length=200, description="From `next`.")]
TheirKey = Annotated[str | None, Header(alias="x-idempotency-key", max_length=LONGEST_KEY)]


@router.post("/scrape", response_model=shapes.ScrapeAnswer, responses=_ERRORS, summary="Scrape a page")
async def scrape(body: ScrapeBody, tenant: Spender, parts: GivenParts) -> Response | shapes.ScrapeAnswer:
    """Wait for the page for up to `timeout`, then cancel it. A page that answers 404 is a document without content."""
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
    return JsonAnswer(shapes.FirecrawlError(error=error, code=code).model_dump(), status)


@router.post("/map", response_model=shapes.MapAnswer, responses=_ERRORS, summary="The addresses of a site")
async def addresses(body: shapes.MapBody, tenant: Spender, parts: GivenParts) -> shapes.MapAnswer:
    """List the addresses of a site, from its sitemap and from the links of the page.

    Each page and sitemap file that is read costs as usual. If the site does not answer within `timeout`, only its
    address is returned.
    """
    refuse_unavailable(body.model_extra or {})
    listed = read_addresses([body.url])
    found = _Found(listed.urls[0], body)
    found.take([{"url": listed.urls[0]}])
    until = time.monotonic() + body.timeout / 1_000
    if body.sitemap != "only":
        found.take(await _links(tenant, parts, listed, until))
    if body.sitemap != "skip" and not found.is_full:
        # After the timeout its jobs continue; only this answer is without what they read.
        try:
            async with asyncio.timeout(max(0.0, until - time.monotonic())):
                address = f"{origin_of(listed.urls[0])}/sitemap.xml"
                found.take({"url": url} for url in await pages_of_sitemap(tenant, parts, address, 2 * body.limit))
        except TimeoutError:
            pass
    return shapes.MapAnswer(links=found.links)


async def _links(tenant: Tenant, parts: Parts, listed: AddressList, until: float) -> list[Mapping[str, Any]]:
    wanted = Wanted(formats=["links", "metadata"]).request(listed, parts, "", None)
    job, page = await read_page(tenant, parts, wanted, MAP, until)
    if page is None:
        await tenant.give_up(job)
        return []
    if page.state is not PageState.DONE:
        return []
    facts = page.data.get("metadata") or {}
    itself = {"url": page.data.get("final_url"), "title": facts.get("title"), "description": facts.get("description")}
    return [itself, *({"url": one["url"], "title": one.get("text")} for one in page.data.get("links") or ())]


class _Found:
    """Addresses of the site, each once, in the order they were found."""

    def __init__(self, url: str, body: shapes.MapBody) -> None:
        self._site = site_of_url(url)
        self._body = body
        self._links: dict[str, shapes.MapLink] = {}

    @property
    def links(self) -> list[shapes.MapLink]:
        return list(self._links.values())[: self._body.limit]

    @property
    def is_full(self) -> bool:
        return len(self._links) >= self._body.limit

    def take(self, some: Iterable[Mapping[str, Any]]) -> None:
        for one in some:
            url = normalise(str(one.get("url") or ""))
            if url is None or not self._is_wanted(url, str(one.get("title") or "")):
                continue
            key = url.partition("?")[0] if self._body.ignore_query else url
            known = self._links.get(key)
            if known is None:
                self._links[key] = shapes.MapLink(
                    url=key, title=one.get("title") or None, description=one.get("description") or None
                )
            elif known.title is None and one.get("title"):
                known.title, known.description = one["title"], one.get("description") or None

    def _is_wanted(self, url: str, title: str) -> bool:
        if urlsplit(url).scheme not in ("http", "https"):
            return False
        site, search = site_of_url(url), self._body.search.lower()
        mine = site == self._site or (self._body.include_subdomains and domain_of(site) == domain_of(self._site))
        return mine and (search in url.lower() or search in title.lower())


@router.post("/batch/scrape", response_model=shapes.Started, responses=_ERRORS, summary="Scrape many pages")
async def batch(
    body: BatchBody, request: Request, tenant: Spender, parts: GivenParts, key: TheirKey = None
) -> shapes.Started:
    wanted = body.wanted(parts.app.rungs)
    bad, listed = await parts.heavy.run(tenant.id, len(body.urls), lambda: _read(body))
    job = (await tenant.submit(wanted.request(listed, parts, "", key), BATCH, len(listed.urls))).job
    return shapes.Started(id=str(job.id), url=_place(request, parts, job), invalidURLs=bad or None)


def _read(body: BatchBody) -> tuple[list[str], AddressList]:
    """Return the invalid addresses, if these are ignored, and the others."""
    bad = [url for url in body.urls if isinstance(read_address(url), BadEntry)] if body.ignore_invalid else []
    unread = set(bad)
    return bad, read_addresses(url for url in body.urls if url not in unread)


@router.post("/crawl", response_model=shapes.Started, responses=_ERRORS, summary="Scrape a site")
async def crawl(
    body: CrawlBody, request: Request, tenant: Spender, parts: GivenParts, key: TheirKey = None
) -> shapes.Started:
    """Crawl the pages below this address, by links and sitemap, as politely as any job."""
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


@router.get("/crawl/active", responses=_ERRORS, summary="Active crawls")
async def active(tenant: Reader) -> dict[str, Any]:
    found = [job for job in await tenant.jobs_by(CRAWL, "", 200) if job.state not in OVER]
    shown = [{"id": str(job.id), "teamId": tenant.id, "url": job.name.removeprefix("Crawl of ")} for job in found]
    return {"success": True, "crawls": shown}


# The decorator nearest to the function registers its route first.
@router.get("/crawl/{job_id}", responses=_ERRORS, summary="Status of a crawl, and its pages")
@router.get("/batch/scrape/{job_id}", responses=_ERRORS, summary="Status of a batch, and its pages")
async def job_status(
    job_id: UUID, request: Request, tenant: Reader, parts: GivenParts, skip: Skip = ""
) -> shapes.JobAnswer:
    job = await tenant.job(job_id)
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


@router.get("/crawl/{job_id}/errors", responses=_ERRORS, summary="Where a crawl failed")
@router.get("/batch/scrape/{job_id}/errors", responses=_ERRORS, summary="Where a batch failed")
async def job_errors(job_id: UUID, tenant: Reader) -> shapes.Errors:
    job = await tenant.job(job_id)
    found = await tenant.failed_pages(job, b"", _MOST_ERRORS)
    failed = list(found.items)
    while found.next and len(failed) < _MOST_ERRORS:
        found = await tenant.failed_pages(job, found.next, _MOST_ERRORS - len(failed))
        failed += found.items
    robots = [one.url for one in failed if one.trouble and one.trouble.reason is Reason.ROBOTS]
    return shapes.Errors(
        errors=[shapes.page_error(one) for one in failed if one.url not in robots], robotsBlocked=robots
    )


@router.delete("/crawl/{job_id}", responses=_ERRORS, summary="Cancel a crawl")
@router.delete("/batch/scrape/{job_id}", responses=_ERRORS, summary="Cancel a batch")
async def cancel(job_id: UUID, tenant: Submitter) -> shapes.Cancelled:
    job = await tenant.job(job_id)
    if job.state in OVER:
        raise UserError("job.state", f"The job is {shapes.status_of(job)} already.", hint="There is nothing to cancel.")
    await tenant.cancel(job)
    return shapes.Cancelled()


@router.get("/team/credit-usage", responses=_ERRORS, summary="Remaining credits")
async def credit_usage(tenant: Reader) -> dict[str, Any]:
    """Without a credit limit, `planCredits` is null and `remainingCredits` a very large number."""
    limits, spent = await tenant.quota(), await tenant.spent()
    left = _WITHOUT_LIMIT if limits.credits is None else max(0, limits.credits - spent)
    return {"success": True, "data": {"remainingCredits": left, "planCredits": limits.credits}}


@router.get("/concurrency-check", responses=_ERRORS, summary="Running jobs and their limit")
async def concurrency(tenant: Reader) -> dict[str, Any]:
    running, limits = (await tenant.at_work())[0], await tenant.quota()
    return {"success": True, "concurrency": running, "maxConcurrency": limits.running or _WITHOUT_LIMIT}


@router.get("/team/queue-status", responses=_ERRORS, summary="Running and queued jobs")
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
"""Endpoints of Firecrawl that this server does not have: they answer 501. Included after all other routers."""


@absent.api_route("/{rest:path}", methods=["GET", "POST", "PUT", "PATCH", "DELETE"])
async def not_here(rest: Annotated[str, Path(max_length=2_000)], request: Request, tenant: Reader) -> Response:
    named = f"{request.method} /{rest[:80]}"
    error = f"{named} is not available here: there are scrape, batch/scrape, crawl and map (docs/howto/dialects.md)."
    return _refusal(501, error, "NOT_AVAILABLE")
