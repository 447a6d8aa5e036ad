"""The result of one check, and what to do about it."""

from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    OK = "ok"
    WARN = "warn"  # works, but not as well or not for long
    FAIL = "fail"  # jobs cannot run like this


@dataclass(frozen=True, slots=True)
class Finding:
    check: str
    level: Level
    sentence: str
    next_step: str = ""


def ok(check: str, sentence: str) -> Finding:
    return Finding(check, Level.OK, sentence)


def warn(check: str, sentence: str, next_step: str) -> Finding:
    return Finding(check, Level.WARN, sentence, next_step)


def fail(check: str, sentence: str, next_step: str) -> Finding:
    return Finding(check, Level.FAIL, sentence, next_step)
