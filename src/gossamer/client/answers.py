"""Typed answers of the server. Additional fields of newer servers are ignored; states are plain text."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict


class Answer(BaseModel):
    model_config = ConfigDict(frozen=True)


AnAnswer = TypeVar("AnAnswer", bound=Answer)


class AccountStatus(Answer):
    id: str
    name: str
    month: str
    credits: int | None
    credits_used: int
    credits_left: int | None
    running_jobs: int
    running_jobs_limit: int | None
    queued_jobs: int
    queued_jobs_limit: int | None


class Day(Answer):
    day: str
    requests: int
    urls: int
    pages: int
    failed: int
    credits: int
    provider_usd: float


class Use(Answer):
    job_id: str
    at: datetime
    key_id: str | None
    door: str
    recipe: str
    urls: int
    credits: int
    provider_usd: float
    pages: int
    failed: int
    ms: int | None
    outcome: str
    open: bool


class Usage(Answer):
    days: tuple[Day, ...] = ()
    items: tuple[Use, ...] = ()
    has_more: bool = False
    next_cursor: str | None = None


class Key(Answer):
    id: str
    name: str
    start: str
    scope: str
    created_at: datetime
    used_at: datetime | None = None
    revoked_at: datetime | None = None


class CreatedKey(Key):
    key: str  # shown only once


class Keys(Answer):
    items: list[Key]


class ForgottenIn(Answer):
    job_id: str
    name: str
    recipe: str
    pages: int
    records: int
    mentions: int


class Forgotten(Answer):
    forgotten: bool
    jobs: list[ForgottenIn]


class Recipe(Answer):
    name: str
    description: str
    records: list[str]
    params: Mapping[str, Any]


class Recipes(Answer):
    items: list[Recipe]


class Health(Answer):
    status: str
    live: bool
    ready: bool
    database: str
    workers: str
    version: str


class AccountCredits(Answer):
    at_least: int
    at_most: int
    left: int | None


class Estimate(Answer):
    """Provider credits and dollars, from low to high."""

    low_credits: int
    high_credits: int
    low_usd: float
    high_usd: float
    sites: int = 0
    met_before: int = 0
    similar_jobs: int = 0
    similar_low_credits: int | None = None
    similar_high_credits: int | None = None
    max_credits: int | None = None
    account_credits: AccountCredits


class SiteCounts(Answer):
    total: int
    done: int
    partial: int
    failed: int


class PageCounts(Answer):
    done: int
    failed: int
    skipped: int
    open: int
    expected: int = 0  # expected total


class JobCounts(Answer):
    percent: int
    sites: SiteCounts
    pages: PageCounts
    records: int
    bytes_in: int
    pages_per_minute: float = 0.0
    eta_seconds: int | None = None  # None: the job is not running, or it is not known yet
    eta_is_least: bool = False  # sites are unread, or may have more pages


class Job(Answer):
    id: str
    short_id: str
    name: str
    recipe: str
    state: str
    waiting: bool = False
    reason: str = ""
    created_at: datetime
    started_at: datetime | None = None
    finished_at: datetime | None = None
    links: Mapping[str, str] = {}
    replayed: bool = False  # the request repeated an earlier one with the same key

    @property
    def is_over(self) -> bool:
        return self.state in ("completed", "failed", "cancelled", "archived")


class Result(Answer):
    """Location of the result of an asynchronous scrape."""

    state: str
    reason: str = ""
    url: str | None = None
    expires_at: datetime | None = None
    size_bytes: int | None = None
    sha256: str | None = None


class JobLimits(Answer):
    """Spending limits of a job; None: no limit of its own."""

    max_credits: int | None = None
    max_usd: float | None = None
    max_mb: int | None = None
    max_residential_mb: int | None = None


class JobStatus(Job):
    progress: JobCounts
    params: Mapping[str, Any] = {}
    priority: str = "normal"
    max_concurrency: int | None = None
    limits: JobLimits = JobLimits()
    spent_credits: int = 0
    spent_usd: float = 0.0
    result: Result | None = None
    as_of: datetime | None = None  # time of this status, if the server's database is away


class JobPage(Answer):
    items: list[Job]
    has_more: bool = False
    next_cursor: str | None = None


class ResultPage(Answer):
    items: list[Mapping[str, Any]]
    has_more: bool
    next_cursor: str | None = None
    complete: bool


class Failure(Answer):
    url: str | None  # None: the failure concerns the whole site
    domain: str
    reason: str
    code: str
    http_status: int | None = None


class FailurePage(Answer):
    items: list[Failure]
    has_more: bool
    next_cursor: str | None = None


class PageResult(Answer):
    """One address of a scrape job and its result."""

    url: str
    status: str
    error: str = ""
    code: str = ""
    http_status: int | None = None
    tries: int = 0
    data: Mapping[str, Any] = {}


class PageList(Answer):
    items: list[PageResult]
    has_more: bool
    next_cursor: str | None = None


class Scraped(PageResult):
    job_id: str
    final_url: str
    method: str
    credits: int


class Accepted(Answer):
    id: str
    state: str
    urls: int
    duplicates: int = 0
    links: Mapping[str, str] = {}


class Steered(Answer):
    id: str
    state: str


class Resumed(Steered):
    waiting: bool = False


class Retried(Steered):
    sites: int
    pages: int


class Deleted(Steered):
    rows: int


class Export(Answer):
    id: str
    job_id: str
    type: str
    format: str
    name: str
    state: str
    reason: str = ""
    partial: bool
    rows: int
    rows_total: int
    size_bytes: int | None = None
    sha256: str | None = None
    created_at: datetime
    finished_at: datetime | None = None
    expires_at: datetime | None = None
    url: str | None = None
    link: str | None = None

    @property
    def is_open(self) -> bool:
        return self.state in ("pending", "running")


class Exports(Answer):
    items: list[Export]


class Happened(Answer):
    id: str
    at: datetime
    kind: str
    why: str
    site: str


class Update(Answer):
    """State of a job, and its events since the previous update."""

    type: str
    job: Job
    progress: JobCounts
    events: list[Happened]
    event_id: str = ""  # position to continue from

    @property
    def is_last(self) -> bool:
        return self.type == "end"


class Webhook(Answer):
    id: str
    url: str
    events: list[str]
    state: str
    reason: str = ""
    created_at: datetime
    failing_since: datetime | None = None
    failures: int = 0


class NewWebhook(Webhook):
    secret: str  # shown only once


class Webhooks(Answer):
    items: list[Webhook]


class DeliveryAttempt(Answer):
    at: datetime
    http_status: int | None
    took_ms: int
    error: str = ""


class Delivery(Answer):
    id: str
    message_id: str
    webhook_id: str
    type: str
    job_id: str | None = None
    state: str
    created_at: datetime
    due_at: datetime | None = None
    delivered_at: datetime | None = None
    attempts: list[DeliveryAttempt]


class DeliveryPage(Answer):
    items: list[Delivery]
    has_more: bool
    next_cursor: str | None = None


class Replayed(Answer):
    replayed: int


APage = TypeVar("APage", JobPage, ResultPage, FailurePage, PageList, DeliveryPage, Usage)
