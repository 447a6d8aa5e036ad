"""The half of `gossamer job` that only looks."""

from pathlib import Path

import typer

from gossamer.cli.command_help import StrictCommand, command_group

app = command_group()

JSON = typer.Option(False, "--json", help="Answer in JSON, for scripts.")
DETACH = typer.Option(False, "--detach", help="Work in the background and return at once.")
PROCESSES = typer.Option(None, "--processes", min=1, max=64, help="Working processes (default: one per core).")
JOB = typer.Argument(help="The job's id or 4 characters of it, its name, or 'last'.", metavar="ID", show_default=False)
WITHOUT_COSTS = typer.Option(False, "--without-costs", help="Say nothing of what the job has cost.")
TITLE = typer.Option(
    "",
    "--title",
    help="Title of the workbook or report, instead of the job's name.",
    metavar="TEXT",
    show_default=False,
)
CLIENT = typer.Option(
    "", "--client", help="The client's name in the workbook or report.", metavar="NAME", show_default=False
)
UNLINKED_ONLY = typer.Option(False, "--unlinked-only", help="Only mentions for which nobody is linked.")


@app.command(cls=StrictCommand)
def status(job: str = JOB, as_json: bool = JSON) -> None:
    """How far a job is, how fast, and when it will be done.

    Example:

    \b
        gossamer job status 3f9a2c71
    """
    from gossamer.cli.session import run as run_command
    from gossamer.cli.status import show_status

    run_command(lambda home: show_status(home, job, as_json=as_json))


@app.command("list", cls=StrictCommand)
def list_jobs(
    include_archived: bool = typer.Option(False, "--include-archived", help="Also those whose results are deleted."),
    recipe: str = typer.Option(
        "", "--recipe", help="Only jobs of this recipe.", metavar="prospect|scrape", show_default=False
    ),
    state: str = typer.Option(
        "", "--state", help="Only jobs in this state, such as running or paused.", metavar="STATE", show_default=False
    ),
    name: str = typer.Option(
        "", "--name", help="Only jobs with this in their name.", metavar="TEXT", show_default=False
    ),
    limit: int = typer.Option(50, min=1, max=10_000, help="Newest first, at most this many."),
    as_json: bool = JSON,
) -> None:
    """All jobs, newest first. Scrapes of a single page are listed with --recipe, --state or --name only.

    Examples:

    \b
        gossamer job list

        gossamer job list --recipe scrape --state failed
    """
    from gossamer.cli.look import show_list
    from gossamer.cli.session import run as run_command

    run_command(
        lambda home: show_list(
            home, limit, archived=include_archived, recipe=recipe, state=state, name=name, as_json=as_json
        )
    )


@app.command("sites", cls=StrictCommand)
def list_sites(
    job: str = JOB,
    state: str = typer.Option(
        "", "--state", help="Only those in this state.", metavar="done|partial|failed|open", show_default=False
    ),
    limit: int = typer.Option(50, min=1, max=50_000, help="Domains shown at most."),
    as_json: bool = JSON,
) -> None:
    """A job's domains: pages read, size, and why each ended as it did.

    Examples:

    \b
        gossamer job sites 3f9a2c71

        gossamer job sites 3f9a2c71 --state failed --limit 1000
    """
    from gossamer.cli.look import show_sites
    from gossamer.cli.session import run as run_command

    run_command(lambda home: show_sites(home, job, state, limit, as_json=as_json))


@app.command("pages", cls=StrictCommand)
def list_pages(
    job: str = JOB,
    state: str = typer.Option(
        "", "--state", help="Only those in this state.", metavar="done|failed|skipped|pending", show_default=False
    ),
    site: str = typer.Option("", "--site", help="Only those of this domain.", metavar="HOST", show_default=False),
    limit: int = typer.Option(50, min=1, max=1_000_000, help="Pages shown at most."),
    as_json: bool = JSON,
) -> None:
    """A job's pages, domain by domain: how each ended, why, and after how many tries.

    Examples:

    \b
        gossamer job pages 3f9a2c71 --state failed

        gossamer job pages 3f9a2c71 --site shop.example --limit 1000
    """
    from gossamer.cli.page_list import show_pages
    from gossamer.cli.session import run as run_command

    run_command(lambda home: show_pages(home, job, state, site, limit, as_json=as_json))


