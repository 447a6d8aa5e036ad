"""What only all rows of a site together can say: how many of its pages mention a keyword, and what to be wary of."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

MANY_ON_ONE_PAGE = 200
# A word on nine pages of ten, of at least so many, is part of the site's template rather than of what it writes about.
ENOUGH_PAGES = 10
NEARLY_EVERY = 0.9

NAVIGATION_ONLY = "navigation-only"
ON_ONE_PAGE = f"{MANY_ON_ONE_PAGE}+ on one page"
ON_EVERY_PAGE = "nearly every page"

# What rows do not have that are from before these were kept.
BEFORE = {
    "verdict": "",
    "link_url": "",
    "anchor_text": "",
    "position": "",
    "page_date": "",
    "outbound_links": 0,
    "outbound_followed": 0,
}

# Columns that say something of the whole site.
WHOLE_SITE = frozenset({"flags", "keyword_pages", "site_pages"})


def completed(rows: Sequence[Mapping[str, Any]], pages_read: int) -> list[Mapping[str, Any]]:
    """All rows of a site with `flags`, `keyword_pages` and `site_pages`. There is one row per page and keyword."""
    whole = [{**BEFORE, **row} for row in rows]
    complete(whole, Counter(row["keyword"] for row in rows), pages_read)
    return list(whole)


def complete(rows: Iterable[dict[str, Any]], keyword_pages: Mapping[str, int], pages_read: int) -> None:
    """Add them to some rows of a site, of which it is known on how many pages each keyword is."""
    for row in rows:
        pages = keyword_pages[row["keyword"]]
        row["flags"] = ";".join(_flags(row, pages, pages_read))
        row["keyword_pages"] = pages
        row["site_pages"] = pages_read


def _flags(row: Mapping[str, Any], keyword_pages: int, pages_read: int) -> list[str]:
    flags = []
    if row.get("position") == "navigation":
        flags.append(NAVIGATION_ONLY)
    if row.get("frequency", 0) >= MANY_ON_ONE_PAGE:
        flags.append(ON_ONE_PAGE)
    if pages_read >= ENOUGH_PAGES and keyword_pages >= NEARLY_EVERY * pages_read:
        flags.append(ON_EVERY_PAGE)
    return flags
