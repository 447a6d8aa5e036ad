"""The `prospect` recipe: which pages of many sites mention a client's keywords, how, and whom they link to."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Annotated, ClassVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationInfo, field_validator

from gossamer.analyze.backlinks import BacklinkFinder, count_outbound
from gossamer.analyze.dates import page_date
from gossamer.analyze.keywords import KeywordMatcher, clean_keyword, fold_keyword
from gossamer.analyze.places import places_of
from gossamer.intake.domain import Refusal, clean, read_domain
from gossamer.model.document import Document
from gossamer.model.job import CrawlPolicy
from gossamer.model.page import Page
from gossamer.model.record import Follow, Harvest, Record, RecordKind, Value
from gossamer.model.trouble import Trouble
from gossamer.model.url import site_of, site_of_url
from gossamer.recipe import FetchingParams

MATCH = RecordKind(
    "match",
    key=("url", "keyword"),
    columns=(
        "domain",
        "url",
        "keyword",
        "frequency",
        "context_snippet",
        "crawl_method",
        "timestamp",
        "http_status",
        "verdict",
        "link_url",
        "anchor_text",
        "position",
        # Worked out of all rows of a site when they are read.
        "flags",
        "keyword_pages",
        "site_pages",
    ),
)


def _named(keyword: str) -> str:
    cleaned = clean_keyword(keyword)
    if not cleaned:
        raise ValueError("a keyword must not be blank")
    return cleaned


def _distinct(keywords: list[str]) -> list[str]:
    """Spellings that match the same words are one keyword: the first of them."""
    spellings: dict[str, str] = {}
    for keyword in keywords:
        spellings.setdefault(fold_keyword(keyword), keyword)
    return list(spellings.values())


def _site_named(text: str) -> str:
    """A domain as a list of domains would have it: `https://www.Acme.com/` is acme.com."""
    domain = read_domain(clean(text))
    if isinstance(domain, Refusal):
        raise ValueError(f'"{text}" is not a domain: it {domain.why}')
    return site_of(domain.host)


def _pattern(text: str) -> str:
    if not text.startswith(("/", "*")):
        raise ValueError(f'"{text}" must begin with / or *: it is compared with path and query')
    return text


def _each_once(entries: list[str]) -> list[str]:
    return list(dict.fromkeys(entries))


Keyword = Annotated[str, Field(max_length=200), AfterValidator(_named)]

Domain = Annotated[str, Field(max_length=2_000), AfterValidator(_site_named)]
Domains = Annotated[list[Domain], Field(max_length=50), AfterValidator(_each_once)]
Pattern = Annotated[str, Field(max_length=200), AfterValidator(_pattern)]
Patterns = Annotated[list[Pattern], Field(max_length=50), AfterValidator(_each_once)]


class ProspectParams(FetchingParams):
    """What a prospecting job needs to know besides its domains."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    keywords: Annotated[list[Keyword], Field(min_length=1, max_length=500), AfterValidator(_distinct)] = Field(
        description="Words and phrases to look for, whole words, in any case."
    )
    client_domains: Domains = Field(
        default_factory=list, description="Whose links are looked for: with none, rows have no verdict."
    )
    competitor_domains: Domains = Field(
        default_factory=list, description="Links to these say that a page links elsewhere."
    )
    max_pages_per_domain: int = Field(
        default=500, ge=1, le=50_000, description="A domain of up to so many pages is read whole."
    )
    top_pages: int = Field(default=50, ge=1, le=50_000, description="Of a larger one so many pages are read.")
    depth: int = Field(default=50, ge=0, le=1_000, description="Clicks from the homepage at most.")
    include: Patterns = Field(
        default_factory=list, description="Read only pages whose path and query match one of these, * for anything."
    )
    exclude: Patterns = Field(default_factory=list, description="Read no pages that match one of these.")

    @field_validator("competitor_domains")
    @classmethod
    def _has_a_client(cls, competitors: list[str], info: ValidationInfo) -> list[str]:
        if competitors and not info.data.get("client_domains"):
            raise ValueError("without a client's domain there is nobody to compete with")
        return competitors


