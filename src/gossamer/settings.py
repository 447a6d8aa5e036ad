"""What an operator may set, read once by the doors before anything else stands on the path.

`GOSSAMER_*` environment variables come first, then a `gossamer.toml` in the working folder, else in the home folder
(same names, lower case, without the prefix). Reading creates nothing on disk.
"""

import os
import re
import tomllib
from collections.abc import Iterable
from datetime import timedelta
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AliasChoices, BeforeValidator, ByteSize, Field, FilePath, SecretStr, ValidationError
from pydantic.fields import FieldInfo
from pydantic_settings import (
    BaseSettings,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from gossamer.errors import UserError

PREFIX = "GOSSAMER_"
TOML_NAME = "gossamer.toml"

_SECRET = frozenset({"database_url", "proxy"})  # never shown, not even when they are wrong

_UNITS = {"": 1.0, "ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d|)", re.IGNORECASE)
_DATABASE = re.compile(r"(?:postgres(?:ql)?(?:\+asyncpg)?://\S+|sqlite:///\S+)")
_PROXY = re.compile(
    r"(?:https?|socks5h?)://(?:[^\s/@]+@)?(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::(?P<port>\d{1,5}))?/?"
)
_SERVER = re.compile(r"(?:\[(?P<six>[0-9A-Fa-f:.]+)\]|(?P<four>[0-9.]+))(?::(?P<port>\d{1,5}))?")


def parse_duration(value: object) -> object:
    """`60`, `60s`, `2m` and `1h` as a timedelta; whatever else it was goes on to be refused by name."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return value
    match = _DURATION.fullmatch(str(value).strip())
    if match is None:
        raise ValueError("not a duration")
    return timedelta(seconds=float(match[1]) * _UNITS[match[2].lower()])


def _listed(value: object) -> list[str]:
    """A comma-separated text or a TOML array as a list of trimmed, non-empty texts."""
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


def _database(value: object) -> object:
    text = value.get_secret_value() if isinstance(value, SecretStr) else value
    if not isinstance(text, str) or _DATABASE.fullmatch(text) is None:
        raise ValueError("not a database address")
    return value


def _proxy(value: object) -> object:
    text = value.get_secret_value() if isinstance(value, SecretStr) else value
    match = _PROXY.fullmatch(text) if isinstance(text, str) else None
    if match is None or (match["port"] and not 0 < int(match["port"]) < 65_536):
        raise ValueError("not a proxy's address")
    return value


def _rates(value: object) -> dict[str, float]:
    from gossamer.model.url import domain_of  # only where somebody names domains: commands stay quick

    given = value if isinstance(value, dict) else dict(text.partition("=")[::2] for text in _listed(value))
    rates = {str(name).strip().lower(): float(rate) for name, rate in given.items()}
    for domain, rate in rates.items():
        # A subdomain has no rate of its own: all names of a domain share one clock.
        if not domain or domain_of(domain) != domain or not 0 < rate < float("inf"):
            raise ValueError("not the rate of a domain")
    return rates


def _folder(value: object) -> object:
    return Path(value).expanduser().absolute() if isinstance(value, str | Path) else value


def _lower(value: object) -> object:
    return value.lower() if isinstance(value, str) else value


def _default_home() -> Path:
    from platformdirs import user_data_path  # only where nobody named a home

    return user_data_path("gossamer", appauthor=False)


def _cores() -> int:
    # The cores this process may use, which in a container are fewer than the machine has.
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _setting(meaning: str, expected: str, **limits: Any) -> Any:
    """A field with the two sentences people need: what it is for, and what a value looks like."""
    return Field(description=meaning, json_schema_extra={"expected": expected}, **limits)


_Duration = Annotated[timedelta, BeforeValidator(parse_duration)]
_Networks = Annotated[tuple[IPv4Network | IPv6Network, ...], NoDecode, BeforeValidator(_networks)]
_Servers = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_servers)]
_Rates = Annotated[dict[str, float], NoDecode, BeforeValidator(_rates)]
_SOME_TIME = "a duration such as 60, 60s, 2m or 1h"


class Settings(BaseSettings):
    """Everything that can be set. A wrong value is a UserError of one line that names it."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        env_ignore_empty=True,
        extra="ignore",
        frozen=True,
        populate_by_name=True,
        hide_input_in_errors=True,
    )

    home: Annotated[Path, BeforeValidator(_folder)] = _setting(
        "Folder of the SQLite file and the logs of the embedded mode", "a folder", default_factory=_default_home
    )
    database_url: Annotated[SecretStr, BeforeValidator(_database)] | None = _setting(
        "Where rows are kept; SQLite in the home folder when unset",
        "postgresql://user:password@host/name or sqlite:///path",
        default=None,
        validation_alias=AliasChoices("GOSSAMER_DATABASE_URL", "DATABASE_URL"),
    )
    domain_rate: float = _setting(
        "Requests per second per registrable domain, over everything",
        "a number above 0",
        default=1.0,
        gt=0,
        allow_inf_nan=False,
    )
    domain_rates: _Rates = _setting(
        "Requests per second of single registrable domains, instead of that",
        "rates such as example.com=0.2,slow.example=0.1",
        default={},
    )
    never_visit: Annotated[Path, BeforeValidator(_folder)] | None = _setting(
        "List of what is never visited, by any job", "a text file of domains and networks, one per line", default=None
    )
    proxy: Annotated[SecretStr, BeforeValidator(_proxy)] | None = _setting(
        "Proxy that all requests go through, but for names in GOSSAMER_CONNECT_TO",
        "http://user:password@host:port, or the same with https, socks5 or socks5h",
        default=None,
    )
    connect_to: str = _setting(
        "Names answered by an address of yours", "rules such as *.test=127.0.0.1:8080,shop.example=10.0.0.5", default=""
    )
    allow_networks: _Networks = _setting(
        "Networks that are not public and may be fetched all the same",
        "networks such as 10.0.0.0/8,fd00::/8",
        default=(),
    )
    dns_servers: _Servers = _setting(
        "Name servers to ask instead of the system's", "addresses such as 9.9.9.9,[2620:fe::fe]:53", default=()
    )
    ca_file: FilePath | None = _setting(
        "Certificates to trust besides the system's own", "an existing file of PEM certificates", default=None
    )
    max_concurrency: int = _setting(
        "Visits running at once, over everything", "a whole number above 0", default=500, gt=0
    )
    processes: int = _setting("Processes that walk visits", "a whole number above 0", default_factory=_cores, gt=0)
    lease: _Duration = _setting(
        "How long a worker holds a visit between signs of life",
        _SOME_TIME,
        default=timedelta(seconds=60),
        gt=timedelta(0),
    )
    http_timeout: _Duration = _setting(
        "Time for one request in all, from the name to the last byte",
        _SOME_TIME,
        default=timedelta(seconds=15),
        gt=timedelta(0),
    )
    connect_timeout: _Duration = _setting(
        "Time for the connection and its TLS handshake", _SOME_TIME, default=timedelta(seconds=10), gt=timedelta(0)
    )
    read_timeout: _Duration = _setting(
        "Longest silence in the middle of an answer", _SOME_TIME, default=timedelta(seconds=15), gt=timedelta(0)
    )
    max_page_bytes: ByteSize = _setting(
        "Largest page that is kept, after decompression", "a size such as 10MB", default=ByteSize(10_000_000), gt=0
    )
    log_format: Annotated[Literal["line", "json"], BeforeValidator(_lower)] = _setting(
        "How log lines are written", "line or json", default="line"
    )
    log_level: Annotated[Literal["debug", "info", "warning", "error"], BeforeValidator(_lower)] = _setting(
        "The least important line that is written", "debug, info, warning or error", default="info"
    )
    log_file: Annotated[Path, BeforeValidator(_folder)] | None = _setting(
        "File the log goes to; logs/gossamer.log in the home folder when unset", "a file", default=None
    )

    def __init__(self, **given: Any) -> None:
        try:
            super().__init__(**given)
        except ValidationError as error:
            problem = _wrong_value(error, given)
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            problem = UserError("settings.unreadable", f"{_toml_path()} is not valid TOML: {error}.")
        except OSError as error:
            problem = UserError("settings.unreadable", f"{_toml_path()} cannot be read: {error.strerror}.")
        else:
            return
        # Raised out here so that it carries no cause: pydantic's own error holds the secret our message leaves out.
        raise problem

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return init_settings, env_settings, TomlConfigSettingsSource(settings_cls, toml_file=_toml_path())


