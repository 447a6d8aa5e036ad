"""`gossamer job` and `explain`: inspect jobs and their results."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from gossamer.cli.command import Declaration, command, with_parameters
from gossamer.cli.group import lazy_module
from gossamer.cli.options import CLIENT, FORMAT_CHOICES, JOB, JSON, TITLE, WITHOUT_COSTS
from gossamer.errors import UserError
from gossamer.recipes.registry import RECIPES, all_conditions

if TYPE_CHECKING:
    from gossamer.cli import export, history, job_audit, job_results, job_show, job_summary, runtime, spending
    from gossamer.questions import found
else:
    found = lazy_module("gossamer.questions.found")
    export = lazy_module("gossamer.cli.export")
    history = lazy_module("gossamer.cli.history")
    job_audit = lazy_module("gossamer.cli.job_audit")
    job_results = lazy_module("gossamer.cli.job_results")
    job_show = lazy_module("gossamer.cli.job_show")
    job_summary = lazy_module("gossamer.cli.job_summary")
    runtime = lazy_module("gossamer.cli.runtime")
    spending = lazy_module("gossamer.cli.spending")


@command("explain")
def explain(
    url: str = typer.Argument(help="The address, with or without https:// and www.", metavar="URL"),
    job: str = typer.Option(
        "",
        "--job",
        help="The job's id, its name, or 'last' (default: the newest job that knows the address).",
        metavar="ID",
    ),
    as_json: bool = JSON,
) -> None:
    """Explain what a job did about one address: where it was found, robots.txt, every try, the outcome.

    Examples:

        gossamer explain https://shop.example/about

        gossamer explain shop.example/about --job 3f9a2c71 --json
    """
    runtime.run(lambda home: history.show_explanation(home, url, job, as_json=as_json))


@command("job list")
def list_jobs(
    include_archived: bool = typer.Option(False, "--include-archived", help="Include jobs whose results are deleted."),
    recipe: str = typer.Option("", "--recipe", help="Only jobs of this recipe.", metavar="|".join(RECIPES)),
    state: str = typer.Option(
        "", "--state", help="Only jobs in this state, such as running or paused.", metavar="STATE"
    ),
    name: str = typer.Option("", "--name", help="Only jobs whose name contains this.", metavar="TEXT"),
    limit: int = typer.Option(50, min=1, max=10_000, help="Newest first, at most this many."),
    as_json: bool = JSON,
) -> None:
    """List all jobs, newest first. Scrapes of a single page are listed only with --recipe, --state or --name.

    Examples:

        gossamer job list

        gossamer job list --recipe scrape --state failed
    """
    runtime.run(
        lambda home: job_show.show_list(
            home, limit, archived=include_archived, recipe=recipe, state=state, name=name, as_json=as_json
        )
    )


@command("job status")
def status(job: str = JOB, as_json: bool = JSON) -> None:
    """Show a job's progress, speed and costs, and when it will be done.

    Example:

        gossamer job status 3f9a2c71
    """
    runtime.run(lambda home: job_show.show_status(home, job, as_json=as_json))


@command("job watch")
def job_watch(
    job: str = JOB,
    as_json: bool = typer.Option(False, "--json", help="Print a line of JSON for each change, for scripts."),
) -> None:
    """Watch a job that runs in another terminal or in the background, without running it.

    Ctrl-C closes this view; the job keeps running.

    Example:

        gossamer job watch 3f9a2c71
    """
    runtime.run(lambda home: job_show.watch_job(home, job, as_json=as_json))


@command("job sites")
def list_sites(
    job: str = JOB,
    state: str = typer.Option("", "--state", help="Only those in this state.", metavar="done|partial|failed|open"),
    limit: int = typer.Option(50, min=1, max=50_000, help="Most domains to show."),
    as_json: bool = JSON,
) -> None:
    """List a job's domains: pages read, size, and why each ended as it did.

    Examples:

        gossamer job sites 3f9a2c71

        gossamer job sites 3f9a2c71 --state failed --limit 1000
    """
    runtime.run(lambda home: job_show.show_sites(home, job, state, limit, as_json=as_json))


@command("job pages")
def list_pages(
    job: str = JOB,
    state: str = typer.Option("", "--state", help="Only those in this state.", metavar="done|failed|skipped|pending"),
    site: str = typer.Option("", "--site", help="Only those of this domain.", metavar="HOST"),
    limit: int = typer.Option(50, min=1, max=1_000_000, help="Most pages to show."),
    as_json: bool = JSON,
) -> None:
    """List a job's pages by domain: how each ended, why, and after how many tries.

    Examples:

        gossamer job pages 3f9a2c71 --state failed

        gossamer job pages 3f9a2c71 --site shop.example --limit 1000
    """
    runtime.run(lambda home: job_show.show_pages(home, job, state, site, limit, as_json=as_json))


def _results() -> Callable[..., None]:
    """Declare `job results`, with an option for each filter of a recipe."""
    conditional: dict[str, tuple[Any, Any]] = {}
    for one in all_conditions():
        conditional[one.column] = (
            str,
            typer.Option("", f"--{one.column}", help=one.help, metavar=one.metavar),
        )
    switches = {one.switch[0]: one for one in all_conditions() if one.switch}
    for flag, one in switches.items():
        conditional[_name_of(flag)] = (bool, typer.Option(False, flag, help=one.switch[2] if one.switch else ""))

    def results(*, job: str, domain: str, limit: int, page: int, as_json: bool, **typed: Any) -> None:
        values = {one.column: typed[one.column] for one in all_conditions()}
        switched = tuple(one.column for flag, one in switches.items() if typed[_name_of(flag)])
        wanted = found.Conditions(domain, values, switched)
        runtime.run(lambda home: job_results.show_results(home, job, wanted, page, limit, as_json=as_json))

    return with_parameters(
        results,
        """List a job's results page by page, also while it runs.

        Sorted by domain, page and keyword. Rows with a flag, such as 'only in menus', come last.

        Examples:

            gossamer job results 3f9a2c71 --limit 50 --page 2

            gossamer job results 3f9a2c71 --keyword "crm software" --verdict unlinked
        """,
        {
            "job": (str, JOB),
            "domain": (
                str,
                typer.Option(
                    "", "--domain", help="Only results of this domain, including its subdomains.", metavar="DOMAIN"
                ),
            ),
            **conditional,
            "limit": (int, typer.Option(20, "--limit", min=1, max=10_000, help="Rows on a page.")),
            "page": (int, typer.Option(1, "--page", min=1, help="Page to show.")),
            "as_json": (bool, JSON),
        },
    )


def _name_of(flag: str) -> str:
    return flag.lstrip("-").replace("-", "_")


results = Declaration("job results", _results())


@command("job summary")
def summary(
    job: str = JOB,
    html: Path | None = typer.Option(
        None, "--html", help="Write an HTML report with plots to this file.", metavar="FILE"
    ),
    since_job: str = typer.Option(
        "", "--since-job", help="Mark prospects that this earlier job did not have.", metavar="ID"
    ),
    exclude_domains: Path | None = typer.Option(
        None, "--exclude-domains", help="Domains to leave out, in the same forms as for 'job run'."
    ),
    without_costs: bool = WITHOUT_COSTS,
    title: str = TITLE,
    client: str = CLIENT,
    as_json: bool = JSON,
) -> None:
    """Summarize a job on one screen: counts, the best prospects, why domains failed, costs, politeness.

    Examples:

        gossamer job summary 3f9a2c71

        gossamer job summary 3f9a2c71 --html report.html
    """
    title, client = export.single_line("--title", title), export.single_line("--client", client)
    if (title or client) and html is None:
        raise UserError("usage", "--title and --client are about the page of --html.", hint="Give --html FILE as well.")

    runtime.run(
        lambda home: job_summary.show_summary(
            home,
            job,
            html,
            since_job,
            exclude_domains,
            as_json=as_json,
            with_costs=not without_costs,
            title=title,
            client=client,
        )
    )


@command("job errors")
def errors(
    job: str = JOB,
    limit: int = typer.Option(50, min=1, max=50_000, help="Most domains to show."),
    form: str | None = typer.Option(
        None, "--format", help="Write all rows in this format instead.", metavar=FORMAT_CHOICES
    ),
    output: Path | None = typer.Option(None, "--output", help="File to write; '-' for standard output (default)."),
    by_hand: bool = typer.Option(False, "--by-hand", help="Only domains that need a login or a CAPTCHA."),
    as_json: bool = JSON,
) -> None:
    """List the domains of a job that failed, and why.

    Examples:

        gossamer job errors 3f9a2c71

        gossamer job errors 3f9a2c71 --format csv --output failed.csv

        gossamer job errors 3f9a2c71 --by-hand --output by_hand.csv
    """
    runtime.run(lambda home: job_results.show_errors(home, job, limit, form, output, by_hand=by_hand, as_json=as_json))


@command("job history")
def job_history(
    job: str = JOB,
    site: str = typer.Option("", "--site", metavar="HOST", help="Only events of this domain."),
    limit: int = typer.Option(50, min=1, max=1_000_000, help="Most events of domains to show, the last ones."),
    as_json: bool = JSON,
) -> None:
    """List what happened to a job and its domains: when, by whom and why.

    Shows all events of the job itself and the last events of its domains, oldest first.

    Examples:

        gossamer job history 3f9a2c71

        gossamer job history 3f9a2c71 --site shop.example --limit 1000
    """
    runtime.run(lambda home: history.show_history(home, job, site, limit, as_json=as_json))


@command("job cost-report")
def cost_report(
    job: str = JOB,
    limit: int = typer.Option(50, min=1, max=50_000, help="Most domains to show."),
    form: str | None = typer.Option(
        None, "--format", help="Write all rows in this format instead.", metavar=FORMAT_CHOICES
    ),
    output: Path | None = typer.Option(None, "--output", help="File to write; '-' for standard output (default)."),
    as_json: bool = JSON,
) -> None:
    """Show what each domain of a job has cost, and through which requests.

    A table on a terminal; CSV of all domains with --format csv, or when the output goes to a file or another program.

    Examples:

        gossamer job cost-report 3f9a2c71

        gossamer job cost-report 3f9a2c71 --output cost_report.csv
    """
    runtime.run(lambda home: spending.show_cost_report(home, job, limit, form, output, as_json=as_json))


@command("job politeness")
def politeness(
    job: str = JOB,
    limit: int = typer.Option(20, min=1, max=50_000, help="Most domains to show."),
    as_json: bool = JSON,
) -> None:
    """Check that a job was polite, from its stored requests: gaps, Crawl-delay, robots.txt.

    Ends with exit code 1 if two requests to a domain were too close, or a disallowed address was requested.

    Example:

        gossamer job politeness 3f9a2c71
    """
    runtime.run(lambda home: job_audit.show_politeness(home, job, limit, as_json=as_json))


@command("job audit")
def audit(job: str = JOB, as_json: bool = JSON) -> None:
    """Check that a job is complete: every page, domain and record is accounted for, without duplicates.

    Ends with exit code 1 if a check fails. The job may be running.

    Example:

        gossamer job audit 3f9a2c71
    """
    runtime.run(lambda home: job_audit.show_audit(home, job, as_json=as_json))
