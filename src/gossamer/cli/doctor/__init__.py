"""The checks of `gossamer doctor`, which change nothing, and the result of one."""

from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    OK = "ok"
    WARN = "warn"  # works, but not as well or not for long
    FAIL = "fail"  # jobs cannot run like this


@dataclass(frozen=True, slots=True)
class CheckResult:
    check: str
    level: Level
    sentence: str
    next_step: str = ""


def ok(check: str, sentence: str) -> CheckResult:
    return CheckResult(check, Level.OK, sentence)


def warn(check: str, sentence: str, next_step: str) -> CheckResult:
    return CheckResult(check, Level.WARN, sentence, next_step)


def fail(check: str, sentence: str, next_step: str) -> CheckResult:
    return CheckResult(check, Level.FAIL, sentence, next_step)
