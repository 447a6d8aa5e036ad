"""How long what a job has found is kept: one line per recipe, and the operator's usual time."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta


@dataclass(frozen=True, slots=True)
class RetentionClass:
    """What kind of results a recipe yields, and how long that kind is kept; None: the operator's usual time.

    With `whole`, the job itself goes with its results, at once when they are due.
    """

    name: str
    kept: timedelta | None = None
    whole: bool = False


FINDINGS = RetentionClass("findings")

EXTRACTS = RetentionClass("extracts", timedelta(days=30), whole=True)

CLASSES: Mapping[str, RetentionClass] = {"prospect": FINDINGS, "scrape": EXTRACTS}


@dataclass(frozen=True, slots=True)
class Terms:
    """From the end of a job to the hiding of its results, and from there to their deletion."""

    usual: timedelta = timedelta(days=90)
    grace: timedelta = timedelta(days=7)

    def hides_at(self, recipe: str, since: datetime) -> datetime:
        """Also for a recipe that this program does not know: its job may come from another home, or a later version."""
        known = CLASSES.get(recipe)
        return since + (known.kept if known and known.kept else self.usual)

    def goes_whole(self, recipe: str) -> bool:
        """Whether nothing of such a job is left when its time is over."""
        known = CLASSES.get(recipe)
        return known is not None and known.whole

    def grace_of(self, recipe: str) -> timedelta:
        return timedelta() if self.goes_whole(recipe) else self.grace

    @property
    def shortest(self) -> timedelta:
        """No job that is younger than this can be due."""
        return min(self.usual, *(one.kept or self.usual for one in CLASSES.values()))
