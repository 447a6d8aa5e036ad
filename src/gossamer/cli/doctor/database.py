"""Check the database, which process works it, and what in it needs a person's attention."""

import asyncio
import os
from datetime import timedelta
from pathlib import Path

from gossamer.app import database_url
from gossamer.cli import formatting
from gossamer.cli.doctor.finding import Finding, fail, ok, warn
from gossamer.clock import SystemClock
from gossamer.db import health, schema
from gossamer.db.database import PostgresDatabase, SqliteDatabase, open_database
from gossamer.db.schema import refuse_unknown, revision, shown
from gossamer.runtime.home_lock import HomeLock
from gossamer.settings import Settings
from gossamer.store import workers

_PATIENCE = 15.0  # seconds for a server to answer all questions
_CHECK_TIME = timedelta(seconds=5)  # for SQLite to look through its file
_LARGEST_LOG = 512_000_000  # bytes
_CLOCKS_APART = timedelta(seconds=2)
_STEPPED_BACK = timedelta(seconds=5)
_OLDEST_SERVER = 14
_NEARLY_ALL = 0.8  # of a server's connections

_Open = SqliteDatabase | PostgresDatabase


async def check_database(settings: Settings) -> list[Finding]:
    url = database_url(settings)
    if url.startswith("sqlite:///") and not Path(url.removeprefix("sqlite:///")).exists():
        return [_unmade(settings, Path(shown(url))), *_runner(settings, None, 0)]
    database = open_database(url, SystemClock(), pooled=settings.pooled)
    try:
        async with asyncio.timeout(_PATIENCE):
            return await _questions(settings, database, shown(url))
    except TimeoutError:
        step = "See what keeps the server busy, and whether the network is slow."
        return [fail("database", f"{shown(url)} did not answer within {_PATIENCE:.0f} s.", step)]
    finally:
        await database.close()


def next_step(settings: Settings) -> str:
    """The next step if the database could not be examined and its error names none."""
    url = database_url(settings)
    if url.startswith("sqlite:"):
        return f"See that {Path(shown(url)).parent} and all files in it can be written by you."
    return "Check GOSSAMER_DATABASE_URL, and that the server runs."


def _unmade(settings: Settings, path: Path) -> Finding:
    if not settings.database_url:
        return ok("database", f"{path} is made by the first job.")
    # The path comes from a setting, and with a typing error all jobs would seem lost.
    what = "" if path.parent.is_dir() else f", nor a folder {path.absolute().parent}"
    said = f"GOSSAMER_DATABASE_URL names {path.absolute()}: there is no such file{what}."
    return warn("database", said, "Correct it if there should be jobs. If not, the first job makes it.")


async def _questions(settings: Settings, database: _Open, where: str) -> list[Finding]:
    found = await database.read(revision)
    refuse_unknown(found, where)
    home = None if found is None else await database.read(health.working_home)
    findings = [_revision(database, found, where)]
    findings += await (_file(database) if isinstance(database, SqliteDatabase) else _server(database))
    if found != schema.HEAD:
        return [*findings, *_runner(settings, home, 0)]
    waiting = await database.read(workers.waiting)
    findings += [await _times(database), *_runner(settings, home, waiting.unfinished), *_waiting(waiting)]
    return findings


def _revision(database: _Open, found: str | None, where: str) -> Finding:
    if found == schema.HEAD:
        return ok("database", f"{where} is at revision {found}, as it should be.")
    if isinstance(database, PostgresDatabase):
        said = f"{where} is at revision {found or 'none'}, and this program needs {schema.HEAD}."
        return fail("database", said, "Run 'gossamer db upgrade'.")
    if found is None:
        return ok("database", f"{where} is empty; the first job sets it up.")
    said = f"{where} is at revision {found}; the next command upgrades it to {schema.HEAD}."
    return warn("database", said, "Keep a copy first: 'gossamer db backup FILE'.")


