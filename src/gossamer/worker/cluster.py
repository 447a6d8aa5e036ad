"""Assembly of a cluster's processes from settings: an instance of `gossamer worker`, and each of its workers."""

import os
import re
import socket
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from hashlib import sha256
from importlib.util import find_spec

from gossamer import __version__
from gossamer.accounts import passwords
from gossamer.app import EXPORTERS_POOL, WORKER, App, database_url, lanes_here, open_app, open_deps, require_redis
from gossamer.db import health
from gossamer.db.database import PostgresDatabase, open_database
from gossamer.db.transactions import Tx
from gossamer.errors import UserError
from gossamer.logging import get_logger
from gossamer.model.rungs import RUNGS, Lane
from gossamer.model.worker import Worker
from gossamer.retention.service import Retainer
from gossamer.runtime.alerts import AlertSender, LogChannel
from gossamer.runtime.background_slots import BackgroundSlots
from gossamer.runtime.cluster import ENDLESS, ClusterHost, ClusterLeader, ClusterWorker, Duties
from gossamer.runtime.conclusion import Concluder
from gossamer.runtime.home_lock import CLUSTER, RUNNER, RUNNER_KEPT
from gossamer.runtime.issuing import Issuer
from gossamer.runtime.outage_alerts import DatabaseWatch, StorageWatch
from gossamer.runtime.process_pool import ProcessPool
from gossamer.runtime.services import NEARLY_ALL, Cleanup, ExportService, WebhookService
from gossamer.settings import Settings
from gossamer.store import named_slots, workers
from gossamer.store.workers import SharedSetting

LANES = tuple(Lane)

_POOL = 4  # maximum database connections of a worker,
_RENEWER = 1  # and one that renews its leases
_INSTANCE = 4 + EXPORTERS_POOL  # connections of an instance, exports included,
_CLOSER = 3  # and for audits, in one instance at a time

log = get_logger(__name__)


def check(settings: Settings) -> None:
    """Raise UserError if the settings or packages that a cluster requires are missing."""
    if database_url(settings).startswith("sqlite:"):
        raise UserError(
            "cluster.database",
            "A cluster needs a database that many machines can reach, and this one is a SQLite file.",
            hint="Set GOSSAMER_DATABASE_URL=postgresql://user:password@host/name, or use 'gossamer job run' alone.",
        )
    if settings.redis_url is None:
        raise UserError(
            "cluster.redis",
            "A cluster needs Redis, which keeps the spacing of requests for all workers.",
            hint="Set GOSSAMER_REDIS_URL=redis://host:6379/0.",
        )
    require_redis()
    if not find_spec("celery"):
        raise UserError(
            "cluster.missing",
            "The Python package celery is not installed.",
            hint="Install it with \".venv/bin/pip install '.[cluster]'\".",
        )


_SEALED_WITH = "GOSSAMER_API_SECRET"
_UNSET = "none"
_MOST_SHOWN = 80  # characters of a value


def shared_values(settings: Settings) -> dict[str, str]:
    """Return the settings that must be equal on all machines of a cluster. Secrets are stored as digests only."""
    secret = settings.api_secret
    return {
        "GOSSAMER_REDIS_PREFIX": settings.redis_prefix,
        "GOSSAMER_DOMAIN_RATE": f"{settings.domain_rate:g}",
        "GOSSAMER_DOMAIN_RATES": ",".join(f"{name}={rate:g}" for name, rate in sorted(settings.domain_rates.items())),
        "GOSSAMER_DATABASE_POOLING": settings.database_pooling,
        _SEALED_WITH: passwords.digest(_hidden(secret.get_secret_value())) if secret else _UNSET,
    }


def _hidden(secret: str) -> str:
    """Return a hash of the secret, whose length tells nothing about the secret."""
    return sha256(secret.encode()).hexdigest()


def join(tx: Tx, values: Mapping[str, str], host: str) -> list[SharedSetting]:
    """Return the cluster's settings, taken from its first machine. If no other is running, that is this one."""
    named_slots.lock_slot(tx, "cluster settings")
    known = workers.shared_settings(tx)
    if known and health.working_home(tx) == CLUSTER:
        return known
    workers.replace_shared_settings(tx, values, host)
    # From here on other machines find a cluster, unless a data folder uses this database: then both wait.
    named_slots.enter(tx, RUNNER, CLUSTER, 1, RUNNER_KEPT)
    return workers.shared_settings(tx)


