"""How large a job's share of the free slots is beside other jobs."""

from enum import StrEnum


class Priority(StrEnum):
    HIGH = "high"
    NORMAL = "normal"
    LOW = "low"

    @property
    def weight(self) -> int:
        return _WEIGHTS[self]


_WEIGHTS = {Priority.HIGH: 4, Priority.NORMAL: 2, Priority.LOW: 1}
