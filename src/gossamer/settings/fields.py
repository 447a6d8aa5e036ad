"""Every setting: its name, type, default and meaning."""

from collections.abc import Callable, Mapping
from datetime import date, timedelta
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AliasChoices, BaseModel, BeforeValidator, ByteSize, FilePath, SecretStr
from pydantic.fields import FieldInfo

from gossamer.errors import UserError
from gossamer.model.rungs import PAID_ACCOUNT_CREDITS, RUNGS, Form, RungSetting, all_settings
from gossamer.settings.types import (
    SOME_TIME,
    CreditPrices,
    DeskLimits,
    DeskPriorities,
    Duration,
    Networks,
    Origins,
    Prices,
    Rates,
    Secrets,
    Servers,
    SettingsGroup,
    StandIns,
    a_broker,
    a_database,
    a_host,
    a_key,
    a_listener,
    a_proxy,
    a_redis,
    a_storage,
    an_endpoint,
    connect_rules,
    cores,
    default_home,
    folder,
    lower,
    setting,
)

_FREE = ", ".join(f"{rung.name} {rung.account_credits}" for rung in RUNGS.values() if not rung.is_paid)


class LocationSettings(SettingsGroup):
    home: Annotated[Path, BeforeValidator(folder)] = setting(
        "Folder of the SQLite file and the logs of the embedded mode", "a folder", default_factory=default_home
    )
    database_url: Annotated[SecretStr, BeforeValidator(a_database)] | None = setting(
        "Where rows are kept; SQLite in the home folder when unset",
        "postgresql://user:password@host/name or sqlite:///path",
        default=None,
        validation_alias=AliasChoices("GOSSAMER_DATABASE_URL", "DATABASE_URL"),
    )
    database_pooling: Annotated[Literal["session", "transaction"], BeforeValidator(lower)] = setting(
        "For how long a connection to Postgres is ours: until we close it (session), or for one transaction, where a "
        "pooler such as PgBouncer in transaction mode stands before the server (transaction)",
        "session or transaction",
        default="session",
    )
    database_pool_size: int = setting(
        "Connections of a server or a command to Postgres; workers of a cluster take as many as their lanes need",
        "a whole number above 1",
        default=4,
        gt=1,
        le=1_000,
        validation_alias=AliasChoices("GOSSAMER_DATABASE_POOL_SIZE", "DATABASE_POOL_SIZE"),
    )
    statement_timeout: Duration = setting(
        "How long one statement may take on Postgres; audits and files of whole jobs may take longer",
        SOME_TIME,
        default=timedelta(seconds=60),
        gt=timedelta(0),
    )
    redis_url: Annotated[SecretStr, BeforeValidator(a_redis)] | None = setting(
        "Redis that keeps the spacing of requests for several homes or machines; each home keeps its own when unset",
        "redis://user:password@host:port/number, the same with rediss, or unix:///path",
        default=None,
        validation_alias=AliasChoices("GOSSAMER_REDIS_URL", "REDIS_URL"),
    )
    redis_prefix: str = setting(
        "What all names in Redis begin with; homes with the same prefix space their requests together",
        "letters, digits and . _ -",
        default="gossamer",
        pattern=r"^[A-Za-z0-9._-]{1,64}$",
    )
    broker_url: Annotated[SecretStr, BeforeValidator(a_broker)] | None = setting(
        "Broker that carries Celery's messages to the workers of a cluster; GOSSAMER_REDIS_URL when unset",
        "an address that Celery knows, such as redis://host:6379/1 or amqp://user:password@host//",
        default=None,
        validation_alias=AliasChoices("GOSSAMER_BROKER_URL", "CELERY_BROKER_URL"),
    )
    remote: str | None = setting(
        "Server that commands are about, instead of the one you have logged in to; 'local' for this machine",
        "an address such as https://crawl.example.com, or local",
        default=None,
        pattern=r"^\S+$",
    )
    api_key: Annotated[SecretStr, BeforeValidator(a_key)] | None = setting(
        "Key to that server, instead of the one that was kept at the login", "a key without spaces", default=None
    )

    @property
    def pooled(self) -> bool:
        """True if a connection pooler stands in front of the database."""
        return self.database_pooling == "transaction"


