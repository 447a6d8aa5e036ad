"""The files of a job: `gossamer job export`, `export-status`, `exports`, `export-cancel`, `errors`, `cost-report`."""

from pathlib import Path

import typer

from gossamer.cli.command_help import StrictCommand, command_group
from gossamer.cli.views import CLIENT, JOB, JSON, TITLE, UNLINKED_ONLY, WITHOUT_COSTS

app = command_group()

OUTPUT = typer.Option(
    None, "--output", help="Write this file at once, '-' for standard output, instead.", show_default=False
)
FORMATS = "csv|json|jsonl|xlsx|parquet"


@app.command(cls=StrictCommand)
def export(
    job: str = JOB,
    form: str | None = typer.Option(
        None,
        "--format",
        help="One or more, separated by commas. By the ending of --output, else csv, if not given.",
        metavar=FORMATS,
        show_default=False,
    ),
    kind: str = typer.Option("results", "--type", help="Which table.", metavar="results|prospects|errors|pages|costs"),
    columns: str | None = typer.Option(
        None, "--columns", help="Only these columns, in this order.", metavar="NAME,NAME,...", show_default=False
    ),
    only: str | None = typer.Option(
        None,
        "--filter",
        help="Only such rows; new ones of prospects, errors to look at by hand.",
        metavar="unlinked|new|by-hand",
        show_default=False,
    ),
    unlinked_only: bool = UNLINKED_ONLY,
    wait: bool = typer.Option(False, "--wait", help="Return when the files are there, with their links."),
    detach: bool = typer.Option(False, "--detach", help="Return at once, also on a terminal."),
    output: Path | None = OUTPUT,
    since_job: str | None = typer.Option(
        None, "--since-job", help="Say which prospects this earlier job did not have.", metavar="ID", show_default=False
    ),
    exclude_domains: Path | None = typer.Option(
        None, "--exclude-domains", help="Domains to leave out, in the same forms as for 'job run'.", show_default=False
    ),
    bom: bool | None = typer.Option(
        None,
        "--bom/--no-bom",
        help="Make CSV open correctly in Excel (a byte order mark). Default: only in files written here.",
        show_default=False,
    ),
    raw: bool = typer.Option(False, "--raw", help="Leave text that looks like a formula as it is."),
    without_costs: bool = WITHOUT_COSTS,
    title: str = TITLE,
    client: str = CLIENT,
    as_json: bool = JSON,
) -> None:
    """Make files of a job's results, in the background; of what there is so far, if it still runs.

    The files are kept for 7 days. With --output there is one file, at the place you name, when the command returns.
    On a terminal of this machine, without --format, --output and --detach, the command waits for the file and also
    writes it here, as results-ID.csv, never over a file that exists.

    Examples:

    \b
        gossamer job export 3f9a2c71

        gossamer job export 3f9a2c71 --format csv,json

        gossamer job export 3f9a2c71 --format xlsx --wait

        gossamer job export 3f9a2c71 --filter unlinked --output unlinked.csv

        gossamer job export 3f9a2c71 --type prospects --since-job 81e0b6d4 --exclude-domains suppress.txt
    """
    from gossamer.cli.export_files import Asking, a_line, export_files
    from gossamer.cli.session import run as run_command
    from gossamer.errors import UserError

    for name, value in {"--format": form, "--columns": columns, "--filter": only, "--since-job": since_job}.items():
        if value is not None and not value.strip(" ,"):
            raise UserError("usage", f"{name} is empty.", hint="Give it a value, or leave it out.")
    if detach and (wait or output is not None):
        raise UserError(
            "usage", "--detach returns at once: it does not go with --wait or --output.", hint="Choose one."
        )
    if only and unlinked_only:
        raise UserError("usage", "--unlinked-only is --filter unlinked.", hint="Give one of them.")
    asking = Asking(
        kind,
        form,
        tuple(name.strip() for name in (columns or "").split(",") if name.strip()),
        "unlinked" if unlinked_only else only or "",
        bom=bom,
        raw=raw,
        costs=not without_costs,
        title=a_line("--title", title),
        client=a_line("--client", client),
        since=since_job or "",
        exclude=exclude_domains,
    )
    run_command(lambda home: export_files(home, job, asking, output, wait=wait, detach=detach, as_json=as_json))


