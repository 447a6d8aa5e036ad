"""When many different sites block us it is about our address, and neither one site nor one moment decides that."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from gossamer.clock import FrozenClock
from gossamer.crawl.domain_pacing import DomainPacing
from gossamer.crawl.ip_block import BLOCKING, MOST_SITES, Count, IpBlockDetector, IpBlockFinding, JobRefusals, Reaction
from gossamer.crawl.redirects import Moved
from gossamer.model.document import Document, Response
from gossamer.model.trouble import Reason, Trouble
from gossamer.parse import parse_document

JOB, OTHER = UUID(int=1), UUID(int=2)
BLOCKED = Trouble(Reason.BLOCKED, "Cloudflare", 403)
WINDOW = timedelta(minutes=5)


def _page() -> Document:
    url = "http://a.test/"
    headers = {"content-type": "text/html"}
    body = b"<html><title>Bread</title><p>How bread is made.</p></html>"
    read = parse_document(Response(url, url, 200, headers, body, "direct", datetime(2026, 1, 1, tzinfo=UTC)))
    assert isinstance(read, Document)
    return read


PAGE = _page()


class Crowd:
    """New sites of a job, one after the other, some of which block us."""

    def __init__(self) -> None:
        self.clock = FrozenClock()
        self.detector = IpBlockDetector(self.clock)
        self._met = 0

    def meet(self, blocking: int, reading: int, job: UUID = JOB) -> None:
        for outcome in [BLOCKED] * blocking + [PAGE] * reading:
            self._met += 1
            self.detector.refusals(job).note(f"s{self._met}.test", outcome)

    def changes(self) -> list[Reaction]:
        return [finding.change for finding in self.detector.look()]


@pytest.fixture
def crowd() -> Crowd:
    return Crowd()


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock()


@pytest.fixture
def refusals(clock: FrozenClock) -> JobRefusals:
    return JobRefusals(clock, WINDOW)


def test_a_site_counts_once_and_by_its_latest_page(refusals: JobRefusals) -> None:
    refusals.note("a.test", BLOCKED)
    refusals.note("a.test", BLOCKED)
    refusals.note("b.test", PAGE)
    assert refusals.count() == Count(1, 2)
    refusals.note("a.test", PAGE)
    refusals.note("b.test", BLOCKED)
    refusals.note("b.test", PAGE)
    assert refusals.count() == Count(0, 2)


@pytest.mark.parametrize("reason", list(Reason))
def test_only_refusals_count_as_blocking(refusals: JobRefusals, reason: Reason) -> None:
    refusals.note("a.test", Trouble(reason))
    refuses = reason in {Reason.BLOCKED, Reason.CAPTCHA, Reason.FORBIDDEN, Reason.RATE_LIMITED}
    assert refusals.count() == (Count(1, 1) if refuses else Count(0, 0))
    assert refuses == (reason in BLOCKING)


def test_what_says_nothing_about_us_changes_nothing(refusals: JobRefusals) -> None:
    refusals.note("a.test", BLOCKED)
    refusals.note("a.test", Trouble(Reason.TIMEOUT))
    refusals.note("b.test", Moved("http://c.test/", 301))
    assert refusals.count() == Count(1, 1)


def test_what_is_older_than_the_window_is_forgotten(refusals: JobRefusals, clock: FrozenClock) -> None:
    refusals.note("a.test", BLOCKED)
    refusals.note("b.test", BLOCKED)
    clock.advance(200)
    refusals.note("a.test", BLOCKED)
    refusals.note("c.test", PAGE)
    clock.advance(100)
    assert refusals.count() == Count(1, 2)
    clock.advance(200)
    assert refusals.count() == Count(0, 0)


def test_only_the_latest_sites_are_kept(refusals: JobRefusals) -> None:
    for number in range(MOST_SITES):
        refusals.note(f"b{number}.test", BLOCKED)
    for number in range(100):
        refusals.note(f"r{number}.test", PAGE)
    assert refusals.count() == Count(MOST_SITES - 100, MOST_SITES)


@pytest.mark.parametrize(
    ("blocking", "reading", "slows"),
    [
        (5, 15, True),  # a quarter of twenty
        (5, 14, False),  # too few sites to say anything
        (4, 8, False),
        (19, 0, False),
        (20, 0, True),
        (5, 20, False),  # just 20 % is not over 20 %
        (21, 80, True),
        (10, 90, False),
    ],
)
def test_over_a_fifth_of_many_sites_slows_the_job_down(crowd: Crowd, blocking: int, reading: int, slows: bool) -> None:
    crowd.meet(blocking, reading)
    found = crowd.detector.look()
    assert found == ([IpBlockFinding(JOB, Reaction.SLOW_DOWN, Count(blocking, blocking + reading))] if slows else [])
    assert crowd.detector.slow is slows
    assert crowd.detector.look() == []  # once is enough


def test_a_job_that_is_still_blocked_after_two_minutes_pauses(crowd: Crowd) -> None:
    crowd.meet(8, 23)
    assert crowd.changes() == [Reaction.SLOW_DOWN]
    crowd.clock.advance(60)
    crowd.meet(20, 30)
    crowd.clock.advance(59)
    assert crowd.changes() == []
    crowd.clock.advance(1)
    assert crowd.detector.look() == [IpBlockFinding(JOB, Reaction.PAUSE, Count(28, 81))]


def test_a_pause_needs_more_sites_than_those_that_slowed_the_job(crowd: Crowd) -> None:
    crowd.meet(12, 28)
    assert crowd.changes() == [Reaction.SLOW_DOWN]
    crowd.clock.advance(120)
    crowd.meet(9, 0)
    assert crowd.changes() == []
    crowd.meet(1, 0)
    assert crowd.changes() == [Reaction.PAUSE]


def test_slowing_down_is_judged_by_what_came_after_it(crowd: Crowd) -> None:
    """Many were blocking at full speed and are still in the window; none is since."""
    crowd.meet(300, 700)
    assert crowd.changes() == [Reaction.SLOW_DOWN]
    crowd.clock.advance(150)
    crowd.meet(0, 200)
    assert crowd.changes() == []
    assert crowd.detector.slow
    crowd.clock.advance(150)  # and now they are not
    assert crowd.changes() == [Reaction.RECOVER]


def test_under_a_tenth_the_job_is_back_at_its_usual_speed(crowd: Crowd) -> None:
    crowd.meet(8, 23)
    assert crowd.changes() == [Reaction.SLOW_DOWN]
    crowd.meet(0, 49)  # 8 of 80: just a tenth
    assert crowd.changes() == []
    crowd.meet(0, 1)
    assert crowd.detector.look() == [IpBlockFinding(JOB, Reaction.RECOVER, Count(8, 81))]
    assert not crowd.detector.slow
    crowd.meet(20, 0)
    assert crowd.changes() == [Reaction.SLOW_DOWN]


def test_jobs_are_judged_apart(crowd: Crowd) -> None:
    crowd.meet(10, 10, JOB)
    crowd.meet(0, 80, OTHER)
    assert [(finding.job_id, finding.change) for finding in crowd.detector.look()] == [(JOB, Reaction.SLOW_DOWN)]
    crowd.detector.forget(JOB)
    assert crowd.detector.jobs() == {OTHER}
    assert not crowd.detector.slow


def test_a_forgotten_job_begins_anew(crowd: Crowd) -> None:
    crowd.meet(20, 0)
    before = crowd.detector.refusals(JOB)
    assert crowd.changes() == [Reaction.SLOW_DOWN]
    crowd.detector.forget(JOB)
    before.note("late.test", BLOCKED)  # by a walk that was still on its way
    assert crowd.detector.refusals(JOB).count() == Count(0, 0)
    crowd.meet(19, 0)
    assert crowd.changes() == []
    crowd.meet(1, 0)
    assert crowd.changes() == [Reaction.SLOW_DOWN]


def test_the_governor_gives_twice_the_room_and_more_only_where_more_is_wanted() -> None:
    pacing = DomainPacing(lambda _: timedelta(seconds=1))
    pacing.asks("patient.test", 5)
    pacing.slow_down(2)
    assert pacing.spacing("a.test") == timedelta(seconds=2)
    assert pacing.spacing("patient.test") == timedelta(seconds=5)
    pacing.slow_down(1)
    assert pacing.spacing("a.test") == timedelta(seconds=1)
