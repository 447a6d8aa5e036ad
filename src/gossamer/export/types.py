"""The types of export there are, by the name people ask for them."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from gossamer.errors import UserError
from gossamer.export.errors import ERRORS
from gossamer.export.pages import PAGES
from gossamer.export.prospects import PROSPECTS
from gossamer.export.results import RESULTS
from gossamer.export.table import Asked, Looks, Table
from gossamer.store.database import Database


async def _workbook_of_results(path: Path, database: Database, asked: Asked, looks: Looks) -> int:
    """For a client. What it is made with is loaded when somebody wants one."""
    from gossamer.export.workbook import write_workbook

    return (await write_workbook(path, database, asked, looks)).matches


async def _workbook_of_prospects(path: Path, database: Database, asked: Asked, looks: Looks) -> int:
    from gossamer.export.workbook import write_workbook

    matches = replace(asked, columns=RESULTS.columns, only="")
    return (await write_workbook(path, database, matches, looks, prospects=asked)).prospects


TABLES: Mapping[str, Table] = {
    "results": replace(RESULTS, workbook=_workbook_of_results),
    "prospects": replace(PROSPECTS, workbook=_workbook_of_prospects),
    "errors": ERRORS,
    "pages": PAGES,
}


def table_named(name: str) -> Table:
    table = TABLES.get(name)
    if table is None:
        known = ", ".join(TABLES)
        raise UserError("export.type", f"{name!r} is no type of export.", hint=f"Use --type with one of {known}.")
    return table
