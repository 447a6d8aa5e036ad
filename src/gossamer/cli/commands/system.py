"""`gossamer system`: what concerns all jobs."""

from typing import TYPE_CHECKING

import typer

from gossamer.cli.command import command
from gossamer.cli.lazy import lazy_module
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

OF = typer.Option(
    None,
    "--account",
    metavar="ACCOUNT",
    help="Whose; 'default' on this machine and your own on a server if not given.",
    show_default=False,
)
LETTER = typer.Argument(
    help="The letter's id, or some characters of its beginning or end.", metavar="ID", show_default=False
)


@command("system alerts")
def show_alerts(
    cleared: bool = typer.Option(False, "--all", help="Also those that are over."),
    limit: int = typer.Option(50, min=1, max=10_000, help="Newest first, at most this many."),
    as_json: bool = JSON,
) -> None:
    """What the program wants a person to know, each thing once, until it is over.

    Example:

    \b
        gossamer system alerts
    """
    runtime.run(lambda home: system.show_alerts(home, limit, cleared=cleared, as_json=as_json))


@command("system retention")
def show_retention(
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
    if run and dry_run:
        raise UserError("usage", "Give --run or --dry-run, not both.", hint="See 'gossamer system retention --help'.")
    if run:
        runtime.run(lambda home: retention.run_retention(home, as_json=as_json))
    else:
        runtime.run(lambda home: retention.show_retention(home, due_only=dry_run, as_json=as_json))


@command("system workers")
def show_workers(as_json: bool = JSON) -> None:
    """The working processes of this machine or cluster: how much each does at a time, and when it was last heard of.

    Example:

    \b
        gossamer system workers
    """
    runtime.run(lambda home: system.show_workers(home, as_json=as_json), may_be_older=True)


@command("system cluster-settings")
def show_cluster_settings(
    forget: bool = typer.Option(False, "--forget", help="Let the next worker that starts set them anew."),
    as_json: bool = JSON,
) -> None:
    """The settings that all machines of a cluster must share, and which machine set them first.

    A worker that starts with another value is refused. To change one, stop all workers, or give --forget and start them
    anew one after the other: until the last one has been, the machines differ.

    Examples:

    \b
        gossamer system cluster-settings

        gossamer system cluster-settings --forget
    """
    runtime.run(lambda home: system.show_cluster_settings(home, forget=forget, as_json=as_json))


@command("system queue-status")
def show_queue(as_json: bool = JSON) -> None:
    """What waits for a slot, what is on its way and what is being walked, by lane and job; and desk work by kind.

    Example:

    \b
        gossamer system queue-status
    """
    runtime.run(lambda home: system.show_queue(home, as_json=as_json))


@command("system backlog")
def show_backlog(
    lane: str = typer.Option(Lane.HTTP.value, "--lane", metavar="LANE", help="Which lane."), as_json: bool = JSON
) -> None:
    """How many visits of a lane want a worker now, as one number: what an autoscaler goes by.

    Example:

    \b
        gossamer system backlog --lane http
    """
    runtime.run(lambda home: system.show_backlog(home, lane, as_json=as_json))


@command("system metrics")
def show_metrics(as_json: bool = JSON) -> None:
    """Figures of the whole system, all of them from rows: work done in the last minutes, room, what waits.

    Example:

    \b
        gossamer system metrics --json
    """
    runtime.run(lambda home: system.show_metrics(home, as_json=as_json))


@command("system credits")
def show_credits(
    limit: int = typer.Option(20, min=1, max=10_000, help="Jobs shown at most, the dearest first."),
    offline: bool = typer.Option(False, "--offline", help="Do not ask the providers what is left there."),
    as_json: bool = JSON,
) -> None:
    """Provider credits and dollars: spent today and this month, by provider and by job, and what is left of the limits.

    Providers that are set up here and keep an account are asked what is left there, for 12 seconds at the most.
    Days and months are those of UTC.

    Example:

    \b
        gossamer system credits
    """
    runtime.run(lambda home: spending.show_spending(home, limit, as_json=as_json, ask=not offline))


@command("system keys create")
def create_key(
    name: str = typer.Argument(help="What it is for.", metavar="NAME", show_default=False),
    account: str | None = OF,
    right: Right = RIGHT,
    as_json: bool = JSON,
) -> None:
    """Make a key and show it: this once, and never again.

    Example:

    \b
        gossamer system keys create "nightly import" --account acme --scope submit
    """
    runtime.run(lambda home: accounts.make_new_key(home, account, name, right, as_json=as_json))


@command("system keys list")
def list_keys(account: str | None = OF, as_json: bool = JSON) -> None:
    """The keys of an account: what they may do, and when they were last used.

    Example:

    \b
        gossamer system keys list --account acme
    """
    runtime.run(lambda home: accounts.show_keys(home, account, as_json=as_json))


@command("system keys revoke")
def revoke_key(
    key: str = typer.Argument(
        help="The key's id, or some characters of its beginning or end.", metavar="ID", show_default=False
    ),
    as_json: bool = JSON,
) -> None:
    """Refuse a key from now on, for good.

    Example:

    \b
        gossamer system keys revoke 3f9a2c71
    """
    runtime.run(lambda home: accounts.revoke_one(home, key, as_json=as_json))


@command("system dead-letters list")
def list_letters(
    limit: int = typer.Option(50, min=1, max=10_000, help="Newest first, at most this many."), as_json: bool = JSON
) -> None:
    """Visits that ended their worker three times and wait for somebody to look after them.

    Example:

    \b
        gossamer system dead-letters list
    """
    runtime.run(lambda home: system.show_letters(home, limit, as_json=as_json))


@command("system dead-letters show")
def show_letter(letter: str = LETTER, as_json: bool = JSON) -> None:
    """One of them: its job, its site, what happened last, and what you can do.

    Example:

    \b
        gossamer system dead-letters show 3f9a2c71
    """
    runtime.run(lambda home: system.show_letter(home, letter, as_json=as_json))


@command("system dead-letters retry")
def retry_letter(letter: str = LETTER, as_json: bool = JSON) -> None:
    """Let it be walked again, with three lives; its job runs again if it was at rest.

    Example:

    \b
        gossamer system dead-letters retry 3f9a2c71
    """
    runtime.run(lambda home: system.retry_letter(home, letter, as_json=as_json))


@command("system dead-letters drop")
def drop_letter(letter: str = LETTER, as_json: bool = JSON) -> None:
    """Take it off the list. Its site stays failed.

    Example:

    \b
        gossamer system dead-letters drop 3f9a2c71
    """
    runtime.run(lambda home: system.drop_letter(home, letter, as_json=as_json))
