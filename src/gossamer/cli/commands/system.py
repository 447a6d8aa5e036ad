"""`gossamer system`: administration of all jobs, workers and API keys."""

from typing import TYPE_CHECKING

import typer

from gossamer.cli.command import command
from gossamer.cli.group import lazy_module
from gossamer.cli.options import JSON, RIGHT
from gossamer.errors import UserError
from gossamer.model.account import Right
from gossamer.model.rungs import Lane

if TYPE_CHECKING:
    from gossamer.cli import accounts, retention, runtime, spending, system
else:
    accounts = lazy_module("gossamer.cli.accounts")
    retention = lazy_module("gossamer.cli.retention")
    runtime = lazy_module("gossamer.cli.runtime")
    spending = lazy_module("gossamer.cli.spending")
    system = lazy_module("gossamer.cli.system")

KEY_ACCOUNT = typer.Option(
    None,
    "--account",
    metavar="ACCOUNT",
    help="Account of the key (default: 'default' on this machine, your own on a server).",
)
DEAD_LETTER = typer.Argument(help="The dead letter's id, or some characters of its beginning or end.", metavar="ID")


@command("system alerts")
def show_alerts(
    cleared: bool = typer.Option(False, "--all", help="Include alerts that are over."),
    limit: int = typer.Option(50, min=1, max=10_000, help="Most to show, newest first."),
    as_json: bool = JSON,
) -> None:
    """List alerts: problems that need attention.

    Example:

        gossamer system alerts
    """
    runtime.run(lambda home: system.show_alerts(home, limit, cleared=cleared, as_json=as_json))


@command("system retention")
def show_retention(
    dry_run: bool = typer.Option(False, "--dry-run", help="Show only what would be done now; change nothing."),
    run: bool = typer.Option(False, "--run", help="Do now what is due, without waiting for a worker to do it."),
    as_json: bool = JSON,
) -> None:
    """Show when each job's results are hidden and deleted.

    Examples:

        gossamer system retention

        gossamer system retention --dry-run
    """
    if run and dry_run:
        raise UserError("usage", "Give --run or --dry-run, not both.", hint="See 'gossamer system retention --help'.")
    if run:
        runtime.run(lambda home: retention.run_retention(home, as_json=as_json))
    else:
        runtime.run(lambda home: retention.show_retention(home, due_only=dry_run, as_json=as_json))


@command("system workers")
def show_workers(as_json: bool = JSON) -> None:
    """List the worker processes of this machine or cluster, their capacity, and when each was last seen.

    Example:

        gossamer system workers
    """
    runtime.run(lambda home: system.show_workers(home, as_json=as_json), may_be_older=True)


@command("system cluster-settings")
def show_cluster_settings(
    forget: bool = typer.Option(False, "--forget", help="Let the next worker that starts set them again."),
    as_json: bool = JSON,
) -> None:
    """Show the settings that all machines of a cluster must share, and which machine set them first.

    A worker that starts with another value is refused. To change one, stop all workers, or give --forget and
    restart them one after the other; until the last one is restarted, the machines differ.

    Examples:

        gossamer system cluster-settings

        gossamer system cluster-settings --forget
    """
    runtime.run(lambda home: system.show_cluster_settings(home, forget=forget, as_json=as_json))


@command("system queue-status")
def show_queue(as_json: bool = JSON) -> None:
    """Show waiting and running visits by lane and job, and background work by kind.

    Example:

        gossamer system queue-status
    """
    runtime.run(lambda home: system.show_queue(home, as_json=as_json))


@command("system backlog")
def show_backlog(
    lane: str = typer.Option(Lane.HTTP.value, "--lane", metavar="LANE", help="The lane to count."), as_json: bool = JSON
) -> None:
    """Print how many visits of a lane need a worker now, as one number for autoscalers.

    Example:

        gossamer system backlog --lane http
    """
    runtime.run(lambda home: system.show_backlog(home, lane, as_json=as_json))


@command("system metrics")
def show_metrics(as_json: bool = JSON) -> None:
    """Show metrics of the whole system: recent throughput, capacity, queues, errors.

    Example:

        gossamer system metrics --json
    """
    runtime.run(lambda home: system.show_metrics(home, as_json=as_json))


@command("system credits")
def show_credits(
    limit: int = typer.Option(20, min=1, max=10_000, help="Most jobs to show, by cost."),
    offline: bool = typer.Option(False, "--offline", help="Do not ask providers for remaining credits."),
    as_json: bool = JSON,
) -> None:
    """Show provider credits and dollars spent today and this month, by provider and by job, and the limits.

    Configured providers with an account are asked for their remaining credits, for up to 12 seconds. Days and months
    are in UTC.

    Example:

        gossamer system credits
    """
    runtime.run(lambda home: spending.show_spending(home, limit, as_json=as_json, ask=not offline))


@command("system keys create")
def create_key(
    name: str = typer.Argument(help="The key's name, such as its purpose.", metavar="NAME"),
    account: str | None = KEY_ACCOUNT,
    right: Right = RIGHT,
    as_json: bool = JSON,
) -> None:
    """Create an API key, and show it once.

    Example:

        gossamer system keys create "nightly import" --account acme --scope submit
    """
    runtime.run(lambda home: accounts.make_new_key(home, account, name, right, as_json=as_json))


@command("system keys list")
def list_keys(account: str | None = KEY_ACCOUNT, as_json: bool = JSON) -> None:
    """List the API keys of an account, what they may do, and when they were last used.

    Example:

        gossamer system keys list --account acme
    """
    runtime.run(lambda home: accounts.show_keys(home, account, as_json=as_json))


@command("system keys revoke")
def revoke_key(
    key: str = typer.Argument(help="The key's id, or some characters of its beginning or end.", metavar="ID"),
    as_json: bool = JSON,
) -> None:
    """Revoke an API key permanently.

    Example:

        gossamer system keys revoke 3f9a2c71
    """
    runtime.run(lambda home: accounts.revoke_one(home, key, as_json=as_json))


@command("system dead-letters list")
def list_dead_letters(
    limit: int = typer.Option(50, min=1, max=10_000, help="Most to show, newest first."), as_json: bool = JSON
) -> None:
    """List dead letters: domains that were given up after three crashes of their worker.

    Example:

        gossamer system dead-letters list
    """
    runtime.run(lambda home: system.show_dead_letters(home, limit, as_json=as_json))


@command("system dead-letters show")
def show_dead_letter(letter: str = DEAD_LETTER, as_json: bool = JSON) -> None:
    """Show a dead letter: its job, its domain, the last error, and what you can do.

    Example:

        gossamer system dead-letters show 3f9a2c71
    """
    runtime.run(lambda home: system.show_dead_letter(home, letter, as_json=as_json))


@command("system dead-letters retry")
def retry_dead_letter(letter: str = DEAD_LETTER, as_json: bool = JSON) -> None:
    """Crawl the domain of a dead letter again (up to 3 crashes), and resume its job.

    Example:

        gossamer system dead-letters retry 3f9a2c71
    """
    runtime.run(lambda home: system.retry_dead_letter(home, letter, as_json=as_json))


@command("system dead-letters drop")
def drop_dead_letter(letter: str = DEAD_LETTER, as_json: bool = JSON) -> None:
    """Remove a dead letter from the list. Its domain stays failed.

    Example:

        gossamer system dead-letters drop 3f9a2c71
    """
    runtime.run(lambda home: system.drop_dead_letter(home, letter, as_json=as_json))
