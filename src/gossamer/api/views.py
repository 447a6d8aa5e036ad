"""Values of the model as answers show them."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from pydantic import BaseModel, Field

from gossamer.model.account import ApiKey, Right
from gossamer.model.export import Export, ExportState
from gossamer.model.ids import short
from gossamer.model.job import Job, Priority, Progress
from gossamer.model.money import MEGABYTE, MICROS, Cap
from gossamer.model.states import OVER, JobState
from gossamer.recipes.prospect import PROSPECT
from gossamer.store.records import Failure
from gossamer.store.usage import Day, Use

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
    expected: int = Field(0, description="All it will have, as far as can be said: what has ended, and what is ahead.")


class Counts(BaseModel):
    """Kept counters: they cost the same however large the job is."""

    percent: int = Field(description="Of the sites, how many have ended; of a scrape, of its pages.", examples=[48])
    sites: SiteCounts
    pages: PageCounts
    records: int
    bytes_in: int
    pages_per_minute: float = Field(0, description="Of a running job, over the last three minutes.")
    eta_seconds: int | None = Field(None, description="Of a running job: how long the rest takes; null: not known yet.")
    eta_is_least: bool = Field(False, description="It may take longer: sites are unread, or may have more pages.")


class JobView(BaseModel):
    id: str = Field(examples=[_ID])
    short_id: str = Field(examples=["8d9e0f1a"])
    name: str = Field(examples=["Acme Q1"])
    recipe: str = Field(examples=[PROSPECT.name])
    state: JobState
    waiting: bool = Field(
        False, description="It begins when another job of the account has ended, or when the queue has drained."
    )
    reason: str = Field("", description="Why it was paused, has failed, or waits for the queue.")
    created_at: datetime
    started_at: datetime | None = None
    finished_at: datetime | None = None
    links: Mapping[str, str] = Field(default_factory=dict)


class ResultView(BaseModel):
    """Location of an asynchronous scrape's result, in the form in which POST /v1/scrape would have answered."""

    state: str = Field(description="pending, done, failed or expired; none: its job ended without one.")
    reason: str = Field("", description="Why it could not be put there.")
    url: str | None = Field(None, description="Where it can be fetched without a key until then: keep it secret.")
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
    """A job and how far it is."""

    progress: Counts
    params: Mapping[str, Any] = Field(default_factory=dict, description="What the recipe was told.")
    priority: Priority = Priority.NORMAL
    max_concurrency: int | None = Field(None, description="Sites of it walked at a time, at most; null: no limit.")
    limits: LimitsView = Field(default_factory=LimitsView)
    spent_credits: int = Field(0, description="Provider credits spent so far.")
    spent_usd: float = Field(0.0, description="Dollars paid to providers so far.")
    result: ResultView | None = Field(None, description="Of POST /v1/scrape with `async`.")
    as_of: datetime | None = Field(None, description="If the database is away: when this was so. Else null.")


class JobPage(BaseModel):
    items: list[JobView]
    has_more: bool
    next_cursor: str | None = Field(None, description="Give it as `cursor` for the next page; null at the end.")


class ResultPage(BaseModel):
    """Records. There are more as long as `has_more` is true: ask again with `cursor`."""

    items: list[Mapping[str, Any]]
    has_more: bool
    next_cursor: str | None = None
    complete: bool = Field(description="Whether the job is over: before that there may be more later.")


class FailureView(BaseModel):
    url: str | None = Field(description="The page, as it was asked for. Null: it is about the whole site.")
    domain: str = Field(description="The site.", examples=["shop.example"])
    reason: str = Field(description="A sentence.", examples=["Timed out after 15 s"])
    code: str = Field(description="What programs go by.", examples=["timeout"])
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
    partial: bool = Field(description="The job was not over when it was made.")
    rows: int
    rows_total: int
    size_bytes: int | None = None
    sha256: str | None = None
    created_at: datetime
    finished_at: datetime | None = None
    expires_at: datetime | None = None
    url: str | None = Field(None, description="Where to fetch it with a key once it is done.")
    link: str | None = Field(
        None,
        description="Where anybody you give it to can fetch it, without a key, until `expires_at`: keep it secret.",
    )


class KeyView(BaseModel):
    id: str
    name: str
    start: str = Field(description="How the key begins.", examples=["gsk_ayHCkGY7"])
    scope: Right
    created_at: datetime
    used_at: datetime | None = None
    revoked_at: datetime | None = None


class NewKeyView(KeyView):
    key: str = Field(description="The key itself. It is shown this once.", examples=["gsk_..."])


class UseView(BaseModel):
    """One request that led to a job."""

    job_id: str
    at: datetime
    key_id: str | None
    door: str = Field(description="How it came in.", examples=["scrape"])
    recipe: str
    urls: int
    credits: int = Field(description="Account credits; of a job that is not over, what is expected at least.")
    provider_usd: float = Field(description="Paid to providers.")
    pages: int
    failed: int
    ms: int | None = Field(description="From the request to the end of its job.")
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
    """`doing` is what is done with it when everything was read."""
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


def use(one: Use) -> UseView:
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


def day(one: Day) -> DayView:
    return DayView(
        day=one.day,
        requests=one.requests,
        urls=one.urls,
        pages=one.pages,
        failed=one.failed,
        credits=one.credits,
        provider_usd=one.micros / 1_000_000,
    )
