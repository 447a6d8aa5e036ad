"""Firecrawl's options: translates a body into a request for pages, or refuses it with a reason."""

from collections.abc import Collection, Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from gossamer.api.scrape import Url, Urls, Wanted
from gossamer.errors import UserError
from gossamer.intake.addresses import MAX_ADDRESSES

FORMATS: Mapping[str, str] = {
    "markdown": "markdown",
    "html": "html",
    "rawHtml": "raw",
    "links": "links",
    "screenshot": "screenshot",
}
"""Theirs, and what they are called here."""

# What says nothing about what comes back, or what is so here anyway.
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
# What changes the result, and cannot be done here. False and nothing are as good as absent.
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


def refuse_unavailable(given: Mapping[str, Any]) -> None:
    """Refuse options that would change the result and cannot be had here."""
    for name in _REFUSED:
        if given.get(name):
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
        """By their names."""
        named = [str(one.get("type", "")) if isinstance(one, dict) else one for one in self.formats] or ["markdown"]
        named = ["screenshot" if one == "screenshot@fullPage" else one for one in named]
        for name in named:
            if name not in FORMATS:
                hint = f"There are {', '.join(FORMATS)}."
                raise UserError("dialect.parameter", f"The format {name[:40]!r} is not available here.", hint=hint)
        return list(dict.fromkeys(named))

    def wanted(self, here: Collection[str]) -> Wanted:
        self._check()
        formats = [FORMATS[name] for name in self.named_formats()]
        return Wanted(
            formats=[*formats, "metadata"], ladder=self._ladder(here), only_main_content=self.only_main_content
        )

    def _check(self) -> None:
        refuse_unavailable(self.model_extra or {})

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
    include_paths: Paths = Field(default_factory=list, alias="includePaths", description="Simple expressions.")
    exclude_paths: Paths = Field(default_factory=list, alias="excludePaths")
    regex_on_full_url: bool = Field(False, alias="regexOnFullURL")
    whole_domain: bool = Field(False, alias="crawlEntireDomain", description="Also what is not below the address.")
    sitemap: str = Field("include", max_length=20)
    options: ScrapeOptions = Field(default_factory=ScrapeOptions, alias="scrapeOptions")

    def check(self) -> None:
        """Refuse options that would return other pages than requested."""
        refused = [name for name in _REFUSED if (self.model_extra or {}).get(name)]
        refused += ["regexOnFullURL"] if self.regex_on_full_url else []
        refused += [] if self.sitemap == "include" else [f"sitemap {self.sitemap}"]
        if refused:
            hint = "Add it with POST /v1/webhooks." if refused[0] == "webhook" else _HELP
            raise UserError("dialect.parameter", f"{refused[0]} is not available here.", hint=hint)


def pattern_of(expression: str) -> str:
    """A simple regular expression over a path as one of our patterns: letters, `.*` and `.+`, `^` and `$`."""
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
