"""Estimate what the next job will cost from what jobs have cost. The rows are read first; the rest is arithmetic.

The cost is a product of rough factors: the number of sites that need a provider, the pages of a site, and the price of
a page. Each factor has a middle and a spread of its logarithm; the squares of the spreads add up.

With past jobs, the middle comes from the cost per site of similar jobs, corrected by the errors of their estimates, and
the spread from how much these errors differ. The range covers nine jobs in ten. With few past jobs a default spread is
mixed in, and the tails are longer.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, quantiles
from uuid import UUID

from gossamer.billing.prices import PriceList
from gossamer.db.database import Database
from gossamer.db.transactions import Tx
from gossamer.judge.rung_stats import begin_with
from gossamer.model.job import Comparable, CrawlPolicy, Estimate, Past, Probed, Target, TrackRecord
from gossamer.model.money import Price
from gossamer.model.rungs import Experience, Ladder
from gossamer.model.url import domain_of
from gossamer.store import estimates

ENOUGH = 3  # similar jobs; with fewer, the middle is not stored for later corrections

_Z = 1.645  # one in twenty is below the range, one in twenty above
_USUAL_SPREAD, _WORTH = 0.4, 2  # default spread, and the number of jobs it counts for
_SITES_DIFFER = 2.0  # spread of single sites, which matters in small jobs
_LEAST = 0.01  # credits per site: so that jobs that cost nothing have a logarithm
_WORKS = 0.9  # default success rate of a provider


@dataclass(frozen=True, slots=True)
class Guess:
    """A middle, and the spread of its logarithm."""

    middle: float
    spread: float

    @classmethod
    def between(cls, low: float, high: float) -> "Guess":
        """Return the guess whose range covers nine cases in ten."""
        return cls(math.sqrt(low * high), math.log(high / low) / (2 * _Z))

    def __mul__(self, other: "Guess") -> "Guess":
        return Guess(self.middle * other.middle, math.hypot(self.spread, other.spread))

    def seen(self, hits: int, looks: int) -> "Guess":
        """Return the share after observations; the guess counts as the number of observations it is worth."""
        before = max(1.0, (1 - self.middle) / (self.middle * self.spread**2) - 1)
        middle = (self.middle * before + hits) / (before + looks)
        return Guess(middle, math.sqrt((1 - middle) / middle / (before + looks + 1)))


_CLIMBING = Guess.between(0.03, 0.4)  # sites that a plain request does not get
_STANDING = Guess.between(0.7, 1.0)  # sites that are there
_PAGES = (3.0, 40.0)  # of a site, that are read


@dataclass(frozen=True, slots=True)
class KnownSites:
    """Past data on a job's sites: the number of known sites, and their expected total cost."""

    sites: int = 0
    credits: float = 0.0


def cost_of_page(ladder: Ladder, met: Mapping[str, Experience], prices: PriceList) -> float | None:
    """Return the expected credits of a page by past results on its domain; None if they are not enough."""
    free_first = not ladder.first.is_paid
    if free_first and not any(met.get(rung.name) for rung in ladder.rungs):
        return None
    begin = begin_with(ladder, met)
    cost, left = 0.0, 1.0
    for rung in ladder.rungs[ladder.rungs.index(begin) :]:
        seen = met.get(rung.name, Experience())
        # Pages of a site are mostly alike, so few results are enough for a good guess.
        works = (seen.wins + 0.25) / (seen.tries + 0.5) if seen.tries else _WORKS
        price = prices.of(rung.name) if rung.is_paid else None
        if price:
            cost += left * (works * price.usual + (1 - works) * price.by_outcome.get("failed", price.worst))
        left *= 1 - works
    return cost


def estimate(
    like: Comparable,
    ladder: Ladder,
    prices: PriceList,
    sites: int,
    known: KnownSites,
    past: Sequence[Past],
    pages: float | None = None,
    probed: Probed | None = None,
) -> Estimate:
    """Estimate the cost of `sites` sites on a paid ladder. `pages` is the average pages per site of other jobs."""
    looked = _hits(probed, ladder) if probed else None
    rate = _from_past(past, looked) if past else _from_nothing(like, ladder, prices, pages, looked)
    unknown = sites - known.sites
    expected = known.credits + unknown * rate.middle
    middle, reach = _corrected(expected, sites, unknown, past, rate)
    paid = prices_of(ladder, prices)
    most = sites * max(like.pages_per_site, like.top_pages) * sum(price.worst for price in paid)
    low = _round_down(min(max(0.0, middle / reach - _LEAST * sites), most))
    high = _round_up(min(middle * reach, most))
    credit = [price.micros_per_credit for price in paid]
    return Estimate(
        like,
        sites,
        max(1, round(expected)) if len(past) >= ENOUGH else 0,
        low,
        high,
        low * min(credit),
        high * max(credit),
        known.sites,
        len(past),
        probed,
    )