class CrawlSettings(SettingsGroup):
    domain_rate: float = setting(
        "Requests per second per registrable domain, over everything",
        "a number above 0",
        default=1.0,
        gt=0,
        allow_inf_nan=False,
    )
    domain_rates: Rates = setting(
        "Requests per second of single registrable domains, instead of that",
        "rates such as example.com=0.2,slow.example=0.1",
        default={},
    )
    never_visit: Annotated[Path, BeforeValidator(folder)] | None = setting(
        "List of what is never visited, by any job", "a text file of domains and networks, one per line", default=None
    )
    proxy: Annotated[SecretStr, BeforeValidator(a_proxy)] | None = setting(
        "Proxy that all requests go through, but for names in GOSSAMER_CONNECT_TO",
        "http://user:password@host:port, or the same with https, socks5 or socks5h",
        default=None,
    )
    connect_to: Annotated[str, BeforeValidator(connect_rules)] = setting(
        "Names answered by an address of yours", "rules such as *.test=127.0.0.1:8080,shop.example=10.0.0.5", default=""
    )
    allow_networks: Networks = setting(
        "Networks that are not public and may be fetched all the same",
        "networks such as 10.0.0.0/8,fd00::/8",
        default=(),
    )
    dns_servers: Servers = setting(
        "Name servers to ask instead of the system's", "addresses such as 9.9.9.9,[2620:fe::fe]:53", default=()
    )
    ca_file: FilePath | None = setting(
        "Certificates to trust besides the system's own", "an existing file of PEM certificates", default=None
    )
    plugins: str = setting(
        "Rungs and recipes of your own, which every process adds at its start; set in the environment only",
        "names such as my_rungs:TOY,my_recipes.shops:SHOPS",
        default="",
    )
    test_rungs: StandIns = setting(
        "For tests only: rungs that a server on this machine, or in GOSSAMER_ALLOW_NETWORKS, stands in for",
        "rungs such as stealth=127.0.0.1:8081",
        default={},
    )
    max_concurrency: int = setting(
        "Visits running at once, over everything", "a whole number above 0", default=500, gt=0
    )
    job_concurrency: int | None = setting(
        "Visits of one job running at once; as many as there is room for when unset",
        "a whole number above 0",
        default=None,
        gt=0,
    )
    desk_limits: DeskLimits = setting(
        "How much desk work of a kind is done at once, over everything: finish 50, conclude 8, webhook 20, export 50 "
        "and cleanup 5 where nothing else is said",
        "limits such as export=10,cleanup=2",
        default={},
    )
    desk_priorities: DeskPriorities = setting(
        "Which desk work goes first where there is not room for all, the lower the sooner: finish 0, webhook 0, "
        "conclude 5, export 10 and cleanup 20 where nothing else is said",
        "numbers such as export=0,cleanup=30",
        default={},
    )
    processes: int = setting("Processes that walk visits", "a whole number above 0", default_factory=cores, gt=0)
    worker_memory: ByteSize = setting(
        "Memory a working process of a cluster may have; one that comes near it is replaced, one that passes it killed",
        "a size such as 1GB, or 0 for as much as it wants",
        default=ByteSize(1_000_000_000),
        ge=0,
    )
    lease: Duration = setting(
        "How long a worker holds a visit between signs of life",
        SOME_TIME,
        default=timedelta(seconds=60),
        gt=timedelta(0),
    )
    database_patience: Duration = setting(
        "How long workers wait for a database that is away before the job fails",
        SOME_TIME,
        default=timedelta(minutes=5),
    )
    settle_patience: Duration = setting(
        "How long a result may wait to be written before the job pauses",
        SOME_TIME,
        default=timedelta(seconds=60),
        gt=timedelta(0),
    )
    proxy_patience: Duration = setting(
        "How long a proxy that is away is waited for before the job pauses",
        SOME_TIME,
        default=timedelta(seconds=60),
    )
    provider_patience: Duration = setting(
        "How long a provider that does not work is waited for before the jobs that need it pause",
        SOME_TIME,
        default=timedelta(minutes=5),
    )
    job_time: Duration = setting(
        "How long a job works before it is paused", SOME_TIME, default=timedelta(hours=48), gt=timedelta(0)
    )
    min_free_disk: ByteSize = setting(
        "Free space on the home's disk under which jobs pause",
        "a size such as 64MB",
        default=ByteSize(64_000_000),
        ge=0,
    )
    checkpoint_visits: int = setting(
        "Visits after which a checkpoint is written", "a whole number above 0", default=100, gt=0
    )
    webhook_timeout: Duration = setting(
        "How long an endpoint of a webhook may take to answer",
        SOME_TIME,
        default=timedelta(seconds=10),
        gt=timedelta(0),
        le=timedelta(seconds=30),
    )
    webhook_patience: Duration = setting(
        "For how long nothing may arrive at an endpoint of a webhook before it is switched off",
        SOME_TIME,
        default=timedelta(days=3),
        ge=timedelta(days=1),
    )
    retention: Duration = setting(
        "How long results are kept after a job has ended", SOME_TIME, default=timedelta(days=90), gt=timedelta(0)
    )
    retention_grace: Duration = setting(
        "How long hidden results can still be had back", SOME_TIME, default=timedelta(days=7)
    )


