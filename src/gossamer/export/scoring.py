"""How much a domain is worth a letter: points for what was seen on its pages, and for nothing else.

All weights are here. They are counted in tenths of a point, so that the parts add up to the total exactly. What they
mean, and why, is told to people in docs/explain/prospects.md.
"""

from dataclasses import dataclass
from datetime import date

TENTHS = 10

# Up to 40: pages with a mention in their text that nobody has linked yet.
PER_UNLINKED_PAGE, MOST_FOR_UNLINKED = 80, 400
# A mention in a menu or on nearly every page is the site's furniture: a tenth.
PER_FURNITURE_PAGE = 8
# Up to 20: different keywords in such mentions.
PER_KEYWORD, MOST_FOR_KEYWORDS = 50, 200
# Up to 10: pages that mention a keyword in their text, linked or not.
PER_PAGE, MOST_FOR_PAGES = 20, 100
# Up to 15: how old the latest of those pages was when it was read, by its own words; days and what they are worth.
FRESHNESS = ((90, 150), (365, 100), (730, 50))
# Up to 15: those pages that link to other sites in a way that counts.
PER_OPEN_PAGE, MOST_FOR_OPEN = 30, 150
# Down to -10: those pages whose links to others all say nofollow, and those that link to the client that way.
PER_CLOSED_PAGE, MOST_FOR_CLOSED = -20, -100
# Down to -10: the share of the site's pages that could not be read.
ALL_FAILED = -100


@dataclass(frozen=True, slots=True)
class Facts:
    """What was seen of a domain."""

    unlinked_pages: int = 0  # with a mention in the text that is not linked
    furniture_pages: int = 0  # with unlinked mentions only in menus, header or footer, or on nearly every page
    keywords: int = 0  # different ones, in those unlinked mentions that stand in the text
    text_pages: int = 0  # with a mention in the text, linked or not
    open_pages: int = 0  # of these, linking to other sites so that it counts
    closed_pages: int = 0  # of these, linking to other sites, or to the client, only with nofollow
    newest: date | None = None  # the latest day one of these gives for itself
    read_at: date | None = None  # when that one was read
    pages_read: int = 0
    pages_failed: int = 0


@dataclass(frozen=True, slots=True)
class Points:
    """The parts of a score, in tenths."""

    unlinked: int
    keywords: int
    pages: int
    freshness: int
    outbound: int
    nofollow: int
    errors: int

    @property
    def total(self) -> int:
        """Never below nothing."""
        parts = (self.unlinked, self.keywords, self.pages, self.freshness, self.outbound, self.nofollow, self.errors)
        return max(0, sum(parts))


def points_of(facts: Facts) -> Points:
    unlinked = PER_UNLINKED_PAGE * facts.unlinked_pages + PER_FURNITURE_PAGE * facts.furniture_pages
    return Points(
        unlinked=min(MOST_FOR_UNLINKED, unlinked),
        keywords=min(MOST_FOR_KEYWORDS, PER_KEYWORD * facts.keywords),
        pages=min(MOST_FOR_PAGES, PER_PAGE * facts.text_pages),
        freshness=_freshness(facts),
        outbound=min(MOST_FOR_OPEN, PER_OPEN_PAGE * facts.open_pages),
        nofollow=max(MOST_FOR_CLOSED, PER_CLOSED_PAGE * facts.closed_pages),
        errors=_errors(facts),
    )


def _freshness(facts: Facts) -> int:
    if facts.newest is None or facts.read_at is None:
        return 0
    age = (facts.read_at - facts.newest).days
    return next((worth for days, worth in FRESHNESS if age <= days), 0)


def _errors(facts: Facts) -> int:
    tried = facts.pages_read + facts.pages_failed
    return round(ALL_FAILED * facts.pages_failed / tried) if tried else 0
