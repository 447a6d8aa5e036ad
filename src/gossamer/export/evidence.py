"""From the matches of one domain to the facts it is ranked by, a match at a time: only numbers are kept."""

from datetime import date

from gossamer.export.scoring import Facts
from gossamer.export.whole_site import ON_EVERY_PAGE
from gossamer.recipes.base import Column, Line
from gossamer.recipes.prospect import MATCH

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

_OPEN = frozenset({"unlinked", ""})  # without a client there is nobody who could be linked already
_LINKED, _NOFOLLOW, _OWN = "linked", "nofollow", "own-site"
_BEST_FIRST = ("title", "heading", "body", "navigation", "")
_LONGEST = 200  # keywords are named up to so many characters


class Evidence:
    """One domain."""

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
        """What all matches come to. Nothing may be added afterwards."""
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
        """Those of unlinked mentions in the text, separated by semicolons; where they are too many, the first."""
        names = sorted(self._keywords)
        while len(joined := "; ".join(names)) > _LONGEST:
            names.pop()
        more = len(self._keywords) - len(names)
        return f"{joined}; and {more} more" if more else joined

    def _turn(self) -> None:
        """All matches of a page are known."""
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
    """The page whose matches are coming in."""

    __slots__ = ("dated", "followed", "in_text", "is_open", "links", "open_in_text", "read_at", "url", "verdicts")

    def __init__(self, url: str) -> None:
        self.url = url
        self.in_text = self.is_open = self.open_in_text = False
        self.links = self.followed = 0
        self.dated = self.read_at = ""
        self.verdicts: set[str] = set()


def _place(position: str) -> int:
    return _BEST_FIRST.index(position) if position in _BEST_FIRST else len(_BEST_FIRST)
