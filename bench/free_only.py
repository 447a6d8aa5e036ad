"""What the ladder, the memory of domains and the ledger cost a job that never pays: CPU per page, with and without.

The same free-only job is walked in this process again and again, as it is and with those parts taken out, turn by turn,
so that whatever disturbs the machine disturbs both. Also a hybrid job on the same sites, where nothing has to climb: it
looks up what is known of each domain and learns something from every page.
"""

import asyncio
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from statistics import median
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import uvloop

from bench.figure import BenchFailed, Figure
from bench.sample_web import Web, sample_web
from gossamer.assembly import open_kit
from gossamer.intake.submit import submit
from gossamer.model.fetching import DIRECT, Rung
from gossamer.model.job import JobRequest, Target
from gossamer.model.states import JobState
from gossamer.model.url import host_of
from gossamer.settings import Settings
from gossamer.settle import commit
from gossamer.store import counters, jobs, memory
from gossamer.store.schema import upgrade
from gossamer.work import visit, walks
from gossamer.work.run import Shard

OVERHEAD = 0.03  # of what a page costs without them
_PAGES = 10  # per site
_LONGEST = 120.0  # seconds of one job
_ASKED: Mapping[str, Mapping[str, Any]] = {
    "free": {"mode": "free-only", "ladder": ["direct"]},
    "bare": {"mode": "free-only", "ladder": ["direct"]},
    "hybrid": {"mode": "hybrid", "ladder": ["direct", "scrapingbee-js"]},
}


def measure(folder: Path, quick: bool) -> list[Figure]:
    sites, turns = (12, 1) if quick else (150, 7)
    with sample_web(folder, sites) as web:
        uvloop.run(_walk(folder / "first", web, "free"))  # whatever is compiled or loaded only once
        costs: dict[str, list[float]] = {name: [] for name in _ASKED}
        for turn in range(turns):
            # Nobody is always the first, or always follows the same one.
            order = list(_ASKED)[turn % 3 :] + list(_ASKED)[: turn % 3]
            for name in order:
                with _taken_out() if name == "bare" else nullcontext():
                    costs[name].append(uvloop.run(_walk(folder / f"{name}-{turn}", web, name)))
    page = {name: median(taken) for name, taken in costs.items()}
    # Turn by turn: the machine may be slower in one half of them than in the other.
    added = [free / bare - 1 for free, bare in zip(costs["free"], costs["bare"], strict=True)]
    note = f"the middle of {turns} jobs of {sites} sites each"
    return [
        Figure("page", "a page of a free-only job", page["free"], "ms", note=note),
        Figure("bare", "the same without ladder, memory and ledger", page["bare"], "ms"),
        Figure("overhead", "ladder, memory and ledger of that", median(added), "times", OVERHEAD),
        Figure("hybrid", "a page of a hybrid job that has nothing to pay", page["hybrid"], "ms"),
    ]


async def _walk(home: Path, web: Web, name: str) -> float:
    """CPU of this process per page of a whole job, in milliseconds."""
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
    async with open_kit(settings, 1) as kit:
        await kit.database.write(upgrade)
        job = await submit(
            kit.database, kit.recipes, JobRequest("Bench", "prospect", {**wanted, **_ASKED[name]}, targets)
        )
        began = time.process_time()
        shard = Shard(kit, 0, 1, "bench/0-1")
        running = asyncio.create_task(shard.run())
        try:
            async with asyncio.timeout(_LONGEST):
                while (await kit.database.read(jobs.states, [job.id]))[job.id] is not JobState.COMPLETED:
                    if running.done():
                        raise BenchFailed(f"the job ended early: {running.result()}")
                    await asyncio.sleep(0.05)
        finally:
            shard.stop()
            await running
        cpu = time.process_time() - began
        pages = (await kit.database.read(counters.progress, job.id)).pages_done
    if pages < len(targets):
        raise BenchFailed(f"only {pages} pages were read")
    return cpu / pages * 1000


@contextmanager
def _taken_out() -> Iterator[None]:
    """As if there were one way to fetch, nothing to remember of it and nothing to pay."""

    async def begin(*_: object) -> Rung:
        return DIRECT

    with (
        patch.object(visit.Walk, "_rung", lambda *_: DIRECT),
        patch.object(visit, "lesson", lambda _: None),
        patch.object(walks.Walks, "_begin", begin),
        patch.object(walks, "Purse", lambda *_: SimpleNamespace(charges=())),
        patch.object(commit, "experiences", lambda _: {}),
        patch.object(memory, "learn", lambda *_: None),
    ):
        yield
