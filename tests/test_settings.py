"""What an operator may set, and what they are told when it cannot work."""

import os
import subprocess
import sys
from datetime import timedelta
from ipaddress import ip_network
from pathlib import Path

import pytest
from pydantic import SecretStr, ValidationError

from gossamer.errors import UserError
from gossamer.model.worker import DeskKind
from gossamer.settings import WITHOUT_EFFECT, Settings, idle_variables, read_settings
from gossamer.settings.types import listener_of

SECRET = "postgresql://gossamer:hunter2@db.example/gossamer"


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An empty working folder, and no setting of whoever runs the tests."""
    for name in [name for name in os.environ if name.startswith("GOSSAMER_") or name in ("DATABASE_URL", "REDIS_URL")]:
        monkeypatch.delenv(name)
    folder = tmp_path / "working"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("GOSSAMER_HOME", str(tmp_path / "home"))


def refused(**variables: str) -> str:
    """The one line somebody reads who has set these."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in variables.items():
            patch.setenv(name, value)
        with pytest.raises(UserError) as caught:
            read_settings()
    assert caught.value.code.startswith("settings.")
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_nothing_set_means_the_defaults(tmp_path: Path) -> None:
    settings, unknown = read_settings()
    assert unknown == []
    assert settings.home == tmp_path / "home"
    assert settings.database_url is None
    assert (settings.domain_rate, settings.max_concurrency) == (1.0, 500)
    assert (settings.connect_to, settings.allow_networks, settings.dns_servers) == ("", (), ())
    assert settings.lease == timedelta(seconds=60)
    assert (settings.http_timeout, settings.connect_timeout) == (timedelta(seconds=15), timedelta(seconds=10))
    assert settings.read_timeout == timedelta(seconds=15)
    assert (settings.domain_rates, settings.never_visit, settings.proxy) == ({}, None, None)
    assert (settings.redis_url, settings.redis_prefix) == (None, "gossamer")
    assert settings.max_page_bytes == 10_000_000
    assert (settings.log_format, settings.log_level, settings.log_file) == ("line", "info", None)
    assert 1 <= settings.processes <= (os.cpu_count() or 1)


def test_the_home_is_the_platforms_data_folder_unless_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GOSSAMER_HOME")
    assert Settings().home.name == "gossamer"
    monkeypatch.setenv("GOSSAMER_HOME", "~/elsewhere")
    assert Settings().home == Path.home() / "elsewhere"
    monkeypatch.setenv("GOSSAMER_HOME", "beside")
    assert Settings().home == Path.cwd() / "beside"


def test_reading_creates_no_folder(tmp_path: Path) -> None:
    read_settings()
    assert not (tmp_path / "home").exists()


def test_the_environment_is_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    authority = tmp_path / "ca.pem"
    authority.touch()
    for name, value in {
        "DOMAIN_RATE": "0.5",
        "CONNECT_TO": "*.test=127.0.0.1:8080",
        "ALLOW_NETWORKS": "10.0.0.0/8, fd00::/8",
        "DNS_SERVERS": "9.9.9.9,[2620:fe::fe]:5353, 127.0.0.1:53",
        "CA_FILE": str(authority),
        "MAX_PAGE_BYTES": "5MB",
        "LOG_FORMAT": "JSON",
        "LOG_LEVEL": "Debug",
        "PROCESSES": "3",
    }.items():
        monkeypatch.setenv(f"GOSSAMER_{name}", value)
    settings, unknown = read_settings()
    assert unknown == []
    assert settings.domain_rate == 0.5
    assert settings.connect_to == "*.test=127.0.0.1:8080"
    assert settings.allow_networks == (ip_network("10.0.0.0/8"), ip_network("fd00::/8"))
    assert settings.dns_servers == ("9.9.9.9", "[2620:fe::fe]:5353", "127.0.0.1:53")
    assert settings.ca_file == authority
    assert settings.max_page_bytes == 5_000_000
    assert (settings.log_format, settings.log_level, settings.processes) == ("json", "debug", 3)


