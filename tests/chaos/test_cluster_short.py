"""The short form of chaos in a cluster: every kind of harm once, in one run. `make chaos-cluster` does more of it."""

from collections.abc import Iterator

import pytest

from tests.chaos.cluster_harms import CLUSTER, CLUSTER_HARMS
from tests.chaos.cluster_trial import CAP
from tests.chaos.driver import ClusterArena
from tests.chaos.ground import CLUSTER_GROUND
from tests.chaos.machines import no_namespaces
from tests.chaos.plan import Plan, Strike, cluster_plan_of

pytestmark = [pytest.mark.story, pytest.mark.xdist_group("chaos-cluster")]

# While nobody issues, a machine is cut off: both take their time.
ORDER = (
    "kill-worker",
    "kill-issuer",
    "machine-cut",
    "redis-lost",
    "kill-instance",
    "postgres-kill",
    "redis-kill",
    "database-cut",
)
SEED = 3851  # of the dice, which say how long things last: here never for much longer than they need
PLAN = Plan(
    SEED, CLUSTER, tuple(Strike(harm, 0.5 * at / len(ORDER), 0.1, recovered=False) for at, harm in enumerate(ORDER))
)


@pytest.fixture(scope="module")
def arena() -> Iterator[ClusterArena]:
    with ClusterArena(CLUSTER_GROUND) as arena:
        yield arena


def test_a_harmed_cluster_leaves_what_an_undisturbed_home_leaves(arena: ClusterArena) -> None:
    outcome = arena.try_plan(PLAN)
    assert outcome.problems == []
    assert outcome.done == list(ORDER)
    assert outcome.lost > 0, "who was cut off had visits to lose"
    assert CAP - 2 <= outcome.in_hand <= CAP, "the slots are used, and never more of them than there are"
    assert outcome.closest >= 0.95 / CLUSTER_GROUND.rate


def test_machines_are_network_namespaces_here() -> None:
    """Elsewhere they are loopback addresses whose roads are cut, and this says why."""
    if reason := no_namespaces():
        pytest.skip(reason)


def test_every_kind_of_harm_is_done() -> None:
    assert PLAN.harms == set(CLUSTER_HARMS)
    assert {harm for seed in range(1, 9) for harm in cluster_plan_of(seed).harms} == set(CLUSTER_HARMS)


def test_a_seed_always_means_the_same() -> None:
    assert cluster_plan_of(7) == cluster_plan_of(7)
    assert len({cluster_plan_of(seed).strikes for seed in range(100)}) == 100
