"""The types of export there are, by the name people ask for them."""

from collections.abc import Mapping

from gossamer.errors import UserError
from gossamer.export.costs import COSTS
from gossamer.export.errors import ERRORS
from gossamer.export.pages import PAGES
from gossamer.export.prospects import PROSPECTS
from gossamer.export.results import RESULTS
from gossamer.export.scraped import FAILED_PAGES, SCRAPED
from gossamer.recipes.base import Table

TABLES: Mapping[str, Table] = {
    "results": RESULTS,
    "prospects": PROSPECTS,
    "errors": ERRORS,
    "pages": PAGES,
    "costs": COSTS,
}

# Of recipes whose tables are others.
_OF_RECIPE: Mapping[str, Mapping[str, Table]] = {
    "scrape": {"results": SCRAPED, "errors": FAILED_PAGES, "pages": PAGES, "costs": COSTS},
}


def table_named(name: str, recipe: str = "prospect") -> Table:
    """A table of a job of this recipe."""
    tables = _OF_RECIPE.get(recipe, TABLES)
    table = tables.get(name)
    if table is None:
        known = ", ".join(tables)
        raise UserError(
            "export.type", f"{name!r} is no type of export of a {recipe} job.", hint=f"Use --type with one of {known}."
        )
    return table
