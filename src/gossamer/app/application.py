"""The application: a data folder or a database, and the factories of its parts."""

import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from gossamer.accounts.sealing import purpose_of
from gossamer.app.connections import check_openers, check_way_back, never_send, open_poster, rungs_here
from gossamer.app.gates import require_redis
from gossamer.app.installation import (
    agree,
    database_url,
    key_seals,
    lacks_shared_secret,
    log_path,
    object_storage,
    page_files,
    sealer,
)
from gossamer.app.price_settings import caps_of, prices_of
from gossamer.billing.prices import PriceList
from gossamer.blobs.atomic_files import make_secret
from gossamer.blobs.export_store import ExportStore
from gossamer.blobs.folder import FolderBlobs
from gossamer.blobs.page_files import PageFiles
from gossamer.clock import SteadyClock
from gossamer.crawl.remaining_work import RemainingWork
from gossamer.db.database import Database, PostgresDatabase, SqliteDatabase, open_database
from gossamer.db.schema import ready_database
from gossamer.errors import UserError
from gossamer.fetch.deny_list import DenyList
from gossamer.fetch.http import read_trust
from gossamer.model.account import Quota, credit_prices
from gossamer.model.money import Cap, Scope
from gossamer.model.worker import DeskKind, DeskRule, desk_rules
from gossamer.recipes.base import Recipe
from gossamer.recipes.registry import RECIPES
from gossamer.retention.service import Terms
from gossamer.runtime import shutdown_note
from gossamer.runtime.alerts import LogChannel
from gossamer.runtime.background_slots import SLOTS, BackgroundSlots
from gossamer.runtime.home_lock import HomeLock, home_name, worker_name
from gossamer.runtime.outage_alerts import StorageWatch
from gossamer.settings import Settings

if TYPE_CHECKING:
    from gossamer.crawl.express import Express
    from gossamer.fetch.post import Poster
    from gossamer.retention.service import FileSweeper
    from gossamer.runtime.conclusion import Concluder
    from gossamer.runtime.exporting import Exporter
    from gossamer.runtime.runner import Runner
    from gossamer.webhooks.sender import Sender

_READ_ONCE = 2_000  # KB of cache of a connection that reads everything once

WORKER = (sys.executable, "-P", "-m", "gossamer.worker")
"""The command that starts a working process."""

EXPORTERS_POOL = 2  # connections: one to read, one to report progress