class Prospect:
    name: ClassVar[str] = "prospect"
    params: ClassVar[type[BaseModel]] = ProspectParams
    kinds: ClassVar[tuple[RecordKind, ...]] = (MATCH,)

    def bind(self, params: ProspectParams) -> "BoundProspect":
        return BoundProspect(params)


class BoundProspect:
    """Prospecting for one job's keywords and client."""

    def __init__(self, params: ProspectParams) -> None:
        self._policy = CrawlPolicy(
            ladder=params.rungs,
            pages_per_site=params.max_pages_per_domain,
            top_pages=params.top_pages,
            depth=params.depth,
            include=tuple(params.include),
            exclude=tuple(params.exclude),
        )
        self._matcher = KeywordMatcher(params.keywords)
        self._backlinks = (
            BacklinkFinder(params.client_domains, params.competitor_domains, self._matcher)
            if params.client_domains
            else None
        )

    def seeds(self) -> Iterable[Follow]:
        """Nothing beyond the job's own domains."""
        return ()

    def policy(self) -> CrawlPolicy:
        return self._policy

    def accept(self, page: Page, doc: Document) -> Trouble | None:
        """Any page that can be read may mention a keyword."""
        return None

    def harvest(self, page: Page, doc: Document) -> Harvest:
        return Harvest(records=self._records(doc), follows=tuple(_follows(doc)))

    def finish(self, kind: str, groups: Iterable[Sequence[Record]]) -> Iterable[Record]:
        """A match is found on one page only, so there is nothing to merge: the first of each group stands."""
        return (group[0] for group in groups if group)

    def _records(self, doc: Document) -> tuple[Record, ...]:
        mentions = self._matcher.matches_in_tidy(doc.title, doc.text)
        if not mentions:
            return ()
        domain, timestamp = site_of_url(doc.url), _timestamp(doc.fetched_at)
        places = places_of(mentions, doc, self._matcher)
        backlinks = self._backlinks.find(doc, list(places)) if self._backlinks else {}
        outbound, dated = count_outbound(doc), page_date(doc)
        rows = []
        for mention in mentions:
            keyword, backlink = mention.keyword, backlinks.get(mention.keyword)
            data: dict[str, Value] = {
                "domain": domain,
                "url": doc.url,
                "keyword": keyword,
                "frequency": mention.frequency,
                "context_snippet": mention.snippet,
                "crawl_method": doc.rung,
                "timestamp": timestamp,
                "http_status": doc.status,
                "verdict": str(backlink.verdict) if backlink else "",
                "link_url": backlink.url if backlink else "",
                "anchor_text": backlink.label if backlink else "",
                "position": str(places[keyword]),
                # No columns of this table: what prospects are ranked by besides.
                "page_date": dated,
                "outbound_links": outbound.links,
                "outbound_followed": outbound.followed,
            }
            rows.append(Record(kind=MATCH.name, identity=(doc.url, keyword), data=data))
        return tuple(rows)


def _timestamp(at: datetime) -> str:
    return _second(at.replace(microsecond=0))


@lru_cache(maxsize=8)
def _second(at: datetime) -> str:
    # Hundreds of pages share one.
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _follows(doc: Document) -> list[Follow]:
    """Where the page leads on the same site: first where it sends visitors by itself, then its links."""
    site = site_of_url(doc.url)
    usual = tuple(f"{scheme}://{www}{site}/" for scheme in ("https", "http") for www in ("", "www."))
    first = [Follow(doc.refresh)] if doc.refresh and site_of_url(doc.refresh) == site else []
    if doc.nofollow:
        return first
    return first + [
        Follow(url)
        for url, nofollow in doc.links
        # Only the few links that are not plainly here, but name this site (another port, say), are taken apart.
        if not nofollow and url != doc.url and (url.startswith(usual) or (site in url and site_of_url(url) == site))
    ]
