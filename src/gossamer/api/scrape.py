"""Scraping over HTTP: one page while the client waits, or many as a job."""

import asyncio
import time
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Self
from uuid import UUID

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field, model_validator
from starlette.requests import Request
from starlette.responses import Response

from gossamer.api import views
from gossamer.api.caller import Reader, Spender
from gossamer.api.dependencies import GivenParts, Parts
from gossamer.api.error_codes import ONCE, PAGES, ROOM, declared
from gossamer.api.guarded import ReadAgain
from gossamer.api.jobs import IdempotencyKey, Limits
from gossamer.api.problems import problem, request_id
from gossamer.api.tenant import Tenant
from gossamer.api.views import JsonAnswer, ShapedAnswer
from gossamer.intake.addresses import MAX_ADDRESSES, AddressList, read_addresses
from gossamer.intake.submit import check_key
from gossamer.model.fields import Strict
from gossamer.model.job import Job, JobRequest
from gossamer.model.money import Scope
from gossamer.model.rungs import DIRECT
from gossamer.model.states import OVER, JobState, PageState
from gossamer.model.trouble import Reason
from gossamer.recipes.page_results import page_answer, whole_answer
from gossamer.recipes.scrape.request import scrape_request, with_usual_cap
from gossamer.store.given_pages import ScrapedPage

router = APIRouter(prefix="/v1", tags=["scrape"], route_class=ReadAgain)

LONGEST_WAIT = 60.0  # seconds
_LOOK, _LONGEST_LOOK = 0.05, 0.5  # seconds between checks of the rows, increasing
_AT_REST = {JobState.PAUSING, JobState.PAUSED, *OVER}
# Reasons that lie in the request, not in the site's present state.
_STATUS = {
    Reason.ROBOTS: (403, "robots-disallowed"),
    Reason.FORBIDDEN_ADDRESS: (400, "address-forbidden"),
    Reason.NEVER_VISIT: (403, "address-forbidden"),
    Reason.BAD_URL: (400, "urls.bad"),
}
_FAILED = ("robots-disallowed", "address-forbidden", "page-failed")

Url = Annotated[str, Field(min_length=1, max_length=8_000)]
Urls = Annotated[list[Url], Field(fail_fast=True)]


class Wanted(Strict):
    """Output requested for every page."""

    model_config = ConfigDict(extra="forbid")

    formats: list[Annotated[str, Field(max_length=40)]] = Field(
        default_factory=list,
        max_length=20,
        description="html, raw, text, markdown, links, metadata, structured, extract, screenshot. Markdown if none.",
    )
    extract: dict[str, Any] | None = Field(None, description="Fields to extract, by CSS selector or XPath.")
    only_main_content: bool = Field(
        True, description="Leave menus, banners, footers and lists of links out of the Markdown."
    )
    mode: str | None = Field(None, max_length=40, description="free-only, hybrid or premium-only.")
    ladder: str | None = Field(None, max_length=400, description="Custom list of methods, like direct,stealth.")
    limits: Limits = Field(default_factory=Limits)

    def request(
        self,
        listed: AddressList,
        parts: Parts,
        name: str,
        key: str | None,
        more: Iterable[str] = (),
        *,
        result_file: bool = False,
    ) -> JobRequest:
        """Return the job request for these pages. `more` names additional rungs of this job."""
        if key:
            check_key(key)
        request = scrape_request(
            listed,
            tuple(dict.fromkeys((*parts.app.rungs, *more))),
            formats=self.formats,
            rules=self.extract,
            mode=self.mode,
            ladder=self.ladder,
            name=name,
            submit_key=key or "",
            cap=self.limits.cap(),
            result_file=result_file,
            only_main_content=self.only_main_content,
        )
        return with_usual_cap(request, parts.app.caps[Scope.JOB])


class PageOptions(Wanted):
    timeout: float = Field(
        60.0, ge=0, le=LONGEST_WAIT, description="Seconds to wait for the page; after that, the answer is its job."
    )
    is_async: bool = Field(
        False,
        alias="async",
        description="Do not wait: answer 202 with the job at once. The job's `result` locates the result, and webhooks "
        "receive `result.ready`.",
    )


