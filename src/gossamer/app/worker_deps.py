"""Dependencies of a worker process."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, aclosing, asynccontextmanager, nullcontext
from datetime import timedelta
from importlib import import_module
from typing import TYPE_CHECKING
from uuid import uuid4

from gossamer.app.application import desk_rules_of
from gossamer.app.connections import forward_proxy, job_key_rungs, lanes_here, provider_desk, rungs_here
from gossamer.app.gates import open_gate
from gossamer.app.installation import agree, database_url, page_files
from gossamer.app.price_settings import caps_of, prices_of
from gossamer.clock import SteadyClock
from gossamer.db.database import PostgresDatabase, SqliteDatabase, open_database
from gossamer.fetch.rung import Tools
from gossamer.model.account import credit_prices
from gossamer.model.registry import resolve
from gossamer.model.rungs import HOME_LANE, RUNGS, Rung
from gossamer.recipes.registry import RECIPES
from gossamer.runtime.home_lock import home_name
from gossamer.settings import Settings

if TYPE_CHECKING:
    from gossamer.crawl.worker_deps import OpenRung, WorkerDeps, WorkerLimits
    from gossamer.fetch import Fetcher
    from gossamer.fetch.http import HttpRung
    from gossamer.fetch.rung import MakeSession, RungOpener

_OF_OTHER_LANES = 8  # visits at a time of one process: what renders pages takes memory


@asynccontextmanager
async def open_deps(
    settings: Settings,
    shards: int,
    clock: SteadyClock | None = None,
    *,
    pool: int = 4,
) -> AsyncIterator["WorkerDeps"]:
    """Yield the dependencies of one of `shards` worker processes; all of them share one clock.

    `pool` is the number of connections to a database server.
    """
    # Needed by workers only: commands start without them.
    from gossamer.billing.reservations import Treasurer
    from gossamer.crawl.own_network import OwnNetwork
    from gossamer.crawl.worker_deps import OpenRung, WorkerDeps
    from gossamer.dispatch.local import LocalDispatcher
    from gossamer.fetch.deny_list import DenyList
    from gossamer.fetch.forward_proxy import ProxyLimits
    from gossamer.fetch.guard import Guard, parse_connect_to
    from gossamer.fetch.http import HttpRung, capacity, raise_open_files, read_trust
    from gossamer.fetch.providers import open_provider
    from gossamer.fetch.resolve import Resolver

    clock = clock or SteadyClock()

    def open_rows(pool: int = 4) -> SqliteDatabase | PostgresDatabase:
        longest = settings.statement_timeout
        url = database_url(settings)
        return open_database(url, clock, checkpoints=False, pool=pool, longest=longest, pooled=settings.pooled)

    database = open_rows(pool)
    database.retries.limit = settings.database_patience
    resolver = Resolver(clock, servers=settings.dns_servers)
    guard = Guard(
        resolver,
        rules=parse_connect_to(settings.connect_to),
        allow=settings.allow_networks,
        never=DenyList(settings.never_visit, clock),
    )
    proxy = settings.proxy.get_secret_value() if settings.proxy else ""
    rung = HttpRung(
        guard,
        clock,
        connect_timeout=settings.connect_timeout,
        read_timeout=settings.read_timeout,
        silence=min(settings.connect_timeout, settings.read_timeout * 0.75, settings.http_timeout * 0.75),
        trust=read_trust(settings.ca_file) if settings.ca_file else None,
        proxy=proxy,
    )
    opened = _stand_ins(settings, rung)
    # Rungs of tests replace those that are set up.
    offered = [row for name, row in rungs_here(settings).items() if name not in opened]
    wanted = -(-settings.max_concurrency // shards)
    browses = any(row.provider and row.provider.is_browser for row in offered)
    sockets = raise_open_files() - (2 * ProxyLimits().connections if browses else 0)
    home = max(1, min(wanted, capacity(sockets)))
    rooms = {lane: home if lane == HOME_LANE else min(home, _OF_OTHER_LANES) for lane in lanes_here(settings)}
    limits = _limits(settings)
    treasurer = Treasurer(database, clock, prices_of(settings), caps_of(settings))
    try:
        await agree(clock, database)
        async with AsyncExitStack() as stack:
            gates = await stack.enter_async_context(open_gate(settings, clock, database))
            forward = await stack.enter_async_context(forward_proxy(settings, guard)) if browses else None
            desk = provider_desk(settings, clock, gates.gate, uuid4().hex, gates.breakers, forward)
            for row in offered:
                opening = _open_rung(row, rung, settings, lambda name: open_provider(name, desk, guard))
                opened[row.name] = OpenRung(row, await stack.enter_async_context(opening))
            asked = (guard, rung.answers, resolver.is_there, gates.gate, limits.spacing_of)
            own_network = await stack.enter_async_context(aclosing(OwnNetwork(clock, *asked, proxy)))
            yield WorkerDeps(
                clock=clock,
                database=database,
                reopen_database=open_rows,
                gate=gates.gate,
                gate_outage=gates.outage,
                breakers=gates.breakers,
                site_breakers=gates.site_breakers,
                dispatcher=LocalDispatcher(),
                recipes=RECIPES,
                rungs=opened,
                resting=desk.resting,
                job_key_rungs=job_key_rungs(settings, desk, guard),
                outage=rung.outage,
                own_network=own_network,
                treasurer=treasurer,
                limits=limits,
                secrets={name: secret.get_secret_value() for name, secret in settings.secrets.items()},
                files=page_files(settings, clock),
                lanes=rooms,
                files_of="" if settings.storage_url else home_name(settings.home),
                desk_rules=desk_rules_of(settings),
                credits=credit_prices(settings.quota_prices),
            )
    finally:
        await treasurer.close()
        await resolver.close()
        await database.close()


def _limits(settings: Settings) -> "WorkerLimits":
    # Loads the parser.
    from gossamer.crawl.worker_deps import WorkerLimits

    return WorkerLimits(
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


def _stand_ins(settings: Settings, direct: "HttpRung") -> "dict[str, OpenRung]":
    """Return the rungs that tests replace by servers of their own."""
    # Loads the parser.
    from gossamer.crawl.worker_deps import OpenRung

    if not settings.test_rungs:
        return {}
    # Loaded by name: the product does not import the sandbox.
    stand_in = import_module("gossamer_sandbox.stand_ins").stand_in
    return {name: OpenRung(RUNGS[name], stand_in(name, place, direct)) for name, place in settings.test_rungs.items()}


def _open_rung(
    row: Rung, direct: "HttpRung", settings: Settings, open_provider: "Callable[[str], Fetcher]"
) -> AbstractAsyncContextManager["MakeSession"]:
    if row.provider:
        # The identity of a visit is not sent to providers.
        return nullcontext(lambda _: open_provider(row.name))
    opener: RungOpener = resolve(row.opener)
    return opener(Tools(direct, {one.name: settings.plain(one.name) for one in row.settings}))
