"""Check the services that the program uses: database, Redis, object storage, proxy, name servers, providers."""

import asyncio
import os
import secrets
import time
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from gossamer.app import database_url, object_storage, open_gate, provider_desk, provider_rungs, require_redis
from gossamer.blobs.seam import BlobsAway, NoSuchBlob
from gossamer.cli import formatting
from gossamer.cli.doctor import CheckResult, fail, ok, warn
from gossamer.clock import SteadyClock, SystemClock
from gossamer.db import health, schema
from gossamer.db.database import PostgresDatabase, SqliteDatabase, open_database
from gossamer.db.schema import refuse_unknown, revision, shown
from gossamer.fetch.deny_list import DenyList
from gossamer.fetch.errors import FetchError
from gossamer.fetch.guard import parse_connect_to
from gossamer.fetch.resolve import Resolver
from gossamer.gate.local import MemoryPlaces
from gossamer.model.breaker import BreakerStanding, trouble_of
from gossamer.model.rungs import provider_of, provider_title, providers
from gossamer.model.trouble import Reason
from gossamer.runtime.home_lock import HomeLock
from gossamer.settings import Settings
from gossamer.store import workers

if TYPE_CHECKING:
    from gossamer.blobs.objects import ObjectBlobs

_OLDEST = 6


async def check_redis(settings: Settings) -> list[CheckResult]:
    if settings.redis_url is None:
        return [ok("redis", "No Redis is set: this home spaces its requests by itself.")]
    require_redis()
    # slow to import, and only needed with Redis
    from gossamer.gate.redis_health import Unusable, examine, shown

    url = settings.redis_url.get_secret_value()
    where = shown(url)
    try:
        server = await examine(url, settings.redis_prefix)
    except Unusable as error:
        said = f"Redis at {where} cannot be used: {error}. Jobs go at one request in two seconds per domain and worker."
        return [warn("redis", said, "See that it runs, or correct GOSSAMER_REDIS_URL.")]
    found = [ok("redis", f"Redis {server.version} at {where} answers in {server.took * 1000:.1f} ms.")]
    if int(server.version.partition(".")[0]) < _OLDEST:
        said = f"Redis {server.version} at {where} is no longer maintained."
        found = [warn("redis", said, "Update the server to 6 or later.")]
    if server.evicts:
        said = f"Redis at {where} may forget what was asked when its memory is full ({server.policy})."
        found.append(warn("redis", said, "Set maxmemory-policy to noeviction there, or sites may be asked too often."))
    return found


_STORAGE_TIMEOUT = 5.0  # seconds for all requests together
_CLEANUP_TIME = 2.0  # seconds to remove the file even if it could not be read
_FOLDER = "exports/doctor"  # below `exports`, so that a bucket's expiry rule also removes a file left here
_NEXT = "Check GOSSAMER_STORAGE_URL, GOSSAMER_STORAGE_ENDPOINT, the keys, and what they may do in this bucket."


async def check_storage(settings: Settings) -> list[CheckResult]:
    objects = object_storage(settings)
    if objects is None:
        return [ok("storage", "No object storage is set: files are kept in the home.")]
    where = _without_secrets(settings.storage_url or "")
    began = time.monotonic()
    try:
        async with asyncio.timeout(_STORAGE_TIMEOUT):
            same = await _there_and_back(objects)
    except TimeoutError:
        why = f"It has not answered within {_STORAGE_TIMEOUT:.0f} seconds."
    except (BlobsAway, NoSuchBlob) as error:
        why = str(error)
    else:
        if same:
            took = (time.monotonic() - began) * 1000
            return [ok("storage", f"{where} takes, gives and removes a small file in {took:.0f} ms.")]
        why = "What was read is not what was written."
    return [warn("storage", f"{where}: {why} Files are kept in the home until it can be used.", _NEXT)]