def refuse_differences(settings: Settings, values: Mapping[str, str], known: Sequence[SharedSetting]) -> None:
    """Raise UserError if a shared setting differs here: one machine could break the spacing of all."""
    found = [said for one in known if (said := _difference(settings, one, values.get(one.name)))]
    if found:
        raise UserError(
            "cluster.settings",
            f"This machine does not fit into the cluster: {'; '.join(found)}.",
            hint="Set what the others have: 'gossamer system cluster-settings'. To change it for all of them, stop all "
            "workers first.",
        )


def _difference(settings: Settings, known: SharedSetting, ours: str | None) -> str:
    if ours is None or ours == known.value:
        return ""
    if known.name != _SEALED_WITH:
        return f"{known.name} is {_shown(ours)} here and {_shown(known.value)} on {known.host}"
    if settings.api_secret is None:
        return f"{_SEALED_WITH} is not set here, and {known.host} has one"
    if known.value == _UNSET:
        return f"{_SEALED_WITH} is set here and not on {known.host}"
    if passwords.fits(_hidden(settings.api_secret.get_secret_value()), known.value):
        return ""
    return f"{_SEALED_WITH} is another one than on {known.host}"


def _shown(value: str) -> str:
    return (value if len(value) <= _MOST_SHOWN else f"{value[:_MOST_SHOWN]}...") or "not set"


def broker_url(settings: Settings) -> str:
    url = settings.broker_url or settings.redis_url
    assert url is not None  # noqa: S101 - checked when we began
    # Celery has another name for the Unix socket URLs of redis-py.
    return re.sub(r"^unix://", "redis+socket://", url.get_secret_value())


