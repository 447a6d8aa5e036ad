"""What worked on a domain is kept over jobs, the newer counting more."""

from gossamer.model.rungs import Experience
from gossamer.store import rung_stats
from tests.conftest import AnyDatabase


async def test_what_was_met_adds_up_by_domain_and_rung(database: AnyDatabase) -> None:
    a, b, stealth = ("a.test", "direct"), ("b.test", "direct"), ("a.test", "stealth")
    await database.write(rung_stats.learn, {a: Experience(3, 1), b: Experience(1, 1)})
    await database.write(rung_stats.learn, {a: Experience(2, 2), stealth: Experience(1, 0)})
    assert await database.read(rung_stats.of, "a.test") == {"direct": Experience(5, 3), "stealth": Experience(1, 0)}
    assert await database.read(rung_stats.of, "b.test") == {"direct": Experience(1, 1)}
    await database.write(rung_stats.forget, "a.test")
    assert await database.read(rung_stats.of, "a.test") == {}


async def test_what_is_long_ago_counts_ever_less(database: AnyDatabase) -> None:
    await database.write(rung_stats.learn, {("a.test", "direct"): Experience(200, 200)})
    for _ in range(8):
        await database.write(rung_stats.learn, {("a.test", "direct"): Experience(50, 0)})
    seen = (await database.read(rung_stats.of, "a.test"))["direct"]
    assert seen.tries <= 200
    assert seen.rate < 0.1
