"""Bodies and answers of the Firecrawl dialect.

Bodies are translated into requests for pages, or refused with a reason; pages, jobs and errors are shown as
Firecrawl shows them.
"""

from base64 import b64encode
from collections.abc import Collection, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from gossamer.api.scrape import Url, Urls, Wanted
from gossamer.errors import UserError
from gossamer.intake.addresses import MAX_ADDRESSES
from gossamer.model.job import Job
from gossamer.model.states import JobState
from gossamer.model.trouble import Reason
from gossamer.store.given_pages import ScrapedPage
from gossamer.store.records import Failure

FORMATS: Mapping[str, str] = {
    "markdown": "markdown",
    "html": "html",
    "rawHtml": "raw",
    "links": "links",
    "screenshot": "screenshot",
}

# Options that do not change the result, or that describe what happens here anyway.
_HARMLESS = {
    "origin",
    "integration",
    "maxAge",
    "minAge",
    "storeInCache",
    "skipTlsVerification",
    "removeBase64Images",
    "blockAds",
    "fastMode",
    "useMock",
    "maxConcurrency",
    "parsers",
    "auditMetadata",
}
# Options that would change the result and are not supported. False and null count as absent.
_REFUSED = (
    "actions",
    "headers",
    "includeTags",
    "excludeTags",
    "location",
    "mobile",
    "profile",
    "zeroDataRetention",
    "lockdown",
    "redactPII",
    "webhook",
    "onlyCleanContent",
    "prompt",
    "ignoreRobotsTxt",
    "robotsUserAgent",
    "allowExternalLinks",
    "allowSubdomains",
    "appendToId",
    "delay",
    "alexandria",
    "checkPromptInjection",
    "threatProtection",
    "ignoreQueryParameters",
)
_STEALTH = ("stealth", "scrapingbee-stealth", "scraperapi-ultra-js")
_HELP = "Leave it out: see docs/howto/dialects.md."


KEPT = timedelta(hours=24)
_STATUS: Mapping[JobState, str] = {
    JobState.COMPLETED: "completed",
    JobState.ARCHIVED: "completed",
    JobState.FAILED: "failed",
    JobState.CANCELLED: "cancelled",
}
# Codes for which Firecrawl's client has exception classes.
CODES = {Reason.DNS: "SCRAPE_DNS_RESOLUTION_ERROR", Reason.TLS: "SCRAPE_SSL_ERROR", Reason.TIMEOUT: "SCRAPE_TIMEOUT"}


def refuse_unavailable(given: Mapping[str, Any], *more: str) -> None:
    """Refuse options that would change the result and are not available here, also those named in `more`."""
    for name in (*(name for name in _REFUSED if given.get(name)), *more):
        hint = "Add it with POST /v1/webhooks." if name == "webhook" else _HELP
        raise UserError("dialect.parameter", f"{name} is not available here.", hint=hint)


class ScrapeOptions(BaseModel):
    """Options of Firecrawl's API, version 2. Any other option is refused, or reported in `warning`."""

    model_config = ConfigDict(extra="allow", populate_by_name=True)

    formats: list[str | dict[str, Any]] = Field(
        default_factory=lambda: list[str | dict[str, Any]](["markdown"]),
        max_length=20,
        description="markdown, html, rawHtml, links and, where a browser is configured, screenshot.",
    )
    only_main_content: bool = Field(True, alias="onlyMainContent")
    timeout: int = Field(60_000, ge=1_000, le=300_000, description="Milliseconds.")
    wait_for: int = Field(0, alias="waitFor", ge=0, le=300_000)
    proxy: str = Field("auto", max_length=40, description="auto, basic, or stealth where there is one.")

    def named_formats(self) -> list[str]:
        """Return the names of the requested formats."""
        named = [str(one.get("type", "")) if isinstance(one, dict) else one for one in self.formats] or ["markdown"]
        named = ["screenshot" if one == "screenshot@fullPage" else one for one in named]
        for name in named:
            if name not in FORMATS:
                hint = f"There are {', '.join(FORMATS)}."
                raise UserError("dialect.parameter", f"The format {name[:40]!r} is not available here.", hint=hint)
        return list(dict.fromkeys(named))

    def wanted(self, here: Collection[str]) -> Wanted:
        refuse_unavailable(self.model_extra or {})
        formats = [FORMATS[name] for name in self.named_formats()]
        return Wanted(
            formats=[*formats, "metadata"], ladder=self._ladder(here), only_main_content=self.only_main_content
        )

    def _ladder(self, here: Collection[str]) -> str | None:
        if self.proxy in ("stealth", "enhanced"):
            found = next((name for name in _STEALTH if name in here), None)
            if found is None:
                raise UserError(
                    "lane-missing",
                    f"proxy {self.proxy} needs a way to fetch that is not configured here.",
                    hint="Leave it out: pages are then fetched with what is here.",
                )
            return found
        return None

    @property
    def warning(self) -> str | None:
        """Names the requested options that have no effect."""
        extra = {name for name, value in (self.model_extra or {}).items() if value}
        idle = sorted(extra - _HARMLESS - set(_REFUSED))
        if self.wait_for:
            idle.append("waitFor")
        return f"Without effect here: {', '.join(idle)}." if idle else None


