"""`gossamer doctor`, `db` and `completion`: this machine and its database."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from typer.completion import get_completion_script  # type: ignore[attr-defined] # not in its list of names

from gossamer.cli.command import command
from gossamer.cli.completion import SHELLS
from gossamer.cli.group import lazy_module
from gossamer.cli.options import JSON
from gossamer.errors import UserError

if TYPE_CHECKING:
    from gossamer.cli import backup, runtime
    from gossamer.cli.doctor import examine
    from gossamer.db import postgres
else:
    backup = lazy_module("gossamer.cli.backup")
    examine = lazy_module("gossamer.cli.doctor.examine")
    postgres = lazy_module("gossamer.db.postgres")
    runtime = lazy_module("gossamer.cli.runtime")


@command("doctor")
def run_doctor(as_json: bool = JSON) -> None:
    """Check the data folder, the database, the machine and the network, and suggest fixes.

    Changes nothing. The exit code is 1 if something is broken, 0 if there are only warnings.

    Example:

        gossamer doctor
    """
    examine.show_health(as_json=as_json)


@command("completion")
def completion(
    shell: str = typer.Argument(..., metavar="SHELL", help="bash, zsh or fish."),
) -> None:
    """Print a script that completes commands, options, choices and jobs in your shell.

    Examples:

        source <(gossamer completion bash)

        gossamer completion bash > ~/.local/share/bash-completion/completions/gossamer

        gossamer completion zsh > ~/.zfunc/_gossamer

        gossamer completion fish > ~/.config/fish/completions/gossamer.fish

    The script completes the name that was typed: 'backlink-prospector completion bash' is for that name.
    """
    if shell not in SHELLS:
        raise UserError("usage.shell", f"There is no completion for {shell!r}.", hint=f"Choose {', '.join(SHELLS)}.")
    name = Path(sys.argv[0]).name
    name = name if name in ("gossamer", "backlink-prospector") else "gossamer"
    variable = f"_{name.replace('-', '_').upper()}_COMPLETE"
    typer.echo(get_completion_script(prog_name=name, complete_var=variable, shell=shell))


@command("db upgrade")
def upgrade(as_json: bool = JSON) -> None:
    """Upgrade the database to this program's schema. Safe to run again.

    The embedded SQLite file is upgraded automatically; a Postgres server is upgraded with this command:

        GOSSAMER_DATABASE_URL=postgresql://me@host/gossamer gossamer db upgrade
    """
    backup.upgrade_here(as_json=as_json)


@command("db roles")
def print_roles(
    owner: str = typer.Option("gossamer_owner", "--owner", help="The role that owns the tables.", metavar="NAME"),
    worker: str = typer.Option(
        "gossamer_worker", "--worker", help="The role that reads and writes rows.", metavar="NAME"
    ),
    schema: str = typer.Option("public", "--schema", help="The schema of the tables.", metavar="NAME"),
) -> None:
    """Print the SQL that creates two Postgres roles: one for upgrades, one for work.

    The second one can read and write rows, and change nothing else. Example:

        gossamer db roles | psql --single-transaction gossamer
    """
    runtime.say(postgres.roles_sql(owner, worker, schema).rstrip())


@command("db backup")
def back_up(
    file: Path = typer.Argument(help="The file to write.", metavar="FILE"),
    force: bool = typer.Option(False, "--force", help="Replace the file if it exists."),
    as_json: bool = JSON,
) -> None:
    """Back up the embedded database to a file, also while jobs run.

    Example:

        gossamer db backup gossamer-monday.db
    """
    backup.back_up_here(file, force=force, as_json=as_json)


@command("db restore")
def restore(
    file: Path = typer.Argument(help="A file written by 'gossamer db backup'.", metavar="FILE"),
    yes: bool = typer.Option(False, "--yes", help="Skip the confirmation."),
    as_json: bool = JSON,
) -> None:
    """Replace the embedded database with a backup. The replaced file is kept next to it.

    Example:

        gossamer db restore gossamer-monday.db
    """
    backup.restore_here(file, yes=yes, as_json=as_json)
