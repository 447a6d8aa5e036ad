"""Judgement of responses: the trouble with one, if any, and the next step. Nothing here fetches or waits."""

from gossamer.judge.next_step import Climb, Fail, Retry, next_step
from gossamer.judge.page_checks import find_flaw
from gossamer.judge.status import find_refusal, find_trouble

__all__ = ["Climb", "Fail", "Retry", "find_flaw", "find_refusal", "find_trouble", "next_step"]
