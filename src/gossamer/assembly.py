"""The only place that picks technologies: from settings to parts that fit together."""

import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from ipaddress import ip_address
from pathlib import Path
from socket import gethostname
from typing import TYPE_CHECKING, Any, TextIO
from urllib.parse import unquote, urlsplit
from uuid import uuid4

from gossamer.access.sealing import Sealer, purpose_of
from gossamer.clock import SteadyClock
from gossamer.deliver.alerts import LogChannel
from gossamer.errors import UserError
from gossamer.ledger.prices import OwnPrice, PriceList, price_list
from gossamer.model.account import Quota, credit_prices
from gossamer.model.desk import DeskKind, DeskRule, desk_rules
from gossamer.model.fetching import DIRECT, HOME_LANE, Rung
from gossamer.model.ladders import RUNGS
from gossamer.model.money import MICROS, Cap, Scope
from gossamer.model.rungs import PROVIDER_RUNGS, provider_of
from gossamer.recipe import Recipe
from gossamer.recipes.prospect import Prospect
from gossamer.recipes.scrape import Scrape
from gossamer.retain.classes import Terms
from gossamer.settings import Settings
from gossamer.settings.forms import listener_of
from gossamer.store.database import Database, PostgresDatabase, SqliteDatabase, open_database
from gossamer.store.health import database_time
from gossamer.store.schema import ready_database
from gossamer.telemetry import configure
from gossamer.work import surrender
from gossamer.work.desk import SEATS, Desk
from gossamer.work.home import HomeLock, home_name

if TYPE_CHECKING:
    from gossamer.blobs.objects import ObjectBlobs
    from gossamer.blobs.page_files import PageFiles
    from gossamer.blobs.shelf import Shelf
    from gossamer.deliver.sender import Sender
    from gossamer.fetch import Fetcher
    from gossamer.fetch.forward import ForwardProxy
    from gossamer.fetch.guard import Guard
    from gossamer.fetch.never import NeverVisit
    from gossamer.fetch.post import Poster
    from gossamer.fetch.providers import ProviderDesk
    from gossamer.gate import Breakers, Gate, Places
    from gossamer.work.exporting import Exporter
    from gossamer.work.express import Express
    from gossamer.work.kit import Kit, OwnWays
    from gossamer.work.runner import Runner

_READ_ONCE = 2_000  # KB of cache for who reads everything once
_OF_OTHER_LANES = 8  # visits at a time of one process: what renders pages takes memory

EXPORTERS_POOL = 2  # connections: it reads, and says how far it is

RECIPES: Mapping[str, Recipe[Any]] = {Prospect.name: Prospect(), Scrape.name: Scrape()}