def estimate_pages(like: Comparable, ladder: Ladder, prices: PriceList, pages: int) -> Estimate:
    """Estimate a known number of pages: from all read on the first rung to all read on the last."""
    priced = prices_of(ladder, prices)
    first = prices.of(ladder.first.name)
    low = pages * first.usual if first else 0
    low_micros = low * first.micros_per_credit if first else 0
    high_micros = pages * sum(price.worst * price.micros_per_credit for price in priced)
    return Estimate(like, pages, 0, low, pages * sum(price.worst for price in priced), low_micros, high_micros)


def similar_range(past: Sequence[Past], sites: int) -> tuple[int, int]:
    """Return the cost range of these jobs, scaled to `sites`, without the cheapest and most expensive tenth."""
    rates = [one.credits / one.sites for one in past]
    tenths = quantiles(rates, n=10, method="inclusive") if len(rates) > 1 else rates
    return _round_down(tenths[0] * sites), _round_up(tenths[-1] * sites)


def _from_nothing(
    like: Comparable, ladder: Ladder, prices: PriceList, pages: float | None, looked: tuple[int, int] | None
) -> Guess:
    """Credits of a site by the ladder alone: which is not much to go by, and shows."""
    usual = [price.usual for price in prices_of(ladder, prices)]
    most = max(like.pages_per_site, like.top_pages)
    read = (pages / 2, pages * 2) if pages else _PAGES
    pages_of_site = Guess.between(min(read[0], most / 2), min(read[1], most))
    page = Guess.between(min(usual), sum(usual) * (1.2 if len(usual) == 1 else 1))
    sites = _STANDING if ladder.first.is_paid else _CLIMBING
    return (sites.seen(*looked) if looked else sites) * pages_of_site * page


def _from_past(past: Sequence[Past], looked: tuple[int, int] | None) -> Guess:
    """Credits of a site by what sites have cost in similar jobs."""
    rates = _rates(past)
    middle, spread = math.exp(fmean(rates)), _spread(rates)
    # A listed site may have led to another one, which cost something as well.
    paying = [(min(one.paying, one.sites), one.sites) for one in past if one.paying is not None]
    shares = [math.log((some + 0.5) / (sites + 1)) for some, sites in paying]
    if looked and shares:
        usual = Guess(math.exp(fmean(shares)), _spread(shares))
        here = usual.seen(*looked)
        middle *= here.middle / usual.middle
        # Narrow the spread as far as it comes from differing shares.
        surer = min(usual.spread, spread) ** 2 * (1 - (here.spread / usual.spread) ** 2)
        spread = math.sqrt(spread**2 - surer)
    return Guess(max(0.0, middle - _LEAST), spread)


def _hits(probed: Probed, ladder: Ladder) -> tuple[int, int]:
    """Return how many of the probed sites will cost something, and the number of probed sites."""
    return (probed.asked - probed.gone if ladder.first.is_paid else probed.climbing), probed.asked


def _corrected(expected: float, sites: int, unknown: int, past: Sequence[Past], rate: Guess) -> tuple[float, float]:
    """Return the middle corrected by past errors, and the factor by which it may be wrong."""
    least = _LEAST * sites
    # With few unknown sites, a single one may dominate the cost.
    few = _SITES_DIFFER**2 * unknown / sites
    if not past:
        part = unknown / sites
        spread = rate.spread * part + _USUAL_SPREAD * (1 - part)
        return expected + least, math.exp(_Z * math.sqrt(spread**2 + few / sites))
    rates = _rates(past)
    usual = fmean(rates)
    recipe_failures = [
        was - (math.log(one.expected / one.sites + _LEAST) if one.expected else usual)
        for one, was in zip(past, rates, strict=True)
    ]
    jobs = len(recipe_failures)
    # Probes of this job's own sites narrow the spread of the history.
    spread = _spread(recipe_failures) * rate.spread / _spread(rates)
    fewer = max(0.0, 1 / sites - fmean([1 / one.sites for one in past]))
    spread = math.sqrt(spread**2 * (1 + 1 / jobs) + few * fewer)
    return (expected + least) * math.exp(fmean(recipe_failures)), math.exp(_tail(_WORTH + jobs - 1) * spread)