def read_settings() -> tuple[Settings, list[str]]:
    """The settings in force, and the names somebody set that mean nothing here, for the door to warn about."""
    settings = Settings()
    known = set(Settings.model_fields)
    unknown = [name for name in sorted(os.environ) if name.startswith(PREFIX) and _bare(name) not in known]
    return settings, unknown + [f"{name} in {TOML_NAME}" for name in sorted(_toml_values()) if name not in known]


def _bare(variable: str) -> str:
    return variable.removeprefix(PREFIX).lower()


def _toml_path() -> Path:
    here = Path.cwd() / TOML_NAME
    if here.is_file():
        return here
    home = os.environ.get(f"{PREFIX}HOME")
    return (Path(home).expanduser() if home else _default_home()) / TOML_NAME


def _toml_values() -> dict[str, Any]:
    path = _toml_path()
    return tomllib.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def _wrong_value(error: ValidationError, given: dict[str, Any]) -> UserError:
    where = str(error.errors(include_url=False, include_context=False, include_input=False)[0]["loc"][0])
    name = "database_url" if where.endswith("DATABASE_URL") else where
    spelling, found = _origin(name, given)
    state = "cannot be used" if name in _SECRET else f"is {_shown(found)}"
    return UserError("settings.invalid", f"{spelling} {state}, expected {_expected(Settings.model_fields[name])}.")


def _origin(name: str, given: dict[str, Any]) -> tuple[str, object]:
    """The name and the value as the person wrote them, which is what they will look for."""
    if name in given:
        return name, given[name]
    for variable in (f"{PREFIX}{name.upper()}", "DATABASE_URL" if name == "database_url" else ""):
        if value := os.environ.get(variable):
            return variable, value
    return f"{name} in {_toml_path()}", _toml_values().get(name)


def _expected(field: FieldInfo) -> str:
    extra = field.json_schema_extra
    return str(extra["expected"]) if isinstance(extra, dict) else "another value"


def _shown(value: object) -> str:
    text = " ".join(str(value).split())
    return repr(text if len(text) <= 60 else f"{text[:57]}...")
