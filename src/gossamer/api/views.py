"""Response models of jobs, results, exports, keys and usage, and their conversion from the model."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import orjson
from pydantic import BaseModel, Field
from starlette.responses import JSONResponse

from gossamer.model.account import ApiKey, Right
from gossamer.model.export import Export, ExportState
from gossamer.model.ids import short
from gossamer.model.job import Job, Priority, Progress
from gossamer.model.money import MEGABYTE, MICROS, Cap
from gossamer.model.states import OVER, JobState
from gossamer.recipes.prospect import PROSPECT
from gossamer.store.records import Failure
from gossamer.store.usage import JobUsage, UsageDay

_ID = "0192f3a1-7b2c-7d4e-8f5a-6b7c8d9e0f1a"


class SiteCounts(BaseModel):
    total: int
    done: int
    partial: int
    failed: int


class PageCounts(BaseModel):
    done: int
    failed: int
    skipped: int
    open: int
    expected: int = Field(0, description="Expected total: finished pages and known remaining ones.")


class Counts(BaseModel):
    """Progress counters; reading them costs the same for jobs of any size."""

    percent: int = Field(description="Share of finished sites; of a scrape job, of finished pages.", examples=[48])
    sites: SiteCounts
    pages: PageCounts
    records: int
    bytes_in: int
    pages_per_minute: float = Field(0, description="Speed of a running job over the last three minutes.")
    eta_seconds: int | None = Field(
        None, description="Estimated seconds until a running job is finished; null: not known yet."
    )
    eta_is_least: bool = Field(
        False, description="True if it may take longer: some sites are unread, or may have more pages."
    )


class JobView(BaseModel):
    id: str = Field(examples=[_ID])
    short_id: str = Field(examples=["8d9e0f1a"])
    name: str = Field(examples=["Acme Q1"])
    recipe: str = Field(examples=[PROSPECT.name])
    state: JobState
    waiting: bool = Field(
        False, description="True if the job starts when another job of the account ends, or when the queue has drained."
    )
    reason: str = Field("", description="Why the job was paused, failed, or waits for the queue.")
    created_at: datetime
    started_at: datetime | None = None
    finished_at: datetime | None = None
    links: Mapping[str, str] = Field(default_factory=dict)


class ResultView(BaseModel):
    """Location of an asynchronous scrape's result, in the form in which POST /v1/scrape would have answered."""

    state: str = Field(description="pending, done, failed or expired; none: the job ended without a result.")
    reason: str = Field("", description="Why the result could not be stored.")
    url: str | None = Field(None, description="Link that works without a key until `expires_at`: keep it secret.")
    expires_at: datetime | None = None
    size_bytes: int | None = None
    sha256: str | None = None


class LimitsView(BaseModel):
    """Spending limits of a job; null: no limit of its own."""

    max_credits: int | None = Field(None, description="Provider credits.")
    max_usd: float | None = Field(None, description="Dollars, for providers.")
    max_mb: int | None = Field(None, description="Megabytes of all traffic.")
    max_residential_mb: int | None = Field(None, description="Megabytes through residential proxies.")


class JobStatus(JobView):
    """A job with its progress, limits and costs."""

    progress: Counts
    params: Mapping[str, Any] = Field(default_factory=dict, description="Parameters of the recipe.")
    priority: Priority = Priority.NORMAL
    max_concurrency: int | None = Field(
        None, description="Maximum number of its sites crawled at a time; null: no limit."
    )
    limits: LimitsView = Field(default_factory=LimitsView)
    spent_credits: int = Field(0, description="Provider credits spent so far.")
    spent_usd: float = Field(0.0, description="Dollars paid to providers so far.")
    result: ResultView | None = Field(None, description="Result of POST /v1/scrape with `async`.")
    as_of: datetime | None = Field(None, description="Time of this status if the database is away; otherwise null.")


class JobPage(BaseModel):
    items: list[JobView]
    has_more: bool
    next_cursor: str | None = Field(None, description="Value of `cursor` for the next page; null at the end.")


