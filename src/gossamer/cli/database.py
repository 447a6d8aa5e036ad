"""`gossamer db`: the schema of the database, and copies of it."""

from pathlib import Path

import typer

from gossamer.cli.command_help import StrictCommand, command_group
from gossamer.cli.views import JSON

app = command_group(help="Look after the database.", no_args_is_help=True)


@app.command(cls=StrictCommand)
def upgrade(as_json: bool = JSON) -> None:
    """Bring the database to this program's schema. Safe to run again.

    The embedded SQLite file is upgraded by itself; a Postgres server is upgraded with this command:

    \b
        GOSSAMER_DATABASE_URL=postgresql://me@host/gossamer gossamer db upgrade
    """
    from gossamer.cli.copies import upgrade_here

    upgrade_here(as_json=as_json)


@app.command(cls=StrictCommand)
def roles(
    owner: str = typer.Option("gossamer_owner", "--owner", help="The role that owns the tables.", metavar="NAME"),
    worker: str = typer.Option("gossamer_worker", "--worker", help="The role that works with them.", metavar="NAME"),
    schema: str = typer.Option("public", "--schema", help="Where the tables are.", metavar="NAME"),
) -> None:
    """Print the SQL that makes two roles for Postgres: one to upgrade with, one to work with.

    The one to work with can read and write rows, and change nothing else. Example:

    \b
        gossamer db roles | psql --single-transaction gossamer
    """
    from gossamer.cli.session import say
    from gossamer.db.roles import roles_sql

    say(roles_sql(owner, worker, schema).rstrip())


@app.command(cls=StrictCommand)
def backup(
    file: Path = typer.Argument(help="The file to write.", metavar="FILE", show_default=False),
    force: bool = typer.Option(False, "--force", help="Replace the file if it is there already."),
    as_json: bool = JSON,
) -> None:
    """Write a copy of the embedded database, also while jobs run.

    Example:

    \b
        gossamer db backup gossamer-monday.db
    """
    from gossamer.cli.copies import back_up_here

    back_up_here(file, force=force, as_json=as_json)


@app.command(cls=StrictCommand)
def restore(
    file: Path = typer.Argument(help="What 'gossamer db backup' has written.", metavar="FILE", show_default=False),
    yes: bool = typer.Option(False, "--yes", help="Do not ask."),
    as_json: bool = JSON,
) -> None:
    """Put a copy back in the place of the embedded database. What was there is kept beside it.

    Example:

    \b
        gossamer db restore gossamer-monday.db
    """
    from gossamer.cli.copies import restore_here

    restore_here(file, yes=yes, as_json=as_json)
