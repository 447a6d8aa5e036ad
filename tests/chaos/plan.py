"""From a seed to what will be done, when, and on which database: always the same for the same seed."""

import random
from collections.abc import Collection
from dataclasses import dataclass, replace

from tests.chaos.harms import CLOCK, DISK, HARMS, POSTGRES, SQLITE

_LATEST = 0.8  # of the pages: later there is little left to be harmed
_AT_ONCE = 0.25  # how often the next harm does not wait until the job has recovered


@dataclass(frozen=True, slots=True)
class Strike:
    """A harm and its moment: when so much of the job's pages are settled, and so many seconds later."""

    harm: str
    share: float
    seconds: float
    recovered: bool = True  # whether the job is given time to recover before anything else is done


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that is done to one job."""

    seed: int
    database: str
    strikes: tuple[Strike, ...]

    def without(self, harms: Collection[str]) -> "Plan":
        """The same but for harms that cannot be done here."""
        return replace(self, strikes=tuple(strike for strike in self.strikes if strike.harm not in harms))

    @property
    def harms(self) -> frozenset[str]:
        return frozenset(strike.harm for strike in self.strikes)

    @property
    def false_clock(self) -> bool:
        return bool(self.harms & CLOCK)

    @property
    def small_disk(self) -> bool:
        return bool(self.harms & DISK)


def plan_of(seed: int) -> Plan:
    """One to three harms. The first goes through all kinds in turn, so that a few seeds show each of them."""
    dice = random.Random(f"chaos {seed}")
    first = list(HARMS)[seed % len(HARMS)]
    database = dice.choice([SQLITE, SQLITE, POSTGRES])
    if database not in HARMS[first].databases:
        (database,) = HARMS[first].databases
    others = [name for name, harm in HARMS.items() if database in harm.databases and name != first]
    harms = [first, *dice.sample(others, dice.randint(0, 2))]
    dice.shuffle(harms)
    shares = sorted(dice.uniform(0, _LATEST) for _ in harms)
    strikes = tuple(
        Strike(harm, share, dice.uniform(0, 1), recovered=dice.random() > _AT_ONCE)
        for harm, share in zip(harms, shares, strict=True)
    )
    return Plan(seed, database, strikes)
