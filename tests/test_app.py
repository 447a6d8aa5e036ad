"""What the operator set reaches the parts it was meant for."""

import io
import logging
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from socket import gethostname
from time import monotonic
from typing import Any

import pytest

from gossamer.app import forward_proxy, open_app, open_deps, provider_desk, provider_rungs, start_log
from gossamer.app.installation import lacks_shared_secret
from gossamer.clock import SteadyClock, SystemClock
from gossamer.errors import UserError
from gossamer.fetch import FetchError
from gossamer.fetch.guard import Guard, parse_connect_to
from gossamer.fetch.providers import open_provider
from gossamer.fetch.resolve import Resolver
from gossamer.gate.local import MemoryPlaces
from gossamer.logging import get_logger
from gossamer.model.rungs import provider_of
from gossamer.model.trouble import Reason
from gossamer.settings import Settings
from gossamer_sandbox.providers import emulate
from tests.fetch.forward_proxy import ForwardProxy
from tests.fetch.loopback import Site
from tests.servers import RedisServer, free_port


@pytest.fixture
def logging_as_it_was() -> Iterator[None]:
    root, ours = logging.getLogger(), logging.getLogger("gossamer")
    levels, handlers = (root.level, ours.level), list(root.handlers)
    yield
    for handler in [handler for handler in root.handlers if handler not in handlers]:
        root.removeHandler(handler)
        handler.close()
    root.setLevel(levels[0])
    ours.setLevel(levels[1])


async def test_rates_of_single_domains_become_spacing(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path, domain_rate=2, domain_rates="example.com=0.2,fast.example=10")
    async with open_deps(settings, 1) as deps:
        spacing = [deps.limits.spacing_of(domain) for domain in ("example.com", "fast.example", "other.example")]
    assert spacing == [timedelta(seconds=5), timedelta(seconds=0.1), timedelta(seconds=0.5)]


async def test_what_is_never_visited_is_refused_to_every_session(tmp_path: Path) -> None:
    path = tmp_path / "never.txt"
    path.write_text("example.com\n")
    async with open_deps(Settings(home=tmp_path, never_visit=path), 1) as deps:
        with pytest.raises(FetchError) as caught:
            await deps.open_session("direct", 0).admit("http://www.example.com/")
    assert caught.value.trouble.reason is Reason.NEVER_VISIT


async def test_a_list_with_a_slip_stops_a_command_before_anything_is_created(tmp_path: Path) -> None:
    path = tmp_path / "never.txt"
    path.write_text("not a domain\n")
    async with open_app(Settings(home=tmp_path, never_visit=path)) as app:
        with pytest.raises(UserError) as caught:
            app.check()
    assert caught.value.code == "never_visit.bad_entry"


async def test_a_door_may_ask_the_list_or_learn_that_there_is_none(tmp_path: Path) -> None:
    path = tmp_path / "never.txt"
    path.write_text("example.com\n")
    async with open_app(Settings(home=tmp_path)) as app:
        assert app.never_visit() is None
    async with open_app(Settings(home=tmp_path, never_visit=path)) as app:
        never = app.never_visit()
        assert never is not None
        assert (never.covers("www.example.com"), never.covers("example.org")) == ("example.com", "")


async def test_spacing_is_kept_in_redis_where_one_is_set(tmp_path: Path, redis_server: RedisServer) -> None:
    second = timedelta(seconds=1)
    homes = [Settings(home=tmp_path / name, redis_url=redis_server.url, redis_prefix="shared") for name in "ab"]
    async with open_deps(homes[0], 1) as one, open_deps(homes[1], 1) as two:
        await one.gate.hold_off("a.example", second * 60)
        assert await two.gate.turn("a.example", second, second) > second * 50
        assert await one.gate.enter("cap", "one", 1, second * 60)
        assert not await two.gate.enter("cap", "two", 1, second * 60)
        assert one.gate_outage() == ""
    async with open_deps(Settings(home=tmp_path / "a"), 1) as alone:
        assert await alone.gate.turn("a.example", second, second) <= second
        assert alone.gate_outage() == ""