class PageSettings(SettingsGroup):
    http_timeout: Duration = setting(
        "Time for one request in all, from the name to the last byte; in scrapes and batches always 30 s",
        SOME_TIME,
        default=timedelta(seconds=15),
        gt=timedelta(0),
    )
    connect_timeout: Duration = setting(
        "Time for the connection and its TLS handshake", SOME_TIME, default=timedelta(seconds=10), gt=timedelta(0)
    )
    read_timeout: Duration = setting(
        "Longest silence in the middle of an answer", SOME_TIME, default=timedelta(seconds=15), gt=timedelta(0)
    )
    max_page_bytes: ByteSize = setting(
        "Largest page that is kept, after decompression", "a size such as 10MB", default=ByteSize(10_000_000), gt=0
    )
    log_format: Annotated[Literal["line", "json"], BeforeValidator(lower)] = setting(
        "How log lines are written", "line or json", default="line"
    )
    log_level: Annotated[Literal["debug", "info", "warning", "error"], BeforeValidator(lower)] = setting(
        "The least important line that is written", "debug, info, warning or error", default="info"
    )
    log_file: Annotated[Path, BeforeValidator(folder)] | None = setting(
        "File the log goes to; logs/gossamer.log in the home folder when unset", "a file", default=None
    )


class IntegrationSettings(SettingsGroup):
    storage_url: Annotated[str, BeforeValidator(a_storage)] | None = setting(
        "Where exported files are kept; the files folder of the home when unset",
        "s3://bucket/prefix, gs://bucket/prefix or az://container/prefix",
        default=None,
        validation_alias=AliasChoices("GOSSAMER_STORAGE_URL", "S3_BUCKET"),
    )
    storage_endpoint: Annotated[str, BeforeValidator(an_endpoint)] | None = setting(
        "Server of the storage, where it is not the provider's own",
        "an address such as https://minio.example.com:9000",
        default=None,
        validation_alias=AliasChoices("GOSSAMER_STORAGE_ENDPOINT", "S3_ENDPOINT"),
    )
    storage_region: str = setting("Region of the storage", "a name such as eu-central-1", default="")
    storage_access_key: SecretStr | None = setting(
        "Name of the key to the storage; what its own tools use when unset",
        "a key's name",
        default=None,
        validation_alias=AliasChoices("GOSSAMER_STORAGE_ACCESS_KEY", "S3_ACCESS_KEY"),
    )
    storage_secret_key: SecretStr | None = setting(
        "The key to the storage",
        "a key",
        default=None,
        validation_alias=AliasChoices("GOSSAMER_STORAGE_SECRET_KEY", "S3_SECRET_KEY"),
    )
    secrets_file: Annotated[Path, BeforeValidator(folder)] | None = setting(
        "File of keys and passwords: the same names as in gossamer.toml, for secrets only",
        "a TOML file that only you may read",
        default=None,
    )
    secrets: Secrets = setting(
        "Secrets that recipes of your own name in what they send",
        "names and keys such as maps=KEY,directory=KEY",
        default={},
    )
    # The settings of rungs are added here, by the table in model/rungs.py.
    forward_proxy_listen: Annotated[str, BeforeValidator(a_listener)] = setting(
        "Where the forward proxy listens that your FlareSolverr goes out through; only this machine can reach it as "
        "long as it is loopback. With a range of ports each working process takes one of them",
        "an address such as 127.0.0.1, 0.0.0.0:8200 or 0.0.0.0:8200-8215",
        default="127.0.0.1",
    )
    forward_proxy_name: Annotated[str, BeforeValidator(a_host)] | None = setting(
        "What FlareSolverr calls the machine on which that is; its address when unset, or its name where it listens on "
        "all addresses",
        "a name or an address",
        default=None,
    )
    provider_concurrency: int = setting(
        "Calls to one provider at once, over everything; less where its plan allows less",
        "a whole number above 0",
        default=500,
        gt=0,
    )
    never_send: Annotated[Path, BeforeValidator(folder)] | None = setting(
        "List of what no provider is ever asked for", "a text file of domains and networks, one per line", default=None
    )


