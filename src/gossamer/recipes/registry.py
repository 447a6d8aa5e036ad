"""The recipes there are: those the program ships with, and those that plug-ins add."""

from gossamer.model.registry import resolve
from gossamer.recipes.base import RECIPES, Condition, Given, Nouns, Recipe, default_flag

__all__ = ["RECIPES", "all_conditions", "flag_of", "is_listed", "made_by", "nouns_of"]

_UNKNOWN = Nouns("domain", "result")

for _shipped in (
    "gossamer.recipes.prospect:PROSPECT",
    "gossamer.recipes.scrape:SCRAPE",
):
    RECIPES.add(resolve(_shipped))


def nouns_of(recipe: str) -> Nouns:
    """The words for the input and the records of a job, also of a recipe that this program does not know.

    Records of several kinds are counted together, and so they are only called records.
    """
    known = RECIPES.get(recipe)
    if known is None:
        return _UNKNOWN
    return known.nouns if len(known.kinds) == 1 else Nouns(known.nouns.given, "record")


def is_listed(recipe: str) -> bool:
    """Return True if the recipe's jobs are given sites or pages, and not only parameters."""
    known = RECIPES.get(recipe)
    return known is None or known.given is not Given.NOTHING


def made_by(command: str) -> Recipe:
    """Return the recipe of the jobs that a command creates."""
    return next(recipe for recipe in RECIPES.values() if recipe.command.name == command)


def all_conditions() -> tuple[Condition, ...]:
    """The conditions on results of all recipes, each column once."""
    known = {one.column: one for recipe in RECIPES.values() if recipe.screen for one in recipe.screen.conditions}
    return tuple(known.values())


def flag_of(param: str) -> str:
    """The option of the command line that gives a parameter of any recipe: `--client-domain` for `client_domains`."""
    flags = (option.flag for recipe in RECIPES.values() for option in recipe.command.own if option.param == param)
    return next(flags, default_flag(param))
