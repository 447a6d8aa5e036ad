"""Set up the crawl of a claimed visit, run one slice of it, and handle failures."""

import asyncio
import random
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import cache, partial
from uuid import UUID

from gossamer.accounts.sealing import BrokenSeal
from gossamer.crawl.domain_pacing import DomainLocks, DomainPacing
from gossamer.crawl.extraction import Extraction, RuleSet
from gossamer.crawl.ip_block import IpBlockGuard
from gossamer.crawl.job_guards import ProviderGuard, RecipeFailures, fail_for_params
from gossamer.crawl.leases import HeldLease, HeldLeases
from gossamer.crawl.redirects import Redirects
from gossamer.crawl.requester import RequestBudget, Requester
from gossamer.crawl.site_breaker import SiteBreaker
from gossamer.crawl.site_files import RobotsCache, RobotsReader
from gossamer.crawl.visit import SiteCrawl
from gossamer.crawl.worker_deps import WorkerDeps
from gossamer.db.transactions import Tx
from gossamer.fetch import Fetcher, FetchError, ProviderUnusable
from gossamer.frontier.frontier import Frontier
from gossamer.judge.rung_stats import begin_with
from gossamer.logging import bound, get_logger
from gossamer.model.breaker import SITE
from gossamer.model.document import Request
from gossamer.model.ids import short
from gossamer.model.job import CrawlPolicy, Job
from gossamer.model.page import SECRET, Page, PageRequest, Visit
from gossamer.model.recipe import Bound
from gossamer.model.record import FIRST_STEP
from gossamer.model.rungs import Rung, provider_of
from gossamer.model.trouble import Reason, Trouble
from gossamer.model.url import origin_of, url_key
from gossamer.settle.settler import Settler
from gossamer.settle.step import HandBack, Step
from gossamer.store import budgets, jobs, pages, reclaim, robots, rung_stats, visits
from gossamer.store.pages import EndedPage
from gossamer.store.robots import RobotsAnswer

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class JobRungs:
    """The rungs of one job, some of which use API keys that came with the job."""

    deps: WorkerDeps
    whose: str
    keys: Mapping[str, str | None] = field(default_factory=dict, repr=False)  # by provider; None: it cannot be read
    _secrets: dict[str, str] = field(default_factory=dict, repr=False)  # by the names that requests have for them

    def open(self, rung: Rung, seed: int) -> Fetcher:
        provider = provider_of(rung.name)
        if provider in self.keys:
            key = self.keys[provider]
            if key is None:
                # The operator's own key is no substitute: it would spend the operator's money.
                raise FetchError(Trouble(Reason.NOT_CONFIGURED, f"{rung.name}, whose key cannot be read here"))
            return self.deps.job_key_rungs.open(rung.name, self.whose, key)
        if rung.name not in self.deps.rungs:
            # It was available where the job was created.
            raise FetchError(Trouble(Reason.NOT_CONFIGURED, f"{rung.name}, on this machine"))
        return self.deps.open_session(rung.name, seed)

    def resting(self, rung: str) -> ProviderUnusable | None:
        key = self.keys.get(provider_of(rung))
        return self.deps.job_key_rungs.resting(rung, self.whose, key) if key else self.deps.resting(rung)

    async def request_of(self, said: PageRequest) -> Request:
        """Return the request for a page, including the secret it names. Raises FetchError if the secret is missing."""
        secret = await self._secret(said.credential) if said.credential else ""
        headers = {name: value.replace(SECRET, secret) for name, value in said.headers}
        if secret and not any(SECRET in value for _, value in said.headers):
            headers["Authorization"] = f"Bearer {secret}"
        return Request(said.method, headers, said.body)

    async def _secret(self, name: str) -> str:
        """Return a secret by name: a key that came with the job, else one of the operator."""
        if name not in self._secrets:
            account, sealed = await self.deps.database.read(jobs.provider_keys, UUID(self.whose))
            try:
                own = self.deps.job_key_rungs.open_seal(sealed[name], account, name) if name in sealed else ""
            except BrokenSeal:
                log.error("job.key_unreadable", provider=name)
                raise FetchError(Trouble(Reason.NOT_CONFIGURED, f"the key {name}, which cannot be read here")) from None
            if not (found := own or self.deps.secrets.get(name, "")):
                raise FetchError(Trouble(Reason.NOT_CONFIGURED, f"the secret {name}, which GOSSAMER_SECRETS lacks"))
            self._secrets[name] = found
        return self._secrets[name]


