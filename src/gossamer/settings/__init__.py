"""Settings of an operator: environment variables or gossamer.toml, read once at startup.

`GOSSAMER_*` environment variables come first, then a `gossamer.toml` in the working folder, else in the
data folder (same names, lower case, without the prefix). Secrets may be in a file of their own. Reading
creates nothing on disk.
"""

import os
import tomllib
from typing import Any
from urllib.parse import unquote, urlsplit

from pydantic import SecretStr, ValidationError
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
)
from gossamer.settings.files import PREFIX, TOML_NAME, secret_values, toml_path, toml_values, unreadable
from gossamer.settings.messages import WITHOUT_EFFECT, idle_names, passed_over, secret_names, wrong_value
from gossamer.settings.rungs import add_rung_settings

__all__ = ["PREFIX", "TOML_NAME", "WITHOUT_EFFECT", "Settings", "idle_variables", "read_settings"]


_NAMES = ("storage_access_key",)  # with a secret, and none by itself


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
