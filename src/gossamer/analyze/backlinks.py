"""Check if a page that mentions a keyword already links to the client, which is the purpose of prospecting.

The rules in order of precedence; the first that matches is the verdict:

- `own-site`: the page is on one of the client's own sites.
- `linked`: a link leads to the client, and neither the link nor the page is marked nofollow.
- `nofollow`: links lead to the client, and all of them are nofollow.
- `links-elsewhere`: a link leads to a competitor, or the keyword itself stands in a link to another domain.
- `unlinked`: none of these.

A link leads to a domain if its host is the domain or ends in a dot and the domain: `www.acme.com` and
`blog.acme.com` are acme.com, `not-acme.com` and `acme.com.example` are not. Links through a third
party's redirect are not detected.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

from gossamer.analyze.keywords import KeywordMatcher
from gossamer.analyze.links import Anchor, anchors_of, label_of
from gossamer.analyze.positions import Parts
from gossamer.model.document import Document, Link
from gossamer.model.url import domain_of, host_of, origin_of
from gossamer.parse.parts import texts_of

# Links whose words are compared with the keywords; pages with more are lists of links.
MOST_ANCHORS = 1_000


class Verdict(StrEnum):
    OWN_SITE = "own-site"
    LINKED = "linked"
    NOFOLLOW = "nofollow"
    ELSEWHERE = "links-elsewhere"
    UNLINKED = "unlinked"


@dataclass(frozen=True, slots=True)
class Backlink:
    """A verdict and the link that it is based on."""

    verdict: Verdict
    url: str = ""
    label: str = ""


class Outbound(NamedTuple):
    """Counts of a page's links to other sites, and of those that are followed."""

    links: int
    followed: int


_NONE = Outbound(0, 0)


def count_outbound(doc: Document) -> Outbound:
    here = origin_of(doc.url) + "/"
    leaving = [link for link in doc.links if not link[0].startswith(here)]  # in one go: most links of a page stay there
    if not leaving:
        return _NONE
    domain = domain_of(host_of(doc.url))
    followed = [not nofollow for url, nofollow in leaving if _domain_at(url.split("/", 3)[2]) != domain]
    return Outbound(len(followed), 0 if doc.nofollow else sum(followed))


@lru_cache(maxsize=16_384)
def _domain_at(authority: str) -> str:
    """The registrable domain of a host with or without a port."""
    return domain_of(host_of(f"http://{authority}/"))


class _Side(StrEnum):
    CLIENT = "client"
    COMPETITOR = "competitor"
    NEITHER = "neither"


class BacklinkFinder:
    """A client and its competitors. Built once, asked about every page with a mention."""

    def __init__(self, clients: Collection[str], competitors: Collection[str], matcher: KeywordMatcher) -> None:
        self._sides = dict.fromkeys(competitors, _Side.COMPETITOR) | dict.fromkeys(clients, _Side.CLIENT)
        self._matcher = matcher
        self._side_of = lru_cache(maxsize=16_384)(self._look_up)

    def find(self, doc: Document, keywords: Collection[str]) -> dict[str, Backlink]:
        """The verdict for each of the keywords mentioned on a page."""
        if self._side_of(host_of(doc.url)) is _Side.CLIENT:
            return dict.fromkeys(keywords, Backlink(Verdict.OWN_SITE))
        found = self._of_page(doc)
        if found is not None:
            return dict.fromkeys(keywords, found)
        return {**dict.fromkeys(keywords, Backlink(Verdict.UNLINKED)), **self._linked_mentions(doc, keywords)}

    def _of_page(self, doc: Document) -> Backlink | None:
        """Return the verdict that holds for all keywords of a page, if there is one."""
        to_client: list[Link] = []
        to_competitor: Link | None = None
        for link in _outgoing(doc):
            match self._side_of(host_of(link.url)):
                case _Side.CLIENT:
                    to_client.append(link)
                case _Side.COMPETITOR:
                    to_competitor = to_competitor or link
        if to_client:
            followed = None if doc.nofollow else next((link for link in to_client if not link.nofollow), None)
            verdict = Verdict.NOFOLLOW if followed is None else Verdict.LINKED
            return _backlink(verdict, doc, followed or to_client[0])
        return _backlink(Verdict.ELSEWHERE, doc, to_competitor) if to_competitor else None

    def _linked_mentions(self, doc: Document, keywords: Collection[str]) -> dict[str, Backlink]:
        """Return keywords in the text of links to other domains, each with the first such link."""
        domain = domain_of(host_of(doc.url))
        if all(domain_of(host_of(link.url)) == domain for link in _outgoing(doc)):
            return {}
        away = [anchor for anchor in anchors_of(doc) if domain_of(host_of(anchor.url)) != domain][:MOST_ANCHORS]
        worth_reading = Parts([anchor.element for anchor in away]).may_mention(self._matcher.spelled(keywords))
        texts = texts_of([away[at].element for at in worth_reading])
        found: dict[str, Backlink] = {}
        for at, text in zip(worth_reading, texts, strict=True):
            for keyword in self._matcher.counts(text).keys() & set(keywords) - found.keys():
                found[keyword] = Backlink(Verdict.ELSEWHERE, away[at].written, label_of(away[at]))
        return found

    def _look_up(self, host: str) -> _Side:
        name = host
        while name:
            side = self._sides.get(name)
            if side is not None:
                return side
            name = name.partition(".")[2]
        return _Side.NEITHER


def _outgoing(doc: Document) -> Iterator[Link]:
    """The links of a page that leave its host."""
    here = origin_of(doc.url) + "/"
    return (link for link in doc.links if not link.url.startswith(here))


def _backlink(verdict: Verdict, doc: Document, link: Link) -> Backlink:
    anchor = _anchor_for(doc, link)
    return Backlink(verdict, anchor.written, label_of(anchor)) if anchor else Backlink(verdict, link.url)


def _anchor_for(doc: Document, link: Link) -> Anchor | None:
    """The element of a link; one that is followed, if any is."""
    same = [anchor for anchor in anchors_of(doc) if anchor.url == link.url]
    return next((anchor for anchor in same if anchor.nofollow == link.nofollow), same[0] if same else None)
