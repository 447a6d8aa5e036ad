"""What others run for us: object storage, and providers that fetch pages. Keys and addresses of those come from the
table of rungs."""

from pathlib import Path
from typing import Annotated

from pydantic import AliasChoices, BeforeValidator, SecretStr

from gossamer.settings.forms import Part, Secrets, a_host, a_listener, a_storage, an_endpoint, folder, setting


class Outside(Part):
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
    # Here come those of rungs: see settings/rungs.py.
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
