"""The eye that watches woken workers sees what it should, and nothing else."""

import pytest

from tests.chaos.zombies import Happened, Settled, lost_leases, written_unheld

EVENTS = [
    Happened("v", 1, "visit.running", ""),
    Happened("v", 5, "visit.ready", "its lease ran out"),
    Happened("v", 9, "visit.running", ""),
    Happened("w", 2, "visit.running", ""),
    Happened("w", 7, "visit.done", ""),
]


def test_what_is_written_before_and_after_is_fine() -> None:
    pages = [Settled("v", at, f"/{at}") for at in (2, 5, 9, 10)] + [Settled("w", 6, "/w")]
    assert written_unheld([*EVENTS, Happened("v", 12, "visit.done", "")], pages) == []
    assert lost_leases(EVENTS) == 1


@pytest.mark.parametrize("why", ["its lease ran out", "its worker is gone", "worker ended with SIGKILL"])
def test_what_is_written_while_nobody_holds_a_visit_is_seen(why: str) -> None:
    events = [Happened(one.visit, one.at, one.kind, why if one.why else "") for one in EVENTS]
    (page,) = written_unheld(events, [Settled("v", 7, "/zombie")])
    assert page.startswith("/zombie was written although")
    (ending,) = written_unheld([*events, Happened("v", 8, "visit.done", "")], [])
    assert ending.startswith("visit.done was written")


def test_nothing_may_be_written_of_a_visit_that_is_never_claimed_again() -> None:
    assert len(written_unheld(EVENTS[:2], [Settled("v", 99, "/late")])) == 1