@dataclass(frozen=True, slots=True)
class App:
    """What a door holds: the home, its database, and the means to become its runner."""

    settings: Settings
    clock: SteadyClock
    database: SqliteDatabase | PostgresDatabase
    recipes: Mapping[str, Recipe[Any]]
    lock: HomeLock

    @property
    def home_name(self) -> str:
        return home_name(self.settings.home)

    @property
    def rungs(self) -> tuple[str, ...]:
        """The names of the ways to fetch that can be used here."""
        return tuple(rungs_here(self.settings))

    @property
    def terms(self) -> Terms:
        """How long results are kept here."""
        return Terms(self.settings.retention, self.settings.retention_grace)

    @property
    def prices(self) -> PriceList:
        """What requests cost here."""
        return prices_of(self.settings)

    @property
    def caps(self) -> Mapping[Scope, Cap]:
        """What may be spent here."""
        return caps_of(self.settings)

    @property
    def quota(self) -> Quota:
        """What an account may have that was given nothing of its own."""
        settings = self.settings
        return Quota(settings.quota_credits, settings.account_jobs, settings.account_queue)

    def seal_key(self, key: str, account: str, provider: str) -> bytes:
        """A provider's key that comes with a job, as it is kept for it. Refused where workers could not read it."""
        if (self.settings.redis_url or self.settings.broker_url) and not self.settings.api_secret:
            raise UserError(
                "keys.no_secret",
                "This server cannot take a key with a job: it has no secret that its workers know.",
                hint="Its operator sets GOSSAMER_API_SECRET, the same on all machines.",
            )
        return sealer(self.settings).seal(key, purpose_of(account, provider))

    def check(self) -> None:
        """Refuse, before anything is created, settings that only a worker would stumble over."""
        if self.settings.connect_to:
            from gossamer.fetch.connect_to import parse_connect_to

            parse_connect_to(self.settings.connect_to)
        if self.settings.ca_file:
            from gossamer.fetch.http import read_trust

            read_trust(self.settings.ca_file)
        if self.settings.redis_url:
            require_redis()
        rungs_here(self.settings)
        _check_way_back(self.settings)
        self.never_visit()
        if self.settings.never_send:
            _never_send(self.settings, self.clock)

    def never_visit(self) -> "NeverVisit | None":
        """What no job may visit, as the operator's file says now; None where there is no such file."""
        if self.settings.never_visit is None:
            return None
        from gossamer.fetch.never import NeverVisit

        return NeverVisit(self.settings.never_visit, self.clock)

    def shelf(self) -> "Shelf":
        """Where exported files are kept."""
        from gossamer.blobs.folder import FolderBlobs
        from gossamer.blobs.private import make_secret
        from gossamer.blobs.shelf import Shelf

        home = self.settings.home
        local = FolderBlobs(home / "files", make_secret(home / "secret"), self.clock)
        return Shelf(self.home_name, local, object_storage(self.settings))

    def page_files(self) -> "PageFiles":
        """Where files of single pages are kept."""
        return page_files(self.settings, self.clock)

    @asynccontextmanager
    async def exporter(self, who: str, desk: Desk | None = None) -> AsyncIterator["Exporter"]:
        """What makes the files of this home, with a database connection of its own. `who` tells one from the others."""
        from gossamer.work.exporting import Exporter, worker_name
        from gossamer.work.scrape_answers import ResultLines

        database = open_database(
            database_url(self.settings),
            self.clock,
            checkpoints=False,
            cache_kb=_READ_ONCE,
            pool=EXPORTERS_POOL,
            pooled=self.settings.pooled,
        )
        database.patience.lasts = self.database.patience.lasts
        try:
            name = worker_name(self.home_name, who)
            results = ResultLines(database, self.page_files(), credit_prices(self.settings.quota_prices))
            yield Exporter(database, self.shelf(), name, desk or self.desk(database, name), self.prices, results)
        finally:
            await database.close()

    @asynccontextmanager
    async def sender(self, who: str) -> AsyncIterator["Sender"]:
        """What sends the messages of webhooks, in turns of its own: a file that takes long keeps none waiting."""
        from gossamer.deliver.enclosed import Enclosures
        from gossamer.deliver.sender import Sender
        from gossamer.work.exporting import worker_name

        name = worker_name(self.home_name, who)
        desk = self.desk(self.database, name, self.desk_rules[DeskKind.WEBHOOK].limit)
        async with AsyncExitStack() as stack:

            async def poster() -> "Poster":
                return await stack.enter_async_context(open_poster(self.settings, self.clock))

            turn, patience = partial(desk.turn, DeskKind.WEBHOOK), self.settings.webhook_patience
            enclosed = Enclosures(self.database, self.shelf(), self.clock, self.settings.api_url or "")
            yield Sender(self.database, self.clock, poster, name, turn, patience=patience, enclose=enclosed.body)

    @property
    def desk_rules(self) -> Mapping[DeskKind, DeskRule]:
        return _desk_rules(self.settings)

    def desk(self, database: Database, holder: str, seats: int = SEATS) -> Desk:
        """Turns at desk work, under the limits that hold for all who share the database."""
        return Desk(database, holder, self.desk_rules, seats)

    def express(self) -> "Express":
        """What hands visits that somebody waits for straight to the processes of a runner of ours."""
        from gossamer.work.express import Express

        return Express(self.database, self.clock, self.settings.lease)

    def runner(self, processes: int | None = None, express: "Express | None" = None) -> "Runner":
        """The runner of this home; it may be started once the lock is held."""
        from gossamer.retain.files import FileSweeper
        from gossamer.retain.retainer import Retainer
        from gossamer.work.exporting import worker_name
        from gossamer.work.runner import Rules, Runner

        desk = self.desk(self.database, worker_name(self.home_name, "runner"))
        return Runner(
            self.database,
            self.clock,
            self.lock,
            self.home_name,
            self.settings.home,
            (sys.executable, "-m", "gossamer.worker"),
            log_path(self.settings),
            Rules(
                processes=processes or self.settings.processes,
                lease=self.settings.lease,
                job_time=self.settings.job_time,
                min_free_disk=self.settings.min_free_disk,
                patience=self.settings.database_patience,
            ),
            (LogChannel(),),
            Retainer(self.database, self.terms),
            FileSweeper(self.database, self.shelf(), self.page_files()),
            lambda: self.exporter("runner", desk),
            lambda: self.sender("runner"),
            desk,
            express,
        )