class SpendingSettings(SettingsGroup):
    max_credits: int = setting(
        "Provider credits a job may spend that was given no limit of its own", "a whole number", default=10_000, ge=0
    )
    confirm_usd: float = setting(
        "Dollars from which on a person is asked before a job starts that may cost more",
        "a number such as 10",
        default=10.0,
        ge=0,
        allow_inf_nan=False,
    )
    daily_credits: int | None = setting(
        "Provider credits all jobs together may spend in a day (UTC); no limit when unset",
        "a whole number",
        default=None,
        ge=0,
    )
    daily_usd: float | None = setting(
        "Dollars all jobs together may spend in a day (UTC); no limit when unset",
        "a number such as 50",
        default=None,
        ge=0,
        allow_inf_nan=False,
    )
    account_credits: int | None = setting(
        "Provider credits an account may spend in a month (UTC); no limit when unset",
        "a whole number",
        default=None,
        ge=0,
    )
    account_usd: float | None = setting(
        "Dollars an account may spend in a month (UTC); no limit when unset",
        "a number such as 500",
        default=None,
        ge=0,
        allow_inf_nan=False,
    )
    credit_usd: float = setting(
        "What a provider credit costs by your plan, in dollars",
        "a number such as 0.01",
        default=0.01,
        ge=0,
        allow_inf_nan=False,
    )
    prices: Prices = setting(
        "What methods cost, instead of what the table says: credits at worst, dollars per credit or per gigabyte",
        "prices such as scrapingbee-js=5,firecrawl=5@0.0008,residential=8/GB",
        default={},
    )
    prices_read: date | None = setting(
        "The day on which you read your providers' prices", "a date such as 2026-11-16", default=None
    )


