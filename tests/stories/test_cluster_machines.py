"""Two machines of a cluster, of which one loses its power and comes back, and the other one is taken out in order."""

import re
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from gossamer_sandbox.web.proof import compare, smallest_gaps
from tests.chaos.machines import DATABASE, REDIS, WEB, Machine, no_namespaces, open_machines
from tests.chaos.nodes import PROCESSES, SLOTS, Node
from tests.chaos.postgres import PostgresServer, postgres_server
from tests.chaos.roads import Roads, open_roads
from tests.chaos.zombies import RAN_OUT
from tests.servers import RedisServer, redis
from tests.stories.cluster import Rows
from tests.stories.program import Terminal, Web, quick_web

WEB_OF = (
    "--sites",
    "110",
    "--seed",
    "6",
    "--nasty",
    "0",
    "--size-min",
    "6",
    "--size-max",
    "8",
    "--pages-per-site",
    "8",
)
LOST = "SELECT count(*) FROM alerts WHERE kind = 'instance' AND subject = 'node-2' AND cleared_at IS NULL"
HELD = "SELECT count(*) FROM visits WHERE state = 'running' AND worker LIKE '{machine}/%'"
OTHERS = "SELECT count(*) FROM visits WHERE state IN ('issued', 'running') AND worker NOT LIKE 'node-2/%'"
TAKEN = f"SELECT count(*) FROM events WHERE why = '{RAN_OUT}'"  # noqa: S608 - a word of ours


def start(machine: Machine, roads: Roads, folder: Path, web: Web, server: PostgresServer, gates: RedisServer) -> Node:
    """An instance on a machine that reaches the servers over its own cable."""
    database = machine.connect(roads, DATABASE, server.port)
    theirs = {
        "GOSSAMER_DATABASE_URL": server.url("machines", database),
        "GOSSAMER_REDIS_URL": f"redis://{machine.connect(roads, REDIS, gates.port)}/0",
        "GOSSAMER_CONNECT_TO": f"*.test={machine.connect(roads, WEB, web.port)}",
        "GOSSAMER_LEASE": "40s",
    }
    terminal = Terminal(folder / machine.name, web, theirs)
    node = Node(machine, terminal.environment(), folder / f"{machine.name}.txt")
    node.start()
    return node


@pytest.mark.story
@pytest.mark.xdist_group("chaos-cluster")  # which has machines too
def test_a_machine_that_dies_slows_nobody_down_and_one_that_is_taken_out_loses_nothing(tmp_path: Path) -> None:
    if reason := no_namespaces():
        pytest.skip(reason)
    with ExitStack() as stack:
        server = stack.enter_context(postgres_server())
        gates = stack.enter_context(redis(tmp_path / "redis"))
        web = stack.enter_context(quick_web(tmp_path / "web", *WEB_OF))
        machines = stack.enter_context(open_machines(namespaces=True))
        roads = stack.enter_context(open_roads())
        url = server.create("machines")
        ours = {"GOSSAMER_DATABASE_URL": url, "GOSSAMER_REDIS_URL": gates.url, "GOSSAMER_LEASE": "40s"}
        terminal, rows = Terminal(tmp_path / "home", web, ours), Rows(url)
        terminal.type("db", "upgrade")
        survivor, lost = (start(machine, roads, tmp_path, web, server, gates) for machine in machines[:2])
        for node in (survivor, lost):
            stack.callback(node.kill)
        rows.until("SELECT count(*) FROM workers", lambda count: count == 2 * PROCESSES)
        terminal.type(*terminal.prospect("--detach", "--max-pages-per-domain", "8"))
        job = str(rows.ask("SELECT id FROM jobs")[0][0])
        rows.until(HELD.format(machine="node-2"), lambda count: count == SLOTS)

        # Its power goes: nothing is closed, and nothing is said.
        lost.machine.cut_off()
        lost.kill()
        rows.until(LOST, lambda count: count == 1)
        assert rows.ask(TAKEN)[0][0] == 0
        held = []
        while rows.ask(HELD.format(machine="node-2"))[0][0] == SLOTS:
            held.append(rows.ask(OTHERS)[0][0])
            time.sleep(0.2)
        assert len(held) >= 10, "long before its visits are taken back"
        assert sum(held) / len(held) >= 0.8 * SLOTS, f"all slots of the living are used, but for moments: {held}"
        rows.until(HELD.format(machine="node-2"), lambda count: count == 0)
        # One line for all whose leases ran out together.
        reclaimed = re.findall(r" visits\.reclaimed visits=(\d+) workers=node-2/", survivor.log.read_text())
        assert sum(map(int, reclaimed)) == SLOTS

        lost.machine.bring_back()
        lost.start()
        rows.until(LOST, lambda count: count == 0)
        rows.until(HELD.format(machine="node-2"), lambda count: count > 0)

        # The other one is taken out in order.
        taken = rows.ask(TAKEN)[0][0]
        assert survivor.stop() == 0
        assert {worker["host"] for worker in terminal.ask("system", "workers")} == {"node-2"}
        rows.until("SELECT state FROM jobs", lambda state: state == "completed", 180)
        assert rows.ask(TAKEN)[0][0] == taken, "what it had was handed back, and not taken from it"
        (alert,) = [one for one in terminal.ask("system", "alerts", "--all") if one["kind"] == "instance"]
        assert alert["over"]
        found = [(row["url"], row["keyword"], row["frequency"]) for row in terminal.rows(job)]
        assert compare(found, web.truth).exact
        assert found
        terminal.assert_clean(job)
        assert min(smallest_gaps(web.log).values()) >= 0.95
        said = survivor.log.read_text() + lost.log.read_text()
        assert "traceback" not in said.lower()