class NewScrape(PageOptions):
    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"example": {"url": "https://shop.example/", "formats": ["markdown", "metadata"]}},
    )

    url: Url
    options: PageOptions | None = Field(
        None,
        description="All options in one object, instead of at the top level. The answer is then `{content, meta}`.",
    )

    @model_validator(mode="after")
    def _in_one_place(self) -> Self:
        both = self.options and sorted(self.model_fields_set - {"url", "options"})
        if both:
            name = "async" if both[0] == "is_async" else both[0]
            raise ValueError(f"{name} stands beside options: move it into options, or leave options out")
        return self


class NewBatch(Wanted):
    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"example": {"urls": ["https://a.example/", "https://b.example/"], "formats": ["text"]}},
    )

    urls: Urls = Field(min_length=1, max_length=MAX_ADDRESSES)
    name: str = Field("", max_length=200)


class PageView(BaseModel):
    """One address and its result."""

    url: str
    status: str = Field(description="pending, done, failed or skipped.")
    error: str = Field("", description="Reason for the failure, as a sentence.")
    code: str = Field("", description="Reason for the failure, as a code.")
    http_status: int | None = None
    tries: int = 0
    data: dict[str, Any] = Field(default_factory=dict, description="The requested formats.")


class Scraped(PageView):
    job_id: str
    final_url: str
    method: str = Field(description="Method that fetched the page.", examples=[DIRECT.name])
    credits: int = Field(description="Account credits used.")


class Meta(BaseModel):
    """Metadata of a page."""

    url: str
    final_url: str
    status_code: int | None
    title: str
    language: str
    content_type: str
    bytes: int
    timestamp: str
    method: str = Field(description="Method that fetched the page.", examples=[DIRECT.name])
    tries: int
    credits: int = Field(description="Account credits used.")
    job_id: str


class ScrapedContent(BaseModel):
    """The answer to a request with `options`."""

    content: Any = Field(description="The requested format itself; if there are several, an object of them.")
    meta: Meta


class Accepted(BaseModel):
    id: str
    state: JobState
    urls: int
    duplicates: int = Field(0, description="Repeated addresses, which are fetched once.")
    links: dict[str, str]


class PageList(BaseModel):
    items: list[PageView]
    has_more: bool
    next_cursor: str | None = None


@router.post(
    "/scrape",
    response_model=Scraped | ScrapedContent,
    responses={
        **declared(*ROOM, *PAGES, *ONCE, *_FAILED),
        202: {"model": Accepted, "description": "The job, if the page takes longer or `async` was given."},
    },
    summary="Scrape a page",
)
async def scrape(
    body: NewScrape, request: Request, tenant: Spender, parts: GivenParts, idempotency_key: IdempotencyKey = None
) -> Response:
    """Scrape one page, waiting for up to `timeout`; after that, answer 202 with the job, which continues.

    With `async` the request does not wait, and the result is put into a file: GET /v1/jobs/{id} has its
    address, which is signed and valid for a day.

    A page that cannot be fetched is returned as a problem with the reason; it costs no credits. With `options`
    in the request the response is `content` and `meta`.
    """
    began = time.monotonic()
    asked = body.options or body
    listed = read_addresses([body.url])
    wanted = asked.request(listed, parts, "", idempotency_key, result_file=asked.is_async)
    if asked.is_async:
        return _accepted((await tenant.submit(wanted, "scrape", 1)).job, listed)
    job, page = await read_page(tenant, parts, wanted, "scrape", began + asked.timeout)
    if page is None:
        return _accepted(job, listed, {"Retry-After": "1"})
    if page.state is not PageState.DONE:
        return _failed(request, job, page)
    page = await tenant.with_files(job, page)
    answer = Scraped(**whole_answer(page, job.id, parts.prices))
    headers = {
        "X-Gossamer-Credits": str(answer.credits),
        "X-Gossamer-Final-Url": answer.final_url.encode("ascii", "replace").decode(),
        "X-Gossamer-Method": answer.method,
        "X-Gossamer-Job": str(job.id),
    }
    shown = ShapedAnswer(_content_of(wanted.params.get("formats", ["markdown"]), answer) if body.options else answer)
    shown.headers.update(headers)
    return shown


