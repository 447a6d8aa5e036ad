"""Estimate what the next job will cost from what jobs have cost. Arithmetic alone: nothing is read or written here.

A cost is a product of what is only roughly known: how many sites need a provider, how many pages they have, what a page
takes. So each of these is a middle and a spread of its logarithm, and spreads of factors add up as their squares do.

With a history the middle comes from what similar jobs have cost per site, corrected by how wrong the middles were that
were worked out for them, and the spread from how much those mistakes differ. The range is made for nine jobs in ten.
Few jobs say little about their spread: until there are many, a usual one is mixed in, and the tails are longer.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, quantiles

from gossamer.billing.prices import PriceList
from gossamer.judge.rung_stats import begin_with
from gossamer.model.job import Comparable, Estimate, Past, Probed
from gossamer.model.ladders import Ladder
from gossamer.model.money import Price
from gossamer.model.rungs import Experience

ENOUGH = 3  # similar jobs from which on an estimate is held against what came of it

_Z = 1.645  # one in twenty is below the range, one in twenty above
_USUAL_SPREAD, _WORTH = 0.4, 2  # how much jobs differ, and how many jobs this assumption counts for
_SITES_DIFFER = 2.0  # spread of single sites: what a small job may be off by, for no other reason
_LEAST = 0.01  # credits per site: so that jobs that cost nothing have a logarithm
_WORKS = 0.9  # how often a provider gets a page, until that is known


@dataclass(frozen=True, slots=True)
class Guess:
    """A middle, and the spread of its logarithm."""

    middle: float
    spread: float

    @classmethod
    def between(cls, low: float, high: float) -> "Guess":
        """Nine times in ten."""
        return cls(math.sqrt(low * high), math.log(high / low) / (2 * _Z))

    def __mul__(self, other: "Guess") -> "Guess":
        return Guess(self.middle * other.middle, math.hypot(self.spread, other.spread))

    def seen(self, hits: int, looks: int) -> "Guess":
        """The same share after so many looks; the guess itself counts as the looks that would make one as sure."""
        before = max(1.0, (1 - self.middle) / (self.middle * self.spread**2) - 1)
        middle = (self.middle * before + hits) / (before + looks)
        return Guess(middle, math.sqrt((1 - middle) / middle / (before + looks + 1)))


_CLIMBING = Guess.between(0.03, 0.4)  # sites that a plain request does not get
_STANDING = Guess.between(0.7, 1.0)  # sites that are there
_PAGES = (3.0, 40.0)  # of a site, that are read


@dataclass(frozen=True, slots=True)
class Known:
    """Past data on a job's sites: the number of known sites, and their expected total cost."""

    sites: int = 0
    credits: float = 0.0


def cost_of_page(ladder: Ladder, met: Mapping[str, Experience], prices: PriceList) -> float | None:
    """Credits for a page of a domain, by what was met there; None where that does not say."""
    free_first = not ladder.first.is_paid
    if free_first and not any(met.get(rung.name) for rung in ladder.rungs):
        return None
    begin = begin_with(ladder, met)
    cost, left = 0.0, 1.0
    for rung in ladder.rungs[ladder.rungs.index(begin) :]:
        seen = met.get(rung.name, Experience())
        # Never quite certain; but the pages of a site are mostly alike, so a few say much.
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
    known: Known,
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
    """Of single pages, whose number is known: from all got at the first try to all got by the very last."""
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
    # A site that was listed may have led to another one, which was paid for beside it.
    paying = [(min(one.paying, one.sites), one.sites) for one in past if one.paying is not None]
    shares = [math.log((some + 0.5) / (sites + 1)) for some, sites in paying]
    if looked and shares:
        usual = Guess(math.exp(fmean(shares)), _spread(shares))
        here = usual.seen(*looked)
        middle *= here.middle / usual.middle
        # Surer by as much as the share is, as far as it is the shares by which jobs differ.
        surer = min(usual.spread, spread) ** 2 * (1 - (here.spread / usual.spread) ** 2)
        spread = math.sqrt(spread**2 - surer)
    return Guess(max(0.0, middle - _LEAST), spread)


def _hits(probed: Probed, ladder: Ladder) -> tuple[int, int]:
    """Sites that will cost something, of those that were looked at."""
    return (probed.asked - probed.gone if ladder.first.is_paid else probed.climbing), probed.asked


def _corrected(expected: float, sites: int, unknown: int, past: Sequence[Past], rate: Guess) -> tuple[float, float]:
    """The middle without the mistakes of earlier ones, and the factor by which it may be wrong."""
    least = _LEAST * sites
    # Of few sites nobody has met, one alone may be what makes the job dear.
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
    # What was seen of this job's own sites narrows what the history leaves open.
    spread = _spread(recipe_failures) * rate.spread / _spread(rates)
    fewer = max(0.0, 1 / sites - fmean([1 / one.sites for one in past]))
    spread = math.sqrt(spread**2 * (1 + 1 / jobs) + few * fewer)
    return (expected + least) * math.exp(fmean(recipe_failures)), math.exp(_tail(_WORTH + jobs - 1) * spread)


def _rates(past: Sequence[Past]) -> list[float]:
    """Logarithms of credits per site."""
    return [math.log(one.credits / one.sites + _LEAST) for one in past]


def _spread(values: Sequence[float]) -> float:
    """Of these around their mean, with the usual one mixed in."""
    mean = fmean(values)
    squares = sum((value - mean) ** 2 for value in values)
    return math.sqrt((_WORTH * _USUAL_SPREAD**2 + squares) / (_WORTH + len(values) - 1))


def _tail(freedom: int) -> float:
    """Of Student's distribution, where one in twenty lies above: the fewer jobs, the further out."""
    return _Z + (_Z**3 + _Z) / (4 * freedom) + (5 * _Z**5 + 16 * _Z**3 + 3 * _Z) / (96 * freedom**2)


def prices_of(ladder: Ladder, prices: PriceList) -> list[Price]:
    """Of its rungs that take credits. An operator may say of one that it takes none, or give a price to one of ours."""
    paid = (prices.of(rung.name) for rung in ladder.rungs if rung.is_paid)
    return [price for price in paid if price and price.usual]


def _unit(value: float) -> int:
    """Of the second digit."""
    return 10 ** max(0, math.floor(math.log10(value)) - 1) if value >= 1 else 1


def _round_down(value: float) -> int:
    return math.floor(value / _unit(value)) * _unit(value)


def _round_up(value: float) -> int:
    return math.ceil(value / _unit(value)) * _unit(value)
