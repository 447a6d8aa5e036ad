"""Many pages as one batch, beside the same number of single calls, and beside the same list in the terminal."""

import asyncio
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import httpx
import orjson

from bench.figure import BenchFailed, Figure
from bench.lists import write_lines
from bench.plain_web import plain_web
from bench.running import GOSSAMER, environment, run
from bench.server import RATE, Api, finished, hosts, serving

SIZES = (1, 10, 100, 1_000, 10_000)
ACCEPTED, BESIDE_TERMINAL, FLAT = 1.0, 1.3, 1.5
AT_ONCE = 16  # single calls
MOST_SINGLE = 2_000  # of which there are more, these stand for all: one after the other they all take the same
BURST = 400
AGAIN = 2  # times more that the longest is sent: whether it was accepted in time is not said by one moment


@dataclass(frozen=True, slots=True)
class Took:
    """So many pages: seconds until the last of them was there, and what each has cost."""

    pages: int
    read: int
    wall: float
    cpu: float
    credits: int
    accepted: float = 0.0

    @property
    def per_page(self) -> float:
        """CPU in milliseconds."""
        return self.cpu / self.pages * 1000


def measure(folder: Path, quick: bool) -> list[Figure]:
    sizes = SIZES[:3] if quick else SIZES
    batches, singles = [], []
    with plain_web() as web:
        with serving(folder / "server", web) as api:
            start = 1_000  # names that nobody has asked for yet: what robots.txt takes is part of it
            for size in sizes:
                batches.append(_batch(api, hosts(size, start)))
                singles.append(_single(api, hosts(min(size, MOST_SINGLE), start + size)))
                start += 2 * size
            again = []
            for _ in range(AGAIN):
                again.append(_batch(api, hosts(sizes[-1], start)))
                start += sizes[-1]
            lost = asyncio.run(_burst(api, hosts(50 if quick else BURST, start)))
        terminal = _terminal(folder / "terminal", web, hosts(sizes[-1]))
    return _figures(batches, again, singles, terminal, lost)


def _figures(batches: list[Took], again: list[Took], singles: list[Took], terminal: float, lost: int) -> list[Figure]:
    last, most = batches[-1], batches[-1].pages
    accepted = [one.accepted for one in (last, *again)]
    tries = f"median of {', '.join(f'{seconds:.2f}' for seconds in accepted)}"
    figures = [
        Figure("accepted", f"a batch of {most:,} is accepted", median(accepted), "s", ACCEPTED, note=tries),
        Figure("wall", f"it is finished, from when it was sent ({most:,} domains)", last.wall, "s"),
        Figure("beside", "beside the same list in the terminal", last.wall / terminal, "times", BESIDE_TERMINAL),
    ]
    for batch, single in zip(batches, singles, strict=True):
        size = f"{batch.pages:,}"
        alone = single.wall * batch.pages / single.pages
        note = f"single calls: {alone:.2f} s, {single.per_page:.1f} ms CPU per page"
        note += f" (by {single.pages:,} of them)" if single.pages < batch.pages else ""
        curve = (batch.wall, alone)
        figures.append(Figure(f"batch_{batch.pages}", f"{size} as a batch", batch.wall, "s", note=note, curve=curve))
        figures.append(Figure(f"cpu_{batch.pages}", f"CPU per page, {size} as a batch", batch.per_page, "ms"))
    flat = last.per_page / batches[-2].per_page
    missing = sum(one.pages - one.read for one in (*batches, *again, *singles))
    # A page takes one credit, whichever way it was asked for; what the server is asked meanwhile takes none.
    dear = sum(abs(one.credits - one.pages) for one in (*batches, *again, *singles))
    return [
        *figures,
        Figure("against", "single calls beside the batch", alone / last.wall, "times", least=1.0),
        Figure("flat", f"cost of a page, {most:,} beside {batches[-2].pages:,}", flat, "times", FLAT),
        Figure("missing", "pages that were not read, either way", missing, "", 0),
        Figure("credits", "credits beyond one a page", dear, "", 0),
        Figure("lost", "of a burst: accepted and never read", lost, "", 0),
    ]


def _batch(api: Api, pages: list[str]) -> Took:
    with api.client() as client:
        before, cpu, began = _credits(client), api.cpu(), time.perf_counter()
        answer = client.post("/v1/batch", json={"urls": pages, "formats": ["text"]})
        accepted = time.perf_counter() - began
        job = answer.raise_for_status().json()["id"]
        done = finished(client, job, look=0.02 if len(pages) < 1_000 else 0.5)
        wall, used = time.perf_counter() - began, api.cpu() - cpu
        return Took(len(pages), done["progress"]["pages"]["done"], wall, used, _credits(client) - before, accepted)


def _single(api: Api, pages: list[str]) -> Took:
    with api.client() as client:
        before, cpu, began = _credits(client), api.cpu(), time.perf_counter()
        statuses = asyncio.run(_ask_one_by_one(api, pages, AT_ONCE))
        wall, used = time.perf_counter() - began, api.cpu() - cpu
        return Took(len(pages), sum(one == 200 for one in statuses), wall, used, _credits(client) - before)


async def _ask_one_by_one(api: Api, pages: list[str], at_once: int) -> list[int]:
    queue, statuses = list(reversed(pages)), list[int]()
    headers = {"Authorization": f"Bearer {api.key}"}

    async def ask(client: httpx.AsyncClient) -> None:
        while queue:
            answer = await client.post("/v1/scrape", json={"url": queue.pop(), "formats": ["text"]})
            statuses.append(answer.status_code)

    async with httpx.AsyncClient(base_url=api.url, headers=headers, timeout=120) as client:
        await asyncio.gather(*(ask(client) for _ in range(min(at_once, len(pages)))))
    return statuses


async def _burst(api: Api, pages: list[str]) -> int:
    """Everything at once, far more than there is room for: what was accepted must be read, now or later."""
    headers = {"Authorization": f"Bearer {api.key}"}
    limits = httpx.Limits(max_connections=len(pages))
    async with httpx.AsyncClient(base_url=api.url, headers=headers, timeout=120, limits=limits) as client:
        asked = [client.post("/v1/scrape", json={"url": url, "timeout": 5}) for url in pages]
        answers = await asyncio.gather(*asked)
    refused = [one.status_code for one in answers if one.status_code not in (200, 202)]
    if bad := [status for status in refused if status not in (429, 503)]:
        raise BenchFailed(f"a burst was answered with {bad[0]}")
    with api.client() as later:
        promised = [one.json()["id"] for one in answers if one.status_code == 202]
        ends = [finished(later, job) for job in promised]
    return sum(end["progress"]["pages"]["done"] != 1 for end in ends)


def _credits(client: httpx.Client) -> int:
    return int(client.get("/v1/account").raise_for_status().json()["credits_used"])


def _terminal(folder: Path, web: int, pages: list[str]) -> float:
    folder.mkdir()
    listed, out = write_lines(folder / "pages.txt", pages), folder / "pages.jsonl"
    env = environment(folder / "home", GOSSAMER_CONNECT_TO=f"*.test=127.0.0.1:{web}", GOSSAMER_DOMAIN_RATE=RATE)
    command = [*GOSSAMER, "scrape", "--file", str(listed), "--format", "text", "--output", str(out), "--json"]
    ran = run(command, env, cwd=folder)
    with out.open("rb") as file:
        read = sum(orjson.loads(line)["status"] == "done" for line in file)
    if read != len(pages):
        raise BenchFailed(f"in the terminal {read} of {len(pages)} pages were read")
    return ran.wall
