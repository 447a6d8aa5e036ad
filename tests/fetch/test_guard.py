"""What may be contacted: a long table of hostile addresses, and the few ways in that an operator can open."""

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as some

from gossamer.fetch.addresses import Address, real_address, why_not_public
from gossamer.fetch.errors import FetchError
from gossamer.fetch.guard import Guard, parse_connect_to
from gossamer.fetch.resolve import Resolver
from gossamer.model.trouble import Reason, Trouble
from tests.fetch.loopback import Name, NameServer


class NoLookup:
    """For addresses that must be decided without asking anybody."""

    def recall(self, host: str) -> None: ...

    async def resolve(self, host: str) -> tuple[Address, ...]:
        raise AssertionError(f"{host} was looked up")


async def refusal(guard: Guard, url: str) -> Trouble:
    with pytest.raises(FetchError) as caught:
        await guard.admit(url)
    return caught.value.trouble


FORBIDDEN = [
    # this machine, in every spelling a URL parser takes for it
    "http://127.0.0.1/",
    "http://127.0.0.1./",
    "http://127.1/",
    "http://127.0.1/",
    "http://2130706433/",
    "http://0x7f000001/",
    "http://0x7f.0x0.0x0.0x1/",
    "http://0177.0.0.1/",
    "http://017700000001/",
    "http://0x7f.1/",
    "http://00000177.0.0.01/",
    "http://127.255.255.254/",
    "http://%31%32%37.0.0.1/",
    "http://１２７.０.０.１/",
    "http://127。0。0。1/",
    "http://①②⑦.0.0.1/",
    "http://0/",
    "http://0.0.0.0/",
    "http://0.1.2.3/",
    "http://[::1]/",
    "http://[::]/",
    "http://[0:0:0:0:0:0:0:1]/",
    "http://[0000:0000:0000:0000:0000:0000:0000:0001]/",
    # the same wrapped in IPv6
    "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:7f00:1]/",
    "http://[::ffff:0:127.0.0.1]/",
    "http://[::127.0.0.1]/",
    "http://[::7f00:1]/",
    "http://[2002:7f00:1::]/",
    "http://[2002:7f00:0001::1]/",
    "http://[64:ff9b::127.0.0.1]/",
    "http://[64:ff9b::7f00:1]/",
    "http://[64:ff9b:1::7f00:1]/",
    "http://[2001:0:7f00:1::]/",
    "http://[2001:0:53aa:64c:0:0:80ff:fffe]/",
    # clouds' own services
    "http://169.254.169.254/latest/meta-data/",
    "http://2852039166/",
    "http://0xA9FEA9FE/",
    "http://0251.0376.0251.0376/",
    "http://[::ffff:169.254.169.254]/",
    "http://[64:ff9b::a9fe:a9fe]/",
    "http://[2002:a9fe:a9fe::]/",
    "http://[fd00:ec2::254]/",
    "http://100.100.100.200/",
    "http://168.63.129.16/",
    "http://192.0.0.192/",
    # private, shared, special
    "http://10.0.0.1/",
    "http://10.1/",
    "http://172.16.0.1/",
    "http://172.31.255.255/",
    "http://192.168.0.1/",
    "http://192.168.257/",
    "http://100.64.0.1/",
    "http://100.127.255.255/",
    "http://198.18.0.1/",
    "http://198.19.255.255/",
    "http://192.0.2.1/",
    "http://198.51.100.1/",
    "http://203.0.113.1/",
    "http://192.88.99.1/",
    "http://224.0.0.1/",
    "http://239.255.255.250/",
    "http://240.0.0.1/",
    "http://255.255.255.255/",
    "http://[fc00::1]/",
    "http://[fd12:3456:789a::1]/",
    "http://[fe80::1]/",
    "http://[fec0::1]/",
    "http://[ff02::1]/",
    "http://[2001:db8::1]/",
    "http://[3fff::1]/",
    "http://[2001:2::1]/",
    "http://[100::1]/",
    "http://[4000::1]/",
    "http://[5f00::1]/",
    # names that mean nothing on the public web
    "http://localhost/",
    "http://LOCALHOST/",
    "http://localhost./",
    "http://foo.localhost/",
    "http://printer.local/",
    "http://metadata.google.internal/",
    "http://localhost.localdomain/",
    "http://wiki.corp/",
    "http://router.home.arpa/",
    "http://intranet/",
    "http://duckduckgogg42xjoc72x3sjasowoarfbgcmvfimaftt6twagswzczad.onion/",
    # ports of other services
    "http://93.184.216.34:22/",
    "http://93.184.216.34:25/",
    "http://93.184.216.34:53/",
    "https://93.184.216.34:993/",
    "http://93.184.216.34:3306/",
    "http://93.184.216.34:5432/",
    "http://93.184.216.34:6379/",
    "http://93.184.216.34:9200/",
    "http://93.184.216.34:11211/",
    "http://93.184.216.34:27017/",
]