@app.command("export-status", cls=StrictCommand)
def export_status(
    job: str = JOB,
    wait: bool = typer.Option(False, "--wait", help="Return when no file is being made any more."),
    as_json: bool = JSON,
) -> None:
    """How far the files of a job are, and where those are that are ready.

    Examples:

    \b
        gossamer job export-status 3f9a2c71

        gossamer job export-status 3f9a2c71 --wait
    """
    from gossamer.cli.export_files import show_export_status
    from gossamer.cli.session import run as run_command

    run_command(lambda home: show_export_status(home, job, wait=wait, as_json=as_json))


@app.command("exports", cls=StrictCommand)
def list_exports(job: str = JOB, as_json: bool = JSON) -> None:
    """All files that were made of a job, also those that are gone.

    Example:

    \b
        gossamer job exports 3f9a2c71
    """
    from gossamer.cli.file_list import list_files
    from gossamer.cli.session import run as run_command

    run_command(lambda home: list_files(home, job, as_json=as_json))


@app.command("export-cancel", cls=StrictCommand)
def export_cancel(job: str = JOB, as_json: bool = JSON) -> None:
    """Stop making files of a job. Those that are ready stay.

    Example:

    \b
        gossamer job export-cancel 3f9a2c71
    """
    from gossamer.cli.export_files import cancel_exports
    from gossamer.cli.session import run as run_command

    run_command(lambda home: cancel_exports(home, job, as_json=as_json))


@app.command(cls=StrictCommand)
def errors(
    job: str = JOB,
    limit: int = typer.Option(50, min=1, max=50_000, help="Domains shown at most."),
    form: str | None = typer.Option(
        None, "--format", help="Write all of them in this format instead.", metavar=FORMATS, show_default=False
    ),
    output: Path | None = typer.Option(None, "--output", help="Where to; '-' or none: here.", show_default=False),
    by_hand: bool = typer.Option(False, "--by-hand", help="Only those that want a login or a CAPTCHA."),
    as_json: bool = JSON,
) -> None:
    """Which domains of a job failed, and why.

    Examples:

    \b
        gossamer job errors 3f9a2c71

        gossamer job errors 3f9a2c71 --format csv --output failed.csv

        gossamer job errors 3f9a2c71 --by-hand --output by_hand.csv
    """
    from gossamer.cli.failed_domains import show_errors
    from gossamer.cli.session import run as run_command

    run_command(lambda home: show_errors(home, job, limit, form, output, by_hand=by_hand, as_json=as_json))


@app.command("cost-report", cls=StrictCommand)
def cost_report(
    job: str = JOB,
    limit: int = typer.Option(50, min=1, max=50_000, help="Domains shown at most."),
    form: str | None = typer.Option(
        None, "--format", help="Write all of them in this format instead.", metavar=FORMATS, show_default=False
    ),
    output: Path | None = typer.Option(None, "--output", help="Where to; '-' or none: here.", show_default=False),
    as_json: bool = JSON,
) -> None:
    """What each domain of a job has cost, and by which requests.

    A table on a terminal; CSV of all domains with --format csv, or when the output goes to a file or another program.

    Examples:

    \b
        gossamer job cost-report 3f9a2c71

        gossamer job cost-report 3f9a2c71 --output cost_report.csv
    """
    from gossamer.cli.cost_report import show_cost_report
    from gossamer.cli.session import run as run_command

    run_command(lambda home: show_cost_report(home, job, limit, form, output, as_json=as_json))