async def test_without_the_server_a_worker_starts_all_the_same(tmp_path: Path) -> None:
    began = monotonic()
    async with open_deps(Settings(home=tmp_path, redis_url=f"redis://127.0.0.1:{free_port()}"), 1) as deps:
        assert deps.gate_outage() == "Connection refused"
        wait = await deps.gate.turn("a.example", timedelta(), timedelta())
        # A domain counts as asked when the Gate was opened: what has passed since then is part of the two seconds.
        assert wait.total_seconds() + monotonic() - began > 1.9


def test_a_worker_without_redis_does_not_load_it(tmp_path: Path) -> None:
    code = (
        "import asyncio, sys\n"
        "from pathlib import Path\n"
        "from gossamer.app import open_deps\n"
        "from gossamer.settings import Settings\n"
        "async def main():\n"
        f"    async with open_deps(Settings(home=Path({str(tmp_path)!r})), 1): pass\n"
        "asyncio.run(main())\n"
        "print('redis' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False"]


async def test_an_address_of_redis_without_its_package_is_refused_with_the_next_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gossamer.app.gates.find_spec", lambda _: None)
    async with open_app(Settings(home=tmp_path, redis_url="redis://127.0.0.1")) as app:
        with pytest.raises(UserError) as caught:
            app.check()
    assert caught.value.code == "redis.missing"
    assert ".[cluster]" in str(caught.value.hint)


@pytest.mark.usefixtures("logging_as_it_was")
def test_the_password_of_redis_is_in_no_log(tmp_path: Path) -> None:
    stream = io.StringIO()
    start_log(Settings(home=tmp_path, redis_url="redis://me:hush%40hush@redis.example:6379/0"), stream=stream)
    get_logger("gossamer.test").warning("tried", what="hush@hush", where="redis://me:hush%40hush@redis.example")
    assert "tried" in stream.getvalue()
    assert "hush" not in stream.getvalue()


async def test_the_proxy_is_used(tmp_path: Path) -> None:
    async with Site() as site, ForwardProxy(site.port, credentials="me:s3cret") as proxy:
        settings = Settings(
            home=tmp_path, proxy=f"http://me:s3cret@127.0.0.1:{proxy.port}", allow_networks="127.0.0.0/8"
        )
        async with open_deps(settings, 1) as deps:
            session = deps.open_session("direct", 0)
            url = f"http://127.0.0.1:{site.port}/"
            assert (await session.fetch(url, timeout=timedelta(seconds=5), max_bytes=100)).body == b"hello"
            await session.close()
        assert proxy.asked == [url]


@pytest.mark.usefixtures("logging_as_it_was")
def test_the_password_of_the_proxy_is_in_no_log(tmp_path: Path) -> None:
    stream = io.StringIO()
    start_log(Settings(home=tmp_path, proxy="http://me:hunter2-hunter2@proxy.example:3128"), stream=stream)
    get_logger("gossamer.test").error("proxy.failed", text="it said hunter2-hunter2 is wrong")
    assert "proxy.failed" in stream.getvalue()
    assert "hunter2" not in stream.getvalue()


async def test_workers_go_by_the_clock_of_a_server(tmp_path: Path, new_postgres: Callable[[], str]) -> None:
    settings = Settings(home=tmp_path, database_url=new_postgres())
    fast = SteadyClock(SteadyClock().offset + 3600)  # as on a machine whose clock is an hour ahead
    async with open_deps(settings, 1, fast) as deps:
        assert abs(deps.clock.now() - SystemClock().now()) < timedelta(seconds=10)
    async with open_app(settings) as app:
        assert app.lock.clock == app.clock.offset