NOT_WEB = [
    "",
    "example.com",
    "//example.com/",
    "/etc/passwd",
    "file:///etc/passwd",
    "ftp://example.com/",
    "gopher://127.0.0.1:6379/_FLUSHALL",
    "dict://127.0.0.1:11211/stats",
    "javascript:alert(1)",
    "data:text/html,hello",
    "ws://example.com/",
    "http://",
    "http:///",
    "http://./",
    "http://user:secret@example.com/",
    "http://example.com@127.0.0.1/",
    "http://127.0.0.1:80@example.com/",
    "http://exa mple.com/",
    "http://example.com:0/",
    "http://example.com:65536/",
    "http://example.com:-80/",
    "http://[fe80::1%25eth0]/",
    "http://[fe80::1%eth0]/",
    "http://[::1/",
    "http://256.256.256.256/",
    "http://1.2.3.4.5/",
    "http://foo.0x7f/",
    "http://exa$mple.com/",
    "http://a;b.example/",
    "http://exam%00ple.com/",
]

PUBLIC = [
    ("http://93.184.216.34/", "93.184.216.34"),
    ("https://8.8.8.8:8443/x", "8.8.8.8"),
    ("http://134744072/", "8.8.8.8"),
    ("http://[2606:4700:4700::1111]/", "2606:4700:4700::1111"),
    ("http://[::ffff:8.8.8.8]/", "::ffff:8.8.8.8"),
    ("http://[64:ff9b::808:808]/", "64:ff9b::808:808"),
    ("http://172.32.0.1/", "172.32.0.1"),
    ("http://100.128.0.1:1024/", "100.128.0.1"),
    ("http://11.0.0.1:65535/", "11.0.0.1"),
]


@pytest.mark.parametrize("url", FORBIDDEN)
async def test_an_address_that_is_not_public_is_refused_unasked(url: str) -> None:
    trouble = await refusal(Guard(NoLookup()), url)
    assert trouble.reason is Reason.FORBIDDEN_ADDRESS
    assert trouble.detail


@pytest.mark.parametrize("url", NOT_WEB)
async def test_what_is_not_a_web_address_is_refused_unasked(url: str) -> None:
    assert (await refusal(Guard(NoLookup()), url)).reason is Reason.BAD_URL


@pytest.mark.parametrize(("url", "address"), PUBLIC)
async def test_a_public_address_is_admitted(url: str, address: str) -> None:
    clearance = await Guard(NoLookup()).admit(url)
    assert clearance.addresses == (ip_address(address),)
    assert clearance.authority == ""


async def test_the_tables_are_as_long_as_promised() -> None:
    assert len(set(FORBIDDEN)) + len(set(NOT_WEB)) >= 120


def spellings(number: int) -> list[str]:
    a, b, c, d = number.to_bytes(4, "big")
    return [
        f"{a}.{b}.{c}.{d}",
        str(number),
        hex(number),
        f"0{number:o}",
        f"0x{a:x}.0{b:o}.{c}.{d}",
        f"{a}.{number & 0xFFFFFF}",
        f"{a}.{b}.{number & 0xFFFF}",
        f"[::ffff:{a}.{b}.{c}.{d}]",
        f"[::ffff:{number >> 16:x}:{number & 0xFFFF:x}]",
        f"[64:ff9b::{a}.{b}.{c}.{d}]",
        f"[2002:{number >> 16:x}:{number & 0xFFFF:x}::1]",
    ]


