"""Check a crawl against the truth: politeness, permitted requests only, and the correctness of every row.

Works only on what the crawl left behind: the access log of the sample web, the truth file, and the rows of
a result.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import orjson

from gossamer.model.url import normalise, site_of
from gossamer_sandbox.web.keywords import is_at
from gossamer_sandbox.web.robots import Rule, allows

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
    late: float = 0.0  # seconds for which the web had not looked for requests: it may have come so much earlier


@dataclass(frozen=True, slots=True)
class Comparison:
    """Differences between rows and the truth. All empty: no difference was found."""

    missing: tuple[Row, ...]  # as the truth has them
    wrong: tuple[tuple[str, str, int, int], ...]  # address, keyword, expected, given
    extra: tuple[Row, ...]  # as the rows had them
    duplicates: tuple[Row, ...]  # a page and keyword given before, perhaps under another address
    misjudged: tuple[tuple[str, str, str, str], ...] = ()  # address, keyword, expected, given

    @property
    def exact(self) -> bool:
        return not (self.missing or self.wrong or self.extra or self.duplicates or self.misjudged)


def read_log(log: Path) -> Iterator[Request]:
    """The requests in the order they were written. A last line that was cut short by a kill is left out."""
    with log.open("rb") as file:
        for line in file:
            if line.endswith(b"\n"):
                yield Request(**orjson.loads(line))


def smallest_gaps(log: Path) -> dict[str, float]:
    """The shortest time between two requests to each registrable domain that got more than one.

    What can be proved of it: where the web itself was late to read the first of two, that may have come earlier.
    """
    times: dict[str, list[tuple[float, float]]] = {}
    for request in read_log(log):
        times.setdefault(request.domain, []).append((request.t, request.late))
    return {
        domain: min(later - earlier + late for (earlier, late), (later, _) in pairwise(sorted(moments)))
        for domain, moments in times.items()
        if len(moments) > 1
    }


def forbidden_requests(log: Path, truth: Mapping[str, Any] | Path) -> list[Request]:
    """Requests that robots.txt forbids, and those to hosts that are only ever linked to."""
    whole = _loaded(truth)
    rules = {site["host"]: tuple(Rule(**rule) for rule in site["rules"]) for site in whole["sites"]}
    listed = {site["host"]: frozenset(site["disallowed"]) for site in whole["sites"]}
    found = []
    for request in read_log(log):
        host = site_of(request.host)
        url = normalise(f"http://{request.host}{request.path}")
        strayed = any(is_at(host, name) for name in whole["outside"])
        if strayed or url in listed.get(host, ()) or not allows(rules.get(host, ()), request.path):
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


def compare_verdicts(rows: Iterable[Mapping[str, Any]], truth: Mapping[str, Any] | Path) -> Comparison:
    """The same for rows with `verdict` and `position`, which are held against the truth too."""
    whole = _loaded(truth)
    listed = list(rows)
    outcome = compare(((row["url"], row["keyword"], row["frequency"]) for row in listed), whole)
    pages = _pages(whole)
    misjudged = []
    for row in listed:
        keyword = row["keyword"]
        page = pages.get(normalise(row["url"]) or row["url"])
        if page is None or keyword not in page["keywords"]:
            continue
        for expected, given in (
            (page["verdicts"][keyword], row["verdict"]),
            (page["positions"][keyword], row["position"]),
        ):
            if expected != given:
                misjudged.append((page["url"], keyword, expected, given))
    return replace(outcome, misjudged=tuple(misjudged))


def compare_sites(sites: Iterable[Mapping[str, Any]], truth: Mapping[str, Any] | Path) -> list[str]:
    """Return in words how the sites of a job differ from what is expected.

    A site has `host`, `state`, `reason` (its name, "" if there is none), `size` and `size_source`.
    """
    given = {site["host"]: site for site in sites}
    differences = []
    for expected in _loaded(truth)["sites"]:
        host, outcome = expected["host"], expected["expect"]
        site = given.get(host)
        if site is None:
            differences.append(f"{host} is missing")
            continue
        if site["state"] != outcome["state"]:
            differences.append(f"{host} is {site['state']}, not {outcome['state']}")
        if outcome["reasons"] and site["reason"] not in outcome["reasons"]:
            differences.append(f"{host} says {site['reason'] or 'nothing'}, not {' or '.join(outcome['reasons'])}")
        differences += [
            f"{host} has {name} {site[name]}, not {expected[name]}"
            for name in ("size", "size_source")
            if expected[name] is not None and site[name] != expected[name]
        ]
    return differences


def _expected(truth: Mapping[str, Any]) -> tuple[dict[str, str], dict[tuple[str, str], int]]:
    """The page behind every address, and the count behind every (page, keyword) that must be reported."""
    pages = _pages(truth)
    counts = {(page["url"], keyword): count for page in pages.values() for keyword, count in page["keywords"].items()}
    return {address: page["url"] for address, page in pages.items()}, counts


def _pages(truth: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Every page that must be found, by each of its addresses."""
    found: dict[str, Mapping[str, Any]] = {}
    for site in truth["sites"]:
        for page in site["pages"]:
            if page["reachable"] and not page["reasons"]:
                found |= dict.fromkeys((page["url"], *page["aliases"]), page)
    return found


def _loaded(truth: Mapping[str, Any] | Path) -> Mapping[str, Any]:
    if isinstance(truth, Path):
        whole: Mapping[str, Any] = orjson.loads(truth.read_bytes())
        return whole
    return truth