@pytest.mark.parametrize(
    ("url", "listen", "fits"),
    [
        ("http://127.0.0.1:8191", "127.0.0.1", True),
        ("http://localhost:8191", "127.0.0.1:8200-8215", True),
        ("http://[::1]:8191", "[::1]", True),
        ("http://flaresolverr:8191", "0.0.0.0:8200", True),
        ("http://flaresolverr:8191", "127.0.0.1", False),
        ("http://10.0.0.7:8191", "[::1]:8200", False),
    ],
)
async def test_a_flaresolverr_that_could_not_reach_our_proxy_is_refused_before_anything_is_created(
    url: str, listen: str, fits: bool, tmp_path: Path
) -> None:
    settings = Settings(home=tmp_path, flaresolverr_url=url, forward_proxy_listen=listen)
    async with open_app(settings) as app:
        if fits:
            app.check()
            return
        with pytest.raises(UserError, match=r"could not reach the forward proxy") as caught:
            app.check()
    assert caught.value.code == "forward_proxy.out_of_reach"


async def test_browsers_are_told_the_name_of_this_machine_where_it_listens_everywhere(tmp_path: Path) -> None:
    resolver = Resolver(SteadyClock())
    named: dict[str, Any] = {"forward_proxy_name": "worker-1.internal"}
    for said, expected in (({}, gethostname()), (named, "worker-1.internal")):
        settings = Settings(home=tmp_path, forward_proxy_listen="0.0.0.0", **said)
        async with forward_proxy(settings, Guard(resolver)) as proxy:
            assert proxy.url.rpartition(":")[0] == f"http://{expected}"
    await resolver.close()


async def test_providers_are_put_together_from_the_settings(tmp_path: Path) -> None:
    (tmp_path / "never-send.txt").write_text("patients.test\n")
    async with Site() as site:
        rules = f"*.test=127.0.0.1:{site.port}"
        async with emulate("scrapingbee", rules) as bee:
            settings = Settings(
                home=tmp_path,
                connect_to=rules,
                scrapingbee_key=bee.key,
                scrapingbee_url=bee.url,
                flaresolverr_url="http://127.0.0.1:8191",
                never_send=tmp_path / "never-send.txt",
            )
            clock = SteadyClock()
            desk = provider_desk(settings, clock, MemoryPlaces(clock), "worker-1")
            assert desk.rungs == provider_rungs(settings)
            assert {provider_of(rung) for rung in desk.rungs} == {"scrapingbee", "flaresolverr"}
            resolver = Resolver(clock)
            guard = Guard(resolver, rules=parse_connect_to(rules))
            session = open_provider("scrapingbee-standard", desk, guard)
            response = await session.fetch("http://shop.test/", timeout=timedelta(seconds=20), max_bytes=1_000)
            with pytest.raises(FetchError) as caught:
                await session.fetch("http://patients.test/", timeout=timedelta(seconds=20), max_bytes=1_000)
            await session.close()
            await resolver.close()
    assert (response.body, response.credits) == (b"hello", 1)
    assert caught.value.trouble.reason is Reason.NEVER_SEND
    assert bee.bill.total == 1


async def test_a_never_send_list_that_cannot_be_read_is_refused_at_the_door(tmp_path: Path) -> None:
    async with open_app(Settings(home=tmp_path, never_send=tmp_path / "none.txt")) as app:
        with pytest.raises(UserError, match="GOSSAMER_NEVER_SEND names"):
            app.check()


@pytest.mark.parametrize(
    ("given", "lacking"),
    [
        ({}, False),
        ({"database_url": "sqlite:////tmp/a.db"}, False),
        ({"database_url": "postgresql://me@db.test/gossamer"}, True),
        ({"redis_url": "redis://cache.test"}, True),
        ({"database_url": "postgresql://me@db.test/gossamer", "api_secret": "s" * 32}, False),
    ],
)
def test_what_others_may_have_to_open_needs_a_secret_that_they_know(
    tmp_path: Path, given: dict[str, Any], lacking: bool
) -> None:
    assert lacks_shared_secret(Settings(home=tmp_path, **given)) is lacking