class ResultPage(BaseModel):
    """A page of records. While `has_more` is true, request the next page with `cursor`."""

    items: list[Mapping[str, Any]]
    has_more: bool
    next_cursor: str | None = None
    complete: bool = Field(description="True if the job is over; before that, more records may follow.")


class FailureView(BaseModel):
    url: str | None = Field(description="Address of the page, as requested; null: the failure concerns the whole site.")
    domain: str = Field(description="Domain of the site.", examples=["shop.example"])
    reason: str = Field(description="Reason as a sentence.", examples=["Timed out after 15 s"])
    code: str = Field(description="Reason as a code.", examples=["timeout"])
    http_status: int | None = None


class FailurePage(BaseModel):
    items: list[FailureView]
    has_more: bool
    next_cursor: str | None = None


class ExportView(BaseModel):
    id: str
    job_id: str
    type: str
    format: str
    name: str
    state: str = Field(description="pending, running, done, failed, cancelled or expired.")
    reason: str = ""
    partial: bool = Field(description="True if the job was not over when the file was made.")
    rows: int
    rows_total: int
    size_bytes: int | None = None
    sha256: str | None = None
    created_at: datetime
    finished_at: datetime | None = None
    expires_at: datetime | None = None
    url: str | None = Field(None, description="Address of the finished file; needs a key.")
    link: str | None = Field(
        None,
        description="Link to the file that works without a key until `expires_at`: keep it secret.",
    )


class KeyView(BaseModel):
    id: str
    name: str
    start: str = Field(description="First characters of the key.", examples=["gsk_ayHCkGY7"])
    scope: Right
    created_at: datetime
    used_at: datetime | None = None
    revoked_at: datetime | None = None


class NewKeyView(KeyView):
    key: str = Field(description="The key itself, shown only in this answer.", examples=["gsk_..."])


class UseView(BaseModel):
    """Usage of one request that created a job."""

    job_id: str
    at: datetime
    key_id: str | None
    door: str = Field(description="Kind of request.", examples=["scrape"])
    recipe: str
    urls: int
    credits: int = Field(description="Account credits; while the job runs, the expected minimum.")
    provider_usd: float = Field(description="Dollars paid to providers.")
    pages: int
    failed: int
    ms: int | None = Field(description="Milliseconds from the request to the end of its job.")
    outcome: str
    open: bool


class DayView(BaseModel):
    day: str = Field(examples=["2026-11-16"])
    requests: int
    urls: int
    pages: int
    failed: int
    credits: int
    provider_usd: float


def first_state(job: Job) -> JobState:
    """Return the state at submission: RUNNING if the job started at the moment of its creation, else PENDING."""
    return JobState.RUNNING if job.started_at == job.created_at else JobState.PENDING


_PARTS = ("results", "errors", "exports", "live")


def job_fields(job: Job, *, waiting: bool = False, doing: str = "") -> dict[str, Any]:
    """Return the fields of a job. `doing` names the current work after everything was read."""
    path = f"/v1/jobs/{job.id}"
    parts = (*_PARTS, "urls") if job.extent.names_pages else _PARTS
    return {
        "id": str(job.id),
        "short_id": short(job.id),
        "name": job.name,
        "recipe": job.recipe,
        "state": job.state,
        "waiting": waiting,
        "reason": job.reason or doing,
        "created_at": job.created_at,
        "started_at": job.started_at,
        "finished_at": job.finished_at,
        "links": {"self": path, **{name: f"{path}/{name}" for name in parts}},
    }


def limits(cap: Cap) -> LimitsView:
    return LimitsView(
        max_credits=cap.credits,
        max_usd=None if cap.micros is None else cap.micros / MICROS,
        max_mb=None if cap.traffic is None else cap.traffic // MEGABYTE,
        max_residential_mb=None if cap.bytes is None else cap.bytes // MEGABYTE,
    )