async def rungs_of_job(deps: WorkerDeps, job_id: UUID, policy: CrawlPolicy) -> JobRungs:
    """Return the rungs of a job. Its keys are read only if its ladder has a rung that takes keys of jobs."""
    whose = job_id.hex
    if not any(rung.provider and rung.provider.takes_job_keys for rung in policy.ladder.rungs):
        return JobRungs(deps, whose)
    account, sealed = await deps.database.read(jobs.provider_keys, job_id)
    keys: dict[str, str | None] = {}
    for provider, one in sealed.items():
        try:
            keys[provider] = deps.job_key_rungs.open_seal(one, account, provider)
        except BrokenSeal:
            log.error("job.key_unreadable", provider=provider)
            keys[provider] = None
    return JobRungs(deps, whose, keys)


def forget_rungs(deps: WorkerDeps, held: Collection[UUID]) -> None:
    deps.job_key_rungs.forget({job_id.hex for job_id in held})


@dataclass(frozen=True, slots=True)
class Claimed:
    """A visit that this process has leased, with what it has so far."""

    visit: Visit
    waiting: list[Page]
    ended: list[EndedPage]
    elsewhere: list[Page]  # pages that wait in other lanes of the site
    shared: dict[str, RobotsAnswer | None]  # other jobs' robots.txt answers for its homepage URLs
    job: Job | None = None  # only if it was read in the same transaction


def claim_and_load(
    tx: Tx, tokens: Mapping[UUID, UUID], worker: str, lease: timedelta, *, nudged_by: str = ""
) -> list[Claimed]:
    """Lease visits, each under its token, and read all they need to begin, in one transaction."""
    return _load(tx, visits.claim(tx, tokens, worker, lease, nudged_by=nudged_by))


def load_held(tx: Tx, visit_id: UUID, token: UUID) -> Claimed | None:
    """Return the visit that another process leased for us, if it still has this token."""
    held = [visit for visit in visits.load_leased(tx, [visit_id]) if visit.lease == token]
    return next((replace(one, job=jobs.get(tx, one.visit.job_id)) for one in _load(tx, held)), None)


def _load(tx: Tx, held: Sequence[Visit]) -> list[Claimed]:
    origins = {origin_of(url) for visit in held if not visit.robots for url in visit.entries}
    shared = robots.fresh(tx, sorted(origins)) if origins else {}
    return [
        Claimed(
            visit,
            *pages.of_visit(tx, visit.job_id, visit.id, url_key(visit.entries[0])[:4]),
            {origin: shared.get(origin) for url in visit.entries if (origin := origin_of(url)) in origins},
        )
        for visit in held
    ]


class UnusableJob(Exception):
    """The job's recipe is unknown or refuses its parameters."""


@dataclass(frozen=True, slots=True)
class _BoundJob:
    """The data of a job that all its crawls in this process share."""

    recipe: Bound
    policy: CrawlPolicy  # of the first step
    policy_of: Callable[[str], CrawlPolicy]
    job_rungs: JobRungs
    rules: RuleSet | None


