"""`gossamer job` and `explain`: look at jobs and their results, and make files of them."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from gossamer.cli.command import Declaration, command, with_parameters
from gossamer.cli.lazy import lazy_module
from gossamer.cli.options import CLIENT, JOB, JSON, TITLE, UNLINKED_ONLY, WITHOUT_COSTS
from gossamer.errors import UserError
from gossamer.model.export import FORMAT_NAMES
from gossamer.recipes.registry import RECIPES, all_conditions

if TYPE_CHECKING:
    from gossamer.cli import export, history, job_audit, job_results, job_show, job_summary, runtime, spending, watch
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
    watch = lazy_module("gossamer.cli.watch")

OUTPUT = typer.Option(
    None, "--output", help="Write this file at once, '-' for standard output, instead.", show_default=False
)
FORMAT_CHOICES = "|".join(FORMAT_NAMES)


@command("explain")
def explain(
    url: str = typer.Argument(help="The address, with or without https:// and www.", metavar="URL", show_default=False),
    job: str = typer.Option(
        "",
        "--job",
        help="The job's id, its name, or 'last' (default: the newest job that knows the address).",
        metavar="ID",
        show_default=False,
    ),
    as_json: bool = JSON,
) -> None:
    """Tell the story of one address in a job: where it was found, what robots.txt said, every try, what came of it.

    Examples:

    \b
        gossamer explain https://shop.example/about

        gossamer explain shop.example/about --job 3f9a2c71 --json
    """
    runtime.run(lambda home: history.show_explanation(home, url, job, as_json=as_json))


@command("job list")
def list_jobs(
    include_archived: bool = typer.Option(False, "--include-archived", help="Also those whose results are deleted."),
    recipe: str = typer.Option(
        "", "--recipe", help="Only jobs of this recipe.", metavar="|".join(RECIPES), show_default=False
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
    runtime.run(
        lambda home: job_show.show_list(
            home, limit, archived=include_archived, recipe=recipe, state=state, name=name, as_json=as_json
        )
    )


@command("job status")
def status(job: str = JOB, as_json: bool = JSON) -> None:
    """How far a job is, how fast, and when it will be done.

    Example:

    \b
        gossamer job status 3f9a2c71
    """
    runtime.run(lambda home: job_show.show_status(home, job, as_json=as_json))


@command("job watch")
def job_watch(
    job: str = JOB,
    as_json: bool = typer.Option(False, "--json", help="One line of JSON per change, for scripts."),
) -> None:
    """Watch a job that runs in another terminal or in the background, without ever working it.

    Ctrl-C leaves the display; the job goes on.

    Example:

    \b
        gossamer job watch 3f9a2c71
    """
    runtime.run(lambda home: watch.watch_job(home, job, as_json=as_json))


@command("job sites")
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
    runtime.run(lambda home: job_show.show_sites(home, job, state, limit, as_json=as_json))


@command("job pages")
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
    runtime.run(lambda home: job_show.show_pages(home, job, state, site, limit, as_json=as_json))


def _results() -> Callable[..., None]:
    """`job results`, with an option for every condition that recipes have on what they found."""
    conditional: dict[str, tuple[Any, Any]] = {}
    for one in all_conditions():
        conditional[one.column] = (
            str,
            typer.Option("", f"--{one.column}", help=one.help, metavar=one.metavar, show_default=False),
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
        """A job's results, a page at a time, while it runs too.

        By domain, page and keyword. Rows with a flag, such as 'only in menus', come after all others.

        Examples:

        \b
            gossamer job results 3f9a2c71 --limit 50 --page 2

            gossamer job results 3f9a2c71 --keyword "crm software" --verdict unlinked
        """,
        {
            "job": (str, JOB),
            "domain": (
                str,
                typer.Option(
                    "",
                    "--domain",
                    help="Only those of this domain, its subdomains included.",
                    metavar="DOMAIN",
                    show_default=False,
                ),
            ),
            **conditional,
            "limit": (int, typer.Option(20, "--limit", min=1, max=10_000, help="Rows of a page.")),
            "page": (int, typer.Option(1, "--page", min=1, help="Which page of them.")),
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
    limit: int = typer.Option(50, min=1, max=50_000, help="Domains shown at most."),
    form: str | None = typer.Option(
        None, "--format", help="Write all of them in this format instead.", metavar=FORMAT_CHOICES, show_default=False
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
    runtime.run(lambda home: job_results.show_errors(home, job, limit, form, output, by_hand=by_hand, as_json=as_json))


@command("job history")
def job_history(
    job: str = JOB,
    site: str = typer.Option(
        "", "--site", metavar="HOST", help="Only what happened to this domain.", show_default=False
    ),
    limit: int = typer.Option(50, min=1, max=1_000_000, help="The last so many events of domains and their visits."),
    as_json: bool = JSON,
) -> None:
    """What happened to a job, its domains and their visits: when, who did it and why.

    Shows all events of the job itself and the last ones of its domains, oldest first.

    Examples:

    \b
        gossamer job history 3f9a2c71

        gossamer job history 3f9a2c71 --site shop.example --limit 1000
    """
    runtime.run(lambda home: history.show_history(home, job, site, limit, as_json=as_json))


@command("job cost-report")
def cost_report(
    job: str = JOB,
    limit: int = typer.Option(50, min=1, max=50_000, help="Domains shown at most."),
    form: str | None = typer.Option(
        None, "--format", help="Write all of them in this format instead.", metavar=FORMAT_CHOICES, show_default=False
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
    runtime.run(lambda home: spending.show_cost_report(home, job, limit, form, output, as_json=as_json))


@command("job politeness")
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
    runtime.run(lambda home: job_audit.show_politeness(home, job, limit, as_json=as_json))


@command("job audit")
def audit(job: str = JOB, as_json: bool = JSON) -> None:
    """Prove from the rows that a job is whole: every page, domain and record accounted for, nothing double.

    Ends with exit code 1 if anything does not add up. The job may run meanwhile.

    Example:

    \b
        gossamer job audit 3f9a2c71
    """
    runtime.run(lambda home: job_audit.show_audit(home, job, as_json=as_json))


@command("job export")
def job_export(
    job: str = JOB,
    form: str | None = typer.Option(
        None,
        "--format",
        help="One or more, separated by commas. By the ending of --output, else csv, if not given.",
        metavar=FORMAT_CHOICES,
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
    for name, value in {"--format": form, "--columns": columns, "--filter": only, "--since-job": since_job}.items():
        if value is not None and not value.strip(" ,"):
            raise UserError("usage", f"{name} is empty.", hint="Give it a value, or leave it out.")
    if detach and (wait or output is not None):
        raise UserError(
            "usage", "--detach returns at once: it does not go with --wait or --output.", hint="Choose one."
        )
    if only and unlinked_only:
        raise UserError("usage", "--unlinked-only is --filter unlinked.", hint="Give one of them.")
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
    wait: bool = typer.Option(False, "--wait", help="Return when no file is being made any more."),
    as_json: bool = JSON,
) -> None:
    """How far the files of a job are, and where those are that are ready.

    Examples:

    \b
        gossamer job export-status 3f9a2c71

        gossamer job export-status 3f9a2c71 --wait
    """
    runtime.run(lambda home: export.show_export_status(home, job, wait=wait, as_json=as_json))


@command("job exports")
def list_exports(job: str = JOB, as_json: bool = JSON) -> None:
    """All files that were made of a job, also those that are gone.

    Example:

    \b
        gossamer job exports 3f9a2c71
    """
    runtime.run(lambda home: export.list_files(home, job, as_json=as_json))


@command("job export-cancel")
def export_cancel(job: str = JOB, as_json: bool = JSON) -> None:
    """Stop making files of a job. Those that are ready stay.

    Example:

    \b
        gossamer job export-cancel 3f9a2c71
    """
    runtime.run(lambda home: export.cancel_exports(home, job, as_json=as_json))
