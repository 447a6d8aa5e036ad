"""What is remembered of a rung on a domain, whichever job has tried it."""

from typing import NamedTuple


class Experience(NamedTuple):
    """How often it was tried of late, and how often it got what there was."""

    tries: int = 0
    wins: int = 0

    @property
    def rate(self) -> float:
        return self.wins / self.tries if self.tries else 0.0