def prices_of(settings: Settings) -> PriceList:
    own = {
        rung: OwnPrice(
            int(said["worst"]) if "worst" in said else None, said.get("usd_per_credit"), said.get("usd_per_gigabyte")
        )
        for rung, said in settings.prices.items()
    }
    return price_list(settings.credit_usd, own, settings.prices_read)


def caps_of(settings: Settings) -> Mapping[Scope, Cap]:
    """Of a day, of an account's month, and of a job that was given no limit of its own."""
    return {
        Scope.SYSTEM: Cap(settings.daily_credits, _micros(settings.daily_usd)),
        Scope.ACCOUNT: Cap(settings.account_credits, _micros(settings.account_usd)),
        Scope.JOB: Cap(settings.max_credits),
    }


def _micros(usd: float | None) -> int | None:
    return None if usd is None else round(usd * MICROS)


def _desk_rules(settings: Settings) -> Mapping[DeskKind, DeskRule]:
    return desk_rules(settings.desk_limits, settings.desk_priorities)


def database_url(settings: Settings) -> str:
    if settings.database_url:
        return settings.database_url.get_secret_value()
    return f"sqlite:///{settings.home / 'gossamer.db'}"


def object_storage(settings: Settings) -> "ObjectBlobs | None":
    """Object storage, if the operator has named one; its library is loaded only then."""
    if not settings.storage_url:
        return None
    from gossamer.blobs.objects import Access, open_objects

    keys = (settings.storage_access_key, settings.storage_secret_key)
    access, secret = (key.get_secret_value() if key else "" for key in keys)
    return open_objects(
        Access(settings.storage_url, settings.storage_endpoint or "", settings.storage_region, access, secret)
    )


def page_files(settings: Settings, clock: SteadyClock) -> "PageFiles":
    """Beside the exported files: where all workers find them."""
    from gossamer.blobs.folder import FolderBlobs
    from gossamer.blobs.page_files import PageFiles
    from gossamer.blobs.private import make_secret

    remote = object_storage(settings)
    return PageFiles(remote or FolderBlobs(settings.home / "files", make_secret(settings.home / "secret"), clock))


def rungs_here(settings: Settings) -> dict[str, Rung]:
    """What this installation can fetch with, by name, cheapest first: the one list that everything else goes by."""
    unknown = [name for name in settings.test_rungs if name not in RUNGS or name == DIRECT.name]
    outside = [place for place in settings.test_rungs.values() if not _is_ours(place, settings)]
    if unknown or outside:
        raise UserError(
            "settings.invalid",
            f"GOSSAMER_TEST_RUNGS has {(unknown + outside)[0]!r}, expected a rung and an address of this machine.",
            hint="It is for tests: elsewhere than on this machine an address must be in GOSSAMER_ALLOW_NETWORKS.",
        )
    usable = {DIRECT.name, *settings.test_rungs, *provider_rungs(settings)}
    return {name: rung for name, rung in RUNGS.items() if name in usable}


