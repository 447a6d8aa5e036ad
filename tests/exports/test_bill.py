"""What a job has cost and saved, from its rows: by method, and without what is left out."""

from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import update

from gossamer.billing.bill import (
    Bill,
    Method,
    assumed_sentence,
    percent,
    read_bill,
    rendering_sentences,
    saved_words,
    saving_of,
    used_sentences,
)
from gossamer.billing.prices import OwnPrice, PriceList, price_list
from gossamer.billing.reservations import Treasurer
from gossamer.db import tables
from gossamer.db.transactions import Tx
from gossamer.model.job import Job
from gossamer.model.money import Amount, Cap, Charge
from gossamer.model.page import Page, Visit
from gossamer.model.rungs import premium_rung
from gossamer.model.states import PageState, SiteState
from gossamer.recipes.base import TableQuery
from gossamer.recipes.overview import read_overview
from gossamer.settle.step import Finished, PageStep, Step
from gossamer.store import counters
from tests.conftest import AnyDatabase
from tests.jobs import settle
from tests.ledger.request_budget import granted, make_capped, treasurer

PRICES = PriceList()
HYBRID = {"mode": "hybrid", "ladder": ["direct", "scrapingbee-standard", "scrapingbee-js"]}


async def read_pages(
    database: AnyDatabase, one: Treasurer, visit: Visit, pages: int, rung: str = "direct", *, assumed: bool = False
) -> None:
    """A site of which so many pages were read on this rung; done with."""
    steps = []
    for number in range(pages):
        page = Page.at(f"http://{visit.host}/{number}", 1).on(rung)
        charges: tuple[Charge, ...] = ()
        if rung != "direct":
            reserved = await granted(one, visit, rung)
            charges = (reserved.charge(None if assumed else reserved.price.usual),)
        done = PageStep(page, PageState.DONE, http_status=200, identity=page.key, bytes_in=10)
        steps.append(Step(visit, done, charges=charges))
    await settle(database, *steps, Step(visit, ending=Finished(SiteState.DONE)))


async def hybrid_job(database: AnyDatabase) -> Job:
    """Three pages for nothing, two by a provider, one rendered."""

    def make(tx: Tx) -> tuple[Job, list[Visit]]:
        job, held = make_capped(tx, Cap(1_000), "free.test", "paid.test", "rendered.test")
        tx.run(update(tables.jobs).values(params={**job.params, **HYBRID}))
        return replace(job, params={**job.params, **HYBRID}), held

    job, held = await database.write(make)
    visits, one = {visit.host: visit for visit in held}, treasurer(database, prices=PRICES)
    await read_pages(database, one, visits["free.test"], 3)
    await read_pages(database, one, visits["paid.test"], 2, "scrapingbee-standard")
    await read_pages(database, one, visits["rendered.test"], 1, "scrapingbee-js", assumed=True)
    return job


async def bill_of(database: AnyDatabase, job: Job, **asked: Any) -> Bill:
    overview = await read_overview(database, TableQuery(job, (), prices=PRICES, **asked))
    assert overview.bill
    return overview.bill


async def test_a_bill_has_a_line_for_every_method(database: AnyDatabase) -> None:
    bill = await bill_of(database, await hybrid_job(database))
    assert [(one.rung, one.pages, one.requests, one.amount.credits) for one in bill.methods] == [
        ("direct", 3, 0, 0),
        ("scrapingbee-standard", 2, 2, 2),
        ("scrapingbee-js", 1, 1, 5),
    ]
    assert (bill.spent, bill.pages) == (Amount(7, 70_000), 6)
    assert bill.domains == {"direct": 1, "scrapingbee-standard": 1, "scrapingbee-js": 1}
    assert used_sentences(bill) == ["ScrapingBee credits used: 7 ($0.07)"]
    assert rendering_sentences(bill) == ["rendered.test: 1/1 pages required JS rendering"]
    assert assumed_sentence(bill) == "Assumed: 1 request whose price is unknown, booked at the worst price"
    assert bill.saving
    assert saved_words(bill.saving) == (
        "23 credits ($0.23). The same 6 pages by premium-only take 30 credits ($0.30) at least; 23 % of that was spent."
    )


