"""The bill of a job: costs by the method that read its pages, savings, and the sentences every report shares."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from gossamer.billing.prices import PriceList
from gossamer.db.transactions import Tx
from gossamer.model.alert import rendering_sentence
from gossamer.model.job import Job, Progress
from gossamer.model.money import NOTHING, Amount, dollars, shown
from gossamer.model.rungs import DIRECT, RUNGS, Mode, by_usual_cost, label_of, premium_rung, provider_title
from gossamer.store import charges, result_rows
from gossamer.store.charges import Expense
from gossamer.store.result_rows import Rendered, SitePlace

_TOLD = 5  # domains that needed a browser


@dataclass(frozen=True, slots=True)
class Method:
    """One way to fetch: the pages it read, and its total cost, including failed pages."""

    rung: str
    provider: str  # "" for a free method
    pages: int = 0
    requests: int = 0  # that cost something
    assumed: int = 0  # of these, those whose price was not reported
    amount: Amount = NOTHING


@dataclass(frozen=True, slots=True)
class Saving:
    """Comparison of the minimum cost of reading the same pages by `premium-only` with the actual cost."""

    rung: str  # with which it renders everything
    pages: int
    premium: Amount
    spent: Amount

    @property
    def saved(self) -> Amount:
        return self.premium - self.spent

    @property
    def share(self) -> float:
        """Credits spent, as a share of the credits of premium-only."""
        return self.spent.credits / self.premium.credits


@dataclass(frozen=True, slots=True)
class Bill:
    """Costs of a job so far."""

    could_cost: bool  # its ladder has paid rungs, or paid requests were made
    methods: tuple[Method, ...] = ()  # the cheapest first
    domains: Mapping[str, int] | None = None  # successful domains, by their most expensive method
    rendered: tuple[Rendered, ...] = ()  # domains with pages that needed a browser, most first
    more_rendered: bool = False
    saving: Saving | None = None

    @property
    def spent(self) -> Amount:
        return sum((one.amount for one in self.methods), NOTHING)

    @property
    def pages(self) -> int:
        return sum(one.pages for one in self.methods)

    @property
    def assumed(self) -> int:
        return sum(one.assumed for one in self.methods)

    def by_provider(self) -> dict[str, Amount]:
        """Return the spending by provider, most expensive first."""
        sums: dict[str, Amount] = defaultdict(lambda: NOTHING)
        for one in self.methods:
            if one.amount:
                sums[provider_title(one.provider)] += one.amount
        return dict(sorted(sums.items(), key=lambda one: (-one[1].micros, one[0])))


def read_bill(tx: Tx, job: Job, prices: PriceList, progress: Progress, without: Sequence[SitePlace] = ()) -> Bill:
    """Read the bill of a job, `without` these sites, which `progress` does not include either.

    For a job with a single free method its pages are not read.
    """
    ladder = job.params.get("ladder") or ()
    left_out = [place.id for place in without]
    expenses = _expenses(tx, job.id, left_out)
    could_cost = bool(expenses) or any(prices.of(name) for name in ladder)
    if not ladder and not expenses:
        return Bill(could_cost)
    pages = result_rows.pages_by_rung(tx, job.id, left_out)
    rungs = sorted({*pages, *expenses}, key=lambda rung: _place(rung, prices))
    made = tuple(_method(rung, pages.get(rung, 0), expenses.get(rung)) for rung in rungs)
    hosts = {place.host for place in without}
    found = [one for one in result_rows.rendered_pages(tx, job.id, _TOLD + 1 + len(hosts)) if one.host not in hosts]
    return Bill(
        could_cost,
        made,
        _domains(tx, job.id, prices, progress, left_out) if expenses else None,
        tuple(found[:_TOLD]),
        len(found) > _TOLD,
        saving_of(job.params, made, prices),
    )


def _expenses(tx: Tx, job_id: UUID, left_out: Sequence[UUID]) -> dict[str, Expense]:
    found = {one.rung: one for one in charges.by_rung(tx, job_id)}
    if found and left_out:
        for one in charges.of_sites(tx, job_id, left_out):
            found[one.rung] = found[one.rung].less(one)
    return {rung: one for rung, one in found.items() if one.requests}


def _place(rung: str, prices: PriceList) -> tuple[int, int, str]:
    """Sort key of rungs: free rungs first, as in ladders."""
    price = prices.of(rung)
    known = list(RUNGS)
    return price.usual if price else 0, known.index(rung) if rung in RUNGS else len(known), rung


def _method(rung: str, pages: int, spent: Expense | None) -> Method:
    if spent is None:
        return Method(rung, "", pages)
    return Method(rung, spent.provider, pages, spent.requests, spent.assumed, spent.amount)


def _domains(
    tx: Tx, job_id: UUID, prices: PriceList, progress: Progress, left_out: Sequence[UUID]
) -> Mapping[str, int]:
    dearness = {rung: price.usual for rung, price in prices.prices.items()}
    found = charges.dearest_rungs(tx, job_id, dearness, frozenset(left_out))
    free = progress.sites_done + progress.sites_partial - found.total()
    return {**({DIRECT.name: free} if free > 0 else {}), **{rung: found[rung] for rung in by_usual_cost(found)}}


def saving_of(params: Mapping[str, Any], made: Sequence[Method], prices: PriceList) -> Saving | None:
    """Return the job's saving; None if there is none or it cannot be calculated.

    Only pages that were read are counted, each at the price of a page that arrives. Premium-only would
    also have charged for some of the others, so its real cost would not have been lower. Credits of two
    providers are not compared.
    """
    ladder = params.get("ladder") or ()
    rung = premium_rung(ladder)
    price = prices.of(rung)
    if price is None or len(ladder) < 2 or params.get("mode") == Mode.PREMIUM_ONLY:
        return None
    if any(one.provider != price.provider for one in made if one.amount):
        return None
    pages = sum(one.pages for one in made)
    spent = sum((one.amount for one in made), NOTHING)
    saving = Saving(rung, pages, price.amount(pages * price.usual), spent)
    return saving if saving.saved.credits > 0 and saving.saved.micros > 0 else None


def sum_of(amount: Amount) -> str:
    """`235 credits ($2.35)`."""
    return f"{shown('credits', amount.credits)} ({dollars(amount.micros)})"


def used_sentences(bill: Bill) -> list[str]:
    """`ScrapingBee credits used: 6,247 ($62.47)`, for each provider."""
    return [f"{name} credits used: {one.credits:,} ({dollars(one.micros)})" for name, one in bill.by_provider().items()]


def saved_words(saving: Saving) -> str:
    """Describe the saving: how much, compared to what, and which share of that was spent."""
    pages, premium = _pages(saving.pages), sum_of(saving.premium)
    return (
        f"{sum_of(saving.saved)}. The same {pages} by premium-only take {premium} at least; "
        f"{percent(saving.share)} of that was spent."
    )


def assumed_sentence(bill: Bill) -> str:
    """Return the sentence on requests charged at the worst price; empty if every price was reported."""
    requests = f"{bill.assumed:,} request{'' if bill.assumed == 1 else 's'}"
    return f"Assumed: {requests} whose price is unknown, booked at the worst price" if bill.assumed else ""


def rendering_sentences(bill: Bill) -> list[str]:
    """Return sentences such as `example.com: 3/47 pages required JS rendering`, most rendered pages first."""
    told = [rendering_sentence(one.host, one.rendered, one.read) for one in bill.rendered]
    return [*told, "and more domains"] if bill.more_rendered else told


def rendering_words(one: Rendered) -> str:
    """`example.com (3 of 47 pages)`."""
    return f"{one.host} ({one.rendered:,} of {_pages(one.read)})"


def percent(share: float) -> str:
    """Format a share as `8 %`; a small one is never 0 %, and a partial one never 100 %."""
    if 0 < share < 0.01:
        return "under 1 %"
    return "over 99 %" if 0.99 < share < 1 else f"{share:.0%}".replace("%", " %")


def breakdown(domains: Mapping[str, int]) -> str:
    """`Breakdown: Direct (free): 3,891 domains | ScrapingBee (standard): 1,924 domains`."""
    parts = (f"{label_of(rung)}: {count:,} domain{'' if count == 1 else 's'}" for rung, count in domains.items())
    return f"Breakdown: {' | '.join(parts)}"


def facts(bill: Bill) -> list[tuple[str, str]]:
    """Return labels and values of the bill, for a summary with one per line."""
    lines = [("In all", sum_of(bill.spent))]
    for one in bill.methods:
        pages = f"{_pages(one.pages)} ({percent(one.pages / max(1, bill.pages))})"
        cost = f", {sum_of(one.amount)}" if one.amount else ""
        lines.append((label_of(one.rung), pages + cost))
    if bill.saving:
        lines.append(("Saved against premium-only", saved_words(bill.saving)))
    needed = [rendering_words(one) for one in bill.rendered]
    if needed:
        lines.append(("Needed JS rendering", ", ".join(needed) + (" and more" * bill.more_rendered)))
    return lines


def _pages(count: int) -> str:
    return f"{count:,} page{'' if count == 1 else 's'}"
