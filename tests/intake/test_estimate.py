"""What an estimate is made from: the rows that jobs leave behind, on both databases."""

from random import Random

from gossamer.billing.estimating import forecast, not_known
from gossamer.db.transactions import Tx
from gossamer.intake import control
from gossamer.model.job import Probed, TrackRecord
from gossamer.model.rungs import Mode
from gossamer.store import estimates, jobs
from tests.conftest import AnyDatabase
from tests.jobs import claim_all, make_job
from tests.ledger.past import Site, asked, run, web

FREE = [Site(f"free{number}.test", (), 2) for number in range(4)]
PAID = [Site(f"paid{number}.test", ("direct",), 3) for number in range(2)]
RENDERED = [Site("rendered.test", ("direct", "scrapingbee-standard"), 2)]
ALL = [*FREE, *PAID, *RENDERED]
REAL = 2 * 3 * 1 + 2 * 5


async def test_the_first_estimate_is_kept_with_its_job_and_held_against_it_at_the_end(database: AnyDatabase) -> None:
    ran = await run(database, ALL)
    assert ran.cost == REAL
    kept = await database.read(estimates.of_job, ran.job.id)
    assert kept == ran.found.estimate
    assert (kept.low <= ran.cost <= kept.high) is True
    assert await database.read(estimates.record) == TrackRecord(1, 1)
    (past,) = (await database.read(estimates.similar, asked(ALL).like)).values()
    assert past.credits == REAL


async def test_the_same_list_again_is_estimated_by_what_its_domains_have_cost(database: AnyDatabase) -> None:
    first = await run(database, ALL)
    again = (await forecast(database, asked(ALL))).estimate
    assert (again.known, again.similar) == (len(ALL), 1)
    assert again.low <= REAL <= again.high
    assert again.high / max(1, again.low) < first.found.estimate.high / max(1, first.found.estimate.low)
    # Of half of them, the dear half, it is more than of the free half.
    dear = (await forecast(database, asked([*PAID, *RENDERED]))).estimate
    free = (await forecast(database, asked(FREE[:3]))).estimate
    assert 0 == free.low < dear.low
    assert free.high < REAL <= dear.high


async def test_what_a_ladder_has_cost_says_nothing_of_another(database: AnyDatabase) -> None:
    await run(database, ALL)
    premium = await forecast(database, asked(ALL, Mode.PREMIUM_ONLY))
    assert (premium.estimate.similar, premium.used) == (0, None)
    paid = await run(database, ALL, Mode.PREMIUM_ONLY)
    assert paid.cost == 5 * sum(site.pages for site in ALL if "scrapingbee-js" not in site.fails)
    premium = await forecast(database, asked(ALL, Mode.PREMIUM_ONLY))
    # All of it is known: what sites have, and what a page costs.
    assert (premium.estimate.similar, premium.estimate.known) == (1, len(ALL))
    assert premium.estimate.low <= paid.cost <= premium.estimate.high


async def test_other_limits_count_until_there_are_jobs_with_the_same(database: AnyDatabase) -> None:
    for _ in range(2):
        await run(database, FREE)
    assert len(await database.read(estimates.similar, asked(FREE, pages=5).like)) == 2
    await run(database, FREE)
    assert len(await database.read(estimates.similar, asked(FREE).like)) == 3


async def test_jobs_that_did_not_come_to_their_end_are_no_history(database: AnyDatabase) -> None:
    cancelled = await run(database, ALL[:5], ends=False)
    job = await database.read(jobs.get, cancelled.job.id)
    assert job
    await control.cancel(database, job)
    assert await database.read(estimates.similar, asked(ALL).like) == {}
    assert await database.read(estimates.record) == TrackRecord(0, 0)
    assert (await database.read(estimates.of_job, cancelled.job.id)) is not None


async def test_what_was_met_before_need_not_be_looked_at(database: AnyDatabase) -> None:
    await run(database, FREE)
    unknown = await not_known(database, asked([*FREE, *PAID]))
    assert [target.host for target in unknown] == ["paid0.test", "paid1.test"]


async def test_a_look_narrows_it_with_a_history_too(database: AnyDatabase) -> None:
    random = Random(3)
    for number in range(3):
        await run(database, web(random, 20, paying=0.2 + 0.2 * number))
    fresh = [Site(f"fresh{number}.test", (), 1) for number in range(60)]
    unsure, sure = [(await forecast(database, asked(fresh), probed)).estimate for probed in (None, Probed(40, 16, 0))]
    assert (unsure.known, sure.known) == (0, 0)
    assert sure.high / sure.low < unsure.high / unsure.low
    few = (await forecast(database, asked(fresh), Probed(40, 0, 0))).estimate
    assert few.high < sure.high


async def test_domains_that_a_running_job_visits_are_left_alone(database: AnyDatabase) -> None:
    await run(database, FREE[:2])
    await run(database, PAID, ends=False)

    def busy(tx: Tx) -> set[str]:
        return estimates.busy_domains(tx, ["free0.test", "paid0.test", "other.test"])

    assert await database.read(busy) == set()

    def more(tx: Tx) -> None:
        make_job(tx, "other.test")
        claim_all(tx)

    await database.write(more)
    assert await database.read(busy) == {"other.test"}
