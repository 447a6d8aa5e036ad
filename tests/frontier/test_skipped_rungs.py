"""A free rung that fails twice in a row on a site is not used for the rest of it."""

from gossamer.frontier.frontier import SkippedRungs
from gossamer.model.rungs import DIRECT, RUNGS, Ladder
from gossamer.model.trouble import Reason

OWN = "flaresolverr"


def ladder(*names: str) -> Ladder:
    return Ladder(tuple(RUNGS[name] for name in names))


def test_two_failures_in_a_row_are_enough() -> None:
    skipped = SkippedRungs(ladder("direct", OWN, "scrapingbee-js"))
    skipped.failed(OWN, Reason.TIMEOUT)
    assert not skipped.names
    skipped.failed(OWN, Reason.BLOCKED)
    assert skipped.names == {OWN}


def test_what_works_between_them_begins_the_count_anew() -> None:
    skipped = SkippedRungs(ladder("direct", OWN))
    skipped.failed(OWN, Reason.TIMEOUT)
    skipped.worked(OWN)
    skipped.failed(OWN, Reason.TIMEOUT)
    skipped.failed(OWN, Reason.NOT_HTML)  # it has brought what there is
    skipped.failed(OWN, Reason.TIMEOUT)
    assert not skipped.names


def test_other_rungs_and_one_that_a_job_begins_with_are_never_skipped() -> None:
    alone = SkippedRungs(ladder(OWN, "scrapingbee-js"))
    for _ in range(5):
        alone.failed(OWN, Reason.TIMEOUT)
        alone.failed("scrapingbee-js", Reason.TIMEOUT)
        alone.failed(DIRECT.name, Reason.TIMEOUT)
    assert not alone.names


def test_a_ladder_without_a_rung_climbs_past_it() -> None:
    whole = ladder("direct", OWN, "scrapingbee-js")
    above = whole.without({OWN}).above("direct")
    assert above is not None
    assert above.name == "scrapingbee-js"
    assert whole.without(frozenset()) is whole
