"""Before a job starts: what it will cost, by its ladder, its sites, what is remembered of them, and jobs like it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from gossamer.billing.estimating import Known, cost_of_page, estimate, estimate_pages, prices_of, similar_range
from gossamer.billing.prices import PriceList
from gossamer.db.database import Database
from gossamer.db.transactions import Tx
from gossamer.model.job import Comparable, CrawlPolicy, Estimate, Past, Probed, Target, TrackRecord
from gossamer.model.url import domain_of
from gossamer.store import estimates

_FEW_PAGES = 5.0  # of a site that was met before, where nobody knows how many it has


@dataclass(frozen=True, slots=True)
class Forecast:
    """An estimate and what speaks for it."""

    estimate: Estimate
    used: tuple[int, int] | None  # what similar jobs would have used with as many sites; None: there were none
    record: TrackRecord


@dataclass(frozen=True, slots=True)
class Asked:
    """Inputs of an estimate."""

    recipe: str
    policy: CrawlPolicy
    targets: Sequence[Target]
    prices: PriceList
    account: str | None = None  # whose past it goes by; None: everybody's, which is the operator's to know
    unnamed: int = 0  # sites of which nothing is said but their number

    @property
    def sites(self) -> int:
        return len(self.targets) + self.unnamed

    @property
    def costs_something(self) -> bool:
        """True if any of its rungs costs credits."""
        return bool(prices_of(self.policy.ladder, self.prices))

    @property
    def like(self) -> Comparable:
        rungs = tuple(rung.name for rung in self.policy.ladder.rungs)
        return Comparable(self.recipe, rungs, self.policy.pages_per_site, self.policy.top_pages)


async def forecast(database: Database, asked: Asked, probed: Probed | None = None) -> Forecast:
    """Forecast the cost; `probed` has the results of reading some of its homepages in advance."""
    if asked.policy.as_given:
        pages = sum(len(target.pages) for target in asked.targets) + asked.unnamed
        return Forecast(estimate_pages(asked.like, asked.policy.ladder, asked.prices, pages), None, TrackRecord(0, 0))
    return await database.read(_forecast, asked, probed)


async def not_known(database: Database, asked: Asked) -> list[Target]:
    """The sites of which nothing is known that would say what they cost: those a look would tell something about."""
    met = await database.read(_met, asked, asked.like)
    return [target for target in asked.targets if target.host not in met.costs]


@dataclass(frozen=True, slots=True)
class _Met:
    """Data from earlier jobs: the costs of similar ones, and the expected costs of single sites."""

    similar: Mapping[UUID, Past]
    costs: Mapping[str, float]  # by host
    pages: float | None  # of a site, as jobs go


def _forecast(tx: Tx, asked: Asked, probed: Probed | None) -> Forecast:
    like, sites = asked.like, asked.sites
    met = _met(tx, asked, like)
    past = list(met.similar.values())
    if probed and past:
        past = [_with_paying(tx, job_id, one) for job_id, one in met.similar.items()]
    known = Known(len(met.costs), sum(met.costs.values()))
    shown = estimate(like, asked.policy.ladder, asked.prices, sites, known, past, met.pages, probed)
    return Forecast(shown, similar_range(past, sites) if past else None, estimates.record(tx, asked.account))


def _with_paying(tx: Tx, job_id: UUID, one: Past) -> Past:
    """One that has spent something and has no charges any more does not say on which sites."""
    sites = estimates.paying_sites(tx, job_id)
    return one._replace(paying=None if one.credits and not sites else sites)


def _met(tx: Tx, asked: Asked, like: Comparable) -> _Met:
    similar = estimates.similar(tx, like, asked.account)
    domains = {target.host: domain_of(target.host) for target in asked.targets}
    if asked.account is not None:
        # That somebody else has met a domain is nobody's business.
        own = estimates.sizes(tx, list(similar), sorted(domains))
        domains = {host: domain for host, domain in domains.items() if host in own}
    experiences = estimates.experiences(tx, sorted(set(domains.values())))
    # Where a provider is asked from the start, the size of a site is all there is to know.
    met = [host for host, domain in domains.items() if domain in experiences or asked.policy.ladder.first.is_paid]
    sizes = estimates.sizes(tx, list(similar), sorted(met))
    pages = estimates.pages_per_site(tx, asked.account)
    most = max(like.pages_per_site, like.top_pages)
    costs: dict[str, float] = {}
    for host, domain in domains.items():
        if domain not in experiences and host not in sizes:
            continue
        page = cost_of_page(asked.policy.ladder, experiences.get(domain, {}), asked.prices)
        if page is not None:
            costs[host] = page * min(most, sizes.get(host, pages or _FEW_PAGES))
    return _Met(similar, costs, pages)
