"""How a seed went."""

from dataclasses import dataclass, field

from tests.chaos.plan import Plan


class Stuck(Exception):
    """The job does not come to its end."""


@dataclass(slots=True)
class Outcome:
    plan: Plan
    done: list[str] = field(default_factory=list)  # harms
    recovery: list[tuple[str, float]] = field(default_factory=list)  # seconds from a harm's end to the next page
    resumes: int = 0
    again: int = 0  # pages fetched that the undisturbed run did not fetch
    allowed: int = 0
    lost: int = 0  # visits taken back because their worker was silent for too long
    refused: int = 0  # how often a worker said that it had lost visits, and that nothing more of them was written
    closest: float = 0.0  # seconds between two requests to the domain that was asked soonest again
    in_hand: int = 0  # visits at a time, at most, where workers share a cap
    seconds: float = 0.0
    missing: list[str] = field(default_factory=list)  # harms that cannot be done here, and why
    problems: list[str] = field(default_factory=list)

    @property
    def kills(self) -> int:
        return sum("kill" in harm for harm in self.done)
