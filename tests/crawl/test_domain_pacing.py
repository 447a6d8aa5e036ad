"""How much room a domain gets: the largest of what we give, what it asks for and what it seems to need."""

from datetime import timedelta

from gossamer.crawl.domain_pacing import DomainPacing


def second(_: str) -> timedelta:
    return timedelta(seconds=1)


def test_the_operators_spacing_is_the_least() -> None:
    pacing = DomainPacing(lambda domain: timedelta(seconds=5 if domain == "slow.test" else 1))
    assert pacing.spacing("a.test") == timedelta(seconds=1)
    assert pacing.spacing("slow.test") == timedelta(seconds=5)


def test_a_crawl_delay_holds_for_everybody_and_never_shortens() -> None:
    pacing = DomainPacing(second)
    pacing.asks("a.test", 10)
    pacing.asks("a.test", 3)
    pacing.asks("b.test", 0.2)
    assert pacing.spacing("a.test") == timedelta(seconds=10)
    assert pacing.spacing("b.test") == timedelta(seconds=1)


def test_every_refusal_doubles_the_room_up_to_a_minute_and_calm_halves_it() -> None:
    pacing = DomainPacing(second)
    rooms = []
    for status in (429, 503, 429, 429, 429, 429, 503):
        pacing.answered("a.test", status, 0.1)
        rooms.append(pacing.spacing("a.test").total_seconds())
    assert rooms == [2, 4, 8, 16, 32, 60, 60]
    for _ in range(9):
        pacing.answered("a.test", 200, 0.1)
    assert pacing.spacing("a.test").total_seconds() == 60
    pacing.answered("a.test", 200, 0.1)
    assert pacing.spacing("a.test").total_seconds() == 30
    for _ in range(60):
        pacing.answered("a.test", 200, 0.1)
    assert pacing.spacing("a.test") == timedelta(seconds=1)
    assert pacing.spacing("b.test") == timedelta(seconds=1)


def test_a_server_that_takes_long_gets_as_long_to_rest_and_is_forgiven() -> None:
    pacing = DomainPacing(second)
    for _ in range(20):
        pacing.answered("a.test", 200, 4.0)
    assert 3.9 < pacing.spacing("a.test").total_seconds() <= 4.0
    pacing.answered("b.test", 200, 0.9)
    assert pacing.spacing("b.test") == timedelta(seconds=1)
    for _ in range(20):
        pacing.answered("a.test", 200, 0.1)
    assert pacing.spacing("a.test") == timedelta(seconds=1)


def test_an_endless_wait_does_not_stop_a_site_for_good() -> None:
    pacing = DomainPacing(second)
    for _ in range(50):
        pacing.answered("a.test", 0, 600.0)
    assert pacing.spacing("a.test") == timedelta(seconds=15)


def test_slowing_down_concerns_our_own_spacing_only() -> None:
    pacing = DomainPacing(second)
    pacing.asks("b.test", 5)
    pacing.slow_down(2)
    assert pacing.spacing("a.test") == timedelta(seconds=2)
    assert pacing.spacing("b.test") == timedelta(seconds=5)
    pacing.slow_down(1)
    assert pacing.spacing("a.test") == timedelta(seconds=1)


def test_of_very_many_domains_those_that_are_walked_now_are_remembered() -> None:
    pacing = DomainPacing(second)
    pacing.answered("walked.test", 429, 0.1)
    pacing.answered("left.test", 429, 0.1)
    pacing.asks("asking.test", 30)
    for number in range(12_000):
        pacing.answered(f"slow-{number}.test", 200, 9.0)
        if number % 1_000 == 0:
            pacing.answered("walked.test", 429, 0.1)
            pacing.answered("asking.test", 200, 0.1)

    assert pacing.spacing("walked.test") == timedelta(seconds=60)
    assert pacing.spacing("asking.test") == timedelta(seconds=30)
    assert pacing.spacing("left.test") == timedelta(seconds=1)