def _is_ours(place: str, settings: Settings) -> bool:
    address = ip_address(urlsplit(f"//{place}").hostname or "")
    return address.is_loopback or any(address in network for network in settings.allow_networks)


def lanes_here(settings: Settings) -> tuple[str, ...]:
    """The lanes this installation has a rung for."""
    return tuple(dict.fromkeys(rung.lane for rung in rungs_here(settings).values()))


def require_redis() -> None:
    """Refuse an address of Redis where nothing here could talk to it."""
    if not (find_spec("redis") and find_spec("hiredis")):
        raise UserError(
            "redis.missing",
            "GOSSAMER_REDIS_URL (or REDIS_URL) is set, and the Python packages redis and hiredis are not installed.",
            hint="Install it with \".venv/bin/pip install '.[cluster]'\", or unset the address.",
        )


def start_log(settings: Settings, *, stream: TextIO | None = None) -> None:
    """Send the log to a stream, or to the home's file; no secret of the settings appears in it."""
    kept = (settings.database_url, settings.proxy, settings.redis_url, settings.broker_url)
    passwords = [urlsplit(secret.get_secret_value()).password or "" for secret in kept if secret]
    secrets = [spelling for password in passwords for spelling in (password, unquote(password))]
    keys = (
        settings.admin_token,
        settings.api_key,
        settings.api_secret,
        settings.storage_secret_key,
        settings.scrapingbee_key,
        settings.scraperapi_key,
        settings.firecrawl_key,
    )
    secrets += [key.get_secret_value() for key in keys if key]
    if stream is not None:
        configure(settings.log_format, settings.log_level, stream=stream, secrets=secrets)
        return
    path = log_path(settings)
    try:
        for folder in (settings.home, path.parent):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        configure(settings.log_format, settings.log_level, file=path, secrets=secrets)
    except OSError as error:
        raise UserError(
            "home.unwritable",
            f"Cannot write to {path}: {error.strerror or error}.",
            hint="Point GOSSAMER_HOME at a folder of your own.",
        ) from error


def provider_rungs(settings: Settings) -> tuple[str, ...]:
    """The names of the providers' rungs that are set up here; what speaks to them is not loaded for that."""
    given = {
        "scrapingbee": settings.scrapingbee_key,
        "scraperapi": settings.scraperapi_key,
        "flaresolverr": settings.flaresolverr_url,
        "firecrawl": settings.firecrawl_key,
    }
    return tuple(rung for rung in PROVIDER_RUNGS if given[provider_of(rung)])


def _check_way_back(settings: Settings) -> None:
    """Refuse a FlareSolverr on another machine that could not reach the proxy it has to go out through."""
    address = ip_address(listener_of(settings.forward_proxy_listen)[0])
    host = urlsplit(settings.flaresolverr_url or "//localhost").hostname or ""
    if not address.is_loopback or host == "localhost" or _is_loopback(host):
        return
    raise UserError(
        "forward_proxy.out_of_reach",
        f"FlareSolverr at {settings.flaresolverr_url} could not reach the forward proxy it has to go out through, "
        f"which listens on {address}.",
        hint="Set GOSSAMER_FORWARD_PROXY_LISTEN to an address it reaches, such as 0.0.0.0. "
        "See docs/howto/use-a-provider.md.",
    )


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def forward_proxy(settings: Settings, guard: "Guard") -> "ForwardProxy":
    """What browsers have to go out through; listens once it is entered."""
    from gossamer.fetch.forward import ForwardProxy, Listen
    from gossamer.fetch.forward.dialing import Dialer

    address, ports = listener_of(settings.forward_proxy_listen)
    everywhere = ip_address(address).is_unspecified
    name = settings.forward_proxy_name or (gethostname() if everywhere else address)
    trust = None
    if settings.ca_file:
        from ssl import create_default_context

        trust = create_default_context()
        trust.load_verify_locations(settings.ca_file)
    dialer = Dialer(settings.proxy.get_secret_value() if settings.proxy else "", trust)
    return ForwardProxy(guard, Listen(address, ports, name), dialer=dialer)


