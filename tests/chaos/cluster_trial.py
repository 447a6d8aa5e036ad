"""One job of a cluster and what is done to it. Nobody resumes it: it has to come to its end by itself."""

from contextlib import ExitStack
from pathlib import Path

from tests.chaos.cluster_harms import CLUSTER_HARMS, ClusterScene
from tests.chaos.ground import Ground
from tests.chaos.machines import DATABASE, REDIS, WEB, Machine
from tests.chaos.nodes import PROCESSES, Node
from tests.chaos.outcome import Stuck
from tests.chaos.plan import Plan
from tests.chaos.postgres import PostgresServer
from tests.chaos.reference import Reference
from tests.chaos.roads import open_roads
from tests.chaos.rows import Look, Rows
from tests.chaos.trial import Trial
from tests.servers import RedisServer
from tests.stories.program import Terminal, Web

CAP = 20  # visits at a time over all workers, fewer than these have room for

# Written by the database itself whenever the state of any visit changes, so that not even a moment is missed. Whoever
# issues is the only one who makes the number grow, one transaction at a time.
_WATCH = """
CREATE TABLE seen_in_hand (visits integer NOT NULL);
CREATE FUNCTION see_in_hand() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO seen_in_hand SELECT count(*) FROM visits WHERE state IN ('issued', 'running');
  RETURN NULL;
END $$;
CREATE TRIGGER see_in_hand AFTER INSERT OR UPDATE OF state ON visits
  FOR EACH STATEMENT EXECUTE FUNCTION see_in_hand();
"""
_ISSUER = "SELECT holder FROM places WHERE place = 'issuer'"


class ClusterTrial(Trial):
    harms = CLUSTER_HARMS

    def __init__(
        self,
        plan: Plan,
        ground: Ground,
        folder: Path,
        reference: Reference,
        server: PostgresServer,
        redis: RedisServer,
        machines: list[Machine],
    ) -> None:
        super().__init__(plan, ground, folder, reference, server)
        self._database = server
        self._redis = redis
        self._machines = machines
        self._nodes: list[Node] = []

    def _start(self, stack: ExitStack, web: Web) -> None:
        url = self._database.create(f"cluster_{self._plan.seed}")
        settings = dict(self._ground.settings)
        settings["GOSSAMER_MAX_CONCURRENCY"] = str(CAP)
        settings["GOSSAMER_REDIS_PREFIX"] = f"seed-{self._plan.seed}"
        ours = {"GOSSAMER_DATABASE_URL": url, "GOSSAMER_REDIS_URL": self._redis.url}
        self._terminal = Terminal(self._home, web, settings | ours)
        self._rows = Rows(url)
        stack.callback(self._rows.close)
        self._terminal.type("db", "upgrade")
        self._rows.run(_WATCH)
        roads = stack.enter_context(open_roads())
        for machine in self._machines:
            database = machine.connect(roads, DATABASE, self._database.port)
            gates = machine.connect(roads, REDIS, self._redis.port)
            site = machine.connect(roads, WEB, web.port)
            theirs = {
                "GOSSAMER_DATABASE_URL": self._database.url(f"cluster_{self._plan.seed}", database),
                "GOSSAMER_REDIS_URL": f"redis://{gates}/0",
                "GOSSAMER_CONNECT_TO": f"*.test={site}",
            }
            terminal = Terminal(self._folder / machine.name, web, settings | theirs)
            node = Node(machine, terminal.environment(), self._folder / f"{machine.name}.txt")
            self._nodes.append(node)
            stack.callback(node.kill)
            node.start()
        self._rows.wait_for("SELECT count(*) FROM workers", PROCESSES * len(self._nodes))
        said = self._terminal.type(*self._terminal.prospect("--detach"))
        self._said.write_text(said.stdout + said.stderr)

    def _scene(self) -> ClusterScene:
        holder = str(self._rows.first(_ISSUER) or "")
        pid = holder.rpartition("/")[2]
        return ClusterScene(self._dice, self._server, self._rows, self._nodes, self._redis, int(pid) if pid else None)

    def _works(self) -> bool:
        return True

    def _is_over(self, look: Look) -> bool:
        return look.state == "completed"

    def _look_after(self, look: Look | None) -> None:
        for node in self._nodes:
            if node.ended_with is not None:
                raise Stuck(f"the instance of {node.machine.name} ended by itself with {node.ended_with}")

    def _judge(self, job: str, web: Web) -> None:
        problems = self._outcome.problems
        for node in self._nodes:
            if code := node.stop():
                problems.append(f"the instance of {node.machine.name} ended with {code} when told to")
        with self._said.open("a") as said:
            said.write(self._log())
        super()._judge(job, web)
        self._outcome.in_hand = int(self._rows.first("SELECT max(visits) FROM seen_in_hand") or 0)
        if self._outcome.in_hand > CAP:
            problems.append(f"{self._outcome.in_hand} visits at a time, allowed are {CAP}")
        if left := self._rows.first("SELECT count(*) FROM places WHERE place IN ('issuer', 'runner')"):
            problems.append(f"{left} places are still held after all instances have left")

    def _log(self) -> str:
        return "".join(node.log.read_text(errors="replace") for node in self._nodes)
