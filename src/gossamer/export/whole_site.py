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
_BEFORE = {"verdict": "", "link_url": "", "anchor_text": "", "position": ""}


def completed(rows: Sequence[Mapping[str, Any]], pages_read: int) -> list[Mapping[str, Any]]:
    """The rows of a site with `flags`, `keyword_pages` and `site_pages`. There is one row per page and keyword."""
    pages = Counter(row["keyword"] for row in rows)
    return [
        {
            **_BEFORE,
            **row,
            "flags": ";".join(_flags(row, pages[row["keyword"]], pages_read)),
            "keyword_pages": pages[row["keyword"]],
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