class Crawler:
    """Runs the crawls of a worker process, which share what is made here."""

    def __init__(
        self,
        deps: WorkerDeps,
        settler: Settler,
        leases: HeldLeases,
        pacing: DomainPacing,
        ip_block_guard: IpBlockGuard,
        recipe_failures: RecipeFailures,
        providers: ProviderGuard,
        extraction: Extraction,
    ) -> None:
        self._deps = deps
        self._settler = settler
        self._leases = leases
        self._pacing = pacing
        self._ip_block = ip_block_guard
        self._recipe_failures = recipe_failures
        self._provider_guard = providers
        self._extraction = extraction
        self._domain_locks = DomainLocks()
        self._robots = RobotsCache()
        self._bound: dict[UUID, _BoundJob] = {}
        self._building: dict[UUID, asyncio.Event] = {}

    async def crawl(self, lease: HeldLease, claimed: Claimed, others_wait: Callable[[], bool]) -> None:
        """Crawl one slice of a visit.

        However it ends, the visit's rows are up to date, or it counts one crash and is tried again.
        """
        with bound(job=short(lease.visit.job_id), visit=short(lease.visit.id), lane=lease.visit.lane):
            await self._crawl(lease, claimed, others_wait)

    def forget(self, held: set[UUID]) -> None:
        """Forget the recipes of jobs that are no longer crawled here."""
        for job_id in set(self._bound) - held:
            del self._bound[job_id]
        forget_rungs(self._deps, held)
        self._recipe_failures.forget(held)

    async def _crawl(self, lease: HeldLease, claimed: Claimed, others_wait: Callable[[], bool]) -> None:
        visit = lease.visit
        limits, seed = self._deps.limits, random.getrandbits(32)
        requester = Requester(
            self._nowhere,
            self._deps.gate,
            self._domain_locks,
            self._pacing,
            self._deps.clock,
            lease,
            limits.timeout,
            RequestBudget(self._deps.treasurer, visit),
            self._deps.resting,
            self._deps.own_network,
        )
        try:
            job = await self._recipe(visit.job_id, claimed.job)
            recipe, policy, job_rungs = job.recipe, job.policy, job.job_rungs
            requester.open, requester.resting = partial(job_rungs.open, seed=seed), job_rungs.resting
            requester.timeout = policy.timeout or limits.timeout
            begin = await self._begin(visit, policy)
            frontier = Frontier(visit, policy, claimed.waiting, claimed.ended, claimed.elsewhere, begin)
            robots_reader = RobotsReader(self._deps.database, requester, self._robots, visit.robots, claimed.shared)
            crawl = SiteCrawl(
                lease,
                frontier,
                requester,
                robots_reader,
                Redirects(visit.host, requester, robots_reader),
                recipe,
                policy,
                job.policy_of,
                job_rungs.request_of,
                self._settler,
                self._ip_block.refusals(visit.job_id),
                self._recipe_failures,
                self._provider_guard,
                SiteBreaker(self._deps.site_breakers, visit.domain, policy.ladder, SITE),
                self._deps.files,
                limits.max_page_bytes,
                random.random(),
                self._extraction,
                job.rules,
            )
            await crawl.run_slice(others_wait())
        except asyncio.CancelledError:
            # Cancelled before the crawl had begun.
            self._hand_back(lease)
        except UnusableJob as error:
            log.error("job.unusable", error=str(error))
            await self._deps.database.write(fail_for_params, visit.job_id, str(error))
            self._hand_back(lease)
        except Exception as error:
            # A bug of ours. It counts as a crash of the visit, so the visit is retried, but not for ever.
            log.exception("visit.crashed", host=visit.host)
            why = f"its walk crashed: {type(error).__name__}"
            await self._deps.database.write(reclaim.take_back, {visit.id: visit.lease}, why)
        finally:
            try:
                await requester.close()
            finally:
                self._leases.drop(lease)

    async def _begin(self, visit: Visit, policy: CrawlPolicy) -> Rung:
        """Return the rung on which the site's pages begin, from the results of other visits of the domain."""
        if len(policy.ladder.rungs) == 1:
            return policy.ladder.first
        return begin_with(policy.ladder, await self._deps.database.read(rung_stats.of, visit.domain))

    @staticmethod
    def _nowhere(rung: Rung) -> Fetcher:
        raise RuntimeError(f"{rung.name} was opened before the job was read")

    def _hand_back(self, lease: HeldLease) -> None:
        if not lease.lost:
            self._settler.put(Step(lease.visit, ending=HandBack(self._deps.clock.now())))

    async def _recipe(self, job_id: UUID, read: Job | None) -> _BoundJob:
        """Return the job's recipe with its parameters, built once per process."""
        while (known := self._bound.get(job_id)) is None:
            # A job begins with hundreds of visits at once. They share one recipe object, so that its keywords stay in
            # the CPU cache.
            if building := self._building.get(job_id):
                await building.wait()
                continue
            building = self._building[job_id] = asyncio.Event()
            try:
                self._bound[job_id] = await self._bind(job_id, read)
            finally:
                # All that waited check again at once; if it has failed, the first of them tries next.
                del self._building[job_id]
                building.set()
        return known

    async def _bind(self, job_id: UUID, read: Job | None) -> _BoundJob:
        job = read or await self._deps.database.read(jobs.get, job_id)
        if job is None:
            raise LookupError(f"job {job_id} is gone")
        if job.recipe not in self._deps.recipes:
            raise UnusableJob(f"it knows no recipe {job.recipe!r}")
        try:
            recipe = self._deps.recipes[job.recipe]
            ready = recipe.bind(recipe.params.model_validate(job.params))
            policy_of = cache(ready.policy)
            policy, rules = policy_of(FIRST_STEP), ready.rules()
        except Exception as error:
            raise UnusableJob(f"{type(error).__name__}: {' '.join(str(error).split())[:200]}") from error
        accounts = await self._deps.database.read(budgets.accounts_of, [job_id]) if rules else {}
        rule_set = RuleSet(rules, accounts.get(job_id, "")) if rules else None
        return _BoundJob(ready, policy, policy_of, await rungs_of_job(self._deps, job_id, policy), rule_set)
