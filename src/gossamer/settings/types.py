"""Types of settings: how durations, networks, addresses and the like are spelled, and what is refused."""

import json
import os
import re
from collections.abc import Iterable
from datetime import timedelta
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from pathlib import Path
from typing import Annotated, Any, TypeVar
from urllib.parse import urlsplit

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr
from pydantic_settings import NoDecode

from gossamer.model.rungs import PAID_BY_TRAFFIC, RUNGS
from gossamer.model.worker import DeskKind

T = TypeVar("T")

_UNITS = {"": 1.0, "ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d|)", re.IGNORECASE)
_DATABASE = re.compile(r"(?:postgres(?:ql)?(?:\+asyncpg)?://\S+|sqlite:///\S+)")
_PROXY = re.compile(
    r"(?:https?|socks5h?)://(?:[^\s/@]+@)?(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::(?P<port>\d{1,5}))?/?"
)
_KEY = re.compile(r"[!-~]{4,512}")
_BUCKET = re.compile(r"[a-z0-9][a-z0-9._-]{1,62}")
_STORAGE = re.compile(r"(?:s3|gs|az)://[A-Za-z0-9._-]+(?:/[A-Za-z0-9._=+@-]+)*/?")
_ENDPOINT = re.compile(r"https?://[^\s/@]+(?:/[^\s]*)?")
_LISTENER = re.compile(
    r"(?:\[(?P<six>[0-9A-Fa-f:.]+)\]|(?P<four>[0-9.]+))(?::(?P<first>\d{1,5})(?:-(?P<last>\d{1,5}))?)?"
)
_HOST = re.compile(r"[A-Za-z0-9._-]{1,253}|[0-9A-Fa-f:.]{2,45}")
_ORIGIN = re.compile(r"https?://[^\s/@?#]+")
_JSON_LIST = re.compile(r"\s*\[\s*[\"\]]")
_SERVER = re.compile(r"(?:\[(?P<six>[0-9A-Fa-f:.]+)\]|(?P<four>[0-9.]+))(?::(?P<port>\d{1,5}))?")
_NAMES = re.compile(r"\*|(?:\*\.)?[a-z0-9_-]+(?:\.[a-z0-9_-]+)*\.?|\[[0-9a-f:.]+\]", re.IGNORECASE)


