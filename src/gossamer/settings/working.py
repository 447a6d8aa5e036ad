"""How jobs are worked: how politely, on which ways, how many at once, and how long things are waited for and kept."""

from datetime import timedelta
from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator, ByteSize, FilePath, SecretStr

from gossamer.settings.forms import (
    SOME_TIME,
    DeskLimits,
    DeskPriorities,
    Duration,
    Networks,
    Part,
    Rates,
    Servers,
    StandIns,
    a_proxy,
    connect_rules,
    cores,
    folder,
    setting,
)


class Working(Part):
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
        "How much desk work of a kind is done at once, over everything: finish 50, webhook 20, export 50 and cleanup 5 "
        "where nothing else is said",
        "limits such as export=10,cleanup=2",
        default={},
    )
    desk_priorities: DeskPriorities = setting(
        "Which desk work goes first where there is not room for all, the lower the sooner: finish 0, webhook 0, "
        "export 10 and cleanup 20 where nothing else is said",
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
