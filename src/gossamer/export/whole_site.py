"""What only all rows of a site together can say: how many of its pages mention a keyword, and what to be wary of."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

MANY_ON_ONE_PAGE = 200
# A word on nine pages of ten, of at least so many, is part of the site's template rather than of what it writes about.
ENOUGH_PAGES = 10
NEARLY_EVERY = 0.9

NAVIGATION_ONLY = "navigation-only"
ON_ONE_PAGE = f"{MANY_ON_ONE_PAGE}+ on one page"
ON_EVERY_PAGE = "nearly every page"

# What rows from before there were verdicts do not have.
BEFORE = {"verdict": "", "link_url": "", "anchor_text": "", "position": ""}


# Columns that say something of the whole site.
WHOLE_SITE = frozenset({"flags", "keyword_pages", "site_pages"})


def completed(rows: Sequence[Mapping[str, Any]], pages_read: int) -> list[Mapping[str, Any]]:
    """All rows of a site with `flags`, `keyword_pages` and `site_pages`. There is one row per page and keyword."""
    return with_whole_site(rows, Counter(row["keyword"] for row in rows), pages_read)


def with_whole_site(
    rows: Sequence[Mapping[str, Any]], keyword_pages: Mapping[str, int], pages_read: int
) -> list[Mapping[str, Any]]:
    """Some rows of a site, of which it is known on how many pages each keyword is."""
    return [
        {
            **BEFORE,
            **row,
            "flags": ";".join(_flags(row, keyword_pages[row["keyword"]], pages_read)),
            "keyword_pages": keyword_pages[row["keyword"]],
            "site_pages": pages_read,
        }
        for row in rows
    ]


def _flags(row: Mapping[str, Any], keyword_pages: int, pages_read: int) -> list[str]:
    flags = {
        NAVIGATION_ONLY: row.get("position") == "navigation",
        ON_ONE_PAGE: row.get("frequency", 0) >= MANY_ON_ONE_PAGE,
        ON_EVERY_PAGE: pages_read >= ENOUGH_PAGES and keyword_pages >= NEARLY_EVERY * pages_read,
    }
    return [flag for flag, holds in flags.items() if holds]