async def _there_and_back(objects: "ObjectBlobs") -> bool:
    """Write, read and remove a small file; True if the content read is the content written."""
    key, body = f"{_FOLDER}/{secrets.token_hex(8)}", secrets.token_bytes(64)
    await objects.put(key, [body])
    try:
        return b"".join([chunk async for chunk in objects.open(key)]) == body
    finally:
        async with asyncio.timeout(_CLEANUP_TIME):
            await objects.delete(key)


def _without_secrets(url: str) -> str:
    """The address without the parts that may be secret."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.hostname or ''}{parts.path}"


_NAME_TIMEOUT = timedelta(seconds=3)
_PORTS = {"http": 80, "https": 443, "socks5": 1080, "socks5h": 1080}
_KNOWN_NAME = "example.com"  # reserved for examples by the registry


async def check_rules(settings: Settings) -> list[CheckResult]:
    """Check that the operator's files and rules can be read; their readers raise what is wrong with them."""
    found = []
    if settings.connect_to:
        rules = parse_connect_to(settings.connect_to)
        found.append(ok("rules", f"GOSSAMER_CONNECT_TO has {len(rules)} rule{'' if len(rules) == 1 else 's'}."))
    if settings.never_visit:
        DenyList(settings.never_visit, SystemClock())
        found.append(ok("rules", f"The never-visit list {settings.never_visit} can be read."))
    if settings.ca_file:
        from gossamer.fetch.http import read_trust  # slow to import, and few have certificates of their own

        read_trust(settings.ca_file)
        found.append(ok("rules", f"The certificates in {settings.ca_file} can be read."))
    return found


async def check_proxy(settings: Settings) -> list[CheckResult]:
    if settings.proxy is None:
        return [ok("proxy", "No proxy is set: requests go out directly.")]
    address = urlsplit(settings.proxy.get_secret_value())
    host, port = address.hostname or "", address.port or _PORTS[address.scheme]
    try:
        async with asyncio.timeout(_NAME_TIMEOUT.total_seconds()):
            _, writer = await asyncio.open_connection(host, port)
    except (OSError, TimeoutError) as error:
        why = str(error) or f"no answer within {_NAME_TIMEOUT.seconds} s"
        step = "See that it runs, or change GOSSAMER_PROXY. Every request goes through it."
        return [fail("proxy", f"The proxy {host}:{port} cannot be reached: {why}.", step)]
    writer.close()
    return [ok("proxy", f"The proxy {host}:{port} answers.")]


async def check_names(settings: Settings) -> list[CheckResult]:
    resolver = Resolver(SystemClock(), servers=settings.dns_servers, patience=_NAME_TIMEOUT)
    try:
        await resolver.resolve(_KNOWN_NAME)
    except FetchError as error:
        # "There is no such name" is an answer too, and the right one inside a closed network.
        if error.trouble.reason is Reason.DNS:
            said = f"The name server answers, but cannot resolve {_KNOWN_NAME}: you may be offline."
            return [warn("names", said, "Normal on a closed network. Otherwise check GOSSAMER_DNS_SERVERS.")]
        asked = f"The name server{f's {servers}' if (servers := ', '.join(settings.dns_servers)) else ''}"
        said = f"{asked} did not answer within {_NAME_TIMEOUT.seconds} s ({error.trouble.detail})."
        return [warn("names", said, "Check the network connection, or set GOSSAMER_DNS_SERVERS.")]
    finally:
        await resolver.close()
    return [ok("names", "Names can be looked up.")]


_REFUSED = ("HTTP 401", "HTTP 403")


async def check_providers(settings: Settings) -> list[CheckResult]:
    names = list(dict.fromkeys(provider_of(rung) for rung in provider_rungs(settings)))
    if not names:
        return [ok("providers", "No provider is set up: jobs fetch directly, and cost nothing.")]
    standings = await _standings(settings, names)
    return [finding for name in names for finding in (await _account(settings, name), *_breaker(name, standings[name]))]


