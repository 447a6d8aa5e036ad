"""Retention period of a job's results: set by its recipe, otherwise by the operator."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from gossamer.recipes.base import Keep, Recipe
from gossamer.recipes.registry import RECIPES

_USUAL = Keep()


@dataclass(frozen=True, slots=True)
class Terms:
    """From the end of a job to the hiding of its results, and from there to their deletion.

    A recipe this program does not know has the usual time: its job may come from another home, or a later version.
    """

    usual: timedelta = timedelta(days=90)
    grace: timedelta = timedelta(days=7)
    recipes: Mapping[str, Recipe] = field(default_factory=lambda: RECIPES)

    def hides_at(self, recipe: str, since: datetime) -> datetime:
        return since + self._time(self._keep(recipe))

    def goes_whole(self, recipe: str) -> bool:
        """Return True if the job itself is deleted together with its results, as soon as they are due."""
        return self._keep(recipe).whole_job

    def grace_of(self, recipe: str) -> timedelta:
        return timedelta() if self.goes_whole(recipe) else self.grace

    @property
    def wholly(self) -> list[str]:
        """The recipes whose jobs go with their results."""
        return [name for name in self.recipes if self.goes_whole(name)]

    @property
    def shortest(self) -> timedelta:
        """No job that is younger than this can be due."""
        return min(self.usual, *(self._time(recipe.keep) for recipe in self.recipes.values()))

    def _keep(self, recipe: str) -> Keep:
        known = self.recipes.get(recipe)
        return known.keep if known else _USUAL

    def _time(self, keep: Keep) -> timedelta:
        return self.usual if keep.days is None else timedelta(days=keep.days)