@dataclass(frozen=True, slots=True)
class App:
    """The application: the data folder, its database, and the means to become its runner."""

    settings: Settings
    clock: SteadyClock
    database: SqliteDatabase | PostgresDatabase
    recipes: Mapping[str, Recipe]
    lock: HomeLock
    remaining_work: RemainingWork

    @property
    def home_name(self) -> str:
        return home_name(self.settings.home)

    @property
    def rungs(self) -> tuple[str, ...]:
        """Return the names of the rungs that can be used here."""
        return tuple(rungs_here(self.settings))

    @property
    def terms(self) -> Terms:
        """Return the retention periods of results."""
        return Terms(self.settings.retention, self.settings.retention_grace)

    @property
    def prices(self) -> PriceList:
        """Return the prices of requests."""
        return prices_of(self.settings)

    @property
    def caps(self) -> Mapping[Scope, Cap]:
        """Return the spending caps."""
        return caps_of(self.settings)

    @property
    def quota(self) -> Quota:
        """Return the default quota of accounts without one of their own."""
        settings = self.settings
        return Quota(settings.quota_credits, settings.account_jobs, settings.account_queue)

    def seal_key(self, key: str, account: str, provider: str) -> bytes:
        """Seal the provider key that a job brings, for storage. Refused if workers could not read it."""
        if lacks_shared_secret(self.settings):
            raise UserError(
                "keys.no_secret",
                "This server cannot take a key with a job: it has no secret that its workers know.",
                hint="Its operator sets GOSSAMER_API_SECRET, the same on all machines.",
            )
        return sealer(self.settings).seal(key, purpose_of(account, provider))

    def check(self) -> None:
        """Check the settings that only a worker uses, so that an error shows before a job is created."""
        if self.settings.ca_file:
            read_trust(self.settings.ca_file)
        if self.settings.redis_url:
            require_redis()
        rungs_here(self.settings)
        check_openers(self.settings)
        check_way_back(self.settings)
        self.never_visit()
        if self.settings.never_send:
            never_send(self.settings, self.clock)

    def never_visit(self) -> DenyList | None:
        """Return the sites that no job may visit, read from the operator's file; None without such a file."""
        if self.settings.never_visit is None:
            return None
        return DenyList(self.settings.never_visit, self.clock)

    def export_store(self) -> ExportStore:
        """Return the store of exported files."""
        home = self.settings.home
        local = FolderBlobs(home / "files", make_secret(home / "secret"), self.clock)
        return ExportStore(self.home_name, local, object_storage(self.settings))

    def storage_watch(self, host: str) -> StorageWatch | None:
        """Return the monitor that reports unusable object storage; None without object storage."""
        objects = object_storage(self.settings)
        return StorageWatch(self.database, self.clock, objects.probe, self.home_name, host) if objects else None

    def page_files(self) -> PageFiles:
        """Return the store of single pages' files."""
        return page_files(self.settings, self.clock)

    @asynccontextmanager
    async def exporter(self, who: str, desk: BackgroundSlots | None = None) -> AsyncIterator["Exporter"]:
        """Yield the exporter of this data folder, with its own database connection.

        `who` distinguishes several exporters.
        """
        # These load the parser, which quick commands do without.
        from gossamer.recipes.page_results import ResultLines
        from gossamer.runtime.exporting import Exporter

        database = open_database(
            database_url(self.settings),
            self.clock,
            checkpoints=False,
            cache_kb=_READ_ONCE,
            pool=EXPORTERS_POOL,
            pooled=self.settings.pooled,
        )
        database.retries.limit = self.database.retries.limit
        try:
            name = worker_name(self.home_name, who)
            results = ResultLines(database, self.page_files(), credit_prices(self.settings.quota_prices))
            yield Exporter(database, self.export_store(), name, desk or self.desk(database, name), self.prices, results)
        finally:
            await database.close()

    @asynccontextmanager
    async def sender(self, who: str) -> AsyncIterator["Sender"]:
        """Yield the sender of webhook messages. It has its own slots, so that slow exports do not delay messages."""
        # Needed by runners and servers only.
        from gossamer.webhooks.sender import Attachments, Sender

        name = worker_name(self.home_name, who)
        desk = self.desk(self.database, name, self.desk_rules[DeskKind.WEBHOOK].limit)
        async with AsyncExitStack() as stack:

            async def poster() -> "Poster":
                return await stack.enter_async_context(open_poster(self.settings, self.clock))

            seals, turn = key_seals(self.settings), partial(desk.hold, DeskKind.WEBHOOK)
            enclosed = Attachments(self.database, self.export_store(), self.clock, self.settings.api_url or "")
            patience = self.settings.webhook_patience
            yield Sender(self.database, self.clock, poster, seals, name, turn, patience=patience, enclose=enclosed.body)

    def concluder(self, desk: BackgroundSlots, holder: str, output: Path | None = None) -> "Concluder":
        """Return the starter of a process for every job that is to be concluded."""
        # Loads the crawler.
        from gossamer.runtime.conclusion import Concluder

        return Concluder(self.database, desk, holder, WORKER, self.settings.lease, output)

    @property
    def desk_rules(self) -> Mapping[DeskKind, DeskRule]:
        return desk_rules_of(self.settings)

    def desk(self, database: Database, holder: str, size: int = SLOTS) -> BackgroundSlots:
        """Return the slots for background work, under limits shared by all processes on this database."""
        return BackgroundSlots(database, holder, self.desk_rules, size)

    def file_sweeper(self) -> "FileSweeper":
        """Return the sweeper, which removes expired files and uploads the files that wait for object storage."""
        # Needed by runners and servers only.
        from gossamer.retention.service import FileSweeper

        return FileSweeper(self.database, self.export_store(), self.page_files())

    def express(self) -> "Express":
        """Return the handler that passes visits with a waiting caller directly to the processes of a local runner."""
        # Loads the crawler.
        from gossamer.crawl.express import Express

        return Express(self.database, self.clock, self.settings.lease)

    def runner(self, processes: int | None = None, express: "Express | None" = None) -> "Runner":
        """Return the runner of this data folder; it may be started once the lock is held."""
        # These load the crawler.
        from gossamer.retention.service import Retainer
        from gossamer.runtime.runner import Runner, RunnerLimits
        from gossamer.runtime.services import Cleanup, ExportService, WebhookService

        desk = self.desk(self.database, worker_name(self.home_name, "runner"))
        return Runner(
            self.database,
            self.clock,
            self.lock,
            self.home_name,
            self.settings.home,
            WORKER,
            log_path(self.settings),
            RunnerLimits(
                processes=processes or self.settings.processes,
                lease=self.settings.lease,
                job_time=self.settings.job_time,
                min_free_disk=self.settings.min_free_disk,
                patience=self.settings.database_patience,
            ),
            (LogChannel(),),
            Cleanup(self.clock, Retainer(self.database, self.terms), self.file_sweeper(), desk),
            ExportService(lambda: self.exporter("runner", desk)),
            WebhookService(lambda: self.sender("runner")),
            self.concluder(desk, worker_name(self.home_name, "concluder"), log_path(self.settings)),
            self.storage_watch(self.home_name),
            express,
        )


@asynccontextmanager
async def open_app(
    settings: Settings, patience: timedelta = timedelta(), *, may_be_older: bool = False
) -> AsyncIterator[App]:
    """Open the application on a database of the current revision, waiting up to `patience` for one that is away.

    `may_be_older` accepts a database that has not been upgraded yet, for commands that only list workers.
    """
    settings.home.mkdir(parents=True, exist_ok=True, mode=0o700)
    lock = HomeLock(settings.home)
    # The clock of a running runner is used: due times are compared with it.
    clock = SteadyClock(lock.holders_clock())
    database = await ready_database(
        database_url(settings),
        clock,
        longest=settings.statement_timeout,
        pool=settings.database_pool_size,
        pooled=settings.pooled,
        patience=patience,
        may_be_older=may_be_older,
    )
    try:
        await agree(clock, database)
        lock.clock = clock.offset
        if lock.holder() is None:
            await shutdown_note.recall(settings.home, database)
        yield App(settings, clock, database, RECIPES, lock, RemainingWork(partial(spacing_of, settings)))
    finally:
        lock.release()
        await database.close()


def spacing_of(settings: Settings, domain: str) -> timedelta:
    """Return the minimum time between two requests to a domain, as far as our settings decide it."""
    return timedelta(seconds=1 / settings.domain_rates.get(domain, settings.domain_rate))


def desk_rules_of(settings: Settings) -> Mapping[DeskKind, DeskRule]:
    return desk_rules(settings.desk_limits, settings.desk_priorities)
