"""Slots are dealt over the jobs in turn."""

from uuid import UUID, uuid4

from gossamer.issuing.deal import deal
from gossamer.store.visits import Waiting


def waiting(job: UUID, count: int, *, domain: str = "", suspect: bool = False) -> list[Waiting]:
    return [Waiting(uuid4(), job, domain or f"d{number}-{job}", suspect) for number in range(count)]


def test_a_small_job_moves_beside_a_large_one() -> None:
    large, small = uuid4(), uuid4()
    dealt = deal({large: waiting(large, 500), small: waiting(small, 3)}, {}, 10)
    assert sum(one.job_id == small for one in dealt) == 3
    assert len(dealt) == 10


def test_within_a_job_the_order_is_kept() -> None:
    job = uuid4()
    queue = waiting(job, 20)
    assert deal({job: queue}, {}, 5) == queue[:5]


def test_a_domain_has_two_visits_at_most() -> None:
    job, other = uuid4(), uuid4()
    ready = {job: waiting(job, 3, domain="one.test"), other: waiting(other, 3, domain="one.test")}
    assert len(deal(ready, {}, 10)) == 2
    assert len(deal(ready, {"one.test": 1}, 10)) == 1
    assert deal(ready, {"one.test": 2}, 10) == []


def test_suspects_run_one_at_a_time_and_hold_nobody_up() -> None:
    job = uuid4()
    suspects, innocent = waiting(job, 5, suspect=True), waiting(job, 5)
    dealt = deal({job: [*suspects, *innocent]}, {}, 10)
    assert [one.suspect for one in dealt].count(True) == 1
    assert len(dealt) == 6
    assert [one.suspect for one in deal({job: suspects}, {}, 10, suspects=1)] == []
