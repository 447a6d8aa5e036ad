"""Score of a domain: how much it is worth contacting, in points based only on what was found on its pages.

All weights are here. They are counted in tenths of a point, so that the parts add up to the total
exactly. Their meaning and reasons are explained to users in docs/explain/prospects.md.
"""

from dataclasses import dataclass
from datetime import date

from gossamer.recipes.base import Column, Line
from gossamer.recipes.prospect import MATCH
from gossamer.recipes.prospect.verdicts import ON_EVERY_PAGE, UNLINKED

TENTHS = 10

# Up to 40: pages with a mention in their text that is not linked yet.
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
    """Findings on a domain."""

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
        """The sum of the parts, at least zero."""
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


_OF_MATCHES = frozenset(
    (
        "domain",
        "url",
        "keyword",
        "frequency",
        "context_snippet",
        "timestamp",
        "verdict",
        "position",
        "flags",
        "site_pages",
    )
)
# What must be known of every match, in this order; the matches of a page lie together.
EVIDENCE = (
    *(column for column in MATCH.columns if column.name in _OF_MATCHES),
    Column("page_date"),
    Column("outbound_links", "number"),
    Column("outbound_followed", "number"),
)

_OPEN = frozenset({UNLINKED, ""})  # without a client no mention can be linked already
_LINKED, _NOFOLLOW, _OWN = "linked", "nofollow", "own-site"
_BEST_FIRST = ("title", "heading", "body", "navigation", "")
_LONGEST = 200  # keywords are named up to so many characters


class Evidence:
    """A collector of the findings on one domain."""

    def __init__(self, domain: str) -> None:
        self.domain = domain
        self.is_own = True  # of the client, as far as all its pages say so
        self.best: tuple[str, str, str] = ("", "", "")  # address, keyword and words of the best mention
        self.matching_pages = self.linked_pages = self.nofollow_pages = 0
        self.pages_read = 0
        self._best_rank: tuple[int, int, int, str] | None = None
        self._unlinked = self._furniture = self._text = self._outbound = self._closed = 0
        self._keywords: set[str] = set()
        self._newest, self._read_at = "", ""
        self._page = _Page("")

    def add(self, line: Line) -> None:
        """One match, with the columns of `EVIDENCE`."""
        _, url, keyword, frequency, snippet, at, verdict, position, flags, pages_read, dated, links, followed = line
        if url != self._page.url:
            self._turn()
            self._page = _Page(str(url))
        page, is_open = self._page, verdict in _OPEN
        self.is_own = self.is_own and verdict == _OWN
        self.pages_read = int(pages_read or 0)
        in_text = position not in ("navigation", "") and ON_EVERY_PAGE not in str(flags)
        page.in_text |= in_text
        page.is_open |= is_open
        page.verdicts.add(str(verdict))
        page.links, page.followed = int(links or 0), int(followed or 0)
        page.dated, page.read_at = str(dated or ""), str(at or "")[:10]
        if is_open and in_text:
            page.open_in_text = True
            self._keywords.add(str(keyword))
        rank = (0 if is_open else 1, _place(str(position)) + 4 * (not in_text), -int(frequency or 0), str(url))
        if self._best_rank is None or rank < self._best_rank:
            self._best_rank, self.best = rank, (str(url), str(keyword), str(snippet))

    def facts(self, pages_failed: int) -> Facts:
        """Return the facts from all matches. No matches may be added afterwards."""
        self._turn()
        self._page = _Page("")
        return Facts(
            unlinked_pages=self._unlinked,
            furniture_pages=self._furniture,
            keywords=len(self._keywords),
            text_pages=self._text,
            open_pages=self._outbound,
            closed_pages=self._closed,
            newest=date.fromisoformat(self._newest) if self._newest else None,
            read_at=date.fromisoformat(self._read_at) if self._read_at else None,
            pages_read=self.pages_read,
            pages_failed=pages_failed,
        )

    def named_keywords(self) -> str:
        """Return the keywords of unlinked mentions, separated by semicolons; a long list ends with "and N more"."""
        names = sorted(self._keywords)
        while len(joined := "; ".join(names)) > _LONGEST:
            names.pop()
        more = len(self._keywords) - len(names)
        return f"{joined}; and {more} more" if more else joined

    def _turn(self) -> None:
        """Finish the current page."""
        page = self._page
        if not page.url:
            return
        self.matching_pages += 1
        self.linked_pages += _LINKED in page.verdicts
        self.nofollow_pages += _NOFOLLOW in page.verdicts
        self._unlinked += page.open_in_text
        self._furniture += page.is_open and not page.open_in_text
        if not page.in_text:
            return
        self._text += 1
        self._outbound += page.followed > 0
        self._closed += _NOFOLLOW in page.verdicts or (page.links > 0 and page.followed == 0)
        if page.dated > self._newest:
            self._newest, self._read_at = page.dated, page.read_at


class _Page:
    """The page whose matches are being added."""

    __slots__ = ("dated", "followed", "in_text", "is_open", "links", "open_in_text", "read_at", "url", "verdicts")

    def __init__(self, url: str) -> None:
        self.url = url
        self.in_text = self.is_open = self.open_in_text = False
        self.links = self.followed = 0
        self.dated = self.read_at = ""
        self.verdicts: set[str] = set()


def _place(position: str) -> int:
    return _BEST_FIRST.index(position) if position in _BEST_FIRST else len(_BEST_FIRST)
