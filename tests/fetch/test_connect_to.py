"""GOSSAMER_CONNECT_TO: what can be written, and which rule a host takes."""

from ipaddress import ip_address

import pytest

from gossamer.errors import UserError
from gossamer.fetch.guard import ConnectRule, find_rule, parse_connect_to
from gossamer.settings import Settings

RULES = " *.test=127.0.0.1:8080, Shop.Example.=10.0.0.5 ,v6.test=[::1]:81,*=[fd00::5],"


def test_rules_are_read_in_order_with_and_without_ports() -> None:
    assert parse_connect_to(RULES) == (
        ConnectRule("*.test", ip_address("127.0.0.1"), 8080),
        ConnectRule("shop.example", ip_address("10.0.0.5")),
        ConnectRule("v6.test", ip_address("::1"), 81),
        ConnectRule("*", ip_address("fd00::5")),
    )


def test_no_text_is_no_rule() -> None:
    assert parse_connect_to("") == parse_connect_to(" , ") == ()


@pytest.mark.parametrize(
    ("host", "port"),
    [("a.test", 1), ("b.a.test", 1), ("test", 3), ("contest", 3), ("shop.example", 2), ("a.shop.example", 3)],
)
def test_the_first_rule_that_covers_a_host_wins(host: str, port: int) -> None:
    rules = parse_connect_to("*.test=127.0.0.1:1,shop.example=127.0.0.1:2,*=127.0.0.1:3,a.test=127.0.0.1:4")
    found = find_rule(rules, host)
    assert found is not None
    assert found.port == port


def test_a_host_no_rule_covers_has_none() -> None:
    assert find_rule(parse_connect_to("*.test=127.0.0.1"), "example.com") is None


@pytest.mark.parametrize(
    "text",
    [
        "shop.example",
        "=127.0.0.1",
        "shop.example=",
        "shop.example=localhost",
        "shop.example=127.0.0.1:0",
        "shop.example=127.0.0.1:65536",
        "shop.example=127.0.0.1:http",
        "shop.example=::1",
        "shop.example=[::1",
        "*.*.test=127.0.0.1",
        "shop*.test=127.0.0.1",
        "http://shop.test=127.0.0.1",
        "a.test=127.0.0.1,b.test",
    ],
)
def test_a_rule_that_cannot_be_read_says_which_and_how_it_should_look(text: str) -> None:
    with pytest.raises(UserError) as caught:
        parse_connect_to(text)
    assert caught.value.code == "settings.invalid"
    assert "GOSSAMER_CONNECT_TO" in str(caught.value)
    assert text.rpartition(",")[2] in str(caught.value)
    with pytest.raises(UserError, match="connect_to is "):
        Settings(connect_to=text)


@pytest.mark.parametrize(
    "text", [RULES, "", " , ", "[::1]=127.0.0.1", '["*.test=127.0.0.1"]', "a b=127.0.0.1", "*.=::"]
)
def test_settings_take_the_rules_that_can_be_read_and_no_others(text: str) -> None:
    try:
        parse_connect_to(text)
    except UserError:
        with pytest.raises(UserError, match="connect_to is "):
            Settings(connect_to=text)
    else:
        assert Settings(connect_to=text).connect_to == text
