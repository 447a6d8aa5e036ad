"""Without Redis a worker goes alone and slowly, pays for nothing, says so once, and finds back by itself."""

import asyncio
import logging
import signal
import time
from collections.abc import Awaitable, Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from gossamer.api.limits import Rates
from gossamer.api.problems import Limited
from gossamer.clock import FrozenClock, SystemClock
from gossamer.gate import NOW
from gossamer.gate.local import MemoryPlaces
from gossamer.gate.redis import RedisGate
from tests.servers import RedisServer, redis

SECOND = timedelta(seconds=1)
AGES = timedelta(hours=10)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RedisServer]:
    """With a memory that outlives it."""
    with redis(tmp_path / "redis", "--appendonly", "yes", "--appendfsync", "always") as running:
        yield running


async def until(condition: Callable[[], bool | str], seconds: float = 10) -> None:
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.01)


async def timed(call: Awaitable[object]) -> float:
    began = time.monotonic()
    await call
    return time.monotonic() - began


async def test_a_server_that_is_gone_leaves_every_worker_to_itself(server: RedisServer) -> None:
    clock = FrozenClock()
    async with RedisGate(server.url, clock).kept() as gate:
        assert await gate.enter("cap", "a", 5, AGES)
        clock.advance(100)  # the keys would be free, if only one's own memory counted
        server.kill()
        assert await gate.turn("a.example", SECOND, NOW) == timedelta(seconds=2.04), "just used, for all we know"
        assert gate.outage() == "Connection refused"
        passed = 0
        for _ in range(200):
            clock.advance(0.1)
            passed += await gate.turn("a.example", SECOND / 10, NOW) == NOW
        assert passed == 9, "at most one in two seconds"
        assert not await gate.enter("cap", "a", 5, AGES)
        assert not await gate.enter("other", "b", 5, AGES)
        await gate.leave("cap", "a")


async def test_limits_of_the_api_stay_open_and_each_server_counts_alone(server: RedisServer) -> None:
    async with RedisGate(server.url, SystemClock()).kept() as gate:
        rates = Rates(gate, MemoryPlaces(SystemClock()), gate.outage)
        await rates.take("key", "a", 3)
        server.kill()
        for _ in range(3):
            await rates.take("key", "a", 3)  # the first of them finds out
        with pytest.raises(Limited, match="More than 3 requests"):
            await rates.take("key", "a", 3)
        server.start()
        await until(lambda: not gate.outage())
        await rates.take("key", "a", 2)
        with pytest.raises(Limited):
            await rates.take("key", "a", 2)


async def test_what_is_asked_for_more_room_gets_it_without_the_server_too(server: RedisServer) -> None:
    clock = FrozenClock()
    async with RedisGate(server.url, clock).kept() as gate:
        await gate.hold_off("before.example", SECOND * 60)
        server.kill()
        await gate.hold_off("since.example", SECOND * 30)
        assert await gate.turn("before.example", SECOND, NOW) == SECOND * 60
        assert await gate.turn("since.example", SECOND, NOW) == SECOND * 30
        assert await gate.turn("slow.example", SECOND * 5, NOW) == SECOND * 5


async def test_it_is_found_again_and_hears_what_was_done_without_it(server: RedisServer) -> None:
    async with RedisGate(server.url, SystemClock()).kept() as gate:
        await gate.hold_off("old.example", SECOND * 100)
        server.kill()
        await gate.hold_off("new.example", SECOND * 50)
        assert gate.outage()
        server.start()
        await until(lambda: not gate.outage())
        async with RedisGate(server.url, SystemClock()).kept() as other:
            assert SECOND * 90 < await other.turn("old.example", SECOND, NOW) < SECOND * 100
            assert SECOND * 40 < await other.turn("new.example", SECOND, NOW) < SECOND * 50
        assert await gate.enter("cap", "a", 1, AGES)


@pytest.mark.parametrize("keeps", [True, False])
async def test_a_server_that_was_started_anew_takes_every_key_for_just_used(tmp_path: Path, keeps: bool) -> None:
    options = ("--appendonly", "yes", "--appendfsync", "always") if keeps else ()
    spacing = timedelta(milliseconds=500)
    with redis(tmp_path / "redis", *options) as server:
        async with RedisGate(server.url, SystemClock()).kept() as gate:
            await gate.turn("a.example", timedelta(milliseconds=1), AGES)
            await asyncio.sleep(0.6)  # free by what the server kept; what it lost nobody knows
            server.kill()
            server.start()
        async with RedisGate(server.url, SystemClock()).kept() as gate:
            assert server.tell("EXISTS", "gossamer:light:a.example").startswith(":1" if keeps else ":0")
            assert NOW < await gate.turn("a.example", spacing, NOW) <= spacing
            await asyncio.sleep(0.55)
            assert await gate.turn("a.example", spacing, NOW) == NOW


async def test_a_server_that_stands_still_costs_a_second_and_no_more(server: RedisServer) -> None:
    async with RedisGate(server.url, SystemClock()).kept() as gate:
        server.send(signal.SIGSTOP)
        took = await asyncio.gather(*(timed(gate.turn(f"{n}.example", SECOND, NOW)) for n in range(20)))
        assert max(took) < 4
        assert gate.outage() == "no answer in time"
        assert await timed(gate.enter("cap", "a", 5, AGES)) < 0.5, "known to be away: nobody waits for it"
        server.send(signal.SIGCONT)
        await until(lambda: not gate.outage())
        assert await gate.enter("cap", "a", 5, AGES)


async def test_a_loop_that_stood_still_takes_no_server_for_gone(server: RedisServer) -> None:
    async with RedisGate(server.url, SystemClock()).kept() as gate:
        asking = asyncio.create_task(gate.enter("cap", "a", 5, AGES))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        time.sleep(1.5)
        assert await asking
        assert not gate.outage()


