"""What is wrong with an answer, if anything, and what to do about it. Pure decisions: nothing here fetches or waits."""

from gossamer.judge.flaw import find_flaw
from gossamer.judge.next_step import Climb, Fail, Retry, next_step
from gossamer.judge.status import find_refusal, find_trouble

__all__ = ["Climb", "Fail", "Retry", "find_flaw", "find_refusal", "find_trouble", "next_step"]
