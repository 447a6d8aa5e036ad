"""The only place that picks technologies: from settings to parts that fit together."""

from gossamer.app.application import EXPORTERS_POOL, WORKER, App, open_app
from gossamer.app.connections import forward_proxy, lanes_here, open_poster, provider_desk, provider_rungs, rungs_here
from gossamer.app.gates import open_counts, open_gate, require_redis
from gossamer.app.installation import (
    database_url,
    installation_secret,
    key_seals,
    log_path,
    object_storage,
    sealer,
    start_log,
)
from gossamer.app.price_settings import caps_of, prices_of
from gossamer.app.worker_deps import open_deps

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
    "open_deps",
    "open_gate",
    "open_poster",
    "prices_of",
    "provider_desk",
    "provider_rungs",
    "require_redis",
    "rungs_here",
    "sealer",
    "start_log",
]
