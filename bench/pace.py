"""A job at the rate it really has: one request per second and domain, seen from the other end of the line."""

from dataclasses import replace
from pathlib import Path

from bench.figure import Figure
from bench.product import FULL_RATE, Asked, crawl, warm_up
from bench.sample_web import sample_web
from gossamer_sandbox.web.proof import read_log, smallest_gaps

SITES, PAGES = 2_000, 3
# The server's clock starts when it has read a request: on a busy machine that can be a little late.
SMALLEST_GAP = 0.95


def measure(folder: Path, quick: bool) -> list[Figure]:
    sites = 20 if quick else SITES
    with sample_web(folder, sites, logged=True) as web:
        asked = Asked(folder / "job", web.domains, web.keywords, web.port, pages=PAGES, rate="1", at_once=sites)
        warm_up(replace(asked, rate=FULL_RATE))
        web.log.write_bytes(b"")
        done = crawl(asked, lost=sites // 100)
    gaps = smallest_gaps(web.log)
    requests = sum(1 for _ in read_log(web.log))
    read = f"{requests:,} requests to {len(gaps):,} domains"
    return [
        Figure("gap", "smallest gap between two requests to a domain", min(gaps.values()), "s", least=SMALLEST_GAP),
        Figure("wall", f"{sites:,} sites, {PAGES} pages each: the whole command", done.wall, "s", note=read),
        Figure("cpu", "its CPU per page, starting included", done.per_page, "ms", note=f"{done.pages:,} pages"),
    ]
