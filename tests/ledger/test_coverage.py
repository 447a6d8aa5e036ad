"""Estimates hold: of twenty jobs that come after some others, sixteen at least cost what was said before."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random
from statistics import median

import pytest

from gossamer.model.job import Estimate, TrackRecord
from gossamer.store import estimates
from tests.conftest import AnyDatabase
from tests.ledger.past import Ran, lists, run, web

HISTORY, TRIED = 6, 20


def share_inside(ran: Sequence[Ran], said: Callable[[Estimate], Estimate] = lambda one: one) -> float:
    """Of these jobs, had their estimates been changed like this."""
    changed = [replace(one, found=replace(one.found, estimate=said(one.found.estimate))) for one in ran]
    return sum(one.inside for one in changed) / len(changed)


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
async def test_real_costs_are_inside_the_range_four_times_in_five(database: AnyDatabase) -> None:
    random = Random(7)
    sites = web(random, 400)
    ran = [await run(database, chosen) for chosen in lists(random, sites, HISTORY + TRIED)]
    tried = ran[HISTORY:]
    assert share_inside(tried) >= 0.8, [(one.found.estimate, one.cost) for one in tried]
    # Neither by being wide,
    assert median(one.found.estimate.high / max(1, one.found.estimate.low) for one in tried) < 5
    # nor by chance: elsewhere, or a third as wide, they would not have been right.
    assert share_inside(tried, lambda one: replace(one, low=one.low * 3, high=one.high * 3)) < 0.4
    assert share_inside(tried, lambda one: replace(one, low=one.low // 3, high=one.high // 3)) < 0.4
    assert share_inside(tried, narrowed) < 0.8
    # And the store has kept count.
    kept = await database.read(estimates.record)
    assert kept == TrackRecord(sum(one.inside for one in ran[-estimates.MOST :]), estimates.MOST)
    assert ran[0].found.record == TrackRecord(0, 0)


def narrowed(one: Estimate) -> Estimate:
    middle, half = (one.low * one.high) ** 0.5, (one.high / max(1, one.low)) ** (1 / 6)
    return replace(one, low=round(middle / half), high=round(middle * half))