def parse_duration(value: object) -> object:
    """Parse `60`, `60s`, `2m` and `1h` to a timedelta; other types are returned for validation to reject."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return value
    match = _DURATION.fullmatch(str(value).strip())
    if match is None:
        raise ValueError("not a duration")
    return timedelta(seconds=float(match[1]) * _UNITS[match[2].lower()])


def _listed(value: object) -> list[str]:
    """A comma-separated text, a JSON list or a TOML array as a list of trimmed, non-empty texts."""
    if isinstance(value, str) and _JSON_LIST.match(value):
        value = json.loads(value)  # what it raises is a ValueError
    parts: Iterable[object] = value if isinstance(value, list | tuple) else str(value).split(",")
    return [text for part in parts if (text := str(part).strip())]


def _networks(value: object) -> tuple[IPv4Network | IPv6Network, ...]:
    # Host bits (10.0.0.5/8) are refused: more likely a slip than a wish to open sixteen million hosts.
    return tuple(ip_network(text) for text in _listed(value))


def _servers(value: object) -> tuple[str, ...]:
    servers = tuple(_listed(value))
    for server in servers:
        match = _SERVER.fullmatch(server)
        if match is None or int(match["port"] or 53) > 65535:
            raise ValueError("not a name server")
        ip_address(match["six"] or match["four"])
    return servers


def connect_rules(value: object) -> object:
    """Rules for names, kept as they are written. `fetch.connect_to` reads them, and must take all that pass here."""
    rules = [text for text in value.split(",") if text.strip()] if isinstance(value, str) else []
    for text in rules:
        name, _, address = (part.strip() for part in text.partition("="))
        match = _SERVER.fullmatch(address)
        if _NAMES.fullmatch(name) is None or match is None or not 0 < int(match["port"] or 1) < 65_536:
            raise ValueError("not a rule")
        ip_address(match["six"] or match["four"])
    return value


def a_database(value: object) -> object:
    text = value.get_secret_value() if isinstance(value, SecretStr) else value
    if not isinstance(text, str) or _DATABASE.fullmatch(text) is None:
        raise ValueError("not a database address")
    return value


def a_redis(value: object) -> object:
    text = value.get_secret_value() if isinstance(value, SecretStr) else value
    address = urlsplit(text) if isinstance(text, str) and not re.search(r"\s", text) else None
    if address is None or address.scheme not in ("redis", "rediss", "unix"):
        raise ValueError("not an address of Redis")
    number = "" if address.scheme == "unix" else address.path.strip("/")
    place = address.path if address.scheme == "unix" else address.hostname
    if not place or address.port == 0 or (number and not number.isdecimal()):  # an invalid port raises
        raise ValueError("not an address of Redis")
    return value


def a_broker(value: object) -> object:
    text = value.get_secret_value() if isinstance(value, SecretStr) else value
    if not isinstance(text, str) or not re.fullmatch(r"[A-Za-z][A-Za-z0-9+.-]*://\S*", text):
        raise ValueError("not an address of a broker")
    return value


def a_key(value: object) -> object:
    """Validate a key, which goes into a header: only plain characters are allowed."""
    text = value.get_secret_value() if isinstance(value, SecretStr) else value
    if not isinstance(text, str) or _KEY.fullmatch(text) is None:
        raise ValueError("not a key")
    return value


def a_proxy(value: object) -> object:
    text = value.get_secret_value() if isinstance(value, SecretStr) else value
    match = _PROXY.fullmatch(text) if isinstance(text, str) else None
    if match is None or (match["port"] and not 0 < int(match["port"]) < 65_536):
        raise ValueError("not a proxy's address")
    return value


def a_storage(value: object) -> object:
    """Validate the URL of a bucket; a bare name is a bucket of S3."""
    text = f"s3://{value}" if isinstance(value, str) and _BUCKET.fullmatch(value) else value
    if not isinstance(text, str) or _STORAGE.fullmatch(text) is None:
        raise ValueError("not the address of a storage")
    return text.rstrip("/")


def an_endpoint(value: object) -> object:
    if not isinstance(value, str) or _ENDPOINT.fullmatch(value) is None:
        raise ValueError("not the address of a server")
    return value.rstrip("/")


def a_listener(value: object) -> object:
    match = _LISTENER.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise ValueError("not an address to listen on")
    ip_address(match["six"] or match["four"])
    first, last = int(match["first"] or 0), int(match["last"] or match["first"] or 0)
    if not first <= last < 65_536 or (first == 0 and match["last"]):
        raise ValueError("no ports to listen on")
    return value


def listener_of(text: str) -> tuple[str, range]:
    """The address and the ports of what `a_listener` has let through; port 0 where none is named."""
    match = _LISTENER.fullmatch(text)
    assert match is not None  # noqa: S101 - read before
    first = int(match["first"] or 0)
    return match["six"] or match["four"], range(first, int(match["last"] or first) + 1)


def a_host(value: object) -> object:
    if not isinstance(value, str) or _HOST.fullmatch(value) is None:
        raise ValueError("not a name or an address")
    return value


_SECRET_NAME = re.compile(r"[a-z][a-z0-9-]{0,39}")


def _secrets(value: object) -> dict[str, str]:
    given = value if isinstance(value, dict) else dict(text.partition("=")[::2] for text in _listed(value))
    spelled = {name: one.get_secret_value() if isinstance(one, SecretStr) else one for name, one in given.items()}
    secrets = {str(name).strip(): str(secret).strip() for name, secret in spelled.items()}
    for name, secret in secrets.items():
        if _SECRET_NAME.fullmatch(name) is None or _KEY.fullmatch(secret) is None:
            raise ValueError("not a secret with its name")
    return secrets


def _rates(value: object) -> dict[str, float]:
    from gossamer.model.url import domain_of  # only if domains are named: commands stay quick

    given = value if isinstance(value, dict) else dict(text.partition("=")[::2] for text in _listed(value))
    rates = {str(name).strip().lower(): float(rate) for name, rate in given.items()}
    for domain, rate in rates.items():
        # A subdomain has no rate of its own: all names of a domain share one clock.
        if not domain or domain_of(domain) != domain or not 0 < rate < float("inf"):
            raise ValueError("not the rate of a domain")
    return rates


_PRICE = re.compile(r"(?:(?P<worst>\d+)(?:@(?P<usd>\d*\.?\d+))?|(?P<gigabyte>\d*\.?\d+)/GB)", re.IGNORECASE)
_PRICE_PARTS = ("worst", "usd_per_credit", "usd_per_gigabyte")


def _prices(value: object) -> dict[str, dict[str, float]]:
    """`scrapingbee-js=5`, `scrapingbee-js=5@0.0003`, `residential=8/GB`, or a TOML table of the same parts."""
    if isinstance(value, dict):
        for parts in value.values():
            if not isinstance(parts, dict) or not set(parts) <= set(_PRICE_PARTS):
                raise ValueError("not prices")
            if any(isinstance(part, bool) or not isinstance(part, int | float) or part < 0 for part in parts.values()):
                raise ValueError("not a price")
        return _of_rungs({str(rung): dict(parts) for rung, parts in value.items()}, PAID_BY_TRAFFIC)
    found = {}
    for text in _listed(value):
        rung, _, price = text.partition("=")
        match = _PRICE.fullmatch(price.strip())
        if not rung.strip() or match is None:
            raise ValueError("not a price")
        said = zip(_PRICE_PARTS, match.group("worst", "usd", "gigabyte"), strict=True)
        found[rung.strip()] = {name: float(part) for name, part in said if part is not None}
    return _of_rungs(found, PAID_BY_TRAFFIC)


def _of_rungs(found: dict[str, T], *others: str) -> dict[str, T]:
    """Return values given by rung, if all rungs exist: a price under a misspelled name would never be used."""
    if not found.keys() <= {*RUNGS, *others}:
        raise ValueError("not a rung")
    return found


def _numbers_of_kinds(value: object) -> dict[DeskKind, int]:
    given = value if isinstance(value, dict) else dict(text.partition("=")[::2] for text in _listed(value))
    return {DeskKind(str(kind).strip().lower()): int(str(number)) for kind, number in given.items()}


def _limits(value: object) -> dict[DeskKind, int]:
    limits = _numbers_of_kinds(value)
    if any(limit < 1 for limit in limits.values()):
        raise ValueError("not a limit")
    return limits


def _credit_prices(value: object) -> dict[str, int]:
    given = value if isinstance(value, dict) else dict(text.partition("=")[::2] for text in _listed(value))
    prices = {str(rung).strip(): int(str(price)) for rung, price in given.items()}
    if any(price < 0 for price in prices.values()):
        raise ValueError("not a price in credits")
    return _of_rungs(prices)


def _origins(value: object) -> tuple[str, ...]:
    origins = tuple(text.rstrip("/") for text in _listed(value))
    if any(_ORIGIN.fullmatch(origin) is None for origin in origins):
        raise ValueError("not an origin")
    return origins


def _stand_ins(value: object) -> dict[str, str]:
    """Parse pairs of rung and address; both are checked in more detail when they are used."""
    given = value if isinstance(value, dict) else dict(text.partition("=")[::2] for text in _listed(value))
    found = {str(rung).strip(): str(address).strip() for rung, address in given.items()}
    for address in found.values():
        match = _SERVER.fullmatch(address)
        if match is None or not match["port"] or not 0 < int(match["port"]) < 65_536:
            raise ValueError("not an address with a port")
        ip_address(match["six"] or match["four"])
    return found


def folder(value: object) -> object:
    return Path(value).expanduser().absolute() if isinstance(value, str | Path) else value


def lower(value: object) -> object:
    return value.lower() if isinstance(value, str) else value


def default_home() -> Path:
    from platformdirs import user_data_path  # only if no home is named

    return user_data_path("gossamer", appauthor=False)


def cores() -> int:
    # The cores this process may use, which in a container are fewer than the machine has.
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class SettingsGroup(BaseModel):
    """Base of the settings mixins. Never used alone, so no validators are built."""

    model_config = ConfigDict(defer_build=True)


def setting(meaning: str, expected: str, **limits: Any) -> Any:
    """A field with the two sentences people need: what it is for, and what a value looks like."""
    return Field(description=meaning, json_schema_extra={"expected": expected}, **limits)


Duration = Annotated[timedelta, BeforeValidator(parse_duration)]
Networks = Annotated[tuple[IPv4Network | IPv6Network, ...], NoDecode, BeforeValidator(_networks)]
Servers = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_servers)]
Secrets = Annotated[dict[str, SecretStr], NoDecode, BeforeValidator(_secrets)]
Rates = Annotated[dict[str, float], NoDecode, BeforeValidator(_rates)]
Prices = Annotated[dict[str, dict[str, float]], NoDecode, BeforeValidator(_prices)]
DeskLimits = Annotated[dict[DeskKind, int], NoDecode, BeforeValidator(_limits)]
DeskPriorities = Annotated[dict[DeskKind, int], NoDecode, BeforeValidator(_numbers_of_kinds)]
CreditPrices = Annotated[dict[str, int], NoDecode, BeforeValidator(_credit_prices)]
Origins = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_origins)]
StandIns = Annotated[dict[str, str], NoDecode, BeforeValidator(_stand_ins)]
SOME_TIME = "a duration such as 60, 60s, 2m or 1h"