async def _account(settings: Settings, name: str) -> CheckResult:
    from gossamer.fetch.providers import Unread  # slow to import, and only needed with a provider

    row = providers()[name]
    title, step = row.title, f"Correct {row.access.variable}." if row.access else "Look at its row."
    clock = SteadyClock()
    try:
        account = await provider_desk(settings, clock, MemoryPlaces(clock), "doctor").read_books(name)
    except Unread as error:
        if str(error) in _REFUSED:
            return fail("providers", f"{title} does not accept the key ({error}).", step)
        return warn("providers", f"The account at {title} cannot be read: {error}.", "Look at its status page.")
    if account is None:
        return ok("providers", f"{title} is set up. It has no account that could be looked at.")
    if account.remaining is None:
        return ok("providers", f"{title} takes the key.")
    if not account.remaining:
        return warn("providers", f"The credits at {title} are used up.", "Buy some there, or wait for your plan.")
    return ok("providers", f"{title} takes the key. {formatting.plural(account.remaining, 'credit')} left there.")


def _breaker(name: str, standing: BreakerStanding) -> list[CheckResult]:
    if not standing.open:
        return []
    said = f"{provider_title(name)} has not worked for {formatting.duration(standing.down)}"
    step = "Once it is mended, resume what has paused: 'gossamer job list'."
    return [warn("providers", f"{said}: {trouble_of(standing).sentence}.", step)]


async def _standings(settings: Settings, names: list[str]) -> dict[str, BreakerStanding]:
    """The state of the providers' circuit breakers; closed if there is no database yet."""
    url = database_url(settings)
    if url.startswith("sqlite:///") and not Path(url.removeprefix("sqlite:///")).exists():
        return dict.fromkeys(names, BreakerStanding())
    clock = SteadyClock()
    database = open_database(url, clock, checkpoints=False, pooled=settings.pooled)
    try:
        async with open_gate(settings, clock, database) as gates:
            return {name: await gates.breakers.look(f"provider:{name}") for name in names}
    except Exception:  # noqa: BLE001 - another check reports errors of the database
        return dict.fromkeys(names, BreakerStanding())
    finally:
        await database.close()


_PATIENCE = 15.0  # seconds for a server to answer all questions
_CHECK_TIME = timedelta(seconds=5)  # for SQLite to look through its file
_LARGEST_LOG = 512_000_000  # bytes
_CLOCKS_APART = timedelta(seconds=2)
_STEPPED_BACK = timedelta(seconds=5)
_OLDEST_SERVER = 14
_MOST_TAKEN = 0.8  # of a server's connections

_Open = SqliteDatabase | PostgresDatabase


async def check_database(settings: Settings) -> list[CheckResult]:
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


def next_step_for_database(settings: Settings) -> str:
    """The next step if the database could not be examined and its error names none."""
    url = database_url(settings)
    if url.startswith("sqlite:"):
        return f"See that {Path(shown(url)).parent} and all files in it can be written by you."
    return "Check GOSSAMER_DATABASE_URL, and that the server runs."


def _unmade(settings: Settings, path: Path) -> CheckResult:
    if not settings.database_url:
        return ok("database", f"{path} is made by the first job.")
    # The path comes from a setting, and with a typing error all jobs would seem lost.
    what = "" if path.parent.is_dir() else f", nor a folder {path.absolute().parent}"
    said = f"GOSSAMER_DATABASE_URL names {path.absolute()}: there is no such file{what}."
    return warn("database", said, "Correct it if there should be jobs. If not, the first job makes it.")


async def _questions(settings: Settings, database: _Open, where: str) -> list[CheckResult]:
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


def _revision(database: _Open, found: str | None, where: str) -> CheckResult:
    if found == schema.HEAD:
        return ok("database", f"{where} is at revision {found}, as it should be.")
    if isinstance(database, PostgresDatabase):
        said = f"{where} is at revision {found or 'none'}, and this program needs {schema.HEAD}."
        return fail("database", said, "Run 'gossamer db upgrade'.")
    if found is None:
        return ok("database", f"{where} is empty; the first job sets it up.")
    said = f"{where} is at revision {found}; the next command upgrades it to {schema.HEAD}."
    return warn("database", said, "Keep a copy first: 'gossamer db backup FILE'.")


