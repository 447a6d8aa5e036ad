"""One large job as it is meant: thousands of distinct domains at one request per second, audited, and what it costs."""

import time
from collections.abc import Sequence
from pathlib import Path

import orjson

from bench.figure import BenchFailed, Figure
from bench.instance import Cluster, finished, memory_of, serving
from bench.running import GOSSAMER, run
from gossamer.model.url import domain_of, host_of

SITES, PAGES = 5_000, 10
PROCESSES, SLOTS = 4, 125
RATE = "1"
LONGEST = 900.0  # seconds: twenty thousand domains in an hour
DOLLARS = 0.10  # per thousand domains

# What a cloud asks for containers by the second, without any discount.
DOLLARS_PER_CPU_HOUR = 0.04048
DOLLARS_PER_GB_HOUR = 0.004445

# One page in sixteen of the sample web may not be asked for, by its robots.txt; it counts among those that were chosen
# all the same, and is skipped. So one more is chosen than is to be read.
_CHOSEN = PAGES + 1

_PAIRED = 20  # of so many more sites fewer have a domain that another one has, too
_EVERY = 5.0  # seconds between looks at the memory


def measure(folder: Path, quick: bool) -> list[Figure]:
    sites = 60 if quick else SITES
    made = sites + sites // _PAIRED
    with (
        # Larger than what is read of them.
        serving(folder, made, smallest=PAGES + 6, largest=PAGES + 14, chosen=_CHOSEN) as servers,
        Cluster(servers, "job", PROCESSES, 10 if quick else SLOTS, RATE) as cluster,
    ):
        before = cluster.cpu() + servers.cpu()
        domains = _distinct(servers.web.domains, sites)
        job = cluster.begin(domains, _CHOSEN)
        memory = []
        while job.poll() is None:
            memory.append(memory_of(cluster.root) + servers.memory())
            time.sleep(_EVERY)
        job_id, pages = finished(job)
        cpu = cluster.cpu() + servers.cpu() - before
        seconds = cluster.ask("SELECT extract(epoch FROM finished_at - started_at) FROM jobs")
        # Every job is audited before it is completed; this is the same once more, seen from outside.
        audit = run([*GOSSAMER, "job", "audit", "--json", job_id], cluster.env)
        _compare(servers.web.truth, domains, set(cluster.column("SELECT url FROM pages WHERE state = 'done'")))
    if not orjson.loads(audit.out)["clean"]:
        raise BenchFailed("the rows of the job do not add up")
    if pages < sites * PAGES:
        raise BenchFailed(f"only {pages} pages of {sites} sites were read")
    gigabytes = max(memory) / 1e9
    dollars = (cpu * DOLLARS_PER_CPU_HOUR + gigabytes * seconds * DOLLARS_PER_GB_HOUR) / 3600 / sites * 1000
    spent = f"{cpu:.0f} s of CPU and {gigabytes:.2f} GB at most, Postgres and Redis among them"
    return [
        Figure("wall", f"{sites:,} domains of {PAGES} pages, audited", seconds, "s", LONGEST, note=f"{pages:,} pages"),
        Figure("domains", "that is", sites / seconds * 3600, "domains/hour"),
        Figure("dollars", "a thousand domains cost", dollars, "$", DOLLARS, note=spent),
        Figure("memory", "memory of all processes at most", gigabytes * 1000, "MB"),
    ]


def _distinct(listed: Sequence[str], count: int) -> list[str]:
    """One site of each domain: those that share one also share its second."""
    first = {domain_of(host_of(site)): site for site in reversed(listed)}
    chosen = [site for site in listed if first[domain_of(host_of(site))] == site][:count]
    if len(chosen) < count:
        raise BenchFailed(f"the sample web has only {len(chosen)} domains")
    return chosen


def _compare(truth: Path, chosen: Sequence[str], read: set[str]) -> None:
    """Page by page: read was what the sample web says a polite reader gets to see, and nothing else."""
    hosts = {host_of(site) for site in chosen}
    sites = [site for site in orjson.loads(truth.read_bytes())["sites"] if site["listed_as"] in hosts]
    pages = [page for site in sites for page in site["pages"]]
    expected = [{page["url"], *page["aliases"]} for page in pages if page["reachable"] and not page["reasons"]]
    if missing := [min(names) for names in expected if not names & read]:
        raise BenchFailed(f"{len(missing)} of {len(expected)} pages were not read, such as {missing[0]}")
    if len(read) != len(expected):
        raise BenchFailed(f"{len(read)} pages were read, and there are {len(expected)}")