def _rates(past: Sequence[Past]) -> list[float]:
    """Logarithms of credits per site."""
    return [math.log(one.credits / one.sites + _LEAST) for one in past]


def _spread(values: Sequence[float]) -> float:
    """Return the spread around the mean, with the default spread mixed in."""
    mean = fmean(values)
    squares = sum((value - mean) ** 2 for value in values)
    return math.sqrt((_WORTH * _USUAL_SPREAD**2 + squares) / (_WORTH + len(values) - 1))


def _tail(freedom: int) -> float:
    """Return the 95th percentile of Student's distribution: larger with fewer jobs."""
    return _Z + (_Z**3 + _Z) / (4 * freedom) + (5 * _Z**5 + 16 * _Z**3 + 3 * _Z) / (96 * freedom**2)


def prices_of(ladder: Ladder, prices: PriceList) -> list[Price]:
    """Return the prices of the ladder's paid rungs; the operator may have overridden them."""
    paid = (prices.of(rung.name) for rung in ladder.rungs if rung.is_paid)
    return [price for price in paid if price and price.usual]


def _unit(value: float) -> int:
    """Return the unit of the second digit."""
    return 10 ** max(0, math.floor(math.log10(value)) - 1) if value >= 1 else 1


def _round_down(value: float) -> int:
    return math.floor(value / _unit(value)) * _unit(value)


def _round_up(value: float) -> int:
    return math.ceil(value / _unit(value)) * _unit(value)


_FEW_PAGES = 5.0  # default size of a known site


@dataclass(frozen=True, slots=True)
class Forecast:
    """An estimate with its evidence."""

    estimate: Estimate
    used: tuple[int, int] | None  # range of similar jobs, scaled to as many sites; None: there were none
    record: TrackRecord


@dataclass(frozen=True, slots=True)
class EstimateInputs:
    """Inputs of an estimate."""

    recipe: str
    policy: CrawlPolicy
    targets: Sequence[Target]
    prices: PriceList
    account: str | None = None  # only past jobs of this account; None: of all accounts, for the operator
    unnamed: int = 0  # further sites without known names

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


async def forecast(database: Database, asked: EstimateInputs, probed: Probed | None = None) -> Forecast:
    """Forecast the cost; `probed` has the results of reading some of its homepages in advance."""
    if asked.policy.as_given:
        pages = sum(len(target.pages) for target in asked.targets) + asked.unnamed
        return Forecast(estimate_pages(asked.like, asked.policy.ladder, asked.prices, pages), None, TrackRecord(0, 0))
    return await database.read(_forecast, asked, probed)


async def not_known(database: Database, asked: EstimateInputs) -> list[Target]:
    """Return the sites without known costs, which are worth probing."""
    met = await database.read(_met, asked, asked.like)
    return [target for target in asked.targets if target.host not in met.costs]


@dataclass(frozen=True, slots=True)
class _Met:
    """Data from earlier jobs: the costs of similar ones, and the expected costs of single sites."""

    similar: Mapping[UUID, Past]
    costs: Mapping[str, float]  # by host
    pages: float | None  # average pages per site of past jobs


def _forecast(tx: Tx, asked: EstimateInputs, probed: Probed | None) -> Forecast:
    like, sites = asked.like, asked.sites
    met = _met(tx, asked, like)
    past = list(met.similar.values())
    if probed and past:
        past = [_with_paying(tx, job_id, one) for job_id, one in met.similar.items()]
    known = KnownSites(len(met.costs), sum(met.costs.values()))
    shown = estimate(like, asked.policy.ladder, asked.prices, sites, known, past, met.pages, probed)
    return Forecast(shown, similar_range(past, sites) if past else None, estimates.record(tx, asked.account))


def _with_paying(tx: Tx, job_id: UUID, one: Past) -> Past:
    """Add the number of paying sites; None if the charges of the job are deleted."""
    sites = estimates.paying_sites(tx, job_id)
    return one._replace(paying=None if one.credits and not sites else sites)


def _met(tx: Tx, asked: EstimateInputs, like: Comparable) -> _Met:
    similar = estimates.similar(tx, like, asked.account)
    domains = {target.host: domain_of(target.host) for target in asked.targets}
    if asked.account is not None:
        # Domains that only other accounts have visited are not used.
        own = estimates.sizes(tx, list(similar), sorted(domains))
        domains = {host: domain for host, domain in domains.items() if host in own}
    experiences = estimates.experiences(tx, sorted(set(domains.values())))
    # With a provider on the first rung, only the size of a site matters.
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
