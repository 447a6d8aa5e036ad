"""Where things are: the home, the database, what machines share, and the server that commands go to."""

from datetime import timedelta
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AliasChoices, BeforeValidator, SecretStr

from gossamer.settings.forms import (
    SOME_TIME,
    Duration,
    Part,
    a_broker,
    a_database,
    a_key,
    a_redis,
    default_home,
    folder,
    lower,
    setting,
)


class Places(Part):
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
        """Whether connections to the database are another pool's."""
        return self.database_pooling == "transaction"
