"""The `prospect` recipe at work: from a page to its matches and to where it leads on the same site."""

import math
from datetime import UTC, datetime
from functools import lru_cache

from gossamer.analyze.backlinks import BacklinkFinder, count_outbound
from gossamer.analyze.dates import page_date
from gossamer.analyze.keywords import KeywordMatcher
from gossamer.analyze.positions import positions_of
from gossamer.model.document import Document
from gossamer.model.job import CrawlPolicy
from gossamer.model.page import Page
from gossamer.model.recipe import Bound
from gossamer.model.record import FIRST_STEP, Harvest, Record, Value
from gossamer.model.url import site_of_url
from gossamer.recipes.common import links_within
from gossamer.recipes.prospect import MATCH
from gossamer.recipes.prospect.params import ProspectParams


class BoundProspect(Bound):
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
        self._matcher = KeywordMatcher(
            params.keywords, case_sensitive=params.case_sensitive, plurals=params.plurals, reach=params.snippet
        )
        self._backlinks = (
            BacklinkFinder(params.client_domains, params.competitor_domains, self._matcher)
            if params.client_domains
            else None
        )

    def policy(self, step: str = FIRST_STEP) -> CrawlPolicy:
        return self._policy

    def harvest(self, page: Page, doc: Document) -> Harvest:
        return Harvest(records=self._records(doc), links=links_within(doc))

    def _records(self, doc: Document) -> tuple[Record, ...]:
        mentions = self._matcher.matches_in_tidy(doc.title, doc.text)
        if not mentions:
            return ()
        domain, timestamp = site_of_url(doc.url), _timestamp(doc.fetched_at)
        places = positions_of(mentions, doc, self._matcher)
        backlinks = self._backlinks.find(doc, list(places)) if self._backlinks else {}
        outbound, dated = count_outbound(doc), page_date(doc)
        of_page: dict[str, Value] = {
            "domain": domain,
            "url": doc.url,
            "keyword": "",
            "frequency": 0,
            "context_snippet": "",
            "crawl_method": doc.rung,
            "timestamp": timestamp,
            "http_status": doc.status,
            "verdict": "",
            "link_url": "",
            "anchor_text": "",
            "position": "",
            # No columns of this table: what prospects are ranked by besides.
            "page_date": dated,
            "outbound_links": outbound.links,
            "outbound_followed": outbound.followed,
        }
        rows = []
        for mention in mentions:
            data, keyword = of_page.copy(), mention.keyword
            data["keyword"] = keyword
            data["frequency"] = mention.frequency
            data["context_snippet"] = mention.snippet
            data["position"] = places[keyword].value
            if backlink := backlinks.get(keyword):
                data["verdict"] = backlink.verdict.value
                data["link_url"], data["anchor_text"] = backlink.url, backlink.label
            rows.append(Record(MATCH.name, (doc.url, keyword), data))
        return tuple(rows)


def _timestamp(at: datetime) -> str:
    return _second(math.floor(at.timestamp()))


@lru_cache(maxsize=8)
def _second(since_1970: int) -> str:
    # Hundreds of pages share one.
    return datetime.fromtimestamp(since_1970, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
