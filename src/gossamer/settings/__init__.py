"""Settings of an operator: environment variables or gossamer.toml, read once at startup.

`GOSSAMER_*` environment variables come first, then a `gossamer.toml` in the working folder, else in the
data folder (same names, lower case, without the prefix). Secrets may be in a file of their own. Reading
creates nothing on disk.
"""

import os
import tomllib
from collections.abc import Collection, Mapping
from typing import Any, get_args
from urllib.parse import unquote, urlsplit

from pydantic import AliasChoices, SecretStr, ValidationError
from pydantic.fields import FieldInfo
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    InitSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from gossamer.errors import UserError
from gossamer.plugins import load_plugins
from gossamer.settings.fields import (
    CrawlSettings,
    IntegrationSettings,
    LocationSettings,
    PageSettings,
    ServerSettings,
    SpendingSettings,
    add_rung_settings,
)
from gossamer.settings.files import PREFIX, TOML_NAME, secret_path, secret_values, toml_path, toml_values, unreadable

__all__ = ["PREFIX", "TOML_NAME", "WITHOUT_EFFECT", "Settings", "idle_variables", "read_settings"]


_NAMES = ("storage_access_key",)  # belongs to a secret, but is not secret

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


# The last is read first: by that order values are checked, and the reference is written.
class Settings(
    PageSettings, ServerSettings, IntegrationSettings, SpendingSettings, CrawlSettings, LocationSettings, BaseSettings
):
    """Everything that can be set. A wrong value is a UserError of one line that names it."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        env_ignore_empty=True,
        extra="ignore",
        frozen=True,
        populate_by_name=True,
        hide_input_in_errors=True,
        defer_build=True,  # until the settings of rungs are there
    )

    def __init__(self, **given: Any) -> None:
        try:
            add_rung_settings(Settings)
            super().__init__(**given)
        except ValidationError as error:
            problem = wrong_value(error, given, Settings.model_fields)
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            problem = UserError("settings.unreadable", f"{toml_path()} is not valid TOML: {error}.")
        except OSError as error:
            problem = unreadable(error)
        except UserError as error:
            problem = error
        else:
            return
        # Raised out here so that it carries no cause: pydantic's own error holds the secret our message leaves out.
        raise problem

    def plain(self, name: str) -> Any:
        """Return the value of a setting, a secret as text: for settings that only the table of rungs names."""
        value = getattr(self, name)
        return value.get_secret_value() if isinstance(value, SecretStr) else value

    def hidden_values(self) -> list[str]:
        """Return the values that must not appear in a log: keys, and the passwords of URLs."""
        shown = {self.plain(name) for name in _NAMES}
        keys = [value for name in secret_names(type(self).model_fields) for value in self._values(name)]
        passwords = [urlsplit(key).password or "" for key in keys if "://" in key]
        hidden = [key for key in keys if "://" not in key and key not in shown]
        return [*hidden, *(spelling for password in passwords for spelling in (password, unquote(password)))]

    def _values(self, name: str) -> list[str]:
        value = getattr(self, name)
        found = value.values() if isinstance(value, dict) else (value,)
        return [one.get_secret_value() for one in found if one]

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        secrets = secret_values(secret_names(settings_cls.model_fields))
        if isinstance(env_settings, EnvSettingsSource) and isinstance(init_settings, InitSettingsSource):
            left_out = passed_over(init_settings.init_kwargs, secrets)
            kept = {name: value for name, value in env_settings.env_vars.items() if name.upper() not in left_out}
            env_settings.env_vars = kept
        return (
            init_settings,
            env_settings,
            InitSettingsSource(settings_cls, init_kwargs=secrets),
            InitSettingsSource(settings_cls, init_kwargs=toml_values()),
        )


add_rung_settings(Settings)


def read_settings() -> tuple[Settings, list[str]]:
    """Return the current settings, and unknown names that were set, for a warning by the caller.

    Every process calls it first: plug-ins are loaded before the settings are validated against them.
    """
    load_plugins()
    settings = Settings()
    known = set(Settings.model_fields)
    unknown = [name for name in sorted(os.environ) if name.startswith(PREFIX) and _bare(name) not in known]
    return settings, unknown + [f"{name} in {TOML_NAME}" for name in sorted(toml_values()) if name not in known]


def not_a_setting(name: str) -> str:
    """Describe a name that `read_settings` does not recognise, with the setting that may have been meant."""
    from difflib import get_close_matches  # only needed for a mistyped name

    given, _, where = name.partition(" in ")
    near = get_close_matches(given.removeprefix(PREFIX).lower(), Settings.model_fields, 1, 0.75)
    meant = (near[0] if where else f"{PREFIX}{near[0].upper()}") if near else ""
    return f"{name} is not a setting of gossamer." + (f" Did you mean {meant}?" if meant else "")


def _bare(variable: str) -> str:
    return variable.removeprefix(PREFIX).lower()


def idle_variables(settings: Settings) -> list[str]:
    """Return a sentence for each name that is set but has no effect here."""
    idle = idle_names(settings.database_url)
    return [f"{name} has no effect: {why}." for name, why in idle.items() if os.environ.get(name)]


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
