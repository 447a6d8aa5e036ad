"""Decide which addresses a walk includes: pages of its site, within the limits of patterns and traps.

Written from the rules alone, on purpose: the crawler is checked against this module.

- An address is refused as a trap when its path repeats a run of one to four segments three times in a row,
  when one name occurs more than three times in its query, or when its query has more than twelve
  parameters.
- A bare date at the end of the path (`/2026/05`, `/2026/05/17`, `/2026-05`, `/2026-05-17`) or in the query
  (`year=` and `month=`, or a parameter that is only a date) makes a calendar. Twenty-four addresses of one
  shape are taken; addresses have the same shape if they differ only in their digits.
- Patterns apply to the path with its query: `*` is any run, `?` one character. If there are includes, one
  of them must match; no exclude may match.
"""

import re
from collections import Counter
from collections.abc import Iterable

from gossamer.model.url import is_homepage, path_of, site_of_url

MOST_OF_A_SHAPE = 24
_LONGEST_RUN = 4
_MOST_OF_A_NAME = 3
_MOST_PARAMETERS = 12

_BINARY = re.compile(
    r"\.(?:7z|apk|avi|bin|bmp|bz2|css|csv|dmg|docx?|eot|epub|exe|flac|gif|gz|ico|iso|jar|jpe?g|js|m4[av]|mkv|mov|mp[34]|mpeg"
    r"|msi|od[pst]|ogg|otf|pdf|png|pptx?|rar|rpm|rtf|svg|tar|tgz|tiff?|ttf|wav|webm|webp|wmv|woff2?|xlsx?|xz|zip)$",
    re.IGNORECASE,
)
_YEAR, _MONTH, _DAY = r"(?:19|2\d)\d\d", r"(?:0[1-9]|1[0-2])", r"(?:0[1-9]|[12]\d|3[01])"
_DATED_PATH = re.compile(rf"/(?:{_YEAR}/{_MONTH}(?:/{_DAY})?|{_YEAR}-{_MONTH}(?:-{_DAY})?)/?$")
_DATE = re.compile(rf"{_YEAR}-{_MONTH}(?:-{_DAY})?")
_DIGITS = re.compile(r"\d+")


class Scope:
    """The scope of one crawl. Whether a calendar is full depends on the addresses asked about before."""

    def __init__(self, site: str, include: Iterable[str] = (), exclude: Iterable[str] = ()) -> None:
        self._site = site
        self._include = [_pattern(glob) for glob in include]
        self._exclude = [_pattern(glob) for glob in exclude]
        self._answers: dict[str, bool] = {}
        self._shapes: Counter[str] = Counter()
        self.trapped = False

    def takes(self, url: str) -> bool:
        """Return True if a normalised address may become a page. The homepage is one already."""
        known = self._answers.get(url)
        if known is None:
            known = self._answers[url] = self._belongs(url) and not self._leads_into_trap(url)
        return known

    def _belongs(self, url: str) -> bool:
        if site_of_url(url) != self._site or is_homepage(url):
            return False
        path = path_of(url)
        if _BINARY.search(path.partition("?")[0]):
            return False
        included = not self._include or any(pattern.fullmatch(path) for pattern in self._include)
        return included and not any(pattern.fullmatch(path) for pattern in self._exclude)

    def _leads_into_trap(self, url: str) -> bool:
        path, _, query = path_of(url).partition("?")
        endless = _goes_round(path) or (query != "" and _grows(query))
        refused = endless or (_is_dated(path, query) and self._is_full(url))
        self.trapped = self.trapped or refused
        return refused

    def _is_full(self, url: str) -> bool:
        shape = _DIGITS.sub("0", url)
        if self._shapes[shape] == MOST_OF_A_SHAPE:
            return True
        self._shapes[shape] += 1
        return False


def _pattern(glob: str) -> re.Pattern[str]:
    signs = {"*": ".*", "?": "."}
    return re.compile("".join(signs.get(sign) or re.escape(sign) for sign in glob), re.DOTALL)


def _goes_round(path: str) -> bool:
    segments = [segment for segment in path.split("/") if segment]
    for length in range(1, min(_LONGEST_RUN, len(segments) // 3) + 1):
        for first in range(len(segments) - 3 * length + 1):
            one, two, three = (segments[first + at * length : first + (at + 1) * length] for at in range(3))
            if one == two == three:
                return True
    return False


def _grows(query: str) -> bool:
    names = Counter(_names(query))
    return names.total() > _MOST_PARAMETERS or any(number > _MOST_OF_A_NAME for number in names.values())


def _names(query: str) -> list[str]:
    return [part.partition("=")[0] for part in query.split("&")] if query else []


def _is_dated(path: str, query: str) -> bool:
    if _DATED_PATH.search(path) or {"year", "month"} <= {*_names(query)}:
        return True
    return any(_DATE.fullmatch(part.partition("=")[2]) for part in query.split("&"))
