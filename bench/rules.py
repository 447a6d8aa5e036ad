"""Extraction rules: what plain ones take of a page, and what a scrape waits for beside rules that never end."""

import asyncio
import statistics
import time
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

from bench.figure import Figure
from bench.plain_web import plain_web
from bench.server import hosts, serving
from gossamer.analyze.rules import extract, read_rules
from gossamer.crawl.extraction import Extraction, RuleSet
from gossamer.model.document import Document, Response
from gossamer.parse import parse_document

VICTIM = 1_000.0  # milliseconds
_JOBS = 6
_HOSTILE = "//p[count(following::p[count(preceding::p)>{number}])>0]"
_PLAIN = {
    "title": "h1",
    "texts": {"css": "p", "list": True},
    "links": {"css": "a", "type": "url", "list": True},
    "second": "(//p)[2]",
}
_COSTLY = {"title": "//h1[contains(., 'a')]"}
_LARGER = 1.1  # times what plain rules take without the choice where they are run


def measure(folder: Path, quick: bool) -> list[Figure]:
    bare, here, there = asyncio.run(_page_times(40 if quick else 400))
    waits = sorted(_waits(folder, 10 if quick else 100))
    p95 = waits[int(len(waits) * 0.95)]
    said = (
        f"{len(waits)} scrapes, every other one with a rule that is not plain; median {statistics.median(waits):.0f} ms"
    )
    return [
        Figure("plain", "plain rules on a page, of what they take alone", here / bare, "x", _LARGER,
               note=f"{here:.2f} ms a page"),
        Figure("other", "a rule that is run in a process of its own, on a page", there, "ms"),
        Figure("victim", f"a scrape beside {_JOBS} jobs of rules that never end, p95", p95, "ms", VICTIM, note=said),
    ]  # fmt: skip


async def _page_times(count: int) -> tuple[float, float, float]:
    """Milliseconds a page: plain rules alone, plain rules as a worker runs them, others."""
    plain, costly = RuleSet(read_rules(_PLAIN), "bench"), RuleSet(read_rules(_COSTLY), "bench")
    read = [(response, doc) for response in _responses(count) if isinstance(doc := parse_document(response), Document)]
    best = [float("inf")] * 3
    opened = Extraction()
    try:
        await opened.fields(costly, read[0][0])
        for _ in range(5):
            moments = [time.perf_counter()]
            for _, doc in read:
                extract(plain.rules, doc)
            moments.append(time.perf_counter())
            for _, doc in read:
                plain.fields_now(doc)
            moments.append(time.perf_counter())
            for response, _ in read:
                await opened.fields(costly, response)
            moments.append(time.perf_counter())
            taken = [(after - before) * 1000 / len(read) for before, after in pairwise(moments)]
            best = list(map(min, best, taken))
    finally:
        await opened.close()
    return best[0], best[1], best[2]


def _responses(count: int) -> list[Response]:
    now, told = datetime.now(UTC), {"content-type": "text/html; charset=utf-8"}
    return [Response("http://a.test/", "http://a.test/", 200, told, _page(one), "direct", now) for one in range(count)]


def _page(number: int) -> bytes:
    """About 20 kB, as a shop might have it."""
    item = (
        "<div class=item><h3><a href=/lamp-{0}>A lamp</a></h3><p>Made by hand, of brass and glass.</p><b>{0}</b></div>"
    )
    items = "".join(item.format(number * 100 + one) for one in range(200))
    return f"<!doctype html><html lang=en><title>Lamps</title><body><h1>All lamps</h1>{items}".encode()


def _waits(folder: Path, scrapes: int) -> list[float]:
    """Milliseconds of scrapes while the jobs are at work."""
    waits = []
    with plain_web() as web, serving(folder / "server", web) as api, api.client() as client:
        for job in range(_JOBS):
            urls = [f"{host}large" for host in hosts(200, 1_000 * (job + 1))]
            body = {"urls": urls, "formats": ["extract"], "extract": {"all": _HOSTILE.format(number=job + 1)}}
            client.post("/v1/batch", json=body).raise_for_status()
        time.sleep(2.0)
        for number, url in enumerate(hosts(scrapes, 10)):
            asked = {"formats": ["extract"], "extract": _COSTLY} if number % 2 else {"formats": ["markdown"]}
            began = time.perf_counter()
            client.post("/v1/scrape", json={"url": url, **asked}).raise_for_status()
            waits.append((time.perf_counter() - began) * 1000)
    return waits
