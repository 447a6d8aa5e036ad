"""The recipes there are: those the program ships with, and those that plug-ins add."""

from gossamer.recipes.base import RECIPES, default_flag
from gossamer.recipes.prospect import PROSPECT
from gossamer.recipes.scrape import SCRAPE

__all__ = ["RECIPES", "flag_of"]

for recipe in (PROSPECT, SCRAPE):
    RECIPES.add(recipe)


def flag_of(param: str) -> str:
    """The option of the command line that gives a parameter of any recipe: `--client-domain` for `client_domains`."""
    flags = (option.flag for recipe in RECIPES.values() for option in recipe.command.own if option.param == param)
    return next(flags, default_flag(param))