def _content_of(formats: Sequence[str], answer: Scraped) -> ScrapedContent:
    data = answer.data
    found = {name: data.get(name) for name in formats}
    known = {name: data.get(name) or "" for name in ("title", "language", "content_type", "timestamp")}
    meta = Meta(
        **known,
        url=answer.url,
        final_url=answer.final_url,
        status_code=answer.http_status,
        bytes=data.get("bytes") or 0,
        method=answer.method,
        tries=answer.tries,
        credits=answer.credits,
        job_id=answer.job_id,
    )
    return ScrapedContent(content=next(iter(found.values())) if len(found) == 1 else found, meta=meta)


async def read_page(
    tenant: Tenant, parts: Parts, wanted: JobRequest, door: str, until: float
) -> tuple[Job, ScrapedPage | None]:
    """Submit a job of one page and wait for it. The page is None if it takes too long, or if the job stopped."""
    job, walked = await tenant.submit_express(wanted, door, parts.express)
    if walked:
        await asyncio.wait([walked], timeout=max(0.0, until - time.monotonic()))
    page = await _await_page(tenant, job, wanted.targets[0].pages[0], until)
    if page is None:
        await tenant.promise()
    return job, page


async def _await_page(tenant: Tenant, job: Job, url: str, until: float) -> ScrapedPage | None:
    look = _LOOK
    is_over = False
    while True:
        page = await tenant.scraped(job, url)
        if page is not None and page.state in (PageState.DONE, PageState.FAILED, PageState.SKIPPED):
            return page
        if is_over or time.monotonic() + look > until:
            return None
        # A job may end together with its page between two checks: check once more.
        is_over = (await tenant.job(job.id)).state in _AT_REST
        if not is_over:
            await asyncio.sleep(look)
            look = min(look * 1.3, _LONGEST_LOOK)


def problem_of(page: ScrapedPage) -> tuple[int, str]:
    """Return the HTTP status and the problem code of a page that could not be fetched."""
    reason = page.trouble.reason if page.trouble else None
    return _STATUS.get(reason, (422, "page-failed")) if reason else (422, "page-failed")


def _failed(request: Request, job: Job, page: ScrapedPage) -> Response:
    status, code = problem_of(page)
    headers = {"X-Gossamer-Credits": "0", "X-Gossamer-Job": str(job.id), "X-Gossamer-Reason": page.reason.lower()}
    hint = (
        "robots.txt is always obeyed." if code == "robots-disallowed" else f"See GET /v1/jobs/{job.id}/urls for more."
    )
    detail = f"{page.url}: {page.error or 'it could not be read'}."
    return problem(request_id(request), status, code, detail, hint=hint, headers=headers)


def _accepted(job: Job, listed: AddressList, headers: dict[str, str] | None = None) -> Response:
    body = Accepted(
        id=str(job.id),
        state=views.first_state(job),
        urls=len(listed.urls),
        duplicates=listed.duplicates,
        links=views.job_fields(job)["links"],
    )
    location = {"Location": f"/v1/jobs/{job.id}", **(headers or {})}
    return JsonAnswer(body.model_dump(mode="json"), 202, location)


@router.post(
    "/batch",
    status_code=202,
    response_model=Accepted,
    responses=declared(*ROOM, *PAGES, *ONCE),
    summary="Scrape many pages",
)
async def batch(body: NewBatch, tenant: Spender, parts: GivenParts, idempotency_key: IdempotencyKey = None) -> Response:
    """Create one job for up to 50,000 addresses. Each has its own result, independent of the others."""
    listed = await parts.heavy.run(tenant.id, len(body.urls), lambda: read_addresses(body.urls, "#/body/urls/"))
    wanted = body.request(listed, parts, body.name, idempotency_key)
    return _accepted((await tenant.submit(wanted, "batch", len(listed.urls))).job, listed)


@router.get(
    "/jobs/{job_id}/urls",
    responses=declared("job.not_found", "results.deleted", "request.cursor"),
    summary="Result of each address",
)
async def urls(
    job_id: UUID,
    tenant: Reader,
    cursor: Annotated[str | None, Query(max_length=400, description="`next_cursor` of the page before.")] = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
) -> PageList:
    """List the addresses of a scrape job, with the state of each."""
    job = await tenant.job(job_id)
    listing = await tenant.scraped_after(job, tenant.cursors.place(f"urls {job_id}", cursor).hex(), limit)
    items = [PageView(**page_answer(page)) for page in listing.pages]
    after = tenant.cursors.cursor(f"urls {job_id}", bytes.fromhex(listing.next)) if listing.next else None
    return PageList(items=items, has_more=bool(after), next_cursor=after)
