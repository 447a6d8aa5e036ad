"""Workers of a cluster on Postgres and Redis: does adding processes add speed, what does a page cost, who waits.

The spacing of requests to a domain stands for the latency of real sites, so that waiting and not this machine's cores
is the limit where speed is compared.
"""

import signal
import time
from dataclasses import replace
from pathlib import Path

from bench.figure import Figure
from bench.instance import Cluster, Servers, finish, serving
from bench.product import FULL_RATE, Asked, crawl, warm_up

SLOTS = 20  # per process
SITES_PER_SLOT = 6
RATE = "2"  # requests per second and domain
PAGES = 6
LINEAR = 0.9
DEARER = 1.3  # than the same page in one home
BESIDE = 2.0  # times as long as alone
LARGE, SMALL = 50_000, 50  # sites of the two jobs
_LATER = 10.0  # seconds after the large one


def speed(folder: Path, quick: bool) -> list[Figure]:
    """From one to two to four working processes."""
    most, per_slot = (2, 1) if quick else (4, SITES_PER_SLOT)
    counts = (1, 2) if quick else (1, 2, 4)
    with serving(folder, most * SLOTS * per_slot, largest=PAGES) as servers:
        speeds = [_speed(servers, count, per_slot) for count in counts]
    linear = [pages / speeds[0] / count for count, pages in zip(counts, speeds, strict=True)]
    waits = f"{SLOTS} sites at a time per process, {RATE} requests per second and domain"
    meaning = f"speed of {' and '.join(str(count) for count in counts[1:])} processes to as many times that of one"
    return [
        Figure("linear", meaning, min(linear), "x", least=LINEAR, note=waits, curve=tuple(linear)),
        Figure("speed", f"pages per second of {most} processes", speeds[-1], "pages/s", curve=tuple(speeds)),
    ]


def _speed(servers: Servers, processes: int, per_slot: int) -> float:
    """Pages per second, from the first to the last one."""
    with Cluster(servers, f"speed{processes}", processes, SLOTS, RATE) as cluster:
        pages = finish(cluster.begin(servers.web.domains[: processes * SLOTS * per_slot], PAGES))
        lasted = "SELECT extract(epoch FROM max(settled_at) - min(settled_at)) FROM pages WHERE settled_at IS NOT NULL"
        return pages / max(cluster.ask(lasted), 0.001)


def cpu(folder: Path, quick: bool) -> list[Figure]:
    """Milliseconds per page, as fast as it goes: in one home, and in a cluster of as many processes.

    What starting costs is left out of both: a home starts for every job, a cluster does not.
    """
    sites = 40 if quick else 960
    with serving(folder, sites, largest=PAGES) as servers:
        web = servers.web
        asked = Asked(servers.folder / "home", web.domains[:sites], web.keywords, web.port, pages=PAGES, processes=2)
        warm_up(asked)
        tiny = crawl(replace(asked, folder=asked.folder / "tiny", domains=asked.domains[:2]))
        whole = crawl(asked)
        home = (whole.cpu - tiny.cpu) / (whole.pages - tiny.pages) * 1000
        with Cluster(servers, "cpu", 2, 250, FULL_RATE) as cluster:
            finish(cluster.begin(web.domains[:2], PAGES, "tiny"))
            before, servers_before = cluster.cpu(), servers.cpu()
            pages = finish(cluster.begin(web.domains[:sites], PAGES))
            spent = (cluster.cpu() - before) / pages * 1000
            beside = (servers.cpu() - servers_before) / pages * 1000
    return [
        Figure("cpu_home", "CPU per page in one home, not counting its start", home, "ms"),
        Figure("cpu", "CPU per page in a cluster, the same way", spent, "ms", note=f"{pages:,} pages"),
        Figure("dearer", "a page in a cluster to a page in one home", spent / home, "x", limit=DEARER),
        Figure("servers", "CPU per page of Postgres and Redis beside that", beside, "ms"),
    ]


def beside(folder: Path, quick: bool) -> list[Figure]:
    """A small job alone, and one as small that is started while a large one has all the slots."""
    large, small = (200, 5) if quick else (LARGE, SMALL)
    with serving(folder, large + 2 * small, largest=PAGES) as servers:
        domains = servers.web.domains
        with Cluster(servers, "beside", 2, SLOTS, RATE) as cluster:
            finish(cluster.begin(domains[:small], PAGES, "alone"))
            alone = cluster.ask(_LATEST)
            other = cluster.begin(domains[2 * small :], PAGES, "large")
            cluster.wait_for("SELECT count(*) FROM visits WHERE state = 'running'", SLOTS)
            time.sleep(1 if quick else _LATER)
            finish(cluster.begin(domains[small : 2 * small], PAGES, "beside"))
            crowded = cluster.ask(_LATEST)
            moved = cluster.ask(_MOVED)
            other.send_signal(signal.SIGINT)  # the rest of it is of no interest
            other.communicate()
    told = f"{small:,} sites beside {large:,}, {crowded:.0f} s and {alone:.0f} s"
    return [
        Figure("beside", "a small job beside a large one to one alone", crowded / alone, "x", BESIDE, note=told),
        Figure("large", "sites of the large job done meanwhile", moved, "", least=1),
    ]


_LATEST = "SELECT extract(epoch FROM finished_at - started_at) FROM jobs ORDER BY id DESC LIMIT 1"
_MOVED = """SELECT count(*) FROM sites WHERE state <> 'open' AND job_id = (SELECT id FROM jobs WHERE name = 'large')"""
