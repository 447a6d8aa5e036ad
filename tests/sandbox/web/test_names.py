"""Numbers to host names and back, and a web of fifty thousand of them."""

import tracemalloc
from itertools import islice

import pytest

from gossamer.model.url import domain_of, site_of
from gossamer_sandbox.web import SampleWeb
from gossamer_sandbox.web.names import name_of, number_of
from gossamer_sandbox.web.patience import Patience
from gossamer_sandbox.web.profile import Settings
from gossamer_sandbox.web.replies import Replies
from gossamer_sandbox.web.sites import Sites


def test_every_host_leads_back_to_its_number() -> None:
    for number in range(1, 1_000):
        name = name_of(number)
        hosts = {name.host, name.start, name.primary, name.twin} - {""}
        assert {number_of(host, 1_000) for host in hosts} == {number}
        assert {site_of(host) for host in hosts} == {name.host}


@pytest.mark.parametrize(
    "host", ["site-2000.test", "site-0000.test", "www.site-0001.test", "other.test", "", "site-1.test"]
)
def test_other_hosts_belong_to_no_site(host: str) -> None:
    assert number_of(host, 1_000) is None


def test_about_one_in_fifteen_shares_its_domain_with_another() -> None:
    domains: dict[str, list[str]] = {}
    for number in range(1, 3_001):
        host = name_of(number).host
        domains.setdefault(domain_of(host), []).append(host)
    shared = [hosts for hosts in domains.values() if len(hosts) > 1]
    assert all(len(hosts) == 2 for hosts in shared)
    assert sum(map(len, shared)) == 200
    assert name_of(15).host == "blog.pair-0015.test"
    assert name_of(16).host == "shop.pair-0015.test"


def test_twins_and_international_names() -> None:
    assert (name_of(3).listed, name_of(3).primary) == ("site-0003.test", "www.site-0003.test")
    assert (name_of(7).listed, name_of(7).primary) == ("www.site-0007.test", "site-0007.test")
    assert name_of(31).listed == "bücher-0031.test"
    assert name_of(31).host == "xn--bcher-0031-9db.test"


def test_fifty_thousand_sites_cost_next_to_nothing_until_they_are_asked_for() -> None:
    tracemalloc.start()
    try:
        web = SampleWeb(sites=50_000)
        some = list(islice(web.hosts(), 0, None, 10_000))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 2 << 20, f"{peak:,} bytes"
    assert len(set(web.domains())) == 50_000
    replies = Replies(web.sites, Patience())
    assert all(replies.reply(host, "/robots.txt", gzip=True).status for host in some)


def test_memory_stays_flat_however_many_sites_are_asked() -> None:
    sites = Sites(Settings(sites=50_000, nasty=0), plans_kept=20)
    replies = Replies(sites, Patience(), remembered_bytes=200_000)

    def ask_homes(*numbers: int) -> int:
        for number in numbers:
            replies.reply(sites.profile(number).name.primary, "/", gzip=False)
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        before = ask_homes(*range(1, 3_000, 50))
        after = ask_homes(*range(11, 20_000, 100))
    finally:
        tracemalloc.stop()
    assert after - before < 2 << 20, f"grew by {after - before:,} bytes"


@pytest.mark.parametrize("wrong", [{"sites": 0}, {"sites": 1, "size_min": 0}, {"sites": 1, "nasty": 1.5}])
def test_a_web_that_cannot_be_is_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="sample web"):
        SampleWeb(**wrong)
