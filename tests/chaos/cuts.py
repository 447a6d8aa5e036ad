"""Our own network goes away and comes back: what a job leaves must be what an undisturbed one leaves.

The machine of a home, or one of the three of a cluster, loses its way to the web for some seconds, at the start of the
job or in its middle. Where network namespaces are permitted a cable is pulled; elsewhere the road to the web falls
silent.
"""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.chaos.ground import CLUSTER_GROUND as GROUND
from tests.chaos.machines import DATABASE, REDIS, WEB, Machine
from tests.chaos.nodes import PROCESSES, Node
from tests.chaos.outcome import Stuck
from tests.chaos.postgres import PostgresServer
from tests.chaos.reference import Reference, differences, impolite, what_is_left
from tests.chaos.roads import open_roads
from tests.chaos.rows import Rows
from tests.servers import RedisServer
from tests.stories.program import Terminal, Web

_LONGEST = 240.0  # seconds after the network is back
_MIDDLE = 0.25  # of all pages: no site is read to its end yet
_SLOTS = 16  # of each machine, divided among its two processes
_ENOUGH = 6  # sites that a process works on when its network goes: with fewer than five it could not tell
_NOTICED = 30.0  # seconds more, at most, that a network stays away until it is missed


@dataclass(frozen=True, slots=True)
class Cut:
    seconds: float
    at_start: bool

    def __str__(self) -> str:
        return f"{self.seconds:g} s {'at the start' if self.at_start else 'in the middle'}"


@dataclass(slots=True)
class Seen:
    """What a cut job has left, and what it has said."""

    problems: list[str] = field(default_factory=list)
    said: str = ""  # by the job, while there was no network
    alerts: list[Any] = field(default_factory=list)  # about the network, all of them over
    seconds: float = 0.0


def cut_home(cut: Cut, folder: Path, machine: Machine, reference: Reference) -> Seen:
    """A home on a machine that loses all the network it has."""
    with GROUND.web(folder / "web") as web, open_roads() as roads:
        site = machine.connect(roads, WEB, web.port)
        terminal = Terminal(folder / "home", web, GROUND.settings | {"GOSSAMER_CONNECT_TO": f"*.test={site}"})
        began = time.monotonic()
        with _trouble(cut, [machine], before=cut.at_start) as trouble:
            log = folder / "run.txt"
            with log.open("wb") as sink:
                running = subprocess.Popen(
                    [*machine.prefix, sys.executable, "-m", "gossamer", *terminal.prospect("--processes", "2")],
                    env=terminal.environment(),
                    stdout=sink,
                    stderr=sink,
                    start_new_session=True,
                )
            try:
                _wait_until(lambda: bool(terminal.ask("job", "list")), "the job")
                job = terminal.newest()
                seen = trouble(terminal, lambda: _pages(terminal, job), reference.pages, lambda: machine)
                _finish(terminal, job)
                running.wait(60)
            finally:
                running.kill()
                running.wait(20)
        return _judge(seen, terminal, job, web, reference, began)


def cut_worker(
    cut: Cut, folder: Path, machines: list[Machine], server: PostgresServer, redis: RedisServer, reference: Reference
) -> Seen:
    """One machine of a cluster that loses its way out, and keeps everything else."""
    name = f"cut_{folder.name.replace('-', '_')}"
    with ExitStack() as stack:
        web = stack.enter_context(GROUND.web(folder / "web"))
        url = server.create(name)
        common = {**GROUND.settings, "GOSSAMER_REDIS_PREFIX": name, "GOSSAMER_PROCESSES": "2"}
        ours = {"GOSSAMER_DATABASE_URL": url, "GOSSAMER_REDIS_URL": redis.url}
        terminal = Terminal(folder / "home", web, common | ours)
        terminal.type("db", "upgrade")
        rows = Rows(url)
        stack.callback(rows.close)
        roads = stack.enter_context(open_roads())
        nodes = [
            stack.enter_context(_node(machine, roads, web, server, name, redis, folder, common)) for machine in machines
        ]
        rows.wait_for("SELECT count(*) FROM workers", PROCESSES * len(nodes))
        began = time.monotonic()
        with _trouble(cut, machines, before=False) as trouble:
            terminal.type(*terminal.prospect("--detach"))
            job = terminal.newest()
            seen = trouble(terminal, lambda: _settled(rows), reference.pages, lambda: _busy(nodes, rows))
            _finish(terminal, job)
        _wait_until(lambda: not _missed(terminal), "the end of the alert")
        for node in nodes:
            if code := node.stop():
                seen.problems.append(f"the instance of {node.machine.name} ended with {code}")
        return _judge(seen, terminal, job, web, reference, began)


