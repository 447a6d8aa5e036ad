"""`gossamer account`: accounts of the server, their users and limits."""

from typing import TYPE_CHECKING

import typer

from gossamer.cli.command import command
from gossamer.cli.lazy import lazy_module
from gossamer.cli.options import JSON, RIGHT
from gossamer.model.account import Right

if TYPE_CHECKING:
    from gossamer.cli import accounts, runtime
else:
    accounts = lazy_module("gossamer.cli.accounts")
    runtime = lazy_module("gossamer.cli.runtime")

ACCOUNT = typer.Argument(help="The account's id, like acme.", metavar="ACCOUNT", show_default=False)


@command("account create")
def create(
    account: str = ACCOUNT,
    name: str | None = typer.Option(None, "--name", help="What people call it; its id if not given."),
    as_json: bool = JSON,
) -> None:
    """Make an account. It sees its own jobs and nobody else's.

    Example:

    \b
        gossamer account create acme --name "Acme Inc."
    """
    runtime.run_here(lambda app: accounts.create_account(app, account, name or account, as_json=as_json))


@command("account list")
def list_accounts(as_json: bool = JSON) -> None:
    """All accounts, their limits, and what they have used in this month.

    Example:

    \b
        gossamer account list
    """
    runtime.run_here(lambda app: accounts.show_accounts(app, as_json=as_json))


@command("account set")
def set_limits(
    account: str = ACCOUNT,
    quota: int | None = typer.Option(
        None, "--credits", min=0, help="Account credits of a month.", metavar="N", show_default=False
    ),
    running: int | None = typer.Option(
        None, "--running-jobs", min=1, help="Jobs at work at once.", metavar="N", show_default=False
    ),
    queued: int | None = typer.Option(
        None, "--queued-jobs", min=0, help="Jobs that may wait.", metavar="N", show_default=False
    ),
    closed: bool | None = typer.Option(
        None, "--close/--open", help="Whether its keys and users are refused.", show_default=False
    ),
    as_json: bool = JSON,
) -> None:
    """Give an account limits of its own, or close it.

    Examples:

    \b
        gossamer account set acme --credits 100000 --running-jobs 5

        gossamer account set acme --close
    """
    limits = {"credits": quota, "running_jobs": running, "queued_jobs": queued}
    runtime.run_here(lambda app: accounts.change_account(app, account, limits, closed=closed, as_json=as_json))


@command("account add-user")
def add_user(
    account: str = ACCOUNT,
    email: str = typer.Option(..., "--email", help="By which they log in.", show_default=False),
    right: Right = RIGHT,
    as_json: bool = JSON,
) -> None:
    """Let a person log in. Their password is asked for, or read from standard input.

    Example:

    \b
        gossamer account add-user acme --email ann@acme.com --scope admin
    """
    runtime.run_here(lambda app: accounts.create_user(app, account, email, right, as_json=as_json))


@command("account set-password")
def set_password(
    email: str = typer.Option(..., "--email", help="By which they log in.", show_default=False), as_json: bool = JSON
) -> None:
    """Give a person another password, asked for or read from standard input. All their logins end.

    Example:

    \b
        gossamer account set-password --email ann@acme.com
    """
    runtime.run_here(lambda app: accounts.change_password(app, email, as_json=as_json))
