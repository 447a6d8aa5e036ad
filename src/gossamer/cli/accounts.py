"""`gossamer account` and `gossamer system keys`: who may ask the server, for what."""

import typer

from gossamer.cli.command_help import StrictCommand, command_group
from gossamer.cli.views import JSON
from gossamer.model.account import Right

app = command_group(help="Accounts of the server, their users and limits.", no_args_is_help=True)
keys = command_group(help="API keys of the server.", no_args_is_help=True)

ACCOUNT = typer.Argument(help="The account's id, like acme.", metavar="ACCOUNT", show_default=False)
OF = typer.Option(
    None,
    "--account",
    metavar="ACCOUNT",
    help="Whose; 'default' on this machine and your own on a server if not given.",
    show_default=False,
)
RIGHT = typer.Option(
    Right.SUBMIT, "--scope", metavar="read|submit|admin", help="What may be done; each has the former."
)


@app.command(cls=StrictCommand)
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
    from gossamer.cli.account_desk import create_account
    from gossamer.cli.session import run_here as run_command

    run_command(lambda app: create_account(app, account, name or account, as_json=as_json))


@app.command("list", cls=StrictCommand)
def list_accounts(as_json: bool = JSON) -> None:
    """All accounts, their limits, and what they have used in this month.

    Example:

    \b
        gossamer account list
    """
    from gossamer.cli.account_desk import show_accounts
    from gossamer.cli.session import run_here as run_command

    run_command(lambda app: show_accounts(app, as_json=as_json))


@app.command("set", cls=StrictCommand)
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
    from gossamer.cli.account_desk import change_account
    from gossamer.cli.session import run_here as run_command

    limits = {"credits": quota, "running_jobs": running, "queued_jobs": queued}
    run_command(lambda app: change_account(app, account, limits, closed=closed, as_json=as_json))


@app.command("add-user", cls=StrictCommand)
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
    from gossamer.cli.account_desk import create_user
    from gossamer.cli.session import run_here as run_command

    run_command(lambda app: create_user(app, account, email, right, as_json=as_json))


@app.command("set-password", cls=StrictCommand)
def set_password(
    email: str = typer.Option(..., "--email", help="By which they log in.", show_default=False), as_json: bool = JSON
) -> None:
    """Give a person another password, asked for or read from standard input. All their logins end.

    Example:

    \b
        gossamer account set-password --email ann@acme.com
    """
    from gossamer.cli.account_desk import change_password
    from gossamer.cli.session import run_here as run_command

    run_command(lambda app: change_password(app, email, as_json=as_json))


@keys.command("create", cls=StrictCommand)
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
    from gossamer.cli.account_desk import make_new_key
    from gossamer.cli.session import run as run_command

    run_command(lambda home: make_new_key(home, account, name, right, as_json=as_json))


@keys.command("list", cls=StrictCommand)
def list_keys(account: str | None = OF, as_json: bool = JSON) -> None:
    """The keys of an account: what they may do, and when they were last used.

    Example:

    \b
        gossamer system keys list --account acme
    """
    from gossamer.cli.account_desk import show_keys
    from gossamer.cli.session import run as run_command

    run_command(lambda home: show_keys(home, account, as_json=as_json))


@keys.command("revoke", cls=StrictCommand)
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
    from gossamer.cli.account_desk import revoke_one
    from gossamer.cli.session import run as run_command

    run_command(lambda home: revoke_one(home, key, as_json=as_json))