async def _file(database: SqliteDatabase) -> list[CheckResult]:
    log = Path(f"{database.path}-wal")
    flaw = await database.read(health.flaw, _CHECK_TIME)
    if flaw:
        found = [
            fail("database", f"{database.path} is damaged: {flaw}.", "Restore a backup: 'gossamer db restore FILE'.")
        ]
    elif flaw is None:
        said = f"{database.path} is too large to be looked through in {_CHECK_TIME.seconds} s; nothing wrong so far."
        found = [ok("database", said)]
    else:
        found = [ok("database", f"{database.path} is sound ({database.path.stat().st_size / 1_000_000:,.1f} MB).")]
    size = log.stat().st_size if log.exists() else 0
    if size > _LARGEST_LOG:
        said = f"{log} has grown to {size / 1_000_000:,.0f} MB: something keeps reading the database."
        found.append(
            warn("database", said, "Close other programs that have the file open; the runner then shrinks it.")
        )
    return found


async def _server(database: PostgresDatabase) -> list[CheckResult]:
    server = await database.read(health.server)
    if server is None:
        return []
    findings = [
        ok("database", f"Postgres {server.version}, {server.connections} of {server.most_connections} connections.")
    ]
    if int(server.version.partition(".")[0]) < _OLDEST_SERVER:
        said = f"Postgres {server.version} is no longer maintained."
        findings = [warn("database", said, f"Update the server to {_OLDEST_SERVER} or later.")]
    if server.connections > _MOST_TAKEN * server.most_connections:
        said = f"{server.connections} of {server.most_connections} connections of the server are taken."
        findings.append(warn("database", said, "Raise max_connections there, or end what holds them."))
    ahead = await database.read(health.clock_ahead, SystemClock().now())
    if abs(ahead) > _CLOCKS_APART:
        side = "ahead of" if ahead > timedelta() else "behind"
        said = f"The server's clock is {formatting.duration(abs(ahead))} {side} this machine's."
        findings.append(warn("server clock", said, "Synchronise both over the network (timedatectl set-ntp true)."))
    return findings


async def _times(database: _Open) -> CheckResult:
    newest = await database.read(workers.newest_moment)
    now = await database.read(lambda tx: tx.now)
    if newest and newest > now + _STEPPED_BACK:
        said = f"The newest row is from {formatting.duration(newest - now)} in the future: the clock was set back."
        return warn(
            "row times", said, "Synchronise the clock over the network; until then jobs wait for times in the future."
        )
    return ok("row times", "No row is from the future.")


def _runner(settings: Settings, home: str | None, unfinished: int) -> list[CheckResult]:
    """The finding about the runner; `home` is the one working the database according to its rows."""
    process = HomeLock(settings.home).holder()
    if process is None and home == _own_name(settings.home):
        home = None  # a killed runner leaves its row behind for a while, but never the lock
    if process is None and home is None and unfinished:
        said = f"Stopped, no worker: {unfinished:,} job{'' if unfinished == 1 else 's'} should be running."
        return [warn("runner", said, "Go on with them: 'gossamer job resume --all'.")]
    if process is None:
        return [ok("runner", f"{home} runs the jobs of this database." if home else "No jobs are running.")]
    if process and _lives(process):
        return [ok("runner", f"Process {process} runs the jobs of this data folder.")]
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


def _waiting(waiting: workers.Unattended) -> list[CheckResult]:
    findings = [ok("dead letters", "None."), ok("alerts", "None is open.")]
    if waiting.dead_letters:
        whose = "its" if waiting.dead_letters == 1 else "their"
        said = f"{formatting.visits(waiting.dead_letters)} given up after ending {whose} worker again and again."
        findings[0] = warn("dead letters", said, "Look at them: 'gossamer system dead-letters list'.")
    if waiting.alerts:
        said = f"{waiting.alerts:,} {'is' if waiting.alerts == 1 else 'are'} open."
        findings[1] = warn("alerts", said, "Read them: 'gossamer system alerts'.")
    return findings
