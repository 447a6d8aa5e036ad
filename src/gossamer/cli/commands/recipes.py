"""The commands that create jobs, one for each recipe, built from the declaration of the recipe."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from gossamer.cli import options
from gossamer.cli.command import Declaration, with_parameters
from gossamer.cli.completion import offer_choices
from gossamer.cli.group import lazy_module
from gossamer.model.job import Priority
from gossamer.recipes.base import Given, Option, Recipe

if TYPE_CHECKING:
    from gossamer.cli import job_run, runtime
    from gossamer.cli.home import Home
else:
    job_run = lazy_module("gossamer.cli.job_run")
    runtime = lazy_module("gossamer.cli.runtime")

Shared = dict[str, tuple[Any, Any]]  # the type and the declaration of an option, by its flag

_NAMED: Shared = {"--name": (str, typer.Option(..., "--name", help="Name of the job."))}
_SITES: Shared = {
    "--domains": (Path | None, options.DOMAINS),
    "--domain": (list[str] | None, options.DOMAIN),
    "--skip-invalid": (bool, options.SKIP_INVALID),
    "--exclude-domains": (Path | None, options.EXCLUDE_DOMAINS),
}
_LIMITS: Shared = {
    "--mode": (str | None, options.MODE),
    "--ladder": (str | None, options.LADDER),
    "--priority": (
        Priority,
        typer.Option(
            Priority.NORMAL, "--priority", metavar="high|normal|low", help="Priority relative to other running jobs."
        ),
    ),
    "--max-concurrency": (
        int | None,
        typer.Option(None, "--max-concurrency", min=1, help="Most sites of this job to crawl at a time."),
    ),
    "--max-credits": (int | None, options.MAX_CREDITS),
    "--max-usd": (float | None, options.MAX_USD),
    "--max-mb": (int | None, options.MAX_MB),
    "--max-residential-mb": (int | None, options.MAX_RESIDENTIAL_MB),
    "--probe": (int | None, options.PROBE),
    "--yes": (bool, options.START_YES),
    "--processes": (int | None, options.PROCESSES),
    "--no-auto-start": (bool, options.NO_AUTO_START),
    "--idempotency-key": (
        str | None,
        typer.Option(None, "--idempotency-key", metavar="KEY", help="Requests with the same key create only one job."),
    ),
    "--detach": (bool, options.DETACH),
    "--json": (bool, options.JSON),
}

_ADDRESSES: Shared = {
    "urls": (
        list[str],
        typer.Argument(None, help="Addresses of the pages.", metavar="[URL]..."),
    ),
    "--file": (
        Path | None,
        typer.Option(
            None,
            "--file",
            metavar="FILE",
            help="Addresses, one per line, a CSV with a 'url' column or an Excel workbook; '-' reads standard input.",
        ),
    ),
}
_PRINTED: Shared = {
    "--output": (Path, typer.Option(Path("-"), "--output", help="File to write; '-' for standard output.")),
    "--plain": (
        bool,
        typer.Option(False, "--plain", help="Print only the content, without JSON; for one page in one format."),
    ),
    "--mode": (
        str | None,
        typer.Option(None, "--mode", metavar="MODE", help="free-only, hybrid or premium-only, as for 'job run'."),
    ),
    "--ladder": (
        str | None,
        typer.Option(
            None, "--ladder", metavar="METHODS", help="Custom list of fetch methods, like direct,scrapingbee-js."
        ),
    ),
    "--max-credits": (int | None, options.MAX_CREDITS),
    "--max-usd": (float | None, options.MAX_USD),
    "--name": (str, typer.Option("", "--name", help="Name of the job in 'job list'.")),
    "--processes": (int | None, options.PROCESSES),
    "--detach": (bool, typer.Option(False, "--detach", help="Run in the background; print only the job's id.")),
    "--json": (bool, typer.Option(False, "--json", help="Print errors as JSON too, and no progress.")),
}


def declaration(recipe: Recipe) -> Declaration:
    """The command of a recipe."""
    declared = _options(recipe)
    names = {flag: flag.lstrip("-").replace("-", "_") for flag in declared}

    def command(**typed: Any) -> None:
        values = {flag: typed[name] for flag, name in names.items()}

        async def work(home: "Home") -> int:
            if recipe.given is Given.PAGES:
                return await job_run.run_pages(home, recipe, values)
            return await job_run.run_job(home, recipe, values)

        runtime.run(work)

    parameters = {names[flag]: one for flag, one in declared.items()}
    return Declaration(recipe.command.name, with_parameters(command, recipe.command.help, parameters))


def _options(recipe: Recipe) -> Shared:
    """All options in the order of the help: shared options come before and after those of the recipe."""
    before, after = (_ADDRESSES, _PRINTED) if recipe.given is Given.PAGES else ({**_NAMED, **_SITES}, _LIMITS)
    if recipe.given is Given.NOTHING:  # there are no homepages to fetch either
        before, after = _NAMED, {flag: one for flag, one in after.items() if flag != "--probe"}
    shared, placed = {**before, **after}, recipe.command.options
    named = {one if isinstance(one, str) else one.flag for one in placed}
    made = {flag: one for flag, one in before.items() if flag not in named}
    for one in placed:
        made |= {one: shared[one]} if isinstance(one, str) else {one.flag: _own(one)}
    return {**made, **{flag: one for flag, one in after.items() if flag not in named}}


def _own(one: Option) -> tuple[Any, Any]:
    kind: Any = list[str] if one.repeated else one.type
    option = typer.Option(
        one.default,
        one.flag,
        help=one.help,
        metavar=one.metavar,
        min=one.least,
        max=one.most,
        autocompletion=offer_choices(one.choices, several=one.repeated) if one.choices else None,
    )
    return kind if one.default is not None else kind | None, option
