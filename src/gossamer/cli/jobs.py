"""`gossamer job`: run, watch and steer jobs. What a command needs is loaded when it runs."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from gossamer.cli.main import StrictCommand

if TYPE_CHECKING:
    from gossamer.assembly import App

app = typer.Typer(help="Run, watch and steer jobs.", no_args_is_help=True, rich_markup_mode=None)

JSON = typer.Option(False, "--json", help="Answer in JSON, for scripts.")
JOB = typer.Argument(help="The job's id, or some characters of its beginning or end.", metavar="ID", show_default=False)
DETACH = typer.Option(False, "--detach", help="Work in the background and return at once.")
PROCESSES = typer.Option(None, "--processes", min=1, max=64, help="Working processes (default: one per core).")


@app.command(cls=StrictCommand)
def run(
    name: str = typer.Option(..., "--name", help="What you call it.", show_default=False),
    domains: Path = typer.Option(..., "--domains", help="CSV or TXT, one domain per line.", show_default=False),
    keywords: Path = typer.Option(..., "--keywords", help="TXT, one word or phrase per line.", show_default=False),
    max_pages_per_domain: int = typer.Option(500, min=1, max=50_000, help="Pages read per domain at most."),
    depth: int = typer.Option(50, min=0, max=1000, help="Links followed from the homepage at most."),
    processes: int | None = PROCESSES,
    no_auto_start: bool = typer.Option(False, "--no-auto-start", help="Only create it; 'job start' starts it."),
    detach: bool = DETACH,
    as_json: bool = JSON,
) -> None:
    """Find the pages of many domains that mention your keywords.

    Example:

    \b
        gossamer job run --name "Acme Q1" --domains domains.csv --keywords keywords.txt

    Ctrl-C pauses; 'gossamer job resume ID' goes on exactly there.
    """
    from gossamer.cli.session import run as run_command
    from gossamer.cli.steer import Request, run_job

    request = Request(name, domains, keywords, max_pages_per_domain, depth, start=not no_auto_start)

    async def work(app: "App") -> int:
        return await run_job(app, request, processes=processes, detach=detach, as_json=as_json)

    run_command(work)


@app.command(cls=StrictCommand)
def start(job: str = JOB, processes: int | None = PROCESSES, detach: bool = DETACH, as_json: bool = JSON) -> None:
    """Start a job that was created with --no-auto-start.

    Example:

    \b
        gossamer job start 3f9a2c71
    """
    from gossamer.cli.session import run as run_command
    from gossamer.cli.steer import start_job

    run_command(lambda app: start_job(app, job, processes=processes, detach=detach, as_json=as_json))


@app.command(cls=StrictCommand)
def resume(
    job: str | None = typer.Argument(None, help="The job's id.", metavar="ID", show_default=False),
    everything: bool = typer.Option(False, "--all", help="Go on with every job that should be running."),
    processes: int | None = PROCESSES,
    detach: bool = DETACH,
    as_json: bool = JSON,
) -> None:
    """Go on with a paused, stopped or cancelled job, exactly where it was.

    Examples:

    \b
        gossamer job resume 3f9a2c71

        gossamer job resume --all --detach
    """
    from gossamer.cli.session import run as run_command
    from gossamer.cli.steer import resume_all, resume_job
    from gossamer.errors import UserError

    if (job is None) != everything:
        raise UserError("usage", "Give one job id, or --all.", hint="See 'gossamer job list' for the ids.")

    async def work(app: "App") -> int:
        if job is None:
            return await resume_all(app, processes=processes, detach=detach, as_json=as_json)
        return await resume_job(app, job, processes=processes, detach=detach, as_json=as_json)

    run_command(work)


@app.command(cls=StrictCommand)
def pause(job: str = JOB, as_json: bool = JSON) -> None:
    """Pause a job: requests in flight finish, nothing is lost.

    Example:

    \b
        gossamer job pause 3f9a2c71
    """
    from gossamer.cli.session import run as run_command
    from gossamer.cli.steer import pause_job

    run_command(lambda app: pause_job(app, job, as_json=as_json))


@app.command(cls=StrictCommand)
def cancel(job: str = JOB, as_json: bool = JSON) -> None:
    """Cancel a job. Its results so far are kept, and it can still be resumed.

    Example:

    \b
        gossamer job cancel 3f9a2c71
    """
    from gossamer.cli.session import run as run_command
    from gossamer.cli.steer import cancel_job

    run_command(lambda app: cancel_job(app, job, as_json=as_json))


@app.command(cls=StrictCommand)
def status(job: str = JOB, as_json: bool = JSON) -> None:
    """How far a job is, how fast, and when it will be done.

    Example:

    \b
        gossamer job status 3f9a2c71
    """
    from gossamer.cli.look import show_status
    from gossamer.cli.session import run as run_command

    run_command(lambda app: show_status(app, job, as_json=as_json))


@app.command("list", cls=StrictCommand)
def list_jobs(
    include_archived: bool = typer.Option(False, "--include-archived", help="Also those whose results are deleted."),
    limit: int = typer.Option(50, min=1, max=10_000, help="Newest first, at most this many."),
    as_json: bool = JSON,
) -> None:
    """All jobs, newest first.

    Example:

    \b
        gossamer job list
    """
    from gossamer.cli.look import show_list
    from gossamer.cli.session import run as run_command

    run_command(lambda app: show_list(app, limit, archived=include_archived, as_json=as_json))


@app.command(cls=StrictCommand)
def results(
    job: str = JOB,
    limit: int = typer.Option(20, min=1, max=10_000, help="Rows shown at most."),
    as_json: bool = JSON,
) -> None:
    """The first rows of a job's results, while it runs too.

    Example:

    \b
        gossamer job results 3f9a2c71 --limit 50
    """
    from gossamer.cli.look import show_results
    from gossamer.cli.session import run as run_command

    run_command(lambda app: show_results(app, job, limit, as_json=as_json))


@app.command(cls=StrictCommand)
def export(
    job: str = JOB,
    form: str = typer.Option("csv", "--format", help="csv or json.", metavar="csv|json"),
    output: Path = typer.Option(
        ..., "--output", help="The file to write; '-' for standard output.", show_default=False
    ),
    as_json: bool = JSON,
) -> None:
    """Write a job's results to a file; what there is so far, if it still runs.

    Example:

    \b
        gossamer job export 3f9a2c71 --format csv --output results.csv
    """
    from gossamer.cli.look import export_results
    from gossamer.cli.session import run as run_command

    run_command(lambda app: export_results(app, job, form, output, as_json=as_json))