@given(some.integers(min_value=0, max_value=2**32 - 1))
async def test_every_spelling_of_an_address_gets_the_same_verdict(number: int) -> None:
    guard = Guard(NoLookup())
    verdicts = set()
    for host in spellings(number):
        try:
            clearance = await guard.admit(f"http://{host}/")
        except FetchError as error:
            verdicts.add(error.trouble.reason.name)
        else:
            verdicts.add(str(real_address(clearance.addresses[0])))
    assert verdicts in ({"FORBIDDEN_ADDRESS"}, {str(IPv4Address(number))})


@given(some.ip_addresses(v=4))
def test_nothing_passes_that_python_calls_not_global(address: IPv4Address) -> None:
    assert address.is_global or why_not_public(address)


@given(some.ip_addresses(v=6))
def test_nothing_passes_in_ipv6_that_python_calls_not_global(address: IPv6Address) -> None:
    real = real_address(address)
    assert real.is_global or why_not_public(address)


async def test_a_name_passes_with_all_its_addresses(name_server: NameServer, resolver: Resolver) -> None:
    name_server.names["shop.example"] = Name(["93.184.216.34", "2606:4700::1"])
    clearance = await Guard(resolver).admit("https://shop.example/a?b=c#d")
    assert clearance.addresses == (ip_address("93.184.216.34"), ip_address("2606:4700::1"))
    assert (clearance.host, clearance.send) == ("shop.example", "https://shop.example/a?b=c")


@pytest.mark.parametrize("hidden", ["10.0.0.5", "127.0.0.1", "169.254.169.254", "::1", "fd00::1", "::ffff:10.0.0.1"])
async def test_one_bad_address_among_good_ones_refuses_the_name(
    hidden: str, name_server: NameServer, resolver: Resolver
) -> None:
    name_server.names["shop.example"] = Name(["93.184.216.34", hidden])
    trouble = await refusal(Guard(resolver), "http://shop.example/")
    assert trouble.reason is Reason.FORBIDDEN_ADDRESS
    assert f"leads to {real_address(ip_address(hidden))}" in trouble.detail


async def test_a_name_that_does_not_resolve_is_dns_trouble(resolver: Resolver) -> None:
    assert (await refusal(Guard(resolver), "http://gone.example/")).reason is Reason.DNS


async def test_a_final_dot_is_sent_as_written_but_looked_up_without(
    name_server: NameServer, resolver: Resolver
) -> None:
    name_server.names["shop.example"] = Name(["93.184.216.34"])
    assert (await Guard(resolver).admit("http://shop.example./")).host == "shop.example."


async def test_an_allowed_network_may_be_fetched_and_its_neighbours_not() -> None:
    guard = Guard(NoLookup(), allow=[ip_network("10.1.0.0/16"), ip_network("fd00:1::/32")])
    assert (await guard.admit("http://10.1.2.3/")).addresses == (ip_address("10.1.2.3"),)
    assert (await guard.admit("http://[::ffff:10.1.2.3]/")).addresses == (ip_address("::ffff:10.1.2.3"),)
    assert (await guard.admit("http://[fd00:1::5]/")).addresses == (ip_address("fd00:1::5"),)
    for outside in ("http://10.2.0.1/", "http://[fd00:2::5]/", "http://127.0.0.1/"):
        assert (await refusal(guard, outside)).reason is Reason.FORBIDDEN_ADDRESS


async def test_an_allowed_network_does_not_open_the_ports_of_its_databases() -> None:
    guard = Guard(NoLookup(), allow=[ip_network("10.0.0.0/8")])
    assert (await refusal(guard, "http://10.0.0.1:6379/")).reason is Reason.FORBIDDEN_ADDRESS


