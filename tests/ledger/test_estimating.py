"""The arithmetic of estimates: wide where little is known, closer with everything that is learned."""

import pytest

from gossamer.billing.estimating import ENOUGH, KnownSites, cost_of_page, estimate, prices_of, similar_range
from gossamer.billing.prices import OwnPrice, PriceList, price_list
from gossamer.model.job import Comparable, Estimate, Past, Probed
from gossamer.model.rungs import Experience, Mode, ladder_of, names_of

HERE = ("direct", "scrapingbee-standard", "scrapingbee-js")
HYBRID, PREMIUM = (ladder_of(mode, names_of(mode, HERE)) for mode in (Mode.HYBRID, Mode.PREMIUM_ONLY))
PRICES = PriceList()
NOTHING_KNOWN = KnownSites()


def said(
    *past: Past,
    sites: int = 1_000,
    known: KnownSites = NOTHING_KNOWN,
    probed: Probed | None = None,
    pages: float | None = None,
    mode: Mode = Mode.HYBRID,
    most_pages: int = 500,
    prices: PriceList = PRICES,
) -> Estimate:
    ladder = HYBRID if mode is Mode.HYBRID else PREMIUM
    like = Comparable("prospect", tuple(rung.name for rung in ladder.rungs), most_pages, min(50, most_pages))
    return estimate(like, ladder, prices, sites, known, past, pages, probed)


def width(one: Estimate) -> float:
    return one.high / max(1, one.low)


def test_without_any_history_the_range_is_wide_and_has_what_jobs_usually_cost_in_it() -> None:
    alone = said()
    assert width(alone) > 20
    assert alone.low < 1_000 < alone.high
    assert (alone.similar, alone.known, alone.expected) == (0, 0, 0)


def test_jobs_that_have_ended_make_it_narrower_and_all_of_them_are_in_it() -> None:
    jobs = [Past(1_000, 800), Past(500, 500), Past(2_000, 1_500), Past(1_000, 900), Past(800, 700), Past(900, 1_000)]
    widths = [width(said(*jobs[:number])) for number in (0, 1, 3, 6)]
    assert widths == sorted(widths, reverse=True)
    assert widths[-1] < 4 < widths[1]
    sure = said(*jobs)
    assert sure.low < 750
    assert sure.high > 1_110
    assert sure.expected == pytest.approx(900, rel=0.1)


def test_it_grows_with_the_number_of_sites_and_is_less_sure_of_few() -> None:
    jobs = [Past(1_000, 900)] * 6
    few, many = said(*jobs, sites=10), said(*jobs, sites=5_000)
    assert 2_500 < many.low < 4_500 < many.high < 9_000
    assert width(few) > 2 * width(many)


def test_jobs_that_cost_nothing_leave_a_small_sum() -> None:
    free = said(*[Past(1_000, 0)] * 6)
    assert free.low == 0
    assert free.high < 30


def test_what_is_known_of_the_domains_counts_for_them_and_history_for_the_others() -> None:
    jobs = [Past(1_000, 1_000)] * 6
    usual = said(*jobs)
    dear = said(*jobs, known=KnownSites(900, 9_000))
    cheap = said(*jobs, known=KnownSites(900, 10))
    assert cheap.high < usual.low
    assert usual.high < dear.low
    assert dear.expected == pytest.approx(9_100, rel=0.02)


def test_domains_that_jobs_with_other_ladders_have_met_are_something_to_go_by() -> None:
    met = said(known=KnownSites(1_000, 500.0))
    assert met.low < 500 < met.high
    assert width(met) < width(said()) / 4


def test_mistakes_of_earlier_estimates_are_made_good() -> None:
    """They said twice as much each time: the next middle is halved."""
    wrong = [Past(1_000, 1_000, expected=2_000)] * 8
    corrected = said(*wrong, known=KnownSites(1_000, 2_000.0))
    assert corrected.expected == 2_000
    assert corrected.low < 1_000 < corrected.high < 2_000


def test_an_estimate_is_held_against_the_truth_only_if_there_was_something_to_go_by() -> None:
    assert said(*[Past(100, 90)] * (ENOUGH - 1)).expected == 0
    assert said(*[Past(100, 90)] * ENOUGH, sites=100).expected > 0


def test_homepages_that_were_looked_at_narrow_it_and_move_it() -> None:
    unsure = said()
    free, mixed, dear = (said(probed=Probed(50, climbing, 0)) for climbing in (0, 15, 45))
    assert width(mixed) < width(unsure)
    assert free.high - free.low < mixed.high - mixed.low
    assert free.high < mixed.high < dear.high
    assert free.low < mixed.low < dear.low
    assert width(said(probed=Probed(200, 60, 0))) < width(mixed) < width(said(probed=Probed(5, 2, 0)))