async def test_what_is_left_out_is_in_no_figure_of_it(database: AnyDatabase) -> None:
    bill = await bill_of(database, await hybrid_job(database), excluded=frozenset({"rendered.test"}))
    assert [(one.rung, one.pages, one.amount.credits) for one in bill.methods] == [
        ("direct", 3, 0),
        ("scrapingbee-standard", 2, 2),
    ]
    assert bill.domains == {"direct": 1, "scrapingbee-standard": 1}
    assert (bill.rendered, bill.assumed) == ((), 0)
    assert bill.saving
    assert (bill.saving.pages, bill.saving.saved.credits) == (5, 23)


async def test_a_job_that_could_only_be_free_is_asked_nothing(database: AnyDatabase) -> None:
    job, (visit,) = await database.write(make_capped, Cap(10))
    await read_pages(database, treasurer(database, prices=PRICES), visit, 2)
    assert await bill_of(database, job) == Bill(could_cost=False)


async def test_one_that_could_cost_and_did_not_has_saved_everything(database: AnyDatabase) -> None:
    job, (visit,) = await database.write(make_capped, Cap(10))
    job = replace(job, params={**job.params, **HYBRID})
    await read_pages(database, treasurer(database, prices=PRICES), visit, 2)
    progress = await database.read(counters.progress, job.id)
    bill = await database.read(read_bill, job, PRICES, progress)
    assert bill.could_cost
    assert used_sentences(bill) == []
    assert bill.saving
    assert saved_words(bill.saving).endswith("by premium-only take 10 credits ($0.10) at least; 0 % of that was spent.")


def _saved(made: list[Method], prices: PriceList = PRICES, **params: Any) -> Amount | None:
    saving = saving_of({**HYBRID, **params}, made, prices)
    return saving.saved if saving else None


FREE = Method("direct", "", 10)


def _paid(credits: int, rung: str = "scrapingbee-js", pages: int = 1) -> Method:
    return Method(rung, rung.partition("-")[0], pages, 1, 0, Amount(credits, credits * 10_000))


def test_nothing_is_called_saved_that_is_not() -> None:
    assert _saved([FREE, _paid(5)]) == Amount(50, 500_000)
    assert _saved([FREE, _paid(55)]) is None
    assert _saved([]) is None
    assert _saved([FREE], ladder=["direct"]) is None
    assert _saved([_paid(0, pages=10)], mode="premium-only", ladder=["scrapingbee-js"]) is None
    # Credits of another provider are other credits.
    assert _saved([FREE, _paid(5, "scraperapi-js")]) is None
    assert _saved([FREE], ladder=["direct", "flaresolverr"]) is None
    # Where a credit has become cheaper since, dollars were not saved.
    cheaper = price_list(0.0001, {})
    assert _saved([FREE, _paid(5)], cheaper) is None


def test_savings_go_by_the_operators_prices() -> None:
    own = price_list(0.002, {"scrapingbee-js": OwnPrice(worst=4)})
    assert own.priced("scrapingbee-js").usual == 4
    assert _saved([FREE], own) == Amount(40, 80_000)
    assert _saved([FREE], ladder=["direct", "scraperapi"]) == Amount(100, 1_000_000)


@pytest.mark.parametrize(
    ("ladder", "rung"),
    [
        (("direct", "scrapingbee-standard"), "scrapingbee-js"),
        (("direct", "scraperapi", "scraperapi-js"), "scraperapi-js"),
        (("direct", "firecrawl"), "firecrawl"),
        (("direct", "browser", "flaresolverr"), ""),
        ((), ""),
    ],
)
def test_premium_only_is_that_of_the_ladders_provider(ladder: tuple[str, ...], rung: str) -> None:
    assert premium_rung(ladder) == rung


@pytest.mark.parametrize(
    ("share", "said"), [(0, "0 %"), (0.004, "under 1 %"), (0.23, "23 %"), (0.996, "over 99 %"), (1, "100 %")]
)
def test_shares_are_never_rounded_to_nothing_or_all(share: float, said: str) -> None:
    assert percent(share) == said
