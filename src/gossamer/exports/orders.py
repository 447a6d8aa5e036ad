"""Export orders: converted from a user's request, stored in a row, and used to make the file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from gossamer.errors import UserError
from gossamer.exports.formats import FORMATS, Format
from gossamer.exports.make import Order
from gossamer.model.export import Export, ExportRequest
from gossamer.model.ids import short
from gossamer.model.job import Job
from gossamer.model.states import OVER
from gossamer.recipes.base import Looks, Table
from gossamer.recipes.registry import RECIPES
from gossamer.recipes.tables import OF_ANY_JOB

RESULTS = "results"
"""The table of a job for which none is named."""


@dataclass(frozen=True, slots=True)
class Wish:
    """A request for exports in one or more formats."""

    type: str
    formats: Sequence[Format]
    columns: tuple[str, ...] = ()
    only: str = ""
    looks: Looks = Looks()
    since: Job | None = None
    excluded: frozenset[str] = frozenset()

    def orders(self, job: Job) -> list[Order]:
        """One per file; refused here if it cannot be made."""
        table = table_named(self.type, job.recipe)
        table.choose(self.columns)
        if self.only and self.only not in table.filters:
            raise UserError(
                "export.filter", f"{self.only!r} is not a filter of {self.type}.", hint=_known(table.filters)
            )
        if refused := table.refuse(self.only, job, self.since) if table.refuse else None:
            raise refused
        return [
            Order(job, table, form, self.columns, self.only, self.looks, self.since, self.excluded)
            for form in self.formats
        ]


def table_named(name: str, recipe: str) -> Table:
    """A table of a job of this recipe."""
    known = RECIPES.get(recipe)
    tables = {table.name: table for table in (known.tables if known else OF_ANY_JOB)}
    table = tables.get(name)
    if table is None and known and name == RESULTS:
        return known.tables[0]  # whatever its name
    if table is None:
        raise UserError(
            "export.type",
            f"{name!r} is no type of export of a {recipe} job.",
            hint=f"Use --type with one of {', '.join(tables)}.",
        )
    return table


def _known(filters: Sequence[str]) -> str:
    if not filters:
        return "It has none."
    return f"Use --filter {filters[0]}." if len(filters) == 1 else f"Use --filter with one of {', '.join(filters)}."


def request_of(order: Order) -> ExportRequest:
    """An order as a row keeps it."""
    options = {
        "columns": list(order.columns),
        "filter": order.only,
        "bom": order.looks.bom,
        "raw": order.looks.raw,
        "costs": order.looks.costs,
        "title": order.looks.title,
        "client": order.looks.client,
        "since": str(order.since.id) if order.since else None,
        "excluded": sorted(order.excluded),
    }
    return ExportRequest(
        order.table.name, order.form.name, file_name(order), options, partial=order.job.state not in OVER
    )


def order_of(job: Job, export: Export, since: Job | None = None) -> Order:
    """The order a row was made of."""
    options = export.options
    return Order(
        job,
        table_named(export.type, job.recipe),
        FORMATS[export.format],
        tuple(options.get("columns") or ()),
        options.get("filter") or "",
        Looks(
            bool(options.get("bom")),
            bool(options.get("raw")),
            costs=bool(options.get("costs", True)),
            title=options.get("title") or "",
            client=options.get("client") or "",
        ),
        since,
        frozenset(options.get("excluded") or ()),
    )


def file_name(order: Order) -> str:
    """Return the file name: `results-3f9a2c71.csv`, with the filter and `-partial` where they apply."""
    filtered = f"-{order.only}" if order.only else ""
    partial = "" if order.job.state in OVER else "-partial"
    name = order.table.file_name or order.table.name
    return f"{name}{filtered}-{short(order.job.id)}{partial}.{order.form.name}"


def automatic_files(job_id: UUID, recipe: str, params: Mapping[str, Any]) -> tuple[ExportRequest, ...]:
    """The files that are made when a job is completed, as its recipe declares them."""
    known = RECIPES.get(recipe)
    return tuple(
        ExportRequest(file.table, file.format, file.name.format(job=short(job_id)), {})
        for file in (known.files if known else ())
        if not file.if_param or params.get(file.if_param)
    )
