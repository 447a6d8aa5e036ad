"""The `scrape` recipe at work: from a page to one record with the wanted formats, and to the files that go with it."""

from collections.abc import Callable, Mapping
from datetime import UTC, timedelta
from typing import Any

from gossamer.analyze.links import page_links
from gossamer.analyze.markdown import markdown_of, whole_markdown_of
from gossamer.analyze.page_facts import page_facts
from gossamer.analyze.rules import are_plain, extract, missing, read_rules
from gossamer.model.document import Document
from gossamer.model.job import CrawlPolicy
from gossamer.model.page import Page
from gossamer.model.recipe import Bound
from gossamer.model.record import FIRST_STEP, Harvest, PageFile, Record, Value, presentable, without_controls
from gossamer.model.scrape import EXTRACT, SCREENSHOT
from gossamer.model.trouble import Reason, Trouble
from gossamer.parse.decode import decode
from gossamer.parse.document import Kind, kind_of
from gossamer.parse.structured import structured_data
from gossamer.parse.text import visible_lines
from gossamer.recipes.common import links_within
from gossamer.recipes.scrape import PAGE
from gossamer.recipes.scrape.params import ScrapeParams, WalkParams

_AT_ONCE = 16  # pages of a job with rules that may take long
_HTTP_TIME = timedelta(seconds=30)
_VISIT_TIME = timedelta(days=7)  # a list of one site takes as long as politeness wants; the job has a limit of its own


class BoundScrape(Bound):
    """Scraping with one job's formats and rules."""

    def __init__(self, params: ScrapeParams) -> None:
        self._formats = frozenset(params.formats)
        self._rules = read_rules(params.extract) if params.extract and EXTRACT in self._formats else {}
        self._parts = _PARTS if params.only_main_content else {**_PARTS, "markdown": whole_markdown_of}
        self._walks = params.walk is not None
        walk = params.walk or WalkParams(depth=0)
        self._policy = CrawlPolicy(
            ladder=params.rungs,
            pages_per_site=walk.max_pages,
            top_pages=walk.max_pages,
            depth=walk.depth,
            include=tuple(walk.include),
            exclude=tuple(walk.exclude),
            visit_time=_VISIT_TIME,
            as_given=not self._walks,
            per_address=not self._walks,
            any_kind="raw" in self._formats and not self._walks,
            timeout=_HTTP_TIME,
            # Their pages wait for each other, each with its body in memory and in the place of another page.
            max_concurrency=None if are_plain(self._rules) else _AT_ONCE,
        )

    def policy(self, step: str = FIRST_STEP) -> CrawlPolicy:
        return self._policy

    def rules(self) -> Mapping[str, Any]:
        return self._rules

    def accept(self, page: Page, doc: Document) -> Trouble | None:
        """Refuse a page without a required field or screenshot, so that a stronger rung may be tried."""
        if any(rule.required for rule in self._rules.values()):
            lacking = missing(self._rules, self._fields(doc))
            if lacking:
                return Trouble(Reason.FIELD_MISSING, lacking, doc.status)
        if SCREENSHOT in self._formats and not doc.screenshot:
            return Trouble(Reason.NOT_CONFIGURED, f"a screenshot was wanted, and {doc.rung} takes none", doc.status)
        return None

    def harvest(self, page: Page, doc: Document) -> Harvest:
        files = tuple(
            PageFile(name, content) for name, make in _FILES.items() if name in self._formats and (content := make(doc))
        )
        data: dict[str, Value] = {
            "url": page.url,
            "final_url": doc.url,
            "http_status": doc.status,
            "crawl_method": doc.rung,
            "timestamp": doc.fetched_at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "content_type": doc.content_type,
            "bytes": doc.size,
            "title": doc.title,
            "language": doc.language,
        }
        # A response that is not a page has a body, and text if it is text.
        parts = self._parts if _is_page(doc) else {"text": _PARTS["text"]}
        data.update((name, make(doc)) for name, make in parts.items() if name in self._formats)
        if self._rules:
            data[EXTRACT] = dict(self._fields(doc))
        if files:
            data["files"] = [file.name for file in files]
        links = links_within(doc) if self._walks else ()
        shown = {
            name: without_controls(said) if isinstance(said, str) and name in _TEXTS else presentable(said)
            for name, said in data.items()
        }
        return Harvest(records=(Record(PAGE.name, (page.url,), shown),), files=files, links=links)

    def _fields(self, doc: Document) -> Mapping[str, Value]:
        return extract(self._rules, doc) if doc.fields is None else doc.fields


def _is_page(doc: Document) -> bool:
    return isinstance(kind_of(doc.content_type, doc.body), Kind)


def _source(doc: Document) -> str:
    return decode(doc.body, doc.headers.get("content-type", ""))


_FILES: dict[str, Callable[[Document], bytes]] = {
    "html": lambda doc: _source(doc).encode() if _is_page(doc) else b"",
    "raw": lambda doc: doc.body,
    "screenshot": lambda doc: doc.screenshot,
}
_TEXTS = ("title", "text", "markdown")
_PARTS: dict[str, Callable[[Document], Value]] = {
    "text": lambda doc: visible_lines(doc.tree, _source(doc)) if _is_page(doc) else doc.text,
    "markdown": markdown_of,
    "links": page_links,
    "metadata": page_facts,
    "structured": lambda doc: structured_data(doc.tree, doc.url),
}
