"""Dependencies of a worker process, made by `app`."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from gossamer.billing.reservations import Treasurer
from gossamer.blobs.page_files import PageFiles
from gossamer.clock import Clock
from gossamer.crawl.own_network import OwnNetwork
from gossamer.db.database import PostgresDatabase, SqliteDatabase
from gossamer.dispatch import Dispatcher
from gossamer.fetch import Fetcher, ProviderUnusable
from gossamer.fetch.outage import Outage
from gossamer.gate import Breakers, Gate
from gossamer.model.rungs import Rung
from gossamer.model.worker import DESK_RULES, DeskKind, DeskRule
from gossamer.recipes.base import Recipe


@dataclass(frozen=True, slots=True)
class WorkerLimits:
    """The operator's settings that the crawl obeys."""

    spacing: timedelta
    timeout: timedelta
    max_page_bytes: int
    lease: timedelta
    settle_patience: timedelta
    proxy_patience: timedelta
    provider_patience: timedelta
    checkpoint_visits: int
    per_job: int | None = None  # visits of one job crawled at the same time, over all processes
    named_spacing: Mapping[str, timedelta] = field(default_factory=dict)  # by registrable domain

    def spacing_of(self, domain: str) -> timedelta:
        """Return the minimum time between two requests to a domain according to the settings."""
        return self.named_spacing.get(domain, self.spacing)


@dataclass(frozen=True, slots=True)
class OpenRung:
    """A rung that this process can use."""

    rung: Rung
    open: Callable[[int], Fetcher]  # a seed picks the identity


@dataclass(frozen=True, slots=True)
class JobKeyRungs:
    """Access to rungs that a job uses with API keys of its own. The arguments of `open` are rung, job and key."""

    open_seal: Callable[[bytes, str, str], str]  # decrypts the key of an account for a provider; raises BrokenSeal
    open: Callable[[str, str, str], Fetcher]
    resting: Callable[[str, str, str], ProviderUnusable | None]  # why the rung cannot be used
    forget: Callable[[Collection[str]], None]  # close what belongs to jobs other than these


@dataclass(frozen=True, slots=True)
class WorkerDeps:
    """All that the crawls of a process depend on."""

    clock: Clock
    database: SqliteDatabase | PostgresDatabase
    reopen_database: Callable[[], SqliteDatabase | PostgresDatabase]
    gate: Gate
    gate_outage: Callable[[], str]  # why the Gate's server is away; "" if it is not, or there is none
    breakers: Breakers  # of providers
    site_breakers: Breakers
    dispatcher: Dispatcher
    recipes: Mapping[str, Recipe]
    rungs: Mapping[str, OpenRung]  # by name; `direct` is always there
    resting: Callable[[str], ProviderUnusable | None]  # why a rung cannot be used, as far as this process knows
    outage: Outage  # of the proxy that sessions use, if any
    own_network: OwnNetwork
    treasurer: Treasurer  # asked before every request that costs something
    limits: WorkerLimits
    files: PageFiles  # screenshots and bodies of pages, kept for a day
    job_key_rungs: JobKeyRungs
    lanes: Mapping[str, int]  # visits crawled at the same time by this process, per lane
    desk_rules: Mapping[DeskKind, DeskRule] = field(default_factory=lambda: DESK_RULES)
    credits: Mapping[str, int] = field(default_factory=dict)  # account credits of a page, by the rung that has read it
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)  # by the names that recipes use for them
    files_of: str = ""  # the data folder that keeps the files of jobs that end; "" for object storage

    def open_session(self, rung: str, seed: int) -> Fetcher:
        return self.rungs[rung].open(seed)