def counts(job: Job, progress: Progress) -> Counts:
    ended, given = progress.of(job)
    left = progress.left
    return Counts(
        percent=ended * 100 // given if given else 100,
        sites=SiteCounts(
            total=progress.sites_total,
            done=progress.sites_done,
            partial=progress.sites_partial,
            failed=progress.sites_failed,
        ),
        pages=PageCounts(
            done=progress.pages_done,
            failed=progress.pages_failed,
            skipped=progress.pages_skipped,
            open=progress.pages_open,
            expected=progress.pages_expected,
        ),
        records=progress.records,
        bytes_in=progress.bytes_in,
        pages_per_minute=round(progress.pages_per_minute, 1) if job.state is JobState.RUNNING else 0,
        eta_seconds=round(left.total_seconds()) if left is not None else None,
        eta_is_least=left is not None and progress.left_is_least,
    )


def failure(one: Failure) -> FailureView:
    trouble = one.trouble
    return FailureView(
        url=one.url or None,
        domain=one.host,
        reason=trouble.sentence if trouble else "",
        code=trouble.reason.name.lower() if trouble else "",
        http_status=trouble.http_status if trouble else None,
    )


def export(one: Export, url: str | None, link: str | None = None) -> ExportView:
    state = "expired" if one.state is ExportState.DONE and not one.is_there else str(one.state)
    return ExportView(
        id=str(one.id),
        job_id=str(one.job_id),
        type=one.type,
        format=one.format,
        name=one.name,
        state=state,
        reason=one.reason,
        partial=one.partial,
        rows=one.rows_done,
        rows_total=one.rows_total,
        size_bytes=one.size,
        sha256=one.sha256,
        created_at=one.created_at,
        finished_at=one.finished_at,
        expires_at=one.expires_at,
        url=url if one.is_there else None,
        link=link,
    )


def result(job: Job, one: Export | None, link: str | None) -> ResultView:
    """Return the state of the result file of a job that creates one automatically."""
    if one is None:
        return ResultView(state="none" if job.state in OVER else "pending")
    shown = export(one, None)
    state = "pending" if one.is_open else shown.state
    return ResultView(
        state=state,
        reason=one.reason,
        url=link,
        expires_at=one.expires_at,
        size_bytes=one.size if link else None,
        sha256=one.sha256 if link else None,
    )


def key_fields(one: ApiKey) -> dict[str, Any]:
    return {
        "id": str(one.id),
        "name": one.name,
        "start": one.start,
        "scope": one.right,
        "created_at": one.created_at,
        "used_at": one.used_at,
        "revoked_at": one.revoked_at,
    }


def use(one: JobUsage) -> UseView:
    return UseView(
        job_id=str(one.job_id),
        at=one.at,
        key_id=str(one.key_id) if one.key_id else None,
        door=one.door,
        recipe=one.recipe,
        urls=one.urls,
        credits=one.credits,
        provider_usd=one.micros / 1_000_000,
        pages=one.pages,
        failed=one.failed,
        ms=one.ms,
        outcome=one.outcome,
        open=one.is_open,
    )


def day(one: UsageDay) -> DayView:
    return DayView(
        day=one.day,
        requests=one.requests,
        urls=one.urls,
        pages=one.pages,
        failed=one.failed,
        credits=one.credits,
        provider_usd=one.micros / 1_000_000,
    )


class JsonAnswer(JSONResponse):
    """JSON response, encoded by orjson as everywhere else.

    It derives from JSONResponse because the OpenAPI schema describes the fields only for that class.
    """

    def render(self, content: Any) -> bytes:
        return orjson.dumps(content, default=str, option=orjson.OPT_NON_STR_KEYS)


class ShapedAnswer(JsonAnswer):
    """Response whose content has been validated already.

    A second validation would take longer than everything else.
    """

    def __init__(self, shaped: BaseModel) -> None:
        super().__init__(shaped)

    def render(self, content: BaseModel) -> bytes:
        return content.__pydantic_serializer__.to_json(content)
