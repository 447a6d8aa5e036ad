"""How soon a cluster is at work: from a visit that is due to its first request, and from no worker to all of them."""

import time
from pathlib import Path

from bench.figure import BenchFailed, Figure
from bench.instance import Cluster, Servers, finish, serving
from gossamer_sandbox.web.proof import read_log

PROCESSES, SLOTS = 4, 25  # of an instance that was not told otherwise
RATE = "1"
PAGES = 6
TO_FETCH, TO_FULL_SPEED = 1.0, 30.0  # seconds
_FULL = 0.95  # of all slots
_RUNNING = "SELECT count(*) FROM visits WHERE state = 'running'"


def measure(folder: Path, quick: bool) -> list[Figure]:
    processes, rounds = (2, 1) if quick else (PROCESSES, 5)
    slots = processes * SLOTS
    with (
        serving(folder, slots * 6, largest=PAGES, logged=True) as servers,
        Cluster(servers, "start", processes, SLOTS, RATE) as cluster,
    ):
        finish(cluster.begin(servers.web.domains[:2], 1, "first"))  # loads what is loaded with the first page
        waits = sorted(wait for number in range(rounds) for wait in _waits(servers, cluster, number, slots // 5))
        ramp = _ramp(servers, cluster, slots)
    p95 = waits[int(len(waits) * 0.95)]
    told = f"{len(waits)} visits in {rounds} jobs, median {waits[len(waits) // 2]:.2f} s, longest {waits[-1]:.2f} s"
    return [
        Figure("to_fetch", "from a visit that is due to its first request, p95", p95, "s", TO_FETCH, note=told),
        Figure("ramp", f"from no worker to {slots} visits at a time", ramp, "s", TO_FULL_SPEED),
    ]


def _waits(servers: Servers, cluster: Cluster, number: int, sites: int) -> list[float]:
    """Seconds until the server was first asked for each site of a job for which there is room enough."""
    domains = servers.web.domains[2 + number * sites :][:sites]
    finish(cluster.begin(domains, 1, f"soon-{number}"))
    due = cluster.ask("SELECT extract(epoch FROM started_at) FROM jobs ORDER BY id DESC LIMIT 1")
    time.sleep(0.5)  # until its last lines are written
    first: dict[str, float] = {}
    wanted = {domain.removeprefix("http://").removeprefix("www.") for domain in domains}
    for line in read_log(servers.web.log):
        host = line.host.removeprefix("www.")
        if host in wanted:
            first.setdefault(host, line.t)
    if len(first) < len(wanted) * 0.95:
        raise BenchFailed(f"only {len(first)} of {len(wanted)} sites were asked for")
    return [max(0.0, at - due) for at in first.values()]


def _ramp(servers: Servers, cluster: Cluster, slots: int) -> float:
    """Work waits, and nobody is there; then an instance is started."""
    cluster.begin(servers.web.domains[-4 * slots :], PAGES, "ramp", "--detach").communicate()
    cluster.stop()
    if cluster.ask(_RUNNING):
        raise BenchFailed("the workers left visits behind")
    began = time.monotonic()
    cluster.start()
    cluster.wait_for(_RUNNING, slots * _FULL)
    return time.monotonic() - began