def provider_desk(
    settings: Settings,
    clock: SteadyClock,
    places: "Places",
    holder: str,
    breakers: "Breakers | None" = None,
    forward: "ForwardProxy | None" = None,
) -> "ProviderDesk":
    """The providers of this installation; `holder` tells this process from the others that share its places.

    Without `forward`, accounts can be asked for, and no page of FlareSolverr.
    """
    from gossamer.fetch.http import read_trust
    from gossamer.fetch.providers import Access, ProviderDesk

    keys = {
        "scrapingbee": (settings.scrapingbee_key, settings.scrapingbee_url),
        "scraperapi": (settings.scraperapi_key, settings.scraperapi_url),
        "firecrawl": (settings.firecrawl_key, settings.firecrawl_url),
    }
    worst = {rung: price.worst for rung, price in prices_of(settings).prices.items()}
    access = {
        name: Access(key.get_secret_value() if key else "", url or "", worst=worst) for name, (key, url) in keys.items()
    }
    access["flaresolverr"] = Access(url=settings.flaresolverr_url or "", at_once=settings.flaresolverr_concurrency)
    return ProviderDesk(
        access,
        clock,
        places,
        holder=holder,
        breakers=breakers,
        at_once=settings.provider_concurrency,
        never_send=_never_send(settings, clock),
        # Not before jobs have paused for it: whoever resumes them has looked.
        believed=settings.provider_patience * 1.5,
        proxy=settings.proxy.get_secret_value() if settings.proxy else "",
        trust=read_trust(settings.ca_file) if settings.ca_file else None,
        forward=forward,
    )


def _never_send(settings: Settings, clock: SteadyClock) -> "NeverVisit":
    from gossamer.fetch.never import NeverVisit

    return NeverVisit(settings.never_send, clock, "GOSSAMER_NEVER_SEND")


def log_path(settings: Settings) -> Path:
    return settings.log_file or settings.home / "logs" / "gossamer.log"


@asynccontextmanager
async def open_app(settings: Settings, patience: timedelta = timedelta()) -> AsyncIterator[App]:
    """An app on a database that is up to date. `patience` is with one that is away just now."""
    settings.home.mkdir(parents=True, exist_ok=True, mode=0o700)
    lock = HomeLock(settings.home)
    # By the runner's clock while there is one: what we write is due by it.
    clock = SteadyClock(lock.holders_clock())
    database = await ready_database(
        database_url(settings),
        clock,
        longest=settings.statement_timeout,
        pool=settings.database_pool_size,
        pooled=settings.pooled,
        patience=patience,
    )
    try:
        await _agree(clock, database)
        lock.clock = clock.offset
        if lock.holder() is None:
            await surrender.recall(settings.home, database)
        yield App(settings, clock, database, RECIPES, lock)
    finally:
        lock.release()
        await database.close()


async def _agree(clock: SteadyClock, database: SqliteDatabase | PostgresDatabase) -> None:
    """With a server, its clock is everybody's: what a worker wants to happen later is written by it and read by it."""
    if database.dialect.own_clock:
        clock.go_by(await database.read(database_time))


