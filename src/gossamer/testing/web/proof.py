"""Holding a crawl against the truth: was it polite, did it ask only for what it may, is every row right?

Works on what is left behind alone: the access log of the sample web, the truth file, and the rows of a result.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import orjson

from gossamer.model.url import normalise, site_of
from gossamer.testing.web.robots import Rule, allows

Row = tuple[str, str, int]
"""Address, keyword, how often."""


@dataclass(frozen=True, slots=True)
class Request:
    """One line of the access log."""

    t: float
    host: str
    path: str
    status: int
    ua: str
    domain: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """How rows differ from the truth. All empty: the result is exactly right."""

    missing: tuple[Row, ...]  # as the truth has them
    wrong: tuple[tuple[str, str, int, int], ...]  # address, keyword, expected, given
    extra: tuple[Row, ...]  # as the rows had them
    duplicates: tuple[Row, ...]  # a page and keyword given before, perhaps under another address

    @property
    def exact(self) -> bool:
        return not (self.missing or self.wrong or self.extra or self.duplicates)


def read_log(log: Path) -> Iterator[Request]:
    """The requests in the order they were written. A last line that was cut short by a kill is left out."""
    with log.open("rb") as file:
        for line in file:
            if line.endswith(b"\n"):
                yield Request(**orjson.loads(line))


def smallest_gaps(log: Path) -> dict[str, float]:
    """The shortest time between two requests to each registrable domain that got more than one."""
    times: dict[str, list[float]] = {}
    for request in read_log(log):
        times.setdefault(request.domain, []).append(request.t)
    gaps = {}
    for domain, moments in times.items():
        moments.sort()
        if len(moments) > 1:
            gaps[domain] = min(later - earlier for earlier, later in pairwise(moments))
    return gaps


def forbidden_requests(log: Path, truth: Mapping[str, Any] | Path) -> list[Request]:
    """Requests that robots.txt forbids, and those to hosts that are only ever linked to."""
    whole = _loaded(truth)
    outside = frozenset(whole["outside"])
    rules = {site["host"]: tuple(Rule(**rule) for rule in site["rules"]) for site in whole["sites"]}
    listed = {site["host"]: frozenset(site["disallowed"]) for site in whole["sites"]}
    found = []
    for request in read_log(log):
        host = site_of(request.host)
        url = normalise(f"http://{request.host}{request.path}")
        if host in outside or url in listed.get(host, ()) or not allows(rules.get(host, ()), request.path):
            found.append(request)
    return found


def compare(rows: Iterable[Row], truth: Mapping[str, Any] | Path) -> Comparison:
    """Rows against what is reachable. Every address of a page counts as the page."""
    pages, expected = _expected(_loaded(truth))
    given: dict[tuple[str, str], int] = {}
    wrong, extra, duplicates = [], [], []
    for url, keyword, frequency in rows:
        page = pages.get(normalise(url) or url, url)
        key = (page, keyword)
        if key in given:
            duplicates.append((url, keyword, frequency))
            continue
        given[key] = frequency
        right = expected.get(key)
        if right is None:
            extra.append((url, keyword, frequency))
        elif right != frequency:
            wrong.append((page, keyword, right, frequency))
    missing = [(*key, count) for key, count in expected.items() if key not in given]
    return Comparison(tuple(missing), tuple(wrong), tuple(extra), tuple(duplicates))


def _expected(truth: Mapping[str, Any]) -> tuple[dict[str, str], dict[tuple[str, str], int]]:
    """The page behind every address, and the count behind every (page, keyword) that must be reported."""
    pages: dict[str, str] = {}
    counts: dict[tuple[str, str], int] = {}
    for site in truth["sites"]:
        for page in site["pages"]:
            if not page["reachable"] or page["reasons"]:
                continue
            pages |= dict.fromkeys((page["url"], *page["aliases"]), page["url"])
            counts |= {(page["url"], keyword): count for keyword, count in page["keywords"].items()}
    return pages, counts


def _loaded(truth: Mapping[str, Any] | Path) -> Mapping[str, Any]:
    if isinstance(truth, Path):
        whole: Mapping[str, Any] = orjson.loads(truth.read_bytes())
        return whole
    return truth
