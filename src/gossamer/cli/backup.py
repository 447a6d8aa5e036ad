"""`gossamer db`: upgrade, back up and restore the database."""

import asyncio
import os
import shlex
import sys
from pathlib import Path
from urllib.parse import urlsplit

import typer

from gossamer.app import database_url
from gossamer.cli import prompts
from gossamer.cli.runtime import say, say_json
from gossamer.clock import SystemClock
from gossamer.db import schema
from gossamer.db.backup import Copy, back_up, examine, restore
from gossamer.db.schema import refuse_unknown, shown, upgrade_database
from gossamer.errors import UserError
from gossamer.runtime import shutdown_note
from gossamer.runtime.home_lock import HomeLock
from gossamer.settings import Settings, read_settings
from gossamer.store.reclaim import void_all


def upgrade_here(*, as_json: bool) -> None:
    settings, _ = read_settings()
    before = asyncio.run(upgrade_database(database_url(settings), SystemClock(), pooled=settings.pooled))
    if as_json:
        say_json({"before": before, "now": schema.HEAD})
    elif before == schema.HEAD:
        say(f"The database is up to date (revision {schema.HEAD}).")
    else:
        say(f"The database is now at revision {schema.HEAD} (was {before or 'empty'}).")


_EMPTY = "DROP SCHEMA public CASCADE; CREATE SCHEMA public"


def back_up_here(file: Path, *, force: bool, as_json: bool) -> None:
    settings, _ = read_settings()
    made = back_up(_embedded(settings, "pg_dump --format=custom", f"--file={file}"), file, force=force)
    if as_json:
        say_json({"path": str(file), "bytes": made.size, "jobs": made.jobs, "revision": made.revision})
    else:
        say(f"Wrote {file} ({_size(made.size)}, {_jobs(made)}, revision {made.revision}).")


def restore_here(file: Path, *, yes: bool, as_json: bool) -> None:
    settings, _ = read_settings()
    # pg_restore cannot drop tables that are partitioned by month.
    place = _embedded(
        settings, "pg_restore", str(file), "psql --command='DROP SCHEMA public CASCADE; CREATE SCHEMA public'"
    )
    if file.is_dir():
        step = "Name the file in it that 'gossamer db backup' has written."
        raise UserError("restore.folder", f"{file} is a folder.", hint=step)
    if not file.is_file():
        raise UserError("restore.not_found", f"No file at {file}.", hint="Check the path.")
    found = examine(file)
    refuse_unknown(found.revision, str(file))
    if not yes:
        _confirm(f"Replace {place} by {file} ({_size(found.size)}, {_jobs(found)})?")
    kept = free_name(place.with_name(f"{place.name}.before-restore-{SystemClock().now():%Y%m%d-%H%M%S}"))
    lock = HomeLock(settings.home)
    if not lock.take():
        raise UserError(
            "restore.runner",
            f"A runner is active in this data folder (process {lock.holder()}).",
            hint="Stop it first: 'gossamer job pause ID', or Ctrl-C where it runs.",
        )
    try:
        done = asyncio.run(restore(file, place, kept, SystemClock(), void_all))
        shutdown_note.forget(settings.home)
    finally:
        lock.release()
    if as_json:
        was = str(kept) if done.has_kept else None
        say_json(
            {"path": str(place), "jobs": found.jobs, "revision": schema.HEAD, "kept": was, "visits_freed": done.freed}
        )
        return
    say(f"Restored {place} from {file} ({_jobs(found)}).")
    if done.has_kept:
        say(f"The previous database is kept as {kept}.")
    say("Go on with jobs that were running: 'gossamer job resume --all'.")


def free_name(wanted: Path) -> Path:
    """The wanted path, or the same with a number where a backup of the same second is already there."""
    names = (wanted, *(wanted.with_name(f"{wanted.name}-{number}") for number in range(2, 100)))
    return next((name for name in names if not name.exists()), wanted)


def _embedded(settings: Settings, tool: str, file: str, first: str = "") -> Path:
    """The path of the SQLite file. Refuses a Postgres server and names its own tools."""
    url = database_url(settings)
    if url.startswith("sqlite:///"):
        return Path(url.removeprefix("sqlite:///"))
    address = f"--dbname={_address(url)}"
    command = f"{first} {address} && " * bool(first) + f"{tool} {address} {shlex.quote(file)}"
    raise UserError(
        "backup.server",
        "The database is on a Postgres server: use pg_dump and pg_restore.",
        hint=f"Run: {command}",
    )


def _address(url: str) -> str:
    """The server's address for a shell command, without its password.

    The shell takes the password from the variable it is in, or the tool asks for it.
    """
    if urlsplit(url).password and url.startswith(("postgresql://", "postgres://")):
        for name in ("GOSSAMER_DATABASE_URL", "DATABASE_URL"):
            if os.environ.get(name) == url:
                return f'"${name}"'
    return shlex.quote(shown(url))


def _confirm(question: str) -> None:
    if not sys.stdin.isatty():
        raise UserError("restore.unconfirmed", "Can't ask for confirmation here (no terminal).", hint="Give --yes.")
    if not prompts.confirm(question):
        say("Nothing was changed.")
        raise typer.Exit(1)


def _jobs(found: Copy) -> str:
    return f"{found.jobs:,} job{'' if found.jobs == 1 else 's'}"


def _size(count: int) -> str:
    return f"{count / 1_000_000:,.1f} MB" if count >= 100_000 else f"{count / 1_000:,.0f} kB"