class ServerSettings(SettingsGroup):
    api_host: str = setting(
        "Where 'gossamer serve' listens; only this machine can reach it as long as it is loopback",
        "an address such as 127.0.0.1 or 0.0.0.0",
        default="127.0.0.1",
        min_length=1,
    )
    api_port: int = setting("Port on which it listens", "a number from 0 to 65535", default=8000, ge=0, le=65_535)
    api_url: Annotated[str, BeforeValidator(an_endpoint)] | None = setting(
        "How people reach the server, where it stands behind a proxy: what links in answers begin with",
        "an address such as https://crawl.example.com",
        default=None,
    )
    api_cors: Origins = setting(
        "Web pages of these origins may ask the server from a browser; none when unset",
        'origins such as https://app.example.com,http://localhost:5173, or a list like ["http://localhost:3000"]',
        default=(),
        validation_alias=AliasChoices("GOSSAMER_API_CORS", "CORS_ORIGINS"),
    )
    api_trusted_proxies: Networks = setting(
        "Proxies that are believed when they say for whom they ask (X-Forwarded-For); none when unset",
        "networks such as 10.0.0.0/8",
        default=(),
    )
    api_max_body: ByteSize = setting(
        "Largest body of a request", "a size such as 10MB", default=ByteSize(10_000_000), gt=0
    )
    api_key_rate: int = setting(
        "Requests per minute with one key, or by one user; 0 for no limit", "a whole number", default=600, ge=0
    )
    api_ip_rate: int = setting(
        "Requests per minute from one address; 0 for no limit", "a whole number", default=1_200, ge=0
    )
    api_failed_keys: int = setting(
        "Wrong keys per minute from one address, after which others are not looked up; 0 for no limit",
        "a whole number",
        default=60,
        ge=0,
    )
    api_drain: Duration = setting(
        "How long requests that are under way may take when the server is stopped",
        SOME_TIME,
        default=timedelta(seconds=20),
    )
    api_secret: SecretStr | None = setting(
        "What logins are signed with, and what secrets of webhooks and keys that come with jobs are encrypted with; "
        "all servers and workers of one database need the same. Made by itself in the home when unset. The bare name "
        "counts only where a database server is named",
        "at least 32 characters",
        default=None,
        min_length=32,
        validation_alias=AliasChoices("GOSSAMER_API_SECRET", "SECRET_KEY"),
    )
    jwt_algorithm: Literal["HS256"] = setting(
        "How logins are signed: there is one way only",
        "HS256",
        default="HS256",
        validation_alias=AliasChoices("GOSSAMER_JWT_ALGORITHM", "JWT_ALGORITHM"),
    )
    admin_token: SecretStr | None = setting(
        "A key of your own that may do everything in the account 'default'; the first start then makes and shows none. "
        "The bare name counts only where a database server is named",
        "at least 32 characters",
        default=None,
        min_length=32,
        validation_alias=AliasChoices("GOSSAMER_ADMIN_TOKEN", "ADMIN_TOKEN"),
    )
    account_jobs: int | None = setting(
        "Jobs of one account at work at once, of those that came through the server; the others wait",
        "a whole number above 0",
        default=20,
        gt=0,
    )
    account_queue: int | None = setting(
        "Jobs of one account that may wait for another one to end", "a whole number", default=1_000, ge=0
    )
    quota_credits: int | None = setting(
        "Account credits of a month (UTC) for accounts without a number of their own; no limit when unset. These are "
        "what you give your users, not what providers charge you",
        "a whole number",
        default=None,
        ge=0,
    )
    quota_prices: CreditPrices = setting(
        f"Account credits that one page takes, by what has read it: {_FREE} and providers {PAID_ACCOUNT_CREDITS} where "
        "nothing else is said",
        "prices such as direct=1,scrapingbee-js=25",
        default={},
    )


_BEFORE = "forward_proxy_listen"  # where they stand in the reference

_added: dict[str, RungSetting] = {}


def add_rung_settings(shape: type[BaseModel]) -> None:
    """Add the settings of rungs that were added since the last call. Raises UserError if a name is taken."""
    fields = shape.model_fields
    new = [one for one in all_settings() if _added.get(one.name) != one]
    if not new:
        return
    for one in new:
        if one.name in fields:
            raise UserError(
                "plugins.setting",
                f"A rung needs the setting {one.name}, and there is another one of that name.",
                hint="Give the setting in the rung's row a name of its own.",
            )
        _added[one.name] = one
    before = list(fields)[: list(fields).index(_BEFORE)]
    ordered = {name: fields[name] for name in before} | {one.name: _FIELDS[one.form](one) for one in new}
    ordered |= {name: field for name, field in fields.items() if name not in ordered}
    fields.clear()
    fields.update(ordered)
    shape.model_rebuild(force=True)


def _key(one: RungSetting) -> FieldInfo:
    return _field(one, Annotated[SecretStr, BeforeValidator(a_key)] | None, default=None)


def _address(one: RungSetting) -> FieldInfo:
    return _field(one, Annotated[str, BeforeValidator(an_endpoint)] | None, default=None)


def _number(one: RungSetting) -> FieldInfo:
    return _field(one, int, default=one.default, gt=0)


def _field(one: RungSetting, form: Any, **limits: Any) -> FieldInfo:
    if one.spellings:
        limits["validation_alias"] = AliasChoices(one.variable, *one.spellings)
    return FieldInfo.from_annotated_attribute(form, setting(one.meaning, one.expected, **limits))


_FIELDS: Mapping[Form, Callable[[RungSetting], FieldInfo]] = {
    Form.KEY: _key,
    Form.ADDRESS: _address,
    Form.NUMBER: _number,
}