def test_with_a_history_a_look_counts_by_how_much_sites_differ_from_those_before() -> None:
    jobs = [Past(1_000, 900, paying=paying) for paying in (150, 300, 200, 250, 180, 220)]
    usual = said(*jobs)
    as_ever, dearer = (said(*jobs, probed=Probed(100, climbing, 0)) for climbing in (22, 80))
    assert width(as_ever) < width(usual)
    assert as_ever.low < 900 < as_ever.high
    assert dearer.low > as_ever.low
    assert dearer.high > as_ever.high
    # Jobs whose charges are deleted say nothing of that, and do no harm.
    assert said(*[one._replace(paying=None) for one in jobs], probed=Probed(100, 80, 0)).high == usual.high


@pytest.mark.parametrize("mode", [Mode.HYBRID, Mode.PREMIUM_ONLY])
def test_sites_that_led_to_others_were_paid_for_twice_and_can_be_looked_at_all_the_same(mode: Mode) -> None:
    jobs = [Past(100, 600, paying=100), Past(80, 500, paying=160), Past(1, 8, paying=2)]
    everywhere = Probed(20, 20, 0) if mode is Mode.HYBRID else Probed(20, 0, 0)
    looked = said(*jobs, mode=mode, probed=everywhere)
    assert 0 < looked.low < looked.high
    assert width(looked) <= width(said(*jobs, mode=mode))


def test_a_rung_without_a_price_and_a_price_of_a_free_rung_cost_nothing() -> None:
    free = price_list(0.01, {rung: OwnPrice(0) for rung in HERE})
    assert prices_of(HYBRID, free) == []
    some = price_list(0.01, {"scrapingbee-standard": OwnPrice(0), "direct": OwnPrice(7)})
    assert [price.rung for price in prices_of(HYBRID, some)] == ["scrapingbee-js"]
    assert 0 < said(prices=some).low < said(prices=some).high
    met = {"direct": Experience(100, 100)}
    assert cost_of_page(HYBRID, met, some) == pytest.approx(0, abs=0.1)


def test_where_a_provider_is_always_asked_only_sites_that_are_gone_are_free() -> None:
    whole, half_gone = (said(mode=Mode.PREMIUM_ONLY, probed=Probed(40, 10, gone)) for gone in (0, 20))
    assert half_gone.high < whole.high
    assert said(mode=Mode.PREMIUM_ONLY).low > said().low


def test_nothing_costs_more_than_all_pages_at_their_worst() -> None:
    assert said(sites=10, most_pages=1).high <= 10 * 6
    assert said(sites=1, mode=Mode.PREMIUM_ONLY, most_pages=1).high <= 5
    once = said(*[Past(100, 5_000)] * 6, sites=10, most_pages=1)
    assert once.low <= once.high <= 10 * 6


def test_pages_that_other_jobs_have_read_say_how_large_sites_are() -> None:
    small, large = said(pages=2.0), said(pages=40.0)
    assert small.high < large.high
    assert width(small) < width(said())


def test_dollars_follow_the_prices_and_figures_are_rounded_outwards() -> None:
    one = said(*[Past(1_000, 4_321)] * 6, prices=price_list(0.001, {}))
    assert (one.low_micros, one.high_micros) == (one.low * 1_000, one.high * 1_000)
    assert (one.low % 100, one.high % 100) == (0, 0)
    assert similar_range([Past(10, 123), Past(10, 457)], 100) == (1_500, 4_300)
    assert similar_range([Past(10, 7)], 10) == (7, 7)


@pytest.mark.parametrize(
    ("met", "least", "most"),
    [
        ({"direct": Experience(50, 50)}, 0.0, 0.1),
        ({"direct": Experience(50, 0), "scrapingbee-standard": Experience(50, 50)}, 0.95, 1.1),
        ({"direct": Experience(50, 0), "scrapingbee-standard": Experience(50, 0)}, 4.0, 5.0),
        ({"direct": Experience(50, 25), "scrapingbee-standard": Experience(25, 25)}, 0.45, 0.6),
        # Nobody gets it: providers charge nothing for that.
        ({name: Experience(50, 0) for name in HERE}, 0.0, 0.1),
    ],
)
def test_a_page_costs_what_the_rungs_cost_that_it_climbs(met: dict[str, Experience], least: float, most: float) -> None:
    cost = cost_of_page(HYBRID, met, PRICES)
    assert cost is not None
    assert least <= cost <= most


def test_of_a_domain_nobody_has_met_only_a_provider_that_is_always_asked_says_something() -> None:
    assert cost_of_page(HYBRID, {}, PRICES) is None
    assert cost_of_page(PREMIUM, {}, PRICES) == pytest.approx(4.5)