@pytest.mark.parametrize(
    ("written", "seconds"),
    [("60", 60), ("60s", 60), ("2m", 120), ("1h", 3600), ("1.5m", 90), ("250ms", 0.25), (" 2 M ", 120), ("1d", 86_400)],
)
def test_durations_are_written_as_people_write_them(
    written: str, seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOSSAMER_LEASE", written)
    assert Settings().lease == timedelta(seconds=seconds)


def test_an_empty_variable_is_no_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOSSAMER_DOMAIN_RATE", "")
    assert Settings().domain_rate == 1.0


@pytest.mark.parametrize(
    ("name", "found", "expected"),
    [
        ("DOMAIN_RATE", "fast", "a number above 0"),
        ("DOMAIN_RATE", "0", "a number above 0"),
        ("DOMAIN_RATE", "-1", "a number above 0"),
        ("DOMAIN_RATE", "inf", "a number above 0"),
        ("DOMAIN_RATE", "nan", "a number above 0"),
        ("LEASE", "soon", "a duration such as 60, 60s, 2m or 1h"),
        ("LEASE", "0", "a duration such as 60, 60s, 2m or 1h"),
        ("HTTP_TIMEOUT", "-5s", "a duration such as 60, 60s, 2m or 1h"),
        ("MAX_CONCURRENCY", "0", "a whole number above 0"),
        ("MAX_CONCURRENCY", "2.5", "a whole number above 0"),
        ("PROCESSES", "many", "a whole number above 0"),
        ("ALLOW_NETWORKS", "10.0.0.5/8", "networks such as 10.0.0.0/8,fd00::/8"),
        ("ALLOW_NETWORKS", "office", "networks such as 10.0.0.0/8,fd00::/8"),
        ("DNS_SERVERS", "ns.example", "addresses such as 9.9.9.9,[2620:fe::fe]:53"),
        ("DNS_SERVERS", "9.9.9.9:99999", "addresses such as 9.9.9.9,[2620:fe::fe]:53"),
        ("MAX_PAGE_BYTES", "lots", "a size such as 10MB"),
        ("MAX_PAGE_BYTES", "0", "a size such as 10MB"),
        ("LOG_FORMAT", "xml", "line or json"),
        ("LOG_LEVEL", "loud", "debug, info, warning or error"),
        ("CA_FILE", "/nowhere/ca.pem", "an existing file of PEM certificates"),
        ("CONNECT_TO", "foo", "rules such as *.test=127.0.0.1:8080,shop.example=10.0.0.5"),
        ("REMOTE", "my server", "an address such as https://crawl.example.com, or local"),
        (
            "PRICES",
            "scrapingbe-js=5",
            "prices such as scrapingbee-js=5,firecrawl=5@0.0008,residential=8/GB",
        ),
        ("QUOTA_PRICES", "scrapingbe-js=5", "prices such as direct=1,scrapingbee-js=25"),
    ],
)
def test_a_wrong_value_is_named_with_what_was_found_and_expected(name: str, found: str, expected: str) -> None:
    assert refused(**{f"GOSSAMER_{name}": found}) == f"GOSSAMER_{name} is {found!r}, expected {expected}."


def test_a_long_wrong_value_is_cut_and_kept_on_one_line() -> None:
    message = refused(GOSSAMER_LOG_LEVEL="loud\n" * 50)
    assert "..." in message
    assert len(message) < 150


@pytest.mark.parametrize("variable", ["GOSSAMER_DATABASE_URL", "DATABASE_URL"])
def test_the_database_is_named_in_either_spelling(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable, SECRET)
    settings, unknown = read_settings()
    assert settings.database_url is not None
    assert settings.database_url.get_secret_value() == SECRET
    assert unknown == []


def test_our_own_spelling_of_the_database_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://other/other")
    monkeypatch.setenv("GOSSAMER_DATABASE_URL", "sqlite:///ours.db")
    settings = Settings()
    assert settings.database_url is not None
    assert settings.database_url.get_secret_value() == "sqlite:///ours.db"


def test_what_is_given_in_code_wins_over_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", SECRET)
    monkeypatch.setenv("GOSSAMER_LEASE", "5s")
    settings = Settings(database_url="sqlite:///given.db", lease=timedelta(seconds=7))
    assert settings.database_url is not None
    assert settings.database_url.get_secret_value() == "sqlite:///given.db"
    assert settings.lease == timedelta(seconds=7)


def test_a_secret_is_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOSSAMER_DATABASE_URL", SECRET)
    settings = Settings()
    assert "hunter2" not in f"{settings!r} {settings} {settings.model_dump()} {settings.model_dump_json()}"


@pytest.mark.parametrize("variable", ["GOSSAMER_DATABASE_URL", "DATABASE_URL"])
def test_a_secret_that_cannot_be_used_is_not_shown_either(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable, "mysql://gossamer:hunter2@db.example/gossamer")
    with pytest.raises(UserError) as caught:
        Settings()
    assert str(caught.value).startswith(f"{variable} cannot be used, expected postgresql://")
    assert "hunter2" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


def test_settings_do_not_change() -> None:
    with pytest.raises(ValidationError):
        Settings().domain_rate = 5.0  # type: ignore[misc]


def test_a_file_in_the_working_folder_is_read_below_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("gossamer.toml").write_text(
        'domain_rate = 2\nlease = "2m"\nhttp_timeout = 30\napi_cors = ["https://a.test"]\ndatabase_url = "sqlite:///a.db"\n'
    )
    monkeypatch.setenv("GOSSAMER_LEASE", "90")
    settings, unknown = read_settings()
    assert (settings.domain_rate, settings.lease) == (2.0, timedelta(seconds=90))
    assert settings.http_timeout == timedelta(seconds=30)
    assert settings.api_cors == ("https://a.test",)
    assert settings.database_url is not None
    assert settings.database_url.get_secret_value() == "sqlite:///a.db"
    assert unknown == []


def test_a_file_in_the_home_folder_is_read_when_the_working_folder_has_none(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "gossamer.toml").write_text("domain_rate = 3")
    assert Settings().domain_rate == 3.0
    Path("gossamer.toml").write_text("lease = 5")
    assert Settings().domain_rate == 1.0


@pytest.mark.parametrize("mode", [0o664, 0o646])
def test_a_file_in_the_working_folder_that_others_may_write_is_refused(mode: int) -> None:
    here = Path("gossamer.toml")
    here.write_text("domain_rate = 2")
    here.chmod(mode)
    assert refused().startswith(f"{here.absolute()} is not read: it can be written by others. Look at what it says")
    here.chmod(0o644)
    assert Settings().domain_rate == 2.0


def test_a_file_in_the_working_folder_that_belongs_to_somebody_else_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    here = Path("gossamer.toml")
    here.write_text("domain_rate = 2")
    if os.geteuid():  # only root can give files away
        monkeypatch.setattr(os, "geteuid", lambda: 54_321)
    else:
        os.chown(here, 12_345, 0)
    assert refused().startswith(f"{here.absolute()} is not read: it belongs to somebody else. ")


@pytest.mark.parametrize(
    "line",
    [
        'scrapingbee_url = "http://127.0.0.1:1"',
        'proxy = "http://127.0.0.1:1"',
        'allow_networks = ["10.0.0.0/8"]',
        'log_file = "a.log"',
        'connect_to = "*.test=127.0.0.1:1"',
        'secrets_file = "secrets.toml"',
    ],
)
def test_where_requests_and_logs_go_is_not_taken_from_the_working_folder(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = Path("gossamer.toml")
    here.write_text(line)
    name = line.partition(" ")[0]
    said = f"{here.absolute()} holds {name}, which a gossamer.toml in a working folder may not set. Write it into "
    assert refused().startswith(said)
    home = tmp_path / "home"
    home.mkdir()
    here.rename(home / "gossamer.toml")
    (home / "secrets.toml").write_text("")
    monkeypatch.chdir(home)  # the same file, where it may be read whichever folder is the working one
    assert Settings() is not None


def test_a_wrong_value_in_the_file_is_named_with_the_file() -> None:
    Path("gossamer.toml").write_text('domain_rate = "fast"')
    assert refused() == f"domain_rate in {Path.cwd() / 'gossamer.toml'} is 'fast', expected a number above 0."


@pytest.mark.parametrize("content", [b"domain_rate ==", b"\xff\xfe\x00"])
def test_a_file_that_is_not_toml_is_named(content: bytes) -> None:
    Path("gossamer.toml").write_bytes(content)
    assert refused().startswith(f"{Path.cwd() / 'gossamer.toml'} is not valid TOML")


def test_names_that_mean_nothing_are_returned_for_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOSSAMER_DOMIAN_RATE", "2")
    monkeypatch.setenv("GOSSAMER_ZEAL", "11")
    Path("gossamer.toml").write_text("laese = 5")
    assert read_settings()[1] == ["GOSSAMER_DOMIAN_RATE", "GOSSAMER_ZEAL", "laese in gossamer.toml"]


def test_every_setting_says_what_it_is_for_and_how_it_looks() -> None:
    for name, field in Settings.model_fields.items():
        assert field.description, name
        assert isinstance(field.json_schema_extra, dict), name
        assert field.json_schema_extra["expected"], name


def test_importing_the_settings_loads_none_of_the_heavy_parts() -> None:
    code = "import sys, gossamer.settings; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "gossamer.settings" in done.stdout.split()
    assert not {"wreq", "aiodns", "sqlalchemy", "gossamer.fetch", "platformdirs"} & set(done.stdout.split())


def test_rates_of_single_domains_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOSSAMER_DOMAIN_RATES", "example.com=0.2, Slow.example = 0.1,shop.co.uk=3")
    assert Settings().domain_rates == {"example.com": 0.2, "slow.example": 0.1, "shop.co.uk": 3.0}


def test_limits_and_priorities_of_desk_work_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (Settings().desk_limits, Settings().desk_priorities, Settings().job_concurrency) == ({}, {}, None)
    monkeypatch.setenv("GOSSAMER_DESK_LIMITS", "export=2, Cleanup = 1")
    monkeypatch.setenv("GOSSAMER_DESK_PRIORITIES", "cleanup=-5")
    assert Settings().desk_limits == {DeskKind.EXPORT: 2, DeskKind.CLEANUP: 1}
    assert Settings().desk_priorities == {DeskKind.CLEANUP: -5}


@pytest.mark.parametrize("value", ["export", "export=", "export=0", "export=-1", "export=1.5", "crawl=3", "=3"])
def test_a_limit_of_desk_work_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("GOSSAMER_DESK_LIMITS", value)
    with pytest.raises(UserError, match=r"GOSSAMER_DESK_LIMITS is .* expected limits such as export=10,cleanup=2"):
        Settings()


@pytest.mark.parametrize("line", ['domain_rates = ["example.com=0.2"]', '[domain_rates]\n"example.com" = 0.2'])
def test_rates_may_be_an_array_or_a_table_of_the_file(line: str) -> None:
    Path("gossamer.toml").write_text(f"{line}\n")
    assert Settings().domain_rates == {"example.com": 0.2}


@pytest.mark.parametrize(
    "value",
    [
        "example.com",
        "example.com=",
        "example.com=0",
        "example.com=-1",
        "example.com=nan",
        "example.com=inf",
        "example.com=fast",
        "www.example.com=1",
        "=1",
    ],
)
def test_a_rate_that_cannot_be_used_is_refused(value: str) -> None:
    said = refused(GOSSAMER_DOMAIN_RATES=value)
    assert said == (f"GOSSAMER_DOMAIN_RATES is {value!r}, expected rates such as example.com=0.2,slow.example=0.1.")


@pytest.mark.parametrize(
    "address",
    [
        "http://proxy.example:3128",
        "http://me:hunter2@10.0.0.1:3128/",
        "https://proxy.example",
        "socks5://me:hunter2@[fd00::1]:1080",
        "socks5h://localhost:1080",
    ],
)
def test_a_proxy_is_read_and_never_shown(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOSSAMER_PROXY", address)
    settings = Settings()
    assert settings.proxy is not None
    assert settings.proxy.get_secret_value() == address
    assert "hunter2" not in f"{settings!r} {settings} {settings.model_dump()} {settings.model_dump_json()}"


@pytest.mark.parametrize(
    "address",
    [
        "me:hunter2@proxy.example:3128",
        "ftp://me:hunter2@proxy.example",
        "http://me:hunter2@",
        "http://a b:1",
        "http://",
        "http://me:hunter2@proxy.example:0",
        "http://me:hunter2@proxy.example:65536",
        "http://proxy.example/path",
    ],
)
def test_a_proxy_that_cannot_be_used_is_refused_without_its_password(address: str) -> None:
    said = refused(GOSSAMER_PROXY=address)
    assert said.startswith("GOSSAMER_PROXY cannot be used, expected http://user:password@host:port")
    assert "hunter2" not in said


@pytest.mark.parametrize("variable", ["GOSSAMER_REDIS_URL", "REDIS_URL"])
@pytest.mark.parametrize(
    "address",
    [
        "redis://localhost",
        "redis://redis.example:6380/3",
        "redis://:hunter2@10.0.0.1:6379/0",
        "rediss://me:hunter2@[fd00::1]:6379",
        "unix:///run/redis/redis.sock?db=2",
    ],
)
def test_redis_has_two_names_and_is_never_shown(variable: str, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable, address)
    settings, unknown = read_settings()
    assert unknown == []
    assert settings.redis_url is not None
    assert settings.redis_url.get_secret_value() == address
    assert "hunter2" not in f"{settings!r} {settings} {settings.model_dump()} {settings.model_dump_json()}"


@pytest.mark.parametrize("variable", ["GOSSAMER_REDIS_URL", "REDIS_URL"])
@pytest.mark.parametrize(
    "address",
    [
        "redis.example:6379",
        "http://:hunter2@redis.example",
        "redis://:hunter2@",
        "redis://:hunter2@redis.example:port",
        "redis://:hunter2@redis.example:65536",
        "redis://:hunter2@redis.example:0",
        "redis://:hunter2@redis.example/jobs",
        "redis://:hunter2@two words",
        "unix://",
    ],
)
def test_an_address_of_redis_that_cannot_be_used_is_refused_without_its_password(variable: str, address: str) -> None:
    said = refused(**{variable: address})
    assert said.startswith(f"{variable} cannot be used, expected redis://user:password@host:port/number")
    assert "hunter2" not in said


@pytest.mark.parametrize("prefix", ["two words", "a:b", "x" * 65, "*"])
def test_a_prefix_in_redis_is_one_plain_word(prefix: str) -> None:
    assert refused(GOSSAMER_REDIS_PREFIX=prefix).endswith("expected letters, digits and . _ -.")


def test_a_never_visit_list_is_named_by_its_whole_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOSSAMER_NEVER_VISIT", "lists/never.txt")
    assert Settings().never_visit == Path.cwd() / "lists" / "never.txt"


KEYS = ["SCRAPINGBEE_KEY", "SCRAPERAPI_KEY", "FIRECRAWL_KEY"]


@pytest.mark.parametrize("name", KEYS)
def test_a_providers_key_is_read_and_never_shown(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"GOSSAMER_{name}", "hunter2-hunter2")
    settings, unknown = read_settings()
    assert unknown == []
    assert getattr(settings, name.lower()).get_secret_value() == "hunter2-hunter2"
    assert "hunter2" not in f"{settings!r} {settings} {settings.model_dump()} {settings.model_dump_json()}"


@pytest.mark.parametrize("name", KEYS)
@pytest.mark.parametrize("key", ["hunter2 hunter2", "hunter2\nX-Other: 1", "hünter2", "abc", "x" * 600])
def test_a_key_that_no_header_can_hold_is_refused_unseen(name: str, key: str) -> None:
    assert refused(**{f"GOSSAMER_{name}": key}) == f"GOSSAMER_{name} cannot be used, expected a key without spaces."


def test_secrets_may_stand_in_a_file_of_their_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    secrets = tmp_path / "secrets.toml"
    secrets.write_text(
        f'scrapingbee_key = "from-the-file"\nfirecrawl_key = "from-the-file"\ndatabase_url = "{SECRET}"\n'
    )
    monkeypatch.setenv("GOSSAMER_SECRETS_FILE", str(secrets))
    monkeypatch.setenv("GOSSAMER_FIRECRAWL_KEY", "from-outside")
    settings, unknown = read_settings()
    assert settings.database_url is not None
    assert settings.plain("scrapingbee_key") == "from-the-file"
    assert settings.plain("firecrawl_key") == "from-outside"
    assert settings.database_url.get_secret_value() == SECRET
    assert unknown == []


def test_the_file_of_secrets_may_be_named_in_the_file_of_settings(tmp_path: Path) -> None:
    secrets = tmp_path / "secrets.toml"
    secrets.write_text('scraperapi_key = "from-the-file"')
    home = tmp_path / "home"
    home.mkdir()
    (home / "gossamer.toml").write_text(f'secrets_file = "{secrets}"\n')
    settings = Settings()
    assert settings.plain("scraperapi_key") == "from-the-file"


def test_a_key_in_the_file_of_settings_is_refused_unseen() -> None:
    Path("gossamer.toml").write_text('scrapingbee_key = "hunter2-hunter2"\n')
    with pytest.raises(UserError) as caught:
        Settings()
    assert caught.value.code == "settings.misplaced"
    assert "holds scrapingbee_key: keys of providers stand in the environment" in str(caught.value)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'scrapingbee_key = "hunter2', "is not valid TOML."),
        (b"hunter2 = \xff", "is not valid TOML."),
        (b"domain_rate = 2", "holds domain_rate, which is not a secret."),
        (b'scrapingbee_key = "hunter2 hunter2"', "cannot be used, expected a key without spaces."),
        (None, "cannot be read: No such file or directory."),
    ],
)
def test_a_file_of_secrets_that_cannot_be_used_is_named_and_not_shown(
    content: bytes | None, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secrets = tmp_path / "secrets.toml"
    if content is not None:
        secrets.write_bytes(content)
    monkeypatch.setenv("GOSSAMER_SECRETS_FILE", str(secrets))
    with pytest.raises(UserError) as caught:
        Settings()
    assert str(secrets) in caught.value.message
    assert said in caught.value.message
    assert "hunter2" not in str(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize("variable", ["GOSSAMER_FLARESOLVERR_URL", "FLARESOLVERR_URL"])
def test_flaresolverr_is_named_in_either_spelling(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable, "http://127.0.0.1:8191/")
    assert Settings().plain("flaresolverr_url") == "http://127.0.0.1:8191"


@pytest.mark.parametrize(
    "text", ["here", "127.0.0.1:", "127.0.0.1:99999", "0.0.0.0:10-9", "0.0.0.0:0-5", "1.2.3.4.5", "::1", "[::g]", "a:1"]
)
def test_where_the_forward_proxy_listens_is_an_address(text: str) -> None:
    said = refused(GOSSAMER_FORWARD_PROXY_LISTEN=text)
    assert said.startswith("GOSSAMER_FORWARD_PROXY_LISTEN is ")


def test_ports_of_the_forward_proxy_are_a_range() -> None:
    assert listener_of("127.0.0.1") == ("127.0.0.1", range(1))
    assert listener_of("[::1]:8200") == ("::1", range(8200, 8201))
    assert listener_of("0.0.0.0:8200-8203") == ("0.0.0.0", range(8200, 8204))


@pytest.mark.parametrize("name", ["SCRAPINGBEE_URL", "SCRAPERAPI_URL", "FIRECRAWL_URL", "FLARESOLVERR_URL"])
def test_a_providers_server_holds_no_password(name: str) -> None:
    assert refused(**{f"GOSSAMER_{name}": "http://me:x@host/"}).startswith(f"GOSSAMER_{name} is ")


OTHER_NAMES = {
    "DATABASE_URL": ("database_url", "postgresql://gossamer@db.example/gossamer"),
    "DATABASE_POOL_SIZE": ("database_pool_size", "12"),
    "REDIS_URL": ("redis_url", "redis://cache.example:6379/0"),
    "CELERY_BROKER_URL": ("broker_url", "amqp://guest@queue.example//"),
    "SECRET_KEY": ("api_secret", "a secret of forty characters, or nearly so"),
    "JWT_ALGORITHM": ("jwt_algorithm", "HS256"),
    "FLARESOLVERR_URL": ("flaresolverr_url", "http://127.0.0.1:8191"),
    "CORS_ORIGINS": ("api_cors", "https://app.example.com"),
    "ADMIN_TOKEN": ("admin_token", "another secret of about forty characters"),
    "S3_ENDPOINT": ("storage_endpoint", "https://minio.example.com:9000"),
    "S3_BUCKET": ("storage_url", "s3://results"),
    "S3_ACCESS_KEY": ("storage_access_key", "name"),
    "S3_SECRET_KEY": ("storage_secret_key", "secret"),
}


def test_the_names_that_deployments_elsewhere_use_mean_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable, (_, value) in OTHER_NAMES.items():
        monkeypatch.setenv(variable, value)
    for variable in WITHOUT_EFFECT:
        monkeypatch.setenv(variable, "something")
    settings, unknown = read_settings()
    assert unknown == []
    for name, value in OTHER_NAMES.values():
        found = getattr(settings, name)
        shown = found.get_secret_value() if isinstance(found, SecretStr) else found
        assert value in (shown, str(shown), ",".join(shown) if isinstance(shown, tuple) else None), name
    said = idle_variables(settings)
    assert [line.partition(" ")[0] for line in said] == list(WITHOUT_EFFECT)
    monkeypatch.setenv("JWT_ALGORITHM", "none")
    with pytest.raises(UserError, match="JWT_ALGORITHM is 'none', expected HS256"):
        read_settings()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_a_home_that_is_not_ours_is_named_and_not_a_file_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    monkeypatch.chdir("/")
    os.seteuid(65534)
    try:
        with pytest.raises(UserError) as caught:
            read_settings()
    finally:
        os.seteuid(0)
    assert caught.value.code == "home.forbidden"
    assert "gossamer.toml" not in str(caught.value)
    assert "Point GOSSAMER_HOME at a folder of your own" in caught.value.hint


@pytest.mark.parametrize("value", ["short", "of another program, and long enough to be a secret of ours"])
@pytest.mark.parametrize("database", [{}, {"DATABASE_URL": "sqlite:////tmp/elsewhere.db"}])
def test_secrets_of_other_programs_count_only_where_a_database_server_is_named(
    monkeypatch: pytest.MonkeyPatch, value: str, database: dict[str, str]
) -> None:
    for name in ("SECRET_KEY", "ADMIN_TOKEN"):
        monkeypatch.setenv(name, value)
    for name, address in database.items():
        monkeypatch.setenv(name, address)
    settings, _ = read_settings()
    assert (settings.api_secret, settings.admin_token) == (None, None)
    said = idle_variables(settings)
    assert [line.partition(" ")[0] for line in said] == ["SECRET_KEY", "ADMIN_TOKEN"]
    assert said[0].endswith("it is taken for another program's; use GOSSAMER_API_SECRET.")
    ours = "a secret of ours that has forty characters"
    monkeypatch.setenv("GOSSAMER_API_SECRET", ours)
    secret = Settings().api_secret
    assert secret is not None
    assert secret.get_secret_value() == ours
    monkeypatch.delenv("GOSSAMER_API_SECRET")
    monkeypatch.setenv("DATABASE_URL", "postgresql://gossamer@db.example/gossamer")
    if value == "short":
        with pytest.raises(UserError, match="SECRET_KEY cannot be used, expected at least 32 characters"):
            read_settings()
        return
    found = Settings()
    assert found.api_secret is not None
    assert found.api_secret.get_secret_value() == value
    assert idle_variables(found) == []
