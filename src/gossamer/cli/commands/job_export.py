"""`gossamer job export`: write results to files; list and cancel these exports."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from gossamer.cli.command import command
from gossamer.cli.group import lazy_module
from gossamer.cli.options import CLIENT, FORMAT_CHOICES, JOB, JSON, TITLE, UNLINKED_ONLY, WITHOUT_COSTS
from gossamer.errors import UserError

if TYPE_CHECKING:
    from gossamer.cli import export, runtime
else:
    export = lazy_module("gossamer.cli.export")
    runtime = lazy_module("gossamer.cli.runtime")


@command("job export")
def job_export(
    job: str = JOB,
    form: str | None = typer.Option(
        None,
        "--format",
        help="One or more, separated by commas (default: from the extension of --output, else csv).",
        metavar=FORMAT_CHOICES,
    ),
    kind: str = typer.Option(
        "results", "--type", help="The table to export.", metavar="results|prospects|errors|pages|costs"
    ),
    columns: str | None = typer.Option(
        None, "--columns", help="Only these columns, in this order.", metavar="NAME,NAME,..."
    ),
    only: str | None = typer.Option(
        None,
        "--filter",
        help="Only matching rows: unlinked results, new prospects, or errors to check by hand.",
        metavar="unlinked|new|by-hand",
    ),
    unlinked_only: bool = UNLINKED_ONLY,
    wait: bool = typer.Option(False, "--wait", help="Wait for the files, and print their links."),
    detach: bool = typer.Option(False, "--detach", help="Return at once, even on a terminal."),
    output: Path | None = typer.Option(
        None, "--output", help="Write this file before the command returns; '-' for standard output."
    ),
    since_job: str | None = typer.Option(
        None, "--since-job", help="Mark prospects that this earlier job did not have.", metavar="ID"
    ),
    exclude_domains: Path | None = typer.Option(
        None, "--exclude-domains", help="Domains to leave out, in the same forms as for 'job run'."
    ),
    bom: bool | None = typer.Option(
        None,
        "--bom/--no-bom",
        help="Make CSV open correctly in Excel (a byte order mark). Default: only in files written here.",
    ),
    raw: bool = typer.Option(False, "--raw", help="Leave text that looks like a formula as it is."),
    without_costs: bool = WITHOUT_COSTS,
    title: str = TITLE,
    client: str = CLIENT,
    as_json: bool = JSON,
) -> None:
    """Export a job's results to files in the background; the results so far while it is running.

    The files are kept for 7 days. With --output, the command writes one file to that path before it returns.
    On a terminal of this machine, without --format, --output and --detach, the command waits for the file and also
    writes it to this folder as results-ID.csv, without replacing a file.

    Examples:

        gossamer job export 3f9a2c71

        gossamer job export 3f9a2c71 --format csv,json

        gossamer job export 3f9a2c71 --format xlsx --wait

        gossamer job export 3f9a2c71 --filter unlinked --output unlinked.csv

        gossamer job export 3f9a2c71 --type prospects --since-job 81e0b6d4 --exclude-domains suppress.txt
    """
    for name, value in {"--format": form, "--columns": columns, "--filter": only, "--since-job": since_job}.items():
        if value is not None and not value.strip(" ,"):
            raise UserError("usage", f"{name} is empty.", hint="Give it a value, or leave it out.")
    if detach and (wait or output is not None):
        raise UserError(
            "usage", "--detach returns at once: it does not go with --wait or --output.", hint="Choose one."
        )
    if only and unlinked_only:
        raise UserError("usage", "--unlinked-only means the same as --filter unlinked.", hint="Give one of them.")
    options = export.ExportOptions(
        kind,
        form,
        tuple(name.strip() for name in (columns or "").split(",") if name.strip()),
        "unlinked" if unlinked_only else only or "",
        bom=bom,
        raw=raw,
        costs=not without_costs,
        title=export.single_line("--title", title),
        client=export.single_line("--client", client),
        since=since_job or "",
        exclude=exclude_domains,
    )
    runtime.run(lambda home: export.export_files(home, job, options, output, wait=wait, detach=detach, as_json=as_json))


@command("job export-status")
def export_status(
    job: str = JOB,
    wait: bool = typer.Option(False, "--wait", help="Wait until all files are finished."),
    as_json: bool = JSON,
) -> None:
    """Show the progress of a job's exports, and links to the files that are ready.

    Examples:

        gossamer job export-status 3f9a2c71

        gossamer job export-status 3f9a2c71 --wait
    """
    runtime.run(lambda home: export.show_export_status(home, job, wait=wait, as_json=as_json))


@command("job exports")
def list_exports(job: str = JOB, as_json: bool = JSON) -> None:
    """List a job's exports, including expired ones.

    Example:

        gossamer job exports 3f9a2c71
    """
    runtime.run(lambda home: export.list_files(home, job, as_json=as_json))


@command("job export-cancel")
def export_cancel(job: str = JOB, as_json: bool = JSON) -> None:
    """Cancel a job's unfinished exports. Finished files stay.

    Example:

        gossamer job export-cancel 3f9a2c71
    """
    runtime.run(lambda home: export.cancel_exports(home, job, as_json=as_json))