async def test_a_rule_sends_its_names_to_its_address_and_port_and_no_others() -> None:
    guard = Guard(NoLookup(), rules=parse_connect_to("*.test=127.0.0.1:8080"))
    clearance = await guard.admit("http://shop.test/a?b=c")
    assert clearance.addresses == (ip_address("127.0.0.1"),)
    assert (clearance.send, clearance.authority) == ("http://shop.test:8080/a?b=c", "shop.test")
    for other in ("http://127.0.0.1:8080/", "http://localhost:8080/", "http://test/"):
        assert (await refusal(guard, other)).reason is Reason.FORBIDDEN_ADDRESS


async def test_a_rule_without_port_keeps_the_url_and_still_minds_its_port() -> None:
    guard = Guard(NoLookup(), rules=parse_connect_to("shop.example=10.0.0.5"))
    clearance = await guard.admit("https://shop.example:8443/")
    assert (clearance.send, clearance.authority) == ("https://shop.example:8443/", "")
    assert (await refusal(guard, "http://shop.example:6379/")).reason is Reason.FORBIDDEN_ADDRESS


async def test_a_rule_may_speak_for_a_local_name() -> None:
    guard = Guard(NoLookup(), rules=parse_connect_to("wiki.internal=10.0.0.5:8000"))
    assert (await guard.admit("http://wiki.internal./")).addresses == (ip_address("10.0.0.5"),)


async def test_a_rule_for_everything_replaces_an_address_written_in_the_url() -> None:
    guard = Guard(NoLookup(), rules=parse_connect_to("*=[::1]:8080"))
    clearance = await guard.admit("http://93.184.216.34:81/x")
    assert (clearance.host, clearance.send) == ("[::1]", "http://[::1]:8080/x")
    assert clearance.authority == "93.184.216.34:81"


@pytest.mark.parametrize("target", ["/", "/a/b.html", "/a?b=c&d=%20", "/?u=https://b.example/", "/~me/(1);x=1,2!*"])
async def test_the_second_page_of_a_place_is_spelled_like_the_first(target: str) -> None:
    guard = Guard(NoLookup(), rules=parse_connect_to("*.test=127.0.0.1:8080"))
    first = await guard.admit(f"https://shop.test{target}")
    assert guard.recall(f"https://shop.test{target}") == first
    assert first.send == f"https://shop.test:8080{target}"


@given(some.text(alphabet="ab.%2eE/\\?#@:;&=~ \t'\"<|^é", max_size=12))
async def test_a_place_that_is_known_changes_nothing_about_what_is_sent(tail: str) -> None:
    url = f"http://93.184.216.34/{tail}"
    known = Guard(NoLookup())
    await known.admit("http://93.184.216.34/")
    assert known.recall(url) == Guard(NoLookup()).recall(url)


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        ("http://10.0.0.1/", Reason.FORBIDDEN_ADDRESS),
        ("http://93.184.216.34@10.0.0.1/", Reason.BAD_URL),
        ("http://93.184.216.34:80@10.0.0.1/", Reason.BAD_URL),
        ("http://93.184.216.34:6379/", Reason.FORBIDDEN_ADDRESS),
    ],
)
async def test_a_place_that_is_known_opens_no_other(other: str, reason: Reason) -> None:
    guard = Guard(NoLookup())
    await guard.admit("http://93.184.216.34/")
    assert (await refusal(guard, other)).reason is reason


async def test_only_a_name_that_was_looked_up_is_recalled(resolver: Resolver, name_server: NameServer) -> None:
    name_server.names["shop.example"] = Name(["93.184.216.34"], ttl=60)
    guard = Guard(resolver)
    assert guard.recall("http://shop.example/") is None
    clearance = await guard.admit("http://shop.example/")
    assert guard.recall("http://shop.example/") == clearance
    with pytest.raises(FetchError):
        await guard.admit("http://gone.example/")
    with pytest.raises(FetchError) as caught:
        guard.recall("http://gone.example/")
    assert caught.value.trouble.reason is Reason.DNS