@app.command(cls=StrictCommand)
def results(
    job: str = JOB,
    domain: str = typer.Option(
        "", "--domain", help="Only those of this domain, its subdomains included.", metavar="DOMAIN", show_default=False
    ),
    keyword: str = typer.Option(
        "", "--keyword", help="Only those of this keyword.", metavar="KEYWORD", show_default=False
    ),
    verdict: str = typer.Option(
        "",
        "--verdict",
        help="Only those with this verdict.",
        metavar="unlinked|links-elsewhere|nofollow|linked|own-site",
        show_default=False,
    ),
    unlinked_only: bool = UNLINKED_ONLY,
    limit: int = typer.Option(20, min=1, max=10_000, help="Rows of a page."),
    page: int = typer.Option(1, "--page", min=1, help="Which page of them."),
    as_json: bool = JSON,
) -> None:
    """A job's results, a page at a time, while it runs too.

    By domain, page and keyword. Rows with a flag, such as 'only in menus', come after all others.

    Examples:

    \b
        gossamer job results 3f9a2c71 --limit 50 --page 2

        gossamer job results 3f9a2c71 --keyword "crm software" --verdict unlinked
    """
    from gossamer.cli.results import show_results
    from gossamer.cli.session import run as run_command
    from gossamer.questions.conditions import Conditions

    conditions = Conditions(domain, keyword, verdict, unlinked_only)
    run_command(lambda home: show_results(home, job, conditions, page, limit, as_json=as_json))


@app.command(cls=StrictCommand)
def summary(
    job: str = JOB,
    html: Path | None = typer.Option(
        None, "--html", help="Write it as a page that can be sent, with plots.", metavar="FILE", show_default=False
    ),
    since_job: str = typer.Option(
        "", "--since-job", help="Say which prospects this earlier job did not have.", metavar="ID", show_default=False
    ),
    exclude_domains: Path | None = typer.Option(
        None, "--exclude-domains", help="Domains to leave out, in the same forms as for 'job run'.", show_default=False
    ),
    without_costs: bool = WITHOUT_COSTS,
    title: str = TITLE,
    client: str = CLIENT,
    as_json: bool = JSON,
) -> None:
    """A whole job on one screen: counts, the best prospects, why domains failed, costs, politeness.

    Examples:

    \b
        gossamer job summary 3f9a2c71

        gossamer job summary 3f9a2c71 --html report.html
    """
    from gossamer.cli.export_files import a_line
    from gossamer.cli.session import run as run_command
    from gossamer.cli.summary import show_summary
    from gossamer.errors import UserError

    named = a_line("--title", title), a_line("--client", client)
    if any(named) and html is None:
        raise UserError("usage", "--title and --client are about the page of --html.", hint="Give --html FILE as well.")

    run_command(
        lambda home: show_summary(
            home, job, html, since_job, exclude_domains, as_json=as_json, with_costs=not without_costs, named=named
        )
    )


@app.command(cls=StrictCommand)
def politeness(
    job: str = JOB,
    limit: int = typer.Option(20, min=1, max=50_000, help="Domains shown at most."),
    as_json: bool = JSON,
) -> None:
    """Prove from the rows that a job was polite: gaps, Crawl-delay, robots.txt.

    Ends with exit code 1 if two requests to a domain were too close, or a disallowed address was requested.

    Example:

    \b
        gossamer job politeness 3f9a2c71
    """
    from gossamer.cli.politeness import show_politeness
    from gossamer.cli.session import run as run_command

    run_command(lambda home: show_politeness(home, job, limit, as_json=as_json))
