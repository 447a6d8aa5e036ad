"""From a seed to what will be done, when, and on which database: always the same for the same seed."""

import random
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from tests.chaos.cluster_harms import CLUSTER, CLUSTER_HARMS
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
    return Plan(seed, database, _strikes(dice, first, others))


def cluster_plan_of(seed: int) -> Plan:
    """The same for three instances that share a database."""
    dice = random.Random(f"cluster {seed}")
    first = list(CLUSTER_HARMS)[seed % len(CLUSTER_HARMS)]
    return Plan(seed, CLUSTER, _strikes(dice, first, [name for name in CLUSTER_HARMS if name != first]))


def _strikes(dice: random.Random, first: str, others: Sequence[str]) -> tuple[Strike, ...]:
    harms = [first, *dice.sample(others, dice.randint(0, 2))]
    dice.shuffle(harms)
    shares = sorted(dice.uniform(0, _LATEST) for _ in harms)
    return tuple(
        Strike(harm, share, dice.uniform(0, 1), recovered=dice.random() > _AT_ONCE)
        for harm, share in zip(harms, shares, strict=True)
    )