@contextmanager
def _node(
    machine: Machine,
    roads: Any,
    web: Web,
    server: PostgresServer,
    name: str,
    redis: RedisServer,
    folder: Path,
    common: Mapping[str, str],
) -> Iterator[Node]:
    theirs = {
        "GOSSAMER_DATABASE_URL": server.url(name, machine.connect(roads, DATABASE, server.port)),
        "GOSSAMER_REDIS_URL": f"redis://{machine.connect(roads, REDIS, redis.port)}/0",
        "GOSSAMER_CONNECT_TO": f"*.test={machine.connect(roads, WEB, web.port)}",
    }
    terminal = Terminal(folder / machine.name, web, {**common, **theirs})
    node = Node(machine, terminal.environment(), folder / f"{machine.name}.txt", _SLOTS)
    node.start()
    try:
        yield node
    finally:
        node.kill()


CUTS = tuple(Cut(seconds, at_start) for seconds in (5, 25, 120) for at_start in (True, False))
"""The long form."""

Trouble = Callable[[Terminal, Callable[[], int], int, Callable[[], Machine]], Seen]


@contextmanager
def _trouble(cut: Cut, machines: Sequence[Machine], *, before: bool) -> Iterator[Trouble]:
    """Cut the first machine `before` there is a job, or a chosen one later; all are connected again in any case.

    The network stays away until it is missed.
    """

    def happen(terminal: Terminal, pages: Callable[[], int], of: int, choose: Callable[[], Machine]) -> Seen:
        machine = machines[0]
        if not cut.at_start:
            _wait_until(lambda: pages() >= _MIDDLE * of, "the middle of the job")
        if not before:
            machine = choose()
            machine.lose_web()
        since = time.monotonic()
        seen = Seen()
        while (lasted := time.monotonic() - since) < cut.seconds or (
            lasted < cut.seconds + _NOTICED and not _missed(terminal, "--all")
        ):
            said = str(terminal.ask("job", "list")[0]["reason"] or "")
            seen.said = said if said.startswith("No network since") else seen.said
            time.sleep(0.2)
        machine.find_web()
        return seen

    if before:
        machines[0].lose_web()
    try:
        yield happen
    finally:
        for machine in machines:
            machine.find_web()


def _missed(terminal: Terminal, *options: str) -> bool:
    """Return True if there is an alert about the network. A slow machine may have others, about itself."""
    return any(one["kind"] == "network" for one in terminal.ask("system", "alerts", *options))


def _busy(nodes: Sequence[Node], rows: Rows) -> Machine:
    """Return a machine as soon as one of its processes works on enough sites to miss its network."""
    found: list[Machine] = []

    def look() -> bool:
        found.extend(
            node.machine for node in nodes if any(len(rows.held_by(worker.pid)) >= _ENOUGH for worker in node.workers())
        )
        return bool(found)

    _wait_until(look, f"a process with {_ENOUGH} sites")
    return found[0]


def _settled(rows: Rows) -> int:
    look = rows.look()
    return look.settled if look else 0


def _pages(terminal: Terminal, job: str) -> int:
    return int(terminal.ask("job", "status", job)["pages"]["done"])


def _finish(terminal: Terminal, job: str) -> None:
    _wait_until(lambda: terminal.ask("job", "status", job)["state"] == "completed", "the end of the job")


def _wait_until(condition: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + _LONGEST
    while not condition():
        if time.monotonic() > end:
            raise Stuck(f"{what} does not come")
        time.sleep(0.1)


def _judge(seen: Seen, terminal: Terminal, job: str, web: Web, reference: Reference, began: float) -> Seen:
    seen.seconds = time.monotonic() - began
    seen.problems += differences(what_is_left(terminal, job, web), reference.left)
    seen.problems += impolite(web, GROUND)
    audit = terminal.type("job", "audit", job, check=False)
    if audit.returncode:
        seen.problems.append(f"the audit found something: {audit.stdout[-2_000:]}")
    seen.alerts = [one for one in terminal.ask("system", "alerts", "--all") if one["kind"] == "network"]
    if any(one["over"] is None for one in seen.alerts):
        seen.problems.append("an alert about the network still holds")
    if terminal.ask("job", "status", job)["reason"]:
        seen.problems.append("the job still says something")
    return seen


def line(name: str, cut: Cut, seen: Seen) -> str:
    said = f", said {seen.said!r}" if seen.said else ""
    told = f"{name}: {cut}: {seen.seconds:.0f} s{said}, {len(seen.alerts)} alerts"
    return "\n".join([told, *(f"  FAILED: {problem}" for problem in seen.problems)])
