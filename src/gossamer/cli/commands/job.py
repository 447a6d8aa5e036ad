"""`gossamer job`: start jobs, control them, remove what they found."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from gossamer.cli.command import command
from gossamer.cli.group import lazy_module
from gossamer.cli.options import (
    DELETE_YES,
    DETACH,
    DOMAIN,
    DOMAINS,
    EXCLUDE_DOMAINS,
    JOB,
    JSON,
    LADDER,
    MAX_CREDITS,
    MAX_MB,
    MAX_PAGES,
    MAX_RESIDENTIAL_MB,
    MAX_USD,
    MODE,
    NO_AUTO_START,
    NO_WAIT,
    PROBE,
    PROCESSES,
    SKIP_INVALID,
    START_YES,
    TOP_PAGES,
)
from gossamer.errors import UserError
from gossamer.model.money import Cap

if TYPE_CHECKING:
    from gossamer.cli import job_control, job_run, retention, runtime
    from gossamer.cli.home import Home
    from gossamer.intake import limits
else:
    job_control = lazy_module("gossamer.cli.job_control")
    job_run = lazy_module("gossamer.cli.job_run")
    limits = lazy_module("gossamer.intake.limits")
    retention = lazy_module("gossamer.cli.retention")
    runtime = lazy_module("gossamer.cli.runtime")


@command("job estimate")
def estimate(
    domains: Path | None = DOMAINS,
    domain: list[str] | None = DOMAIN,
    skip_invalid: bool = SKIP_INVALID,
    exclude_domains: Path | None = EXCLUDE_DOMAINS,
    max_pages_per_domain: int = MAX_PAGES,
    top_pages: int = TOP_PAGES,
    mode: str | None = MODE,
    ladder: str | None = LADDER,
    max_credits: int | None = MAX_CREDITS,
    max_usd: float | None = MAX_USD,
    probe: int | None = PROBE,
    as_json: bool = JSON,
) -> None:
    """Estimate the cost of a job from similar jobs and what is known about its domains. Creates no job.

    Examples:

        gossamer job estimate --domains domains.csv

        gossamer job estimate --domains domains.csv --mode premium-only

        gossamer job estimate --domains domains.csv --probe 50
    """
    params = {"max_pages_per_domain": max_pages_per_domain, "top_pages": top_pages}
    cap = limits.cap_of(max_credits, max_usd, None, None)
    lists = job_run.InputLists(domains, domain or (), exclude_domains, skip_invalid=skip_invalid)
    runtime.run(lambda home: job_run.show_estimate(home, params, lists, cap, probe, mode, ladder, as_json=as_json))


@command("job start")
def start(
    job: str = JOB,
    yes: bool = START_YES,
    processes: int | None = PROCESSES,
    detach: bool = DETACH,
    as_json: bool = JSON,
) -> None:
    """Start a job that was created with --no-auto-start.

    Example:

        gossamer job start 3f9a2c71
    """
    runtime.run(
        lambda home: job_control.start_job(home, job, processes=processes, detach=detach, as_json=as_json, yes=yes)
    )


@command("job pause")
def pause(job: str = JOB, no_wait: bool = NO_WAIT, as_json: bool = JSON) -> None:
    """Pause a job: requests in flight finish, nothing is lost.

    Examples:

        gossamer job pause 3f9a2c71

        gossamer job pause 3f9a2c71 --no-wait
    """
    runtime.run(lambda home: job_control.pause_job(home, job, wait=not no_wait, as_json=as_json))


@command("job resume")
def resume(
    job: str | None = typer.Argument(None, help="The job's id, its name, or 'last'.", metavar="ID"),
    everything: bool = typer.Option(False, "--all", help="Resume every job that should be running."),
    max_credits: int | None = MAX_CREDITS,
    max_usd: float | None = MAX_USD,
    max_mb: int | None = MAX_MB,
    max_residential_mb: int | None = MAX_RESIDENTIAL_MB,
    processes: int | None = PROCESSES,
    detach: bool = DETACH,
    as_json: bool = JSON,
) -> None:
    """Resume a paused, interrupted or cancelled job where it stopped.

    Examples:

        gossamer job resume 3f9a2c71

        gossamer job resume 3f9a2c71 --max-credits 10000

        gossamer job resume --all --detach
    """
    cap = limits.cap_of(max_credits, max_usd, max_mb, max_residential_mb)
    if (job is None) != everything:
        raise UserError("usage", "Give one job id, or --all.", hint="See 'gossamer job list' for the ids.")
    if everything and cap != Cap():
        raise UserError("usage", "Limits can only be set for one job.", hint="Give its id instead of --all.")

    async def work(home: "Home") -> int:
        if job is None:
            return await job_control.resume_all(home, processes=processes, detach=detach, as_json=as_json)
        return await job_control.resume_job(home, job, cap, processes=processes, detach=detach, as_json=as_json)

    runtime.run(work)


@command("job cancel")
def cancel(job: str = JOB, no_wait: bool = NO_WAIT, as_json: bool = JSON) -> None:
    """Cancel a job: requests in flight finish. Its results so far are kept, and it can still be resumed.

    Examples:

        gossamer job cancel 3f9a2c71

        gossamer job cancel 3f9a2c71 --no-wait
    """
    runtime.run(lambda home: job_control.cancel_job(home, job, wait=not no_wait, as_json=as_json))


@command("job retry-failed")
def retry_failed(
    job: str = JOB, processes: int | None = PROCESSES, detach: bool = DETACH, as_json: bool = JSON
) -> None:
    """Retry domains and pages that failed and may work now. Nothing that was read is fetched again.

    A job that was paused, cancelled or failed also continues with what was still open.

    Example:

        gossamer job retry-failed 3f9a2c71
    """
    runtime.run(lambda home: job_control.retry_job(home, job, processes=processes, detach=detach, as_json=as_json))


@command("job rerun")
def rerun(
    job: str = JOB,
    name: str = typer.Option("", "--name", help="Name of the new job (default: the job's name with the next number)."),
    yes: bool = START_YES,
    processes: int | None = PROCESSES,
    no_auto_start: bool = NO_AUTO_START,
    detach: bool = DETACH,
    as_json: bool = JSON,
) -> None:
    """Run a job again: a new job with the same domains or pages, options and limits.

    Examples:

        gossamer job rerun 3f9a2c71

        gossamer job rerun "Acme Q1" --name "Acme Q2"
    """

    async def work(home: "Home") -> int:
        return await job_control.rerun_job(
            home,
            job,
            name,
            start=not no_auto_start,
            processes=processes,
            detach=detach,
            as_json=as_json,
            yes=yes,
        )

    runtime.run(work)


@command("job rename")
def rename(
    job: str = JOB,
    name: str = typer.Argument(help="The new name.", metavar="NAME"),
    as_json: bool = JSON,
) -> None:
    """Rename a job.

    Example:

        gossamer job rename 3f9a2c71 "Acme Q1, second round"
    """
    runtime.run(lambda home: job_control.rename_job(home, job, name, as_json=as_json))


@command("job delete")
def delete(job: str = JOB, yes: bool = DELETE_YES, as_json: bool = JSON) -> None:
    """Delete everything a job has found. 'job list --include-archived' still shows the job.

    Example:

        gossamer job delete 3f9a2c71
    """
    runtime.run(lambda home: retention.delete_results(home, job, yes=yes, as_json=as_json))


@command("job forget")
def forget(
    url: str | None = typer.Option(None, "--url", metavar="URL", help="A page to forget."),
    domain: str | None = typer.Option(
        None, "--domain", metavar="DOMAIN", help="A domain to forget, including its subdomains."
    ),
    job: str | None = typer.Option(None, "--job", metavar="ID", help="Only in this job."),
    yes: bool = DELETE_YES,
    dry_run: bool = typer.Option(False, "--dry-run", help="Only show what would be removed."),
    as_json: bool = JSON,
) -> None:
    """Remove everything that jobs have stored about a page or a domain, for instance when its owner asks.

    Examples:

        gossamer job forget --url https://shop.example/about/team --dry-run

        gossamer job forget --domain shop.example --yes
    """
    if (url is None) == (domain is None):
        raise UserError("usage", "Give one --url, or one --domain.", hint="See 'gossamer job forget --help'.")
    runtime.run(
        lambda home: retention.forget_mentions(home, url, domain, job, yes=yes, dry_run=dry_run, as_json=as_json)
    )