class ScrapeBody(ScrapeOptions):
    model_config = ConfigDict(
        json_schema_extra={"example": {"url": "https://shop.example/", "formats": ["markdown", "links"]}}
    )

    url: Url


class BatchBody(ScrapeOptions):
    model_config = ConfigDict(
        json_schema_extra={"example": {"urls": ["https://a.example/", "https://b.example/"], "formats": ["markdown"]}}
    )

    urls: Urls = Field(min_length=1, max_length=MAX_ADDRESSES)
    ignore_invalid: bool = Field(True, alias="ignoreInvalidURLs")


Paths = Annotated[list[Annotated[str, Field(min_length=1, max_length=190)]], Field(max_length=25)]


class CrawlBody(BaseModel):
    model_config = ConfigDict(
        extra="allow",
        populate_by_name=True,
        json_schema_extra={"example": {"url": "https://docs.example/", "limit": 100, "includePaths": ["^/guide/.*"]}},
    )

    url: Url
    limit: int = Field(10_000, ge=1, le=MAX_ADDRESSES, description="Pages.")
    max_depth: int | None = Field(None, alias="maxDiscoveryDepth", ge=0, le=1_000)
    include_paths: Paths = Field(default_factory=list, alias="includePaths", description="Simple regular expressions.")
    exclude_paths: Paths = Field(default_factory=list, alias="excludePaths")
    regex_on_full_url: bool = Field(False, alias="regexOnFullURL")
    whole_domain: bool = Field(
        False, alias="crawlEntireDomain", description="Include pages that are not below the address."
    )
    sitemap: str = Field("include", max_length=20)
    options: ScrapeOptions = Field(default_factory=ScrapeOptions, alias="scrapeOptions")

    def check(self) -> None:
        """Refuse options that would return other pages than requested."""
        expressions = ["regexOnFullURL"] if self.regex_on_full_url else []
        sitemap = [] if self.sitemap == "include" else [f"sitemap {self.sitemap}"]
        refuse_unavailable(self.model_extra or {}, *expressions, *sitemap)


class MapBody(BaseModel):
    model_config = ConfigDict(
        extra="allow", populate_by_name=True, json_schema_extra={"example": {"url": "https://shop.example/"}}
    )

    url: Url
    search: str = Field("", max_length=200, description="Only addresses and titles that contain this text.")
    sitemap: Literal["include", "skip", "only"] = "include"
    include_subdomains: bool = Field(True, alias="includeSubdomains")
    ignore_query: bool = Field(
        True, alias="ignoreQueryParameters", description="Keep one of the addresses that differ only in their query."
    )
    limit: int = Field(5_000, ge=1, le=30_000)
    timeout: int = Field(60_000, ge=1_000, le=300_000, description="Milliseconds.")


def pattern_of(expression: str) -> str:
    """Convert a simple regular expression of a path (letters, `.*`, `.+`, `^`, `$`) into one of our patterns."""
    body = expression.removeprefix("^").removesuffix("$")
    pieces = [piece.replace("\\.", ".").replace("\\/", "/") for piece in _split(body)]
    plain = "".join(pieces)
    starts, ends = expression.startswith("^"), expression.endswith("$")
    if any(character in plain for character in "\\[](){}|+?^$*") or (starts and not body.startswith(("/", ".*", ".+"))):
        raise UserError(
            "dialect.path",
            f"{expression[:100]!r} is more than is understood here.",
            hint="Give expressions of letters and .* only, like ^/blog/.*",
        )
    pattern = "*".join(pieces)
    return ("" if starts or pattern.startswith("*") else "*") + pattern + ("" if ends or pattern.endswith("*") else "*")


def _split(body: str) -> list[str]:
    return body.replace(".+", ".*").split(".*")


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
    url: str = Field(description="Address of the job's status.")
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
    next: str | None = Field(None, description="Address of the next documents.")
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


class FirecrawlError(BaseModel):
    """Body of every error."""

    success: bool = False
    error: str
    code: str = ""


class MapLink(BaseModel):
    url: str
    title: str | None = None
    description: str | None = None


class MapAnswer(BaseModel):
    success: bool = True
    links: list[MapLink]


"""Firecrawl's names of formats, and ours."""


def status_of(job: Job) -> str:
    return _STATUS.get(job.state, "scraping")


def document(page: ScrapedPage, formats: Iterable[str], job: Job, credits: int, warning: str | None = None) -> Document:
    """Return a page as a document; `formats` are Firecrawl's names."""
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
    """Convert the name of an Open Graph property: `image:width` becomes ogImageWidth."""
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
