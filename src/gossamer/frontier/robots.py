"""What a site's robots.txt says about us (RFC 9309)."""

from dataclasses import dataclass
from functools import lru_cache

from protego import Protego

# The name site owners can address. The same decision holds for every identity we show.
PRODUCT_TOKEN = "gossamer"  # noqa: S105 - a name
MOST_BYTES = 500 * 1024
LONGEST_DELAY = 60.0

# What is kept when there is no robots.txt to obey; 4xx means "crawl freely".
ABSENT = 404


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules for one origin. `parsed` is None where everything is allowed."""

    parsed: Protego | None

    def allow(self, url: str) -> bool:
        return self.parsed is None or bool(self.parsed.can_fetch(url, PRODUCT_TOKEN))

    @property
    def delay(self) -> float:
        """Seconds between requests the site asks for; 0 if it does not."""
        asked = self.parsed.crawl_delay(PRODUCT_TOKEN) if self.parsed else None
        return min(max(float(asked or 0), 0.0), LONGEST_DELAY)


def says_later(status: int) -> bool:
    """The file may be there, but cannot be had now: nothing may be fetched until it can."""
    return status >= 500 or status == 429


def read_rules(status: int, body: str) -> Rules:
    """Rules from an answer: a readable file is obeyed, any other answer that is not "later" forbids nothing."""
    return _parse(body) if 200 <= status < 300 and body else Rules(None)


@lru_cache(maxsize=512)
def _parse(body: str) -> Rules:
    return Rules(Protego.parse(body.removeprefix("\ufeff")))
