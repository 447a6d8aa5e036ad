"""Deleting what is no longer wanted: `gossamer job delete`, `job forget`, `system retention`."""

import typer

from gossamer.cli.command_help import StrictCommand, command_group
from gossamer.cli.views import JOB, JSON

app = command_group()
system = command_group()

YES = typer.Option(False, "--yes", help="Do not ask: it is meant.")


@app.command(cls=StrictCommand)
def delete(job: str = JOB, yes: bool = YES, as_json: bool = JSON) -> None:
    """Delete everything a job has found. That it was run, and how it ended, is kept.

    Example:

    \b
        gossamer job delete 3f9a2c71
    """
    from gossamer.cli.deletion import delete_results
    from gossamer.cli.session import run as run_command

    run_command(lambda home: delete_results(home, job, yes=yes, as_json=as_json))


@app.command(cls=StrictCommand)
def forget(
    url: str | None = typer.Option(None, "--url", metavar="URL", help="A page to forget.", show_default=False),
    domain: str | None = typer.Option(
        None, "--domain", metavar="DOMAIN", help="A domain to forget, with every name below it.", show_default=False
    ),
    job: str | None = typer.Option(None, "--job", metavar="ID", help="Only in this job.", show_default=False),
    yes: bool = YES,
    dry_run: bool = typer.Option(False, "--dry-run", help="Only say what would be removed."),
    as_json: bool = JSON,
) -> None:
    """Remove what all jobs have stored about a page or a domain, for instance because its owner asks.

    Examples:

    \b
        gossamer job forget --url https://shop.example/about/team --dry-run

        gossamer job forget --domain shop.example --yes
    """
    from gossamer.cli.deletion import forget_mentions
    from gossamer.cli.session import run as run_command
    from gossamer.errors import UserError

    if (url is None) == (domain is None):
        raise UserError("usage", "Give one --url, or one --domain.", hint="See 'gossamer job forget --help'.")
    run_command(lambda home: forget_mentions(home, url, domain, job, yes=yes, dry_run=dry_run, as_json=as_json))


@system.command(cls=StrictCommand)
def retention(
    dry_run: bool = typer.Option(False, "--dry-run", help="Only what would be done now; nothing is changed."),
    run: bool = typer.Option(False, "--run", help="Do now what is due. Otherwise whoever works the jobs does it."),
    as_json: bool = JSON,
) -> None:
    """Which results are hidden, and when each job's results are hidden and deleted.

    Examples:

    \b
        gossamer system retention

        gossamer system retention --dry-run
    """
    from gossamer.cli.deletion import run_retention, show_retention
    from gossamer.cli.session import run as run_command
    from gossamer.errors import UserError

    if run and dry_run:
        raise UserError("usage", "Give --run or --dry-run, not both.", hint="See 'gossamer system retention --help'.")
    if run:
        run_command(lambda home: run_retention(home, as_json=as_json))
    else:
        run_command(lambda home: show_retention(home, due_only=dry_run, as_json=as_json))
