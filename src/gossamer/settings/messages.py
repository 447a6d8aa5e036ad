"""Messages about settings that cannot be used: wrong values, and variables under names that have no effect."""

import os
from collections.abc import Collection, Mapping
from typing import Any, get_args

from pydantic import AliasChoices, SecretStr, ValidationError
from pydantic.fields import FieldInfo

from gossamer.errors import UserError
from gossamer.settings.files import PREFIX, secret_path, secret_values, toml_path, toml_values

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
    """Return the names that have no effect with this database, and why."""
    if _is_server(database):
        return WITHOUT_EFFECT
    why = "without a database server it is taken for another program's; use"
    return WITHOUT_EFFECT | {name: f"{why} {ours}" for name, ours in OF_ANYBODY.items()}


def passed_over(given: Mapping[str, Any], secrets: Mapping[str, Any]) -> Collection[str]:
    """Return the common names that are ignored: they count only if a database server is configured."""
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


def secret_names(fields: Mapping[str, FieldInfo]) -> list[str]:
    """Return the names of secret settings: never shown, not even when wrong; allowed in GOSSAMER_SECRETS_FILE."""
    return sorted(name for name, field in fields.items() if _is_secret(field.annotation))


def _is_secret(form: Any) -> bool:
    return form is SecretStr or any(_is_secret(part) for part in get_args(form))


def wrong_value(error: ValidationError, given: Mapping[str, Any], fields: Mapping[str, FieldInfo]) -> UserError:
    where = str(error.errors(include_url=False, include_context=False, include_input=False)[0]["loc"][0])
    own_names = _own_names(fields)
    name = own_names.get(where, where)
    secrets = secret_names(fields)
    spelling, found = _origin(name, given, own_names, secrets)
    state = "cannot be used" if name in secrets else f"is {_shown(found)}"
    return UserError("settings.invalid", f"{spelling} {state}, expected {_expected(fields[name])}.")


def _own_names(fields: Mapping[str, FieldInfo]) -> dict[str, str]:
    """Return the setting for each variable that has a name of its own."""
    return {
        str(variable): name
        for name, field in fields.items()
        if isinstance(field.validation_alias, AliasChoices)
        for variable in field.validation_alias.choices
    }


def _origin(
    name: str, given: Mapping[str, Any], own_names: Mapping[str, str], secrets: Collection[str]
) -> tuple[str, object]:
    """Return the name and the value as the person wrote them, so that they can be found."""
    if name in given:
        return name, given[name]
    left_out = passed_over(given, secret_values(secrets))
    others = [other for other, setting in own_names.items() if setting == name and other not in left_out]
    for variable in (f"{PREFIX}{name.upper()}", *others):
        if value := os.environ.get(variable):
            return variable, value
    file = secret_path()
    if file is not None and name in secret_values(secrets):
        return f"{name} in {file}", None
    return f"{name} in {toml_path()}", toml_values().get(name)


def _expected(field: FieldInfo) -> str:
    extra = field.json_schema_extra
    return str(extra["expected"]) if isinstance(extra, dict) else "another value"


def _shown(value: object) -> str:
    text = " ".join(str(value).split())
    return repr(text if len(text) <= 60 else f"{text[:57]}...")
