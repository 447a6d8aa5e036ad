"""The types of export there are, by the name people ask for them."""

from collections.abc import Mapping

from gossamer.errors import UserError
from gossamer.export.costs import COSTS
from gossamer.export.errors import ERRORS
from gossamer.export.pages import PAGES
from gossamer.export.prospects import PROSPECTS
from gossamer.export.results import RESULTS
from gossamer.export.table import Table

TABLES: Mapping[str, Table] = {
    "results": RESULTS,
    "prospects": PROSPECTS,
    "errors": ERRORS,
    "pages": PAGES,
    "costs": COSTS,
}


def table_named(name: str) -> Table:
    table = TABLES.get(name)
    if table is None:
        known = ", ".join(TABLES)
        raise UserError("export.type", f"{name!r} is no type of export.", hint=f"Use --type with one of {known}.")
    return table