async def _file(database: SqliteDatabase) -> list[Finding]:
    log = Path(f"{database.path}-wal")
    flaw = await database.read(health.flaw, _CHECK_TIME)
    if flaw:
        found = [
            fail("database", f"{database.path} is damaged: {flaw}.", "Go back to a copy: 'gossamer db restore FILE'.")
        ]
    elif flaw is None:
        said = f"{database.path} is too large to be looked through in {_CHECK_TIME.seconds} s; nothing wrong so far."
        found = [ok("database", said)]
    else:
        found = [ok("database", f"{database.path} is sound ({database.path.stat().st_size / 1_000_000:,.1f} MB).")]
    size = log.stat().st_size if log.exists() else 0
    if size > _LARGEST_LOG:
        said = f"{log} has grown to {size / 1_000_000:,.0f} MB: something keeps reading the database."
        found.append(warn("database", said, "End whatever else has the file open; the runner then makes it small."))
    return found


async def _server(database: PostgresDatabase) -> list[Finding]:
    server = await database.read(health.server)
    if server is None:
        return []
    findings = [
        ok("database", f"Postgres {server.version}, {server.connections} of {server.most_connections} connections.")
    ]
    if int(server.version.partition(".")[0]) < _OLDEST_SERVER:
        said = f"Postgres {server.version} is no longer looked after."
        findings = [warn("database", said, f"Update the server to {_OLDEST_SERVER} or later.")]
    if server.connections > _NEARLY_ALL * server.most_connections:
        said = f"{server.connections} of {server.most_connections} connections of the server are taken."
        findings.append(warn("database", said, "Raise max_connections there, or end what holds them."))
    ahead = await database.read(health.clock_ahead, SystemClock().now())
    if abs(ahead) > _CLOCKS_APART:
        side = "ahead of" if ahead > timedelta() else "behind"
        said = f"The server's clock is {formatting.duration(abs(ahead))} {side} this machine's."
        findings.append(warn("server clock", said, "Set both by the network (timedatectl set-ntp true)."))
    return findings


async def _times(database: _Open) -> Finding:
    newest = await database.read(workers.newest_moment)
    now = await database.read(lambda tx: tx.now)
    if newest and newest > now + _STEPPED_BACK:
        said = f"The newest row is from {formatting.duration(newest - now)} in the future: the clock was set back."
        return warn("row times", said, "Set it by the network; until then jobs wait for moments that were yet to come.")
    return ok("row times", "No row is from the future.")


def _runner(settings: Settings, home: str | None, unfinished: int) -> list[Finding]:
    """The finding about the runner; `home` is the one working the database according to its rows."""
    process = HomeLock(settings.home).holder()
    if process is None and home == _own_name(settings.home):
        home = None  # a killed runner leaves its row behind for a while, but never the lock
    if process is None and home is None and unfinished:
        said = f"Stopped, no worker: {unfinished:,} job{'' if unfinished == 1 else 's'} should be running."
        return [warn("runner", said, "Go on with them: 'gossamer job resume --all'.")]
    if process is None:
        return [ok("runner", f"{home} works this database." if home else "Nobody works this home, and nothing has to.")]
    if process and _lives(process):
        return [ok("runner", f"Process {process} works this home.")]
    lock = settings.home / "runner.lock"
    said = f"The runner (process {process or 'unknown'}) is gone, and something it started still holds {lock}."
    return [warn("runner", said, f"It should end within a minute. If not: 'fuser {lock}' names it.")]


def _own_name(home: Path) -> str | None:
    """The home's name, only read: looking at a home must not give it a name."""
    try:
        return (home / "name").read_text().strip()
    except OSError:
        return None


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True  # the process of another user
    return True


def _waiting(waiting: workers.Unattended) -> list[Finding]:
    findings = [ok("dead letters", "None."), ok("alerts", "None is open.")]
    if waiting.dead_letters:
        whose = "its" if waiting.dead_letters == 1 else "their"
        said = f"{formatting.visits(waiting.dead_letters)} given up after ending {whose} worker again and again."
        findings[0] = warn("dead letters", said, "Look at them: 'gossamer system dead-letters list'.")
    if waiting.alerts:
        said = f"{waiting.alerts:,} {'is' if waiting.alerts == 1 else 'are'} open."
        findings[1] = warn("alerts", said, "Read them: 'gossamer system alerts'.")
    return findings
