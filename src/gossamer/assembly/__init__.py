"""The only place that picks technologies: from settings to parts that fit together."""

from gossamer.assembly.app import EXPORTERS_POOL, WORKER, App, open_app
from gossamer.assembly.kept import (
    database_url,
    installation_secret,
    key_seals,
    log_path,
    object_storage,
    sealer,
    start_log,
)
from gossamer.assembly.kit import open_kit
from gossamer.assembly.lights import open_counts, open_gate, require_redis
from gossamer.assembly.money import caps_of, prices_of
from gossamer.assembly.ways import forward_proxy, lanes_here, open_poster, provider_desk, provider_rungs, rungs_here

__all__ = [
    "EXPORTERS_POOL",
    "WORKER",
    "App",
    "caps_of",
    "database_url",
    "forward_proxy",
    "installation_secret",
    "key_seals",
    "lanes_here",
    "log_path",
    "object_storage",
    "open_app",
    "open_counts",
    "open_gate",
    "open_kit",
    "open_poster",
    "prices_of",
    "provider_desk",
    "provider_rungs",
    "require_redis",
    "rungs_here",
    "sealer",
    "start_log",
]
