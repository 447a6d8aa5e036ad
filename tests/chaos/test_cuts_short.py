"""The short form of a network that goes away. `make chaos-network` cuts it for 5, 25 and 120 seconds."""

from collections.abc import Iterator

import pytest

from tests.chaos.cuts import Cut
from tests.chaos.driver import CutArena

pytestmark = [pytest.mark.story, pytest.mark.xdist_group("chaos-cuts")]

_SECONDS = 12.0  # longer than any request waits


@pytest.fixture(scope="module")
def arena() -> Iterator[CutArena]:
    with CutArena() as arena:
        yield arena


@pytest.mark.parametrize("at_start", [True, False])
def test_a_machine_without_a_network_fails_no_site(arena: CutArena, at_start: bool) -> None:
    seen = arena.home(Cut(_SECONDS, at_start))
    assert seen.problems == []
    assert seen.said.endswith(": waiting")
    assert len(seen.alerts) >= 1


@pytest.mark.parametrize("at_start", [True, False])
def test_a_worker_that_loses_its_way_out_leaves_its_work_to_others(arena: CutArena, at_start: bool) -> None:
    seen = arena.worker(Cut(_SECONDS, at_start))
    assert seen.problems == []
    assert seen.said == "", "the job does not wait: others go on with it"
    assert len(seen.alerts) >= 1
