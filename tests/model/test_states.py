"""The tables of legal moves are the design's, and nothing leads out of an end that is one."""

from gossamer.model.states import JOB_MOVES, PAGE_MOVES, SITE_MOVES, VISIT_MOVES, JobState, PageState, origins


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
