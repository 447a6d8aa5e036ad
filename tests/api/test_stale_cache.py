"""The memory of old answers has its bounds, whatever it is asked."""

from gossamer.api.stale_cache import StaleCache


def test_long_addresses_are_not_kept_and_many_push_out_the_oldest() -> None:
    memory = StaleCache(lambda: False, clock=lambda: 1.0)
    memory.keep("a", "/v1/jobs?" + "x" * 3_000, b"{}")
    assert memory.answer("a", "/v1/jobs?" + "x" * 3_000) is None
    for number in range(40_000):
        memory.keep("a", f"/v1/jobs?{number:01500d}", b"{}")
    assert memory.answer("a", f"/v1/jobs?{0:01500d}") is None
    assert memory.answer("a", f"/v1/jobs?{39_999:01500d}") is not None
    assert memory.answer("b", f"/v1/jobs?{39_999:01500d}") is None
