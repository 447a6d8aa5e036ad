"""`gossamer job`: run, watch and steer jobs. What a command needs is loaded when it runs."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from gossamer.cli import audit, exports, history, retention, retry, views, watch
from gossamer.cli.command_help import StrictCommand, command_group
from gossamer.cli.limits import (
    DOMAIN,
    DOMAINS,
    EXCLUDE_DOMAINS,
    LADDER,
    MAX_CREDITS,
    MAX_MB,
    MAX_PAGES,
    MAX_RESIDENTIAL_MB,
    MAX_USD,
    MODE,
    PROBE,
    SKIP_INVALID,
    TOP_PAGES,
    YES,
)
from gossamer.cli.views import DETACH, JOB, JSON, PROCESSES
from gossamer.model.priority import Priority

if TYPE_CHECKING:
    from gossamer.cli.home import Home

NO_WAIT = typer.Option(False, "--no-wait", help="Do not wait until requests in flight have finished.")

app = command_group(help="Run, watch and steer jobs.", no_args_is_help=True)


@app.command(cls=StrictCommand)
def run(
    name: str = typer.Option(..., "--name", help="What you call it.", show_default=False),
    domains: Path | None = DOMAINS,
    domain: list[str] | None = DOMAIN,
    keywords: Path | None = typer.Option(
        None,
        "--keywords",
        metavar="FILE",
        help="TXT, one word or phrase per line, CSV or an Excel workbook; '-' reads standard input.",
        show_default=False,
    ),
    keyword: list[str] | None = typer.Option(
        None,
        "--keyword",
        metavar="WORD",
        help="A word or phrase, or several separated by commas (double quotes keep one together). May be repeated.",
        show_default=False,
    ),
    skip_invalid: bool = SKIP_INVALID,
    case_sensitive: bool = typer.Option(False, "--case-sensitive", help="Capitals count: IT is not it."),
    plurals: bool = typer.Option(
        False, "--plurals", help="Plurals of a keyword count as it (English): 'lamp' is found in 'lamps'."
    ),
    snippet: int | None = typer.Option(
        None,
        "--snippet",
        metavar="N",
        min=0,
        max=150,
        help="Characters shown before and after a mention, at most. 150 if not given.",
        show_default=False,
    ),
    client_domain: list[str] | None = typer.Option(
        None, "--client-domain", metavar="DOMAIN", help="Whose links to look for. May be given several times."
    ),
    competitor_domain: list[str] | None = typer.Option(
        None, "--competitor-domain", metavar="DOMAIN", help="A rival of the client. May be given several times."
    ),
    exclude_domains: Path | None = EXCLUDE_DOMAINS,
    max_pages_per_domain: int = MAX_PAGES,
    top_pages: int = TOP_PAGES,
    depth: int = typer.Option(50, min=0, max=1000, help="Links followed from the homepage at most."),
    include: list[str] | None = typer.Option(
        None,
        "--include",
        metavar="PATTERN",
        help="Read only such pages, like '/blog/*', and the homepage, which always is. May be given several times.",
    ),
    exclude: list[str] | None = typer.Option(
        None, "--exclude", metavar="PATTERN", help="Read no such pages, like '*/tag/*'. May be given several times."
    ),
    mode: str | None = MODE,
    ladder: str | None = LADDER,
    priority: Priority = typer.Option(
        Priority.NORMAL, metavar="high|normal|low", help="Its share beside other jobs: 4 to 2 to 1."
    ),
    max_concurrency: int | None = typer.Option(
        None, "--max-concurrency", min=1, help="Sites of this job walked at a time, and so requests in flight, at most."
    ),
    max_credits: int | None = MAX_CREDITS,
    max_usd: float | None = MAX_USD,
    max_mb: int | None = MAX_MB,
    max_residential_mb: int | None = MAX_RESIDENTIAL_MB,
    probe: int | None = PROBE,
    yes: bool = YES,
    processes: int | None = PROCESSES,
    no_auto_start: bool = typer.Option(False, "--no-auto-start", help="Only create it; 'job start' starts it."),
    idempotency_key: str | None = typer.Option(
        None, "--idempotency-key", metavar="KEY", help="The same request under the same key is the same job."
    ),
    detach: bool = DETACH,
    as_json: bool = JSON,
) -> None:
    """Find the pages of many domains that mention your keywords, and whether they link to your client.

    Examples:

    \b
        gossamer job run --name "Acme Q1" --domains domains.csv --keywords keywords.txt
        gossamer job run --name "Acme Q1" --domains domains.csv --keywords keywords.txt --client-domain acme.com
        gossamer job run --name "A look" --domain example.com --keyword CRM --keyword "sales pipeline"

    Where it may cost something, an estimate is shown first. Ctrl-C pauses; 'gossamer job resume ID' goes on exactly
    there.
    """
    from gossamer.cli.lists import Lists
    from gossamer.cli.session import run as run_command
    from gossamer.cli.steer import Request, run_job
    from gossamer.intake.limits import cap_of

    params = {
        "client_domains": client_domain or [],
        "competitor_domains": competitor_domain or [],
        "max_pages_per_domain": max_pages_per_domain,
        "top_pages": top_pages,
        "depth": depth,
        "include": include or [],
        "exclude": exclude or [],
        # Only what somebody has said: a server of an earlier version knows none of these.
        **({"case_sensitive": True} if case_sensitive else {}),
        **({"plurals": True} if plurals else {}),
        **({} if snippet is None else {"snippet": snippet}),
    }
    request = Request(
        name,
        Lists(
            domains,
            domain or (),
            exclude_domains,
            keywords,
            keyword or (),
            skip_invalid,
            case_sensitive=case_sensitive,
            plurals=plurals,
        ),
        params,
        start=not no_auto_start,
        submit_key=idempotency_key,
        priority=priority,
        at_once=max_concurrency,
        cap=cap_of(max_credits, max_usd, max_mb, max_residential_mb),
        mode=mode,
        ladder=ladder,
        probe=probe,
        yes=yes,
    )

    async def work(home: "Home") -> int:
        return await run_job(home, request, processes=processes, detach=detach, as_json=as_json)

    run_command(work)


@app.command(cls=StrictCommand)
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
    """What a job would cost, by jobs like it and by what is known of its domains. No job is made.

    Examples:

    \b
        gossamer job estimate --domains domains.csv

        gossamer job estimate --domains domains.csv --mode premium-only

        gossamer job estimate --domains domains.csv --probe 50
    """
    from gossamer.cli.estimates import show_estimate
    from gossamer.cli.lists import Lists
    from gossamer.cli.session import run as run_command
    from gossamer.intake.ladders import choose_ladder
    from gossamer.intake.limits import cap_of
    from gossamer.questions.submitting import house_rules

    limits = {"max_pages_per_domain": max_pages_per_domain, "top_pages": top_pages}
    cap = cap_of(max_credits, max_usd, None, None)
    lists = Lists(domains, domain or (), exclude_domains, skip_invalid=skip_invalid)

    async def work(home: "Home") -> int:
        params = {**limits, **choose_ladder(mode, ladder, (await home.ask(house_rules)).rungs)}
        return await show_estimate(home, params, lists, cap, probe, as_json=as_json)

    run_command(work)


@app.command(cls=StrictCommand)
def start(
    job: str = JOB, yes: bool = YES, processes: int | None = PROCESSES, detach: bool = DETACH, as_json: bool = JSON
) -> None:
    """Start a job that was created with --no-auto-start.

    Example:

    \b
        gossamer job start 3f9a2c71
    """
    from gossamer.cli.session import run as run_command
    from gossamer.cli.steer import start_job

    run_command(lambda home: start_job(home, job, processes=processes, detach=detach, as_json=as_json, yes=yes))


@app.command(cls=StrictCommand)
def rerun(
    job: str = JOB,
    name: str = typer.Option(
        "", "--name", help="Its name (default: the job's name with the next number).", show_default=False
    ),
    yes: bool = YES,
    processes: int | None = PROCESSES,
    no_auto_start: bool = typer.Option(False, "--no-auto-start", help="Only create it; 'job start' starts it."),
    detach: bool = DETACH,
    as_json: bool = JSON,
) -> None:
    """Run a job once more: a new job with the same domains or pages, options and limits.

    Examples:

    \b
        gossamer job rerun 3f9a2c71

        gossamer job rerun "Acme Q1" --name "Acme Q2"
    """
    from gossamer.cli.session import run as run_command
    from gossamer.cli.steer import rerun_job

    async def work(home: "Home") -> int:
        return await rerun_job(
            home,
            job,
            name,
            start=not no_auto_start,
            processes=processes,
            detach=detach,
            as_json=as_json,
            yes=yes,
        )

    run_command(work)


@app.command(cls=StrictCommand)
def rename(
    job: str = JOB,
    name: str = typer.Argument(help="Its new name.", metavar="NAME", show_default=False),
    as_json: bool = JSON,
) -> None:
    """Give a job another name.

    Example:

    \b
        gossamer job rename 3f9a2c71 "Acme Q1, second round"
    """
    from gossamer.cli.session import run as run_command
    from gossamer.cli.steer import rename_job

    run_command(lambda home: rename_job(home, job, name, as_json=as_json))


@app.command(cls=StrictCommand)
def resume(
    job: str | None = typer.Argument(None, help="The job's id, its name, or 'last'.", metavar="ID", show_default=False),
    everything: bool = typer.Option(False, "--all", help="Go on with every job that should be running."),
    max_credits: int | None = MAX_CREDITS,
    max_usd: float | None = MAX_USD,
    max_mb: int | None = MAX_MB,
    max_residential_mb: int | None = MAX_RESIDENTIAL_MB,
    processes: int | None = PROCESSES,
    detach: bool = DETACH,
    as_json: bool = JSON,
) -> None:
    """Go on with a paused, stopped or cancelled job, exactly where it was.

    Examples:

    \b
        gossamer job resume 3f9a2c71

        gossamer job resume 3f9a2c71 --max-credits 10000

        gossamer job resume --all --detach
    """
    from gossamer.cli.session import run as run_command
    from gossamer.cli.steer import resume_all, resume_job
    from gossamer.errors import UserError
    from gossamer.intake.limits import cap_of
    from gossamer.model.money import Cap

    cap = cap_of(max_credits, max_usd, max_mb, max_residential_mb)
    if (job is None) != everything:
        raise UserError("usage", "Give one job id, or --all.", hint="See 'gossamer job list' for the ids.")
    if everything and cap != Cap():
        raise UserError("usage", "Limits are those of one job.", hint="Give its id instead of --all.")

    async def work(home: "Home") -> int:
        if job is None:
            return await resume_all(home, processes=processes, detach=detach, as_json=as_json)
        return await resume_job(home, job, cap, processes=processes, detach=detach, as_json=as_json)

    run_command(work)


@app.command(cls=StrictCommand)
def pause(job: str = JOB, no_wait: bool = NO_WAIT, as_json: bool = JSON) -> None:
    """Pause a job: requests in flight finish, nothing is lost.

    Examples:

    \b
        gossamer job pause 3f9a2c71

        gossamer job pause 3f9a2c71 --no-wait
    """
    from gossamer.cli.session import run as run_command
    from gossamer.cli.steer import pause_job

    run_command(lambda home: pause_job(home, job, wait=not no_wait, as_json=as_json))


@app.command(cls=StrictCommand)
def cancel(job: str = JOB, no_wait: bool = NO_WAIT, as_json: bool = JSON) -> None:
    """Cancel a job: requests in flight finish. Its results so far are kept, and it can still be resumed.

    Examples:

    \b
        gossamer job cancel 3f9a2c71

        gossamer job cancel 3f9a2c71 --no-wait
    """
    from gossamer.cli.session import run as run_command
    from gossamer.cli.steer import cancel_job

    run_command(lambda home: cancel_job(home, job, wait=not no_wait, as_json=as_json))


for more in (views.app, exports.app, watch.app, history.app, audit.app, retry.app, retention.app):
    app.add_typer(more)
