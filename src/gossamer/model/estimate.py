"""What a job was said to cost before it started: kept with it, and held against what it did cost."""

from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class Comparable:
    """What jobs have in common whose costs can be compared."""

    recipe: str
    ladder: tuple[str, ...]
    pages_per_site: int
    top_pages: int


class Past(NamedTuple):
    """What a job that has ended has cost."""

    sites: int
    credits: int
    expected: int = 0  # the middle of what was thought before; 0: there was nothing to go by then
    paying: int | None = None  # of its sites, those that cost something; None: not known any more


class Probed(NamedTuple):
    """What a look at some homepages has shown."""

    asked: int
    climbing: int  # a plain request does not get them
    gone: int  # nobody will pay for them: there is no such site, or it does not want to be read


class Record(NamedTuple):
    """How good estimates have been: of so many jobs that have ended, so many cost what was said."""

    inside: int
    jobs: int


@dataclass(frozen=True, slots=True)
class Estimate:
    """From `low` to `high` credits, and dollars in millionths; rounded, as it is shown."""

    like: Comparable
    sites: int
    expected: int  # credits: the middle, before past mistakes are made good
    low: int
    high: int
    low_micros: int
    high_micros: int
    known: int = 0  # of the sites, those that earlier jobs have met
    similar: int = 0  # jobs it goes by
    probed: Probed | None = None
