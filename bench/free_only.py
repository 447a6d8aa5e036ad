"""What the ladder, the memory of domains and the ledger add to a job that never pays: CPU per page.

The same free-only job is walked in this process again and again. In every other turn the functions that these three
consist of stand under a meter, which adds up the CPU they take where they run; the turns between say what a page costs
altogether. The meter's own share is taken off. Where a function does more than the part in question (what to do about a
page that failed is decided whether or not there is a ladder), all of it counts: the figure is rather too high. Not in
it are a few comparisons in the middle of other functions, tens of nanoseconds each.

Also a hybrid job on the same sites, where nothing has to climb: it looks up what is known of each domain and learns
something from every page.
"""

import asyncio
import time
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Any

import uvloop

from bench.figure import BenchFailed, Figure
from bench.meter import Part, cost_of_a_look, metered
from bench.sample_web import Web, sample_web
from gossamer.app import open_deps
from gossamer.crawl import crawl_setup, outcome, requester, visit
from gossamer.db.schema import upgrade
from gossamer.frontier import frontier
from gossamer.intake.submit import submit
from gossamer.model.job import JobRequest, Target
from gossamer.model.states import JobState
from gossamer.model.url import host_of
from gossamer.runtime.worker import ShardWorker
from gossamer.settings import Settings
from gossamer.settle import commit
from gossamer.store import charges, counters, jobs, rung_stats

OVERHEAD = 0.03  # of what a page costs without them
_PAGES = 10  # per site
_LONGEST = 120.0  # seconds of one job
_ASKED: Mapping[str, Mapping[str, Any]] = {
    "free": {"mode": "free-only", "ladder": ["direct"]},
    "hybrid": {"mode": "hybrid", "ladder": ["direct", "scrapingbee-js"]},
}

_LADDER: tuple[Part, ...] = (
    (visit.SiteCrawl, "_rung"),
    (frontier.Frontier, "_first_rung"),
    (outcome, "next_step"),
    (outcome.Outcomes, "_climb"),
    (crawl_setup.Crawler, "_begin"),
    (crawl_setup, "rungs_of_job"),
    (commit, "_still_ours"),
    (commit.Climbs, "meet"),
    (commit.Climbs, "leaving"),
    (commit.Climbs, "wake"),
)
_MEMORY: tuple[Part, ...] = (
    (visit, "lesson"),
    (commit, "experiences"),
    (rung_stats, "learn"),
    (rung_stats, "of"),
)
_LEDGER: tuple[Part, ...] = (
    (crawl_setup, "RequestBudget"),
    (requester.RequestBudget, "take_charges"),
    (requester.RequestBudget, "reserve"),
    (requester.RequestBudget, "charge"),
    (requester, "_cost_of"),
    (requester.Requester, "_reserve"),
    (frontier.PaidOutcomes, "__init__"),
    (frontier.PaidOutcomes, "read"),
    (frontier.PaidOutcomes, "failed"),
    (charges, "settle"),
)
PARTS = (*_LADDER, *_MEMORY, *_LEDGER)


def measure(folder: Path, quick: bool) -> list[Figure]:
    sites, turns = (12, 1) if quick else (150, 7)
    whole: dict[str, list[float]] = {name: [] for name in _ASKED}
    added: dict[str, list[float]] = {name: [] for name in _ASKED}
    calls = 0.0
    with sample_web(folder, sites) as web:
        uvloop.run(_walk(folder / "first", web, "free"))  # whatever is compiled or loaded only once
        for turn in range(turns):
            for name in _ASKED:
                cpu, pages = uvloop.run(_walk(folder / f"{name}-{turn}", web, name))
                whole[name].append(cpu / pages)
                look = cost_of_a_look()
                with metered(PARTS) as meter:
                    _, pages = uvloop.run(_walk(folder / f"{name}-{turn}-metered", web, name))
                added[name].append(meter.cost(look) / 1e6 / pages)
                if name == "free":
                    calls = meter.calls / pages
    # Turn by turn: the machine may be slower in one half of them than in the other.
    shares = {
        name: [part / (all_ - part) for all_, part in zip(whole[name], added[name], strict=True)] for name in _ASKED
    }
    note = f"the middle of {turns} jobs of {sites} sites each"
    return [
        Figure("page", "a page of a free-only job", median(whole["free"]), "ms", note=note),
        Figure("added", "ladder, memory and ledger of it", median(added["free"]), "ms", note=f"{calls:.1f} calls"),
        Figure("overhead", "that, to the rest of the page", median(shares["free"]), "times", OVERHEAD),
        Figure("hybrid", "a page of a hybrid job that has nothing to pay", median(whole["hybrid"]), "ms"),
        Figure("hybrid_overhead", "the same parts of it, to the rest", median(shares["hybrid"]), "times"),
    ]


async def _walk(home: Path, web: Web, name: str) -> tuple[float, int]:
    """CPU of this process for a whole job, in milliseconds, and its pages."""
    settings = Settings(
        home=home,
        domain_rate=100_000,
        connect_to=f"*.test=127.0.0.1:{web.port}",
        scrapingbee_key="a-key",
        scrapingbee_url="http://127.0.0.1:9",
    )
    words = web.keywords.read_text(encoding="utf-8").split("\n")
    wanted = {"keywords": [word for word in words if word], "max_pages_per_domain": _PAGES, "top_pages": _PAGES}
    targets = tuple(Target(host_of(url), (f"{url}/",), url) for url in web.domains)
    async with open_deps(settings, 1) as deps:
        await deps.database.write(upgrade)
        job = await submit(
            deps.database, deps.recipes, JobRequest("Bench", "prospect", {**wanted, **_ASKED[name]}, targets)
        )
        began = time.process_time()
        shard = ShardWorker(deps, 0, 1, "bench/0-1")
        running = asyncio.create_task(shard.run())
        try:
            async with asyncio.timeout(_LONGEST):
                while (await deps.database.read(jobs.states, [job.id]))[job.id] is not JobState.COMPLETED:
                    if running.done():
                        raise BenchFailed(f"the job ended early: {running.result()}")
                    await asyncio.sleep(0.05)
        finally:
            shard.stop()
            await running
        cpu = time.process_time() - began
        pages = (await deps.database.read(counters.progress, job.id)).pages_done
    if pages < len(targets):
        raise BenchFailed(f"only {pages} pages were read")
    return cpu * 1000, pages