@asynccontextmanager
async def open_kit(
    settings: Settings,
    shards: int,
    clock: SteadyClock | None = None,
    *,
    pool: int = 4,
) -> AsyncIterator["Kit"]:
    """What one of `shards` working processes needs; all of them go by one clock.

    `pool` is how many connections it has to a server.
    """
    # What only a worker uses is loaded only by a worker: commands stay quick.
    from gossamer.dispatch.local import LocalDispatcher
    from gossamer.fetch.connect_to import parse_connect_to
    from gossamer.fetch.forward import ProxyLimits
    from gossamer.fetch.guard import Guard
    from gossamer.fetch.http import HttpRung, read_trust
    from gossamer.fetch.limits import capacity, raise_open_files
    from gossamer.fetch.never import NeverVisit
    from gossamer.fetch.providers import open_provider
    from gossamer.fetch.resolve import Resolver
    from gossamer.ledger.treasurer import Treasurer
    from gossamer.work.kit import Kit, Limits, OpenRung

    clock = clock or SteadyClock()

    def open_rows(pool: int = 4) -> SqliteDatabase | PostgresDatabase:
        longest = settings.statement_timeout
        url = database_url(settings)
        return open_database(url, clock, checkpoints=False, pool=pool, longest=longest, pooled=settings.pooled)

    database = open_rows(pool)
    database.patience.lasts = settings.database_patience
    resolver = Resolver(clock, servers=settings.dns_servers)
    guard = Guard(
        resolver,
        rules=parse_connect_to(settings.connect_to),
        allow=settings.allow_networks,
        never=NeverVisit(settings.never_visit, clock),
    )
    rung = HttpRung(
        guard,
        clock,
        connect_timeout=settings.connect_timeout,
        read_timeout=settings.read_timeout,
        trust=read_trust(settings.ca_file) if settings.ca_file else None,
        proxy=settings.proxy.get_secret_value() if settings.proxy else "",
    )
    opened = {DIRECT.name: OpenRung(DIRECT, rung.session)}
    if settings.test_rungs:
        # Loaded by name: what is shipped for tests is no part of what works.
        stand_in = import_module("gossamer.testing.rungs").stand_in
        for name, place in settings.test_rungs.items():
            opened[name] = OpenRung(RUNGS[name], stand_in(name, place, rung))
    # Those of tests stand in for providers too.
    offered = [name for name in provider_rungs(settings) if name not in opened]
    wanted = -(-settings.max_concurrency // shards)
    browses = any(provider_of(name) == "flaresolverr" for name in offered)
    sockets = raise_open_files() - (2 * ProxyLimits().connections if browses else 0)
    home = max(1, min(wanted, capacity(sockets)))
    rooms = {lane: home if lane == HOME_LANE else min(home, _OF_OTHER_LANES) for lane in lanes_here(settings)}
    limits = Limits(
        spacing=timedelta(seconds=1 / settings.domain_rate),
        timeout=settings.http_timeout,
        max_page_bytes=settings.max_page_bytes,
        lease=settings.lease,
        settle_patience=settings.settle_patience,
        proxy_patience=settings.proxy_patience,
        provider_patience=settings.provider_patience,
        checkpoint_visits=settings.checkpoint_visits,
        per_job=settings.job_concurrency,
        named_spacing={domain: timedelta(seconds=1 / rate) for domain, rate in settings.domain_rates.items()},
    )
    treasurer = Treasurer(database, clock, prices_of(settings), caps_of(settings))
    try:
        await _agree(clock, database)
        async with AsyncExitStack() as stack:
            lights = await stack.enter_async_context(open_gate(settings, clock, database))
            forward = await stack.enter_async_context(forward_proxy(settings, guard)) if browses else None
            desk = provider_desk(settings, clock, lights.gate, uuid4().hex, lights.breakers, forward)
            for name in offered:
                opened[name] = OpenRung(RUNGS[name], _through(partial(open_provider, name, desk, guard)))
            yield Kit(
                clock=clock,
                database=database,
                reopen_database=open_rows,
                gate=lights.gate,
                gate_outage=lights.outage,
                breakers=lights.breakers,
                site_breakers=lights.site_breakers,
                dispatcher=LocalDispatcher(),
                recipes=RECIPES,
                rungs=opened,
                resting=desk.resting,
                own_ways=_own_ways(settings, desk, guard),
                outage=rung.outage,
                treasurer=treasurer,
                limits=limits,
                files=page_files(settings, clock),
                lanes=rooms,
                files_of="" if settings.storage_url else home_name(settings.home),
                desk_rules=_desk_rules(settings),
                credits=credit_prices(settings.quota_prices),
            )
    finally:
        await treasurer.close()
        await resolver.close()
        await database.close()


@asynccontextmanager
async def open_poster(settings: Settings, clock: SteadyClock) -> AsyncIterator["Poster"]:
    """What carries messages to addresses that people have named.

    What no job may visit can be told all the same: an operator's own server may be on that list.
    """
    from gossamer.fetch.connect_to import parse_connect_to
    from gossamer.fetch.guard import Guard
    from gossamer.fetch.http import read_trust
    from gossamer.fetch.post import Poster
    from gossamer.fetch.resolve import Resolver

    resolver = Resolver(clock, servers=settings.dns_servers)
    guard = Guard(resolver, rules=parse_connect_to(settings.connect_to), allow=settings.allow_networks)
    try:
        yield Poster(
            guard,
            clock,
            timeout=settings.webhook_timeout,
            trust=read_trust(settings.ca_file) if settings.ca_file else None,
            proxy=settings.proxy.get_secret_value() if settings.proxy else "",
        )
    finally:
        await resolver.close()


def _through(provider: "Callable[[], Fetcher]") -> "Callable[[int], Fetcher]":
    """Which browser a visit is does not matter to somebody else's machines."""
    return lambda _: provider()


def _own_ways(settings: Settings, desk: "ProviderDesk", guard: "Guard") -> "OwnWays":
    """For jobs that bring a key to a provider along."""
    from gossamer.fetch.providers import OwnKey
    from gossamer.work.kit import OwnWays

    return OwnWays(
        open_seal=lambda sealed, account, provider: sealer(settings).open(sealed, purpose_of(account, provider)),
        open=lambda rung, whose, key: desk.session(rung, guard, own=OwnKey(whose, key)),
        resting=lambda rung, whose, key: desk.resting(rung, OwnKey(whose, key)),
        forget=desk.forget,
    )


def sealer(settings: Settings) -> Sealer:
    """What seals other people's secrets here."""
    return Sealer(installation_secret(settings))


def installation_secret(settings: Settings) -> bytes:
    """What everything is made of that only this installation may sign or open."""
    from gossamer.blobs.private import make_secret

    given = settings.api_secret
    return given.get_secret_value().encode() if given else make_secret(settings.home / "secret")


@dataclass(frozen=True, slots=True)
class Lights:
    """The traffic lights and breakers, and who says whether the server that keeps them is away."""

    gate: "Gate"
    breakers: "Breakers"
    site_breakers: "Breakers"
    outage: Callable[[], str] = lambda: ""


@asynccontextmanager
async def open_gate(
    settings: Settings, clock: SteadyClock, database: SqliteDatabase | PostgresDatabase
) -> AsyncIterator[Lights]:
    if settings.redis_url is None:
        from gossamer.gate.breakers import MemoryBreakers
        from gossamer.gate.local import LocalGate
        from gossamer.store.breakers import StoredBreakers
        from gossamer.store.places import StoredPlaces

        # All requests to a domain are made by one process of the home; those to a provider by all.
        yield Lights(LocalGate(clock, StoredPlaces(database)), StoredBreakers(database), MemoryBreakers(clock))
        return
    require_redis()
    from gossamer.gate.redis import RedisGate
    from gossamer.gate.redis_breakers import RedisBreakers

    async with RedisGate(settings.redis_url.get_secret_value(), clock, prefix=settings.redis_prefix).kept() as gate:
        breakers = RedisBreakers(gate, clock)
        yield Lights(gate, breakers, breakers, gate.outage)


@asynccontextmanager
async def open_counts(app: App) -> AsyncIterator[tuple["Places", Callable[[], str]]]:
    """Where requests to the server are counted, and who says whether that is away: together with other servers."""
    if app.settings.redis_url is None and isinstance(app.database, SqliteDatabase):
        from gossamer.gate.memory import MemoryPlaces

        # One file, one server: nobody else counts, and a write to the disk per request would be dear.
        yield MemoryPlaces(app.clock), lambda: ""
        return
    async with open_gate(app.settings, app.clock, app.database) as lights:
        yield lights.gate, lights.outage
