"""`gossamer account`: accounts of the server, their users and limits."""

from typing import TYPE_CHECKING

import typer

from gossamer.cli.command import command
from gossamer.cli.group import lazy_module
from gossamer.cli.options import JSON, RIGHT
from gossamer.model.account import Right

if TYPE_CHECKING:
    from gossamer.cli import accounts, runtime
else:
    accounts = lazy_module("gossamer.cli.accounts")
    runtime = lazy_module("gossamer.cli.runtime")

ACCOUNT = typer.Argument(help="The account's id, like acme.", metavar="ACCOUNT")


@command("account create")
def create(
    account: str = ACCOUNT,
    name: str | None = typer.Option(None, "--name", help="The account's display name (default: its id)."),
    as_json: bool = JSON,
) -> None:
    """Create an account. It sees only its own jobs.

    Example:

        gossamer account create acme --name "Acme Inc."
    """
    runtime.run_here(lambda app: accounts.create_account(app, account, name or account, as_json=as_json))


@command("account list")
def list_accounts(as_json: bool = JSON) -> None:
    """List all accounts, their limits, and their usage this month.

    Example:

        gossamer account list
    """
    runtime.run_here(lambda app: accounts.show_accounts(app, as_json=as_json))


@command("account set")
def set_limits(
    account: str = ACCOUNT,
    quota: int | None = typer.Option(None, "--credits", min=0, help="Account credits per month.", metavar="N"),
    running: int | None = typer.Option(None, "--running-jobs", min=1, help="Most jobs running at a time.", metavar="N"),
    queued: int | None = typer.Option(None, "--queued-jobs", min=0, help="Most jobs waiting.", metavar="N"),
    closed: bool | None = typer.Option(None, "--close/--open", help="Refuse or accept its keys and users."),
    as_json: bool = JSON,
) -> None:
    """Set an account's limits, or close it.

    Examples:

        gossamer account set acme --credits 100000 --running-jobs 5

        gossamer account set acme --close
    """
    limits = {"credits": quota, "running_jobs": running, "queued_jobs": queued}
    runtime.run_here(lambda app: accounts.change_account(app, account, limits, closed=closed, as_json=as_json))


@command("account add-user")
def add_user(
    account: str = ACCOUNT,
    email: str = typer.Option(..., "--email", help="The user's email address, used to log in."),
    right: Right = RIGHT,
    as_json: bool = JSON,
) -> None:
    """Add a user to an account. The password is asked for, or read from standard input.

    Example:

        gossamer account add-user acme --email ann@acme.com --scope admin
    """
    runtime.run_here(lambda app: accounts.create_user(app, account, email, right, as_json=as_json))


@command("account set-password")
def set_password(
    email: str = typer.Option(..., "--email", help="The user's email address, used to log in."),
    as_json: bool = JSON,
) -> None:
    """Change a user's password, asked for or read from standard input. All logins of the user end.

    Example:

        gossamer account set-password --email ann@acme.com
    """
    runtime.run_here(lambda app: accounts.change_password(app, email, as_json=as_json))
