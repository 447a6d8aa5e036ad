"""Slots are dealt over accounts and their jobs."""

from collections import Counter, deque
from uuid import UUID, uuid4

from gossamer.runtime.issuing import Share, deal
from gossamer.store.visits import ReadyVisit


def waiting(job: UUID, count: int, *, domain: str = "", suspect: bool = False) -> list[ReadyVisit]:
    return [ReadyVisit(uuid4(), job, domain or f"d{number}-{job}", suspect) for number in range(count)]


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


def counts(dealt: list[ReadyVisit], *jobs: UUID) -> list[int]:
    return [sum(one.job_id == job for one in dealt) for job in jobs]


def test_slots_are_shared_by_weight() -> None:
    high, normal, low = uuid4(), uuid4(), uuid4()
    ready = {job: waiting(job, 100) for job in (low, normal, high)}
    shares = {high: Share(4), normal: Share(2), low: Share(1)}
    assert counts(deal(ready, {}, 70, shares=shares), high, normal, low) == [40, 20, 10]
    assert counts(deal(ready, {}, 7, shares=shares), high, normal, low) == [4, 2, 1]


def test_what_a_job_has_already_counts() -> None:
    """However few slots become free at a time, the one that has least for its weight gets them."""
    large, small = uuid4(), uuid4()
    shares = {large: Share(2, busy=90), small: Share(2, busy=3)}
    ready = {large: waiting(large, 100), small: waiting(small, 100)}
    for _ in range(20):
        (one,) = deal(ready, {}, 1, shares=shares)
        assert one.job_id == small
    assert counts(deal(ready, {}, 97, shares=shares), large, small) == [5, 92]


def test_a_job_that_has_none_finds_a_slot_that_was_kept_for_it() -> None:
    large, new = uuid4(), uuid4()
    shares = {large: Share(2, busy=90), new: Share(2)}
    assert deal({large: waiting(large, 100)}, {}, 5, shares=shares, kept=5) == []
    assert len(deal({large: waiting(large, 100)}, {}, 8, shares=shares, kept=5)) == 3
    ready = {large: waiting(large, 100), new: waiting(new, 100)}
    assert counts(deal(ready, {}, 5, shares=shares, kept=5), large, new) == [0, 1]
    assert counts(deal({new: waiting(new, 9)}, {}, 5, shares=shares, kept=2), new) == [3]


def test_nobody_is_left_without_for_ever() -> None:
    """A thousand rounds of one slot each, slices of ten rounds: all that want move, by their weight."""
    jobs = [uuid4() for _ in range(5)]
    weights = dict(zip(jobs, (4, 2, 2, 1, 1), strict=True))
    running: deque[UUID] = deque()
    given: Counter[UUID] = Counter()
    for _ in range(1000):
        if len(running) == 10:
            running.popleft()
        shares = {job: Share(weights[job], running.count(job)) for job in jobs}
        (one,) = deal({job: waiting(job, 2) for job in jobs}, {}, 1, shares=shares)
        running.append(one.job_id)
        given[one.job_id] += 1
    assert [round(given[job] / 100) for job in jobs] == [4, 2, 2, 1, 1]


def test_accounts_share_alike_however_many_jobs_they_have() -> None:
    """Priorities are for the jobs of one account among themselves: nobody gets more by calling everything urgent."""
    many, high, alone = [uuid4() for _ in range(8)], uuid4(), uuid4()
    shares = {job: Share(2, account="a") for job in many}
    shares |= {high: Share(4, account="a"), alone: Share(1, account="b")}
    ready = {job: waiting(job, 100) for job in (*many, high, alone)}
    dealt = deal(ready, {}, 40, shares=shares)
    assert counts(dealt, alone, high) == [20, 4]
    assert sum(counts(dealt, *many)) == 16
    shares[alone] = Share(1, busy=30, account="b")
    assert counts(deal(ready, {}, 20, shares=shares), alone) == [0], "what an account has already counts"
    resting = {**shares, uuid4(): Share(2, busy=50, account="a")}
    assert counts(deal(ready, {}, 20, shares=resting), alone) == [20], "also what its other jobs have"
    assert len(deal({alone: ready[alone]}, {}, 9, shares=resting)) == 9, (
        "what nobody else wants is given to whoever does"
    )


def test_in_a_cluster_a_domain_has_one_visit_and_each_worker_may_have_a_suspect() -> None:
    job = uuid4()
    assert len(deal({job: waiting(job, 3, domain="one.test")}, {}, 10, per_domain=1)) == 1
    assert len(deal({job: waiting(job, 5, suspect=True)}, {}, 10, suspects=1, most_suspects=3)) == 2
