"""What is done to a cluster at work. A harm returns when it is over: what was killed runs again by then."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

import psutil

from tests.chaos.harms import Harm, Place, kill_postgres, until
from tests.chaos.nodes import Node
from tests.servers import RedisServer

CLUSTER = "cluster"
_SHORTEST_CUT, _LONGEST_CUT = 6.0, 15.0  # seconds; leases of 3 are taken back after 8, the issuer's place after 10
_TAKEN_BACK = 60.0  # seconds in which that has happened, also on a machine with much to do


@dataclass(frozen=True, slots=True)
class ClusterScene(Place):
    nodes: list[Node]
    redis: RedisServer
    issuer: int | None  # the process that holds the place, as far as the rows can be asked

    def node(self) -> Node:
        return self.dice.choice(self.nodes)


def kill_worker(scene: ClusterScene) -> None:
    scene.dice.choice(scene.node().workers()).kill()


def kill_instance(scene: ClusterScene) -> None:
    """With all its processes, as a power cut does. Whatever looks after services starts it again."""
    _lose(scene, scene.node())


def kill_issuer(scene: ClusterScene) -> None:
    """The one process that gives out work. Its own working processes end with it."""
    holders = [node for node in scene.nodes if node.pid == scene.issuer]
    if not holders:
        raise psutil.NoSuchProcess(scene.issuer or 0)
    holders[0].process().kill()
    scene.linger(0, 5)
    holders[0].start()


def kill_redis(scene: ClusterScene) -> None:
    """What it knew is there again."""
    scene.redis.kill()
    scene.linger(0, 5)
    scene.redis.start()


def lose_redis(scene: ClusterScene) -> None:
    """What it knew is gone, and the messages on their way too."""
    scene.redis.kill()
    scene.redis.forget()
    scene.linger(0, 5)
    scene.redis.start()


def cut_database(scene: ClusterScene) -> None:
    node = scene.node()
    node.machine.cut_database()
    try:
        scene.linger(_SHORTEST_CUT, _LONGEST_CUT)
    finally:
        node.machine.mend_database()


def cut_machine(scene: ClusterScene) -> None:
    """One that walks something, until that was taken back from it."""
    node = scene.node()
    walking = [worker.pid for worker in node.workers()]
    node.machine.cut_off()
    try:
        held = scene.rows.held_by(*walking)
        if not held:
            raise psutil.NoSuchProcess(node.pid)
        scene.linger(_SHORTEST_CUT, _LONGEST_CUT)
        until(lambda: scene.rows.taken_back(held) > 0, _TAKEN_BACK)
    finally:
        node.machine.bring_back()


def _lose(scene: ClusterScene, node: Node) -> None:
    for process in (node.process(), *node.workers()):
        with suppress(psutil.NoSuchProcess):
            process.kill()
    scene.linger(0, 5)
    node.start()


CLUSTER_HARMS: Mapping[str, Harm[ClusterScene]] = {
    "kill-worker": Harm(kill_worker, 1),
    "kill-instance": Harm(kill_instance, 2),
    "kill-issuer": Harm(kill_issuer, 2),
    "redis-kill": Harm(kill_redis, 0),
    "redis-lost": Harm(lose_redis, 0),
    "postgres-kill": Harm(kill_postgres, 6),
    "database-cut": Harm(cut_database, 2),
    "machine-cut": Harm(cut_machine, 2),
}
