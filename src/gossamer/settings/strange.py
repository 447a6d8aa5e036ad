"""Variables that are not called after us: what deployments elsewhere set, and what any other program may have."""

import os
from collections.abc import Collection, Mapping
from typing import Any

from pydantic import SecretStr

from gossamer.settings.files import toml_values

WITHOUT_EFFECT = {
    "CELERY_RESULT_BACKEND": "what becomes of work is in the database, and Celery keeps no results",
    "PROXY_PROVIDER": "there are no pools of proxies here; GOSSAMER_PROXY names one",
    "PROXY_API_KEY": "there are no pools of proxies here; GOSSAMER_PROXY names one",
    "SENTRY_DSN": "nothing is sent to Sentry",
}
"""Names that deployments elsewhere set, and why they do nothing here."""


OF_ANYBODY = {"SECRET_KEY": "GOSSAMER_API_SECRET", "ADMIN_TOKEN": "GOSSAMER_ADMIN_TOKEN"}
"""Names that many programs have, and ours: they count in a deployment, which is where a database server is named.

Elsewhere they are most likely another program's, left in a shell: a home's own secret is not given up for one.
"""


def idle_names(database: object) -> Mapping[str, str]:
    """Names that do nothing with this database, and why."""
    if _is_server(database):
        return WITHOUT_EFFECT
    why = "without a database server it is taken for another program's; use"
    return WITHOUT_EFFECT | {name: f"{why} {ours}" for name, ours in OF_ANYBODY.items()}


def passed_over(given: Mapping[str, Any], secrets: Mapping[str, Any]) -> Collection[str]:
    """Those of anybody's names that do not count, by where the database is said to be."""
    named = (
        given.get("database_url")
        or os.environ.get("GOSSAMER_DATABASE_URL")
        or os.environ.get("DATABASE_URL")
        or secrets.get("database_url")
        or toml_values().get("database_url")
    )
    return () if _is_server(named) else OF_ANYBODY


def _is_server(database: object) -> bool:
    text = database.get_secret_value() if isinstance(database, SecretStr) else database
    return isinstance(text, str) and not text.startswith("sqlite:")
