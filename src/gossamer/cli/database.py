"""`gossamer db`: the schema of the database."""

import asyncio

import typer

from gossamer.cli.main import StrictCommand

app = typer.Typer(help="Look after the database.", no_args_is_help=True, rich_markup_mode=None)


@app.command(cls=StrictCommand)
def upgrade(as_json: bool = typer.Option(False, "--json", help="Answer in JSON.")) -> None:
    """Bring the database to this program's schema. Safe to run again.

    The embedded SQLite file is upgraded by itself; a Postgres server is upgraded with this command:

        GOSSAMER_DATABASE_URL=postgresql://me@host/gossamer gossamer db upgrade
    """
    from gossamer.assembly import database_url
    from gossamer.cli.session import say, say_json
    from gossamer.clock import SystemClock
    from gossamer.settings import read_settings
    from gossamer.store.database import open_database
    from gossamer.store.schema import HEAD, revision
    from gossamer.store.schema import upgrade as apply

    settings, _ = read_settings()

    async def whole() -> str | None:
        database = open_database(database_url(settings), SystemClock())
        try:
            before = await database.read(revision)
            if before != HEAD:
                await database.write(apply)
        finally:
            await database.close()
        return before

    before = asyncio.run(whole())
    if as_json:
        say_json({"before": before, "now": HEAD})
    elif before == HEAD:
        say(f"The database is up to date (revision {HEAD}).")
    else:
        say(f"The database is now at revision {HEAD} (was {before or 'empty'}).")
