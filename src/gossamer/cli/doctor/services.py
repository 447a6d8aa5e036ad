"""Check the services the program uses: Redis, object storage, proxy, name servers, providers."""

import asyncio
import secrets
import time
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from gossamer.app import database_url, object_storage, open_gate, provider_desk, provider_rungs, require_redis
from gossamer.blobs.seam import BlobsAway, NoSuchBlob
from gossamer.cli import formatting
from gossamer.cli.doctor.finding import Finding, fail, ok, warn
from gossamer.clock import SteadyClock, SystemClock
from gossamer.db.database import open_database
from gossamer.fetch.deny_list import DenyList
from gossamer.fetch.errors import FetchError
from gossamer.fetch.guard import parse_connect_to
from gossamer.fetch.resolve import Resolver
from gossamer.gate.local import MemoryPlaces
from gossamer.model.breaker import BreakerStanding, trouble_of
from gossamer.model.rungs import provider_of, provider_title, providers
from gossamer.model.trouble import Reason
from gossamer.settings import Settings

if TYPE_CHECKING:
    from gossamer.blobs.objects import ObjectBlobs

_OLDEST = 6


async def check_redis(settings: Settings) -> list[Finding]:
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
        said = f"Redis {server.version} at {where} is no longer looked after."
        found = [warn("redis", said, "Update the server to 6 or later.")]
    if server.evicts:
        said = f"Redis at {where} may forget what was asked when its memory is full ({server.policy})."
        found.append(warn("redis", said, "Set maxmemory-policy to noeviction there, or sites may be asked too often."))
    return found


_STORAGE_TIMEOUT = 5.0  # seconds for all requests together
_MERCY = 2.0  # seconds to remove the file even if it could not be read
_FOLDER = "exports/doctor"  # below `exports`, so that a bucket's expiry rule also removes a file left here
_NEXT = "Check GOSSAMER_STORAGE_URL, GOSSAMER_STORAGE_ENDPOINT, the keys, and what they may do in this bucket."


async def check_storage(settings: Settings) -> list[Finding]:
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
        async with asyncio.timeout(_MERCY):
            await objects.delete(key)


def _without_secrets(url: str) -> str:
    """The address without the parts that may be secret."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.hostname or ''}{parts.path}"


_NAME_TIMEOUT = timedelta(seconds=3)
_PORTS = {"http": 80, "https": 443, "socks5": 1080, "socks5h": 1080}
_KNOWN_NAME = "example.com"  # reserved for examples by the registry


async def check_rules(settings: Settings) -> list[Finding]:
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


async def check_proxy(settings: Settings) -> list[Finding]:
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


async def check_names(settings: Settings) -> list[Finding]:
    resolver = Resolver(SystemClock(), servers=settings.dns_servers, patience=_NAME_TIMEOUT)
    try:
        await resolver.resolve(_KNOWN_NAME)
    except FetchError as error:
        # "There is no such name" is an answer too, and the right one inside a closed network.
        if error.trouble.reason is Reason.DNS:
            said = f"The name server answers, but knows no {_KNOWN_NAME}: the internet cannot be reached by name."
            return [warn("names", said, "In a closed network that is right. Else check GOSSAMER_DNS_SERVERS.")]
        asked = f"The name server{f's {servers}' if (servers := ', '.join(settings.dns_servers)) else ''}"
        said = f"{asked} did not answer within {_NAME_TIMEOUT.seconds} s ({error.trouble.detail})."
        return [warn("names", said, "Check the network connection, or set GOSSAMER_DNS_SERVERS.")]
    finally:
        await resolver.close()
    return [ok("names", "Names can be looked up.")]


_REFUSED = ("HTTP 401", "HTTP 403")


async def check_providers(settings: Settings) -> list[Finding]:
    names = list(dict.fromkeys(provider_of(rung) for rung in provider_rungs(settings)))
    if not names:
        return [ok("providers", "No provider is set up: jobs fetch directly, and cost nothing.")]
    standings = await _standings(settings, names)
    return [finding for name in names for finding in (await _account(settings, name), *_breaker(name, standings[name]))]


async def _account(settings: Settings, name: str) -> Finding:
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


def _breaker(name: str, standing: BreakerStanding) -> list[Finding]:
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
