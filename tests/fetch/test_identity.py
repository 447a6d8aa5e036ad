"""Who we say we are, as a server sees it."""

import re
from datetime import timedelta

import pytest

from gossamer.clock import SystemClock
from gossamer.fetch.guard import Guard, parse_connect_to
from gossamer.fetch.http import IDENTITIES, HttpRung, pick
from gossamer.fetch.resolve import Resolver
from tests.fetch.loopback import Seen, Site


async def as_seen(number: int, site: Site, resolver: Resolver) -> Seen:
    guard = Guard(resolver, rules=parse_connect_to(f"*.test=127.0.0.1:{site.port}"))
    session = HttpRung(guard, SystemClock()).session(seed=number)
    await session.fetch("http://shop.test/", timeout=timedelta(seconds=5), max_bytes=100)
    await session.close()
    return site.seen[-1]


def test_a_seed_always_picks_the_same_browser_and_all_are_picked() -> None:
    assert [pick(seed) for seed in range(8)] == [*IDENTITIES, *IDENTITIES]
    assert pick(2**63) is pick(2**63)
    assert 3 <= len({identity.user_agent for identity in IDENTITIES}) <= 5


@pytest.mark.parametrize("number", range(len(IDENTITIES)))
async def test_the_headers_agree_with_the_user_agent(number: int, site: Site, resolver: Resolver) -> None:
    seen = await as_seen(number, site, resolver)
    agent = seen.header("user-agent")
    assert agent == IDENTITIES[number].user_agent
    assert seen.header("accept").startswith("text/html")
    assert seen.header("accept-language").startswith("en-US")
    assert ("zstd" in seen.header("accept-encoding")) == ("Safari/605" not in agent)
    assert bool(seen.header("sec-ch-ua")) == ("Chrome/" in agent)
    if "Chrome/" in agent:
        version = re.search(r"Chrome/(\d+)", agent)
        assert version is not None
        assert f'"Google Chrome";v="{version[1]}"' in seen.header("sec-ch-ua")
        platform = "Windows" if "Windows" in agent else "macOS"
        assert seen.header("sec-ch-ua-platform") == f'"{platform}"'


@pytest.mark.parametrize("number", range(len(IDENTITIES)))
async def test_headers_are_spelled_and_ordered_as_browsers_do(number: int, site: Site, resolver: Resolver) -> None:
    names = [name for name, _ in (await as_seen(number, site, resolver)).headers]
    assert names[0] == "Host"
    assert {"User-Agent", "Accept", "Accept-Language", "Accept-Encoding"} <= set(names)
    assert len(names) == len(set(names))