async def test_who_was_told_late_goes_late_and_the_next_one_waits_for_that(server: RedisServer) -> None:
    spacing = timedelta(seconds=2)
    async with (
        RedisGate(server.url, SystemClock()).kept() as gate,
        RedisGate(server.url, SystemClock()).kept() as other,
    ):
        await asyncio.sleep(2.1)
        asking = asyncio.create_task(gate.turn("a.example", spacing, NOW))
        for _ in range(5):
            await asyncio.sleep(0)  # it is on its way
        time.sleep(1.2)
        assert await asking == NOW
        # From the moment it was told on, and not from when it asked: then it would be 0.8 seconds.
        assert await other.turn("a.example", spacing, NOW) > timedelta(seconds=1)


@pytest.mark.parametrize(
    ("command", "mend", "why"),
    [
        (("REPLICAOF", "127.0.0.1", "1"), ("REPLICAOF", "NO", "ONE"), "it is a replica, where nothing can be written"),
        (
            ("CONFIG", "SET", "maxmemory", "1"),
            ("CONFIG", "SET", "maxmemory", "0"),
            "not allowed when used memory",
        ),
    ],
)
async def test_a_server_that_takes_no_writes_is_as_good_as_away(
    server: RedisServer, command: tuple[str, ...], mend: tuple[str, ...], why: str
) -> None:
    async with RedisGate(server.url, SystemClock()).kept() as gate:
        assert await gate.enter("cap", "a", 5, AGES)
        server.ask(*command)
        await gate.hold_off("a.example", SECOND)
        assert NOW < await gate.turn("a.example", SECOND, NOW) <= timedelta(seconds=2.04)
        assert why in gate.outage()
        assert not await gate.enter("cap", "b", 5, AGES)
        server.ask(*mend)
        await until(lambda: not gate.outage())
        assert await gate.enter("cap", "b", 5, AGES)


async def test_a_server_that_is_still_loading_is_waited_for() -> None:
    """It is open long before it takes work: so does this one, which says so in the words of Redis."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.read(4096):
            writer.write(b"-LOADING Redis is loading the dataset in memory\r\n")
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as loading:
        port = loading.sockets[0].getsockname()[1]
        async with RedisGate(f"redis://127.0.0.1:{port}", SystemClock()).kept() as gate:
            assert gate.outage() == "it is still loading its data"
            assert not await gate.enter("cap", "a", 5, AGES)


async def test_a_password_that_is_refused_is_an_outage_and_is_not_told(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with redis(tmp_path / "redis") as server:
        server.ask("CONFIG", "SET", "requirepass", "right-one")
        url = server.url.replace("127.0.0.1", ":{}@127.0.0.1")
        async with RedisGate(url.format("wrong-one"), SystemClock()).kept() as gate:
            assert gate.outage() == "it refuses the user or the password"
        async with RedisGate(url.format("right-one"), SystemClock()).kept() as gate:
            assert not gate.outage()
        assert "-one" not in "".join(capfd.readouterr())


async def test_the_rights_the_documents_name_are_enough_for_gate_and_bus(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "howto" / "use-redis.md").read_text()
    rights = next(part for part in page.split("`") if part.startswith("+evalsha")).split()
    with redis(tmp_path / "redis") as server:
        assert server.ask("ACL", "SETUSER", "worker", "on", ">right-one", *rights) == b"+OK"
        url = server.url.replace("//", "//worker:right-one@").removesuffix("/0") + "/1"
        async with RedisGate(url, SystemClock()).kept() as gate:
            assert gate.outage() == ""
            await gate.hold_off("a.example", SECOND * 9)
            assert await gate.turn("a.example", SECOND, NOW) > SECOND
            assert await gate.enter("cap", "a", 1, AGES)
            await gate.leave("cap", "a")
            assert gate.outage() == ""
        async with RedisGate(url, SystemClock(), prefix="theirs").kept() as gate:
            assert "permission" in gate.outage().lower()


async def test_a_socket_on_this_machine_is_an_address_too(tmp_path: Path) -> None:
    with redis(tmp_path / "redis", "--unixsocket", str(tmp_path / "r.sock")):
        async with RedisGate(f"unix://{tmp_path}/r.sock", SystemClock()).kept() as gate:
            assert await gate.enter("cap", "a", 1, AGES)


async def test_an_option_that_means_nothing_is_an_outage_with_its_reason(redis_server: RedisServer) -> None:
    async with RedisGate(f"{redis_server.url}?speed=11", SystemClock()).kept() as gate:
        assert "speed" in gate.outage()
        assert not await gate.enter("cap", "a", 1, AGES)


async def test_one_line_is_said_when_it_goes_and_one_when_it_comes(
    server: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    async with RedisGate(server.url, SystemClock()).kept() as gate:
        server.kill()
        for _ in range(100):
            await gate.turn("a.example", SECOND, NOW)
            await asyncio.sleep(0.005)
        server.start()
        await until(lambda: not gate.outage())
    said = [record.getMessage() for record in caplog.records if record.name.startswith("gossamer")]
    assert len(said) == 2, said
    assert "gate.away" in said[0]
    assert "gate.back" in said[1]


async def test_a_server_that_was_never_there_is_found_when_it_comes(tmp_path: Path) -> None:
    server = RedisServer(tmp_path / "redis")
    try:
        async with RedisGate(server.url, SystemClock()).kept() as gate:
            assert gate.outage() == "Connection refused"
            assert await gate.turn("a.example", SECOND, NOW) > SECOND
            server.start()
            await until(lambda: not gate.outage())
            assert NOW < await gate.turn("a.example", SECOND, NOW) <= timedelta(seconds=2.04)
    finally:
        server.kill()