def read_lanes(text: str, concurrency: int) -> dict[str, int]:
    """Parse `http:95,desk:5`, or names alone, which share the remaining concurrency; desk gets a twentieth."""
    given: dict[str, int | None] = {}  # None: a share of the rest
    for part in text.split(","):
        name, colon, number = (piece.strip() for piece in part.partition(":"))
        is_number = number.isascii() and number.isdigit() and int(number) > 0
        if name not in LANES or name in given or bool(colon) != is_number:
            raise UserError(
                "worker.lanes",
                f"--lanes {text!r} cannot be used at {part.strip()!r}.",
                hint="Give it like http:95,desk:5 or http,desk. "
                f"There are the lanes {', '.join(LANES[:-1])} and {LANES[-1]}.",
            )
        given[name] = int(number) if number else None
    left = concurrency - sum(slots for slots in given.values() if slots)
    if None in given.values() and left < sum(slots is None for slots in given.values()):
        raise UserError(
            "worker.concurrency",
            f"--concurrency {concurrency} leaves nothing for some of the lanes {text!r}.",
            hint="Raise it, or leave out a lane.",
        )
    if given.get(Lane.DESK, 0) is None:
        alone = not any(slots is None for name, slots in given.items() if name != Lane.DESK)
        desk = left if alone else max(1, left // 20)
        given[Lane.DESK], left = desk, left - desk
    sharing = [name for name, slots in given.items() if slots is None]
    shares = {name: left // len(sharing) + (at < left % len(sharing)) for at, name in enumerate(sharing)}
    return {name: shares[name] if slots is None else slots for name, slots in given.items()}


def check_lanes(settings: Settings, lanes: Collection[str]) -> None:
    """Raise UserError for a lane whose rungs are not configured here."""
    here = (*lanes_here(settings), Lane.DESK)
    for lane in lanes:
        if lane not in here:
            needed = " or ".join(rung.name for rung in RUNGS.values() if rung.lane == lane)
            raise UserError(
                "worker.no_rung",
                f"The {lane} lane needs {needed}, which is not configured here.",
                hint=f"Configure it, or leave the lane out: --lanes {','.join(here)}.",
            )


def parts(lanes: Mapping[str, int], processes: int) -> list[dict[str, int]]:
    """Divide slots evenly among processes; no more processes than the largest lane has slots."""
    count = min(processes, max(lanes.values()))
    dealt = [
        {lane: slots // count + (number < slots % count) for lane, slots in lanes.items()} for number in range(count)
    ]
    return [{lane: slots for lane, slots in one.items() if slots} for one in dealt]


def pool_size(tx: Tx, processes: int) -> int:
    """Return the connections of each new process, so that all use less than 80 % of the server's."""
    server = health.server(tx)
    if server is None:
        return _POOL
    known = [one for one in workers.known(tx) if not one.is_silent]
    most = server.most_connections
    all_processes, instances = len(known) + processes, len({one.host for one in known}) + 1
    budget = int(most * NEARLY_ALL) - _INSTANCE * instances - _CLOSER
    pool = budget // all_processes - _RENEWER
    if pool < 1 or all_processes > most // 2:
        raise UserError(
            "cluster.connections",
            f"{all_processes} working processes ({processes} new ones, and {len(known)} at work already) are too many "
            f"for a database with {most} connections.",
            hint="Start fewer with --processes, or raise max_connections of the server: it should be more than twice "
            "the number of working processes.",
        )
    return min(_POOL, pool)


@asynccontextmanager
async def open_cluster_host(settings: Settings, lanes: Mapping[str, int], processes: int) -> AsyncIterator[ClusterHost]:
    """Yield the instance that `gossamer worker` runs."""
    check(settings)
    # Imported here: Celery is installed for clusters only.
    from gossamer.dispatch.celery import CeleryDispatcher

    dealt = parts(lanes, processes)
    host = socket.gethostname()
    # After an automatic restart the database may be unreachable: that is waited for.
    async with open_app(settings, settings.database_patience) as app:
        app.check()
        values = shared_values(settings)
        refuse_differences(settings, values, await app.database.write(join, values, host))
        pool = await app.database.read(pool_size, len(dealt))
        closing = open_database(database_url(settings), app.clock, pool=_CLOSER, pooled=settings.pooled)
        closing.retries.limit = ENDLESS
        if isinstance(closing, PostgresDatabase):
            await closing.refuse_pooler()
        # It sends to all lanes, including those that only other machines crawl.
        dispatcher = CeleryDispatcher(broker_url(settings), settings.redis_prefix, LANES)
        commands = [(*WORKER, *_arguments(part, pool)) for part in dealt]
        holder = f"{host}/{os.getpid()}"
        desk = app.desk(app.database, holder, lanes.get(Lane.DESK, 1))
        cleanup = Cleanup(app.clock, Retainer(app.database, app.terms), app.file_sweeper(), desk)
        issuer = Issuer(app.database, dispatcher, app.clock, holder, settings.max_concurrency, settings.job_concurrency)
        duties = _duties(app, cleanup, app.desk(closing, holder))
        optional: list[ExportService | WebhookService | Concluder | DatabaseWatch | StorageWatch] = [
            DatabaseWatch(app.database, app.clock, duties.alert_sender, host)
        ]
        if storage := app.storage_watch(host):
            optional.append(storage)
        if Lane.DESK in lanes:
            optional += [ExportService(lambda: app.exporter("cluster", desk))]
            optional += [WebhookService(lambda: app.sender("cluster")), app.concluder(desk, holder)]
        log.info(
            "cluster.started",
            host=host,
            processes=len(dealt),
            lanes={str(lane): most for lane, most in lanes.items()},
            pool=pool,
        )
        try:
            yield ClusterHost(
                app.database,
                host,
                ProcessPool(app.database, app.clock, host, commands, settings.lease, memory=settings.worker_memory),
                ClusterLeader(app.database, closing, app.clock, holder, issuer, duties),
                dispatcher,
                cleanup,
                *optional,
            )
        finally:
            await closing.close()


def _arguments(lanes: Mapping[str, int], pool: int) -> tuple[str, ...]:
    return ("--lanes", ",".join(f"{lane}:{slots}" for lane, slots in lanes.items()), "--pool", str(pool))


def _duties(app: App, cleanup: Cleanup, ending: BackgroundSlots) -> Duties:
    settings = app.settings
    return Duties(
        AlertSender(app.database, app.clock, (LogChannel(),)),
        cleanup,
        app.recipes,
        "",  # any worker that makes files: this instance may have no desk lane
        settings.lease,
        settings.job_time,
        ending,
    )


@asynccontextmanager
async def open_cluster_worker(
    settings: Settings, name: str, host: str, lanes: Mapping[str, int], pool: int, beat: Callable[[], None]
) -> AsyncIterator[ClusterWorker]:
    """Yield a worker process of an instance."""
    # Imported here: Celery is installed for clusters only.
    from gossamer.dispatch.celery import CeleryDispatcher

    room = sum(lanes.values())
    async with open_deps(settings, 1, pool=pool) as deps:
        dispatcher = CeleryDispatcher(broker_url(settings), settings.redis_prefix, tuple(lanes))
        walked = {lane: slots for lane, slots in lanes.items() if lane != Lane.DESK}
        deps = replace(deps, dispatcher=dispatcher, lanes=walked, files_of="")
        await dispatcher.listen(room)
        now = deps.clock.now()
        yield ClusterWorker(deps, Worker(name, host, os.getpid(), lanes, __version__, now, now), beat, dispatcher.want)
