"""The tables of legal moves are the design's, and nothing leads out of an end that is one."""

from collections.abc import Mapping
from typing import Any

import pytest

from gossamer.model.states import JOB_MOVES, PAGE_MOVES, SITE_MOVES, VISIT_MOVES, JobState, PageState, origins

# As the rules of motion are written down; a job that was never started can be cancelled too.
JOB = """pending>running|cancelled; running>pausing|completed|failed|cancelled; pausing>paused|running|cancelled;
paused>running|cancelled; cancelled>running|archived; failed>running|archived; completed>running|archived"""
VISIT = """ready>issued|running; issued>running|ready; running>ready|done|failed|dead; done>ready; failed>ready;
dead>ready"""
PAGE = "pending>done|failed|skipped|climbing; climbing>pending; failed>pending"
SITE = "open>done|failed|partial; done>open; failed>open; partial>open"


@pytest.mark.parametrize(
    ("moves", "text"), [(JOB_MOVES, JOB), (VISIT_MOVES, VISIT), (PAGE_MOVES, PAGE), (SITE_MOVES, SITE)]
)
def test_the_moves_are_those_of_the_rules(moves: Mapping[Any, frozenset[Any]], text: str) -> None:
    written = {state: set(ends.split("|")) for state, ends in (move.strip().split(">") for move in text.split(";"))}
    assert {str(state): {str(end) for end in ends} for state, ends in moves.items() if ends} == written


def test_every_state_has_its_moves() -> None:
    for moves in (JOB_MOVES, VISIT_MOVES, PAGE_MOVES, SITE_MOVES):
        states = set(moves)
        assert states == set(type(next(iter(states))))
        assert all(targets <= states for targets in moves.values())


def test_an_archived_job_and_a_page_that_was_read_stay_so() -> None:
    assert JOB_MOVES[JobState.ARCHIVED] == frozenset()
    assert PAGE_MOVES[PageState.DONE] == frozenset()


def test_a_job_runs_again_from_every_rest() -> None:
    resting = {JobState.PENDING, JobState.PAUSING, JobState.PAUSED, JobState.CANCELLED, JobState.FAILED}
    assert set(origins(JOB_MOVES, JobState.RUNNING)) == {*resting, JobState.COMPLETED}
