"""Pages, jobs and errors as Firecrawl shows them."""

from base64 import b64encode
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from gossamer.api.dialects.fire_options import FORMATS
from gossamer.model.job import Job
from gossamer.model.states import JobState
from gossamer.model.trouble import Reason
from gossamer.store.given_pages import ScrapedPage
from gossamer.store.records import Failure

KEPT = timedelta(hours=24)
_STATUS: Mapping[JobState, str] = {
    JobState.COMPLETED: "completed",
    JobState.ARCHIVED: "completed",
    JobState.FAILED: "failed",
    JobState.CANCELLED: "cancelled",
}
# Codes that their client makes errors of its own of.
CODES = {Reason.DNS: "SCRAPE_DNS_RESOLUTION_ERROR", Reason.TLS: "SCRAPE_SSL_ERROR", Reason.TIMEOUT: "SCRAPE_TIMEOUT"}


class Document(BaseModel):
    """One page: the requested formats, and its metadata."""

    model_config = ConfigDict(extra="allow")

    markdown: str | None = None
    html: str | None = None
    rawHtml: str | None = None  # noqa: N815 - their names
    links: list[str] | None = None
    screenshot: str | None = Field(None, description="A data: address.")
    warning: str | None = None
    metadata: dict[str, Any]


class ScrapeAnswer(BaseModel):
    success: bool = True
    data: Document


class Started(BaseModel):
    success: bool = True
    id: str
    url: str = Field(description="Where to ask how it stands.")
    invalidURLs: list[str] | None = None  # noqa: N815


class JobAnswer(BaseModel):
    success: bool = True
    status: str = Field(description="scraping, completed, failed or cancelled.")
    total: int
    completed: int
    creditsUsed: int = Field(description="Account credits.")  # noqa: N815
    createdAt: datetime  # noqa: N815
    completedAt: datetime | None = None  # noqa: N815
    duration: float | None = Field(None, description="Seconds.")
    expiresAt: datetime  # noqa: N815
    next: str | None = Field(None, description="Where the next documents are.")
    data: list[Document]


class PageError(BaseModel):
    id: str
    timestamp: str | None = None
    url: str
    error: str
    code: str = ""


class Errors(BaseModel):
    errors: list[PageError]
    robotsBlocked: list[str]  # noqa: N815


class Cancelled(BaseModel):
    success: bool = True
    status: str = "cancelled"


class Refusal(BaseModel):
    """Body of every error."""

    success: bool = False
    error: str
    code: str = ""


def status_of(job: Job) -> str:
    return _STATUS.get(job.state, "scraping")


def document(page: ScrapedPage, formats: Iterable[str], job: Job, credits: int, warning: str | None = None) -> Document:
    """`formats` are theirs, by name."""
    made = {name: _part(name, page.data.get(FORMATS[name])) for name in formats}
    return Document(**made, warning=warning, metadata=_metadata(page, job, credits))


def _part(name: str, value: Any) -> Any:
    if name == "links":
        return [str(one["url"]) for one in value or []]
    if name == "screenshot" and isinstance(value, bytes):
        return f"data:image/png;base64,{b64encode(value).decode()}"
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _metadata(page: ScrapedPage, job: Job, credits: int) -> dict[str, Any]:
    facts: Mapping[str, Any] = page.data.get("metadata") or {}
    stated = {
        name: facts[name] for name in ("title", "description", "language", "robots", "favicon") if facts.get(name)
    }
    if facts.get("keywords"):
        stated["keywords"] = ", ".join(facts["keywords"])
    graph: Mapping[str, Any] = facts.get("open_graph") or {}
    about = {
        "sourceURL": page.url,
        "url": page.data.get("final_url") or page.url,
        "statusCode": page.http_status,
        "contentType": page.data.get("content_type"),
        "scrapeId": str(job.id),
        "proxyUsed": "stealth" if "stealth" in str(page.data.get("crawl_method") or "") else "basic",
        "cacheState": "miss",
        "creditsUsed": credits,
        "error": page.error or None,
    }
    return stated | {_graph_name(name): said for name, said in graph.items()} | _there(about)


def _graph_name(name: str) -> str:
    """`site_name` and `image:width` are ogSiteName and ogImageWidth."""
    return "og" + "".join(word[:1].upper() + word[1:] for word in name.replace(":", "_").split("_"))


def _there(found: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in found.items() if value is not None}


def page_error(one: Failure) -> PageError:
    trouble = one.trouble
    return PageError(
        id=one.key.hex(),
        url=one.url,
        error=trouble.sentence if trouble else "It could not be read",
        code=CODES.get(trouble.reason, trouble.reason.name) if trouble else "",
    )


def job_answer(
    job: Job, documents: list[Document], total: int, completed: int, credits: int, following: str | None
) -> JobAnswer:
    took = (job.finished_at or datetime.now(UTC)) - job.created_at
    return JobAnswer(
        status=status_of(job),
        total=total,
        completed=completed,
        creditsUsed=credits,
        createdAt=job.created_at,
        completedAt=job.finished_at,
        duration=round(took.total_seconds(), 3),
        expiresAt=(job.finished_at or job.created_at) + KEPT,
        next=following,
        data=documents,
    )
