"""The `prospect` recipe: which pages of many sites mention a client's keywords, and in what words."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Annotated, ClassVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from gossamer.analyze.keywords import KeywordMatcher, clean_keyword, fold_keyword
from gossamer.model.document import Document
from gossamer.model.job import CrawlPolicy
from gossamer.model.page import Page
from gossamer.model.record import Follow, Harvest, Record, RecordKind
from gossamer.model.trouble import Trouble
from gossamer.model.url import site_of_url

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
    ),
)

# Name endings of files that are no pages. What has another ending, or none, is asked for.
BINARY_EXTENSIONS = frozenset({
    "7z", "aac", "apk", "atom", "avi", "avif", "bin", "bmp", "bz2", "cab", "css", "csv", "dat", "deb", "dmg", "doc",
    "docm", "docx", "dwg", "eot", "eps", "epub", "exe", "flac", "flv", "gif", "gz", "heic", "ico", "ics", "img",
    "indd", "iso", "jar", "jpe", "jpeg", "jpg", "js", "json", "key", "m4a", "m4v", "map", "mid", "mjs", "mkv", "mobi",
    "mov", "mp3", "mp4", "mpeg", "mpg", "msi", "odp", "ods", "odt", "ogg", "ogv", "opus", "otf", "pdf", "pkg", "png",
    "pps", "ppsx", "ppt", "pptx", "ps", "psd", "rar", "rpm", "rss", "rtf", "svg", "svgz", "swf", "tar", "tgz", "tif",
    "tiff", "torrent", "ttf", "vcf", "wasm", "wav", "webm", "webmanifest", "webp", "wma", "wmv", "woff", "woff2",
    "xls", "xlsm", "xlsx", "xml", "xz", "zip", "zst",
})  # fmt: skip


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


Keyword = Annotated[str, Field(max_length=200), AfterValidator(_named)]


class ProspectParams(BaseModel):
    """What a prospecting job needs to know besides its domains."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    keywords: Annotated[list[Keyword], Field(min_length=1, max_length=500), AfterValidator(_distinct)] = Field(
        description="Words and phrases to look for, whole words, in any case."
    )
    max_pages_per_domain: int = Field(default=500, ge=1, le=50_000, description="Pages read per domain at most.")
    depth: int = Field(default=50, ge=0, le=1_000, description="Clicks from the homepage at most.")


class Prospect:
    name: ClassVar[str] = "prospect"
    params: ClassVar[type[BaseModel]] = ProspectParams
    kinds: ClassVar[tuple[RecordKind, ...]] = (MATCH,)

    def bind(self, params: ProspectParams) -> "BoundProspect":
        return BoundProspect(params)


class BoundProspect:
    """Prospecting for one job's keywords."""

    def __init__(self, params: ProspectParams) -> None:
        self._policy = CrawlPolicy(pages_per_site=params.max_pages_per_domain, depth=params.depth)
        self._matcher = KeywordMatcher(params.keywords)

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
        return tuple(
            Record(
                kind=MATCH.name,
                identity=(doc.url, mention.keyword),
                data={
                    "domain": domain,
                    "url": doc.url,
                    "keyword": mention.keyword,
                    "frequency": mention.frequency,
                    "context_snippet": mention.snippet,
                    "crawl_method": doc.rung,
                    "timestamp": timestamp,
                    "http_status": doc.status,
                },
            )
            for mention in mentions
        )


def _timestamp(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _follows(doc: Document) -> Iterator[Follow]:
    """Where the page leads on the same site: first where it sends visitors by itself, then its links."""
    site = site_of_url(doc.url)
    usual = tuple(f"{scheme}://{www}{site}/" for scheme in ("https", "http") for www in ("", "www."))
    if doc.refresh and site_of_url(doc.refresh) == site:
        yield Follow(doc.refresh)
    if doc.nofollow:
        return
    for link in doc.links:
        url = link.url
        # Only the few links that are not plainly here, but name this site (another port, say), are taken apart.
        here = url.startswith(usual) or (site in url and site_of_url(url) == site)
        if here and not link.nofollow and not is_binary(url) and url != doc.url:
            yield Follow(url)


def is_binary(url: str) -> bool:
    """Whether a normalised address ends like a file that is no page."""
    _, dot, extension = url.partition("?")[0].rpartition(".")
    return bool(dot) and extension.lower() in BINARY_EXTENSIONS
