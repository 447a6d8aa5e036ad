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
class Limits:
    """The operator's settings the engine obeys."""

    spacing: timedelta
    timeout: timedelta
    max_page_bytes: int
    lease: timedelta
    settle_patience: timedelta
    proxy_patience: timedelta
    provider_patience: timedelta
    checkpoint_visits: int
    per_job: int | None = None  # visits of one job walked at the same time, over everything
    named_spacing: Mapping[str, timedelta] = field(default_factory=dict)  # by registrable domain

    def spacing_of(self, domain: str) -> timedelta:
        """Return the minimum time between two requests to a domain, as far as our settings decide it."""
        return self.named_spacing.get(domain, self.spacing)


@dataclass(frozen=True, slots=True)
class OpenRung:
    """A rung that can be used here."""

    rung: Rung
    open: Callable[[int], Fetcher]  # a seed picks the identity


@dataclass(frozen=True, slots=True)
class OwnWays:
    """Rungs that a job uses with an API key of its own; `whose` is the job."""

    open_seal: Callable[[bytes, str, str], str]  # what is sealed for an account and a provider; raises BrokenSeal
    open: Callable[[str, str, str], Fetcher]  # by rung, whose and key
    resting: Callable[[str, str, str], ProviderUnusable | None]  # the same
    forget: Callable[[Collection[str]], None]  # all whose jobs are not among these


@dataclass(frozen=True, slots=True)
class WorkerDeps:
    clock: Clock
    database: SqliteDatabase | PostgresDatabase
    reopen_database: Callable[[], SqliteDatabase | PostgresDatabase]
    gate: Gate
    gate_outage: Callable[[], str]  # why the server behind the Gate is away; nothing while it is there, or has none
    breakers: Breakers  # of providers
    site_breakers: Breakers
    dispatcher: Dispatcher
    recipes: Mapping[str, Recipe]
    rungs: Mapping[str, OpenRung]  # by name; `direct` is always there
    resting: Callable[[str], ProviderUnusable | None]  # why nobody may go on a rung, as far as this process knows
    outage: Outage  # of the proxy that sessions go through, if they do
    own_network: OwnNetwork  # whether there is a network
    treasurer: Treasurer  # asked before every request that costs something
    limits: Limits
    files: PageFiles  # of pages, kept for a day
    own_ways: OwnWays
    lanes: Mapping[str, int]  # visits walked at the same time by this process, per lane
    desk_rules: Mapping[DeskKind, DeskRule] = field(default_factory=lambda: DESK_RULES)
    credits: Mapping[str, int] = field(default_factory=dict)  # account credits of a page, by what has read it
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)  # that recipes name in what they send
    files_of: str = ""  # the home that keeps the files of jobs that end; "" for object storage

    def open_session(self, rung: str, seed: int) -> Fetcher:
        return self.rungs[rung].open(seed)
