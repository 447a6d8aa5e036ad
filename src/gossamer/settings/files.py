"""Sources of settings besides the environment: one file for all of them, and one for secrets alone."""

import os
import stat
import tomllib
from collections.abc import Collection
from pathlib import Path
from typing import Any

from gossamer.errors import UserError
from gossamer.model.rungs import Form, all_settings
from gossamer.settings.types import default_home

PREFIX = "GOSSAMER_"
TOML_NAME = "gossamer.toml"

_NOT_HERE = frozenset(
    {
        *("allow_networks", "api_trusted_proxies", "ca_file", "connect_to", "dns_servers", "log_file", "proxy"),
        *("forward_proxy_listen", "forward_proxy_name", "remote", "secrets_file", "test_rungs"),
    }
)


def not_here() -> frozenset[str]:
    """Return the settings that determine where requests go, through which hosts, and which files are written.

    A working folder may be someone else's work, such as a cloned repository: if they were accepted there,
    running a command in it would be enough to send everything elsewhere.
    """
    return _NOT_HERE | {one.name for one in all_settings() if one.form is Form.ADDRESS}


def provider_keys() -> frozenset[str]:
    """Return the settings that cost money if they leak.

    They are not accepted in the general settings file, which is copied, shown and committed too easily.
    """
    return frozenset(one.name for one in all_settings() if one.is_secret)


def toml_path() -> Path:
    here = Path.cwd() / TOML_NAME
    if os.path.isfile(here):  # noqa: PTH113 - where we may not look there is none for us, which Path has an error for
        return here
    return _home_toml()


def _home_toml() -> Path:
    home = os.environ.get(f"{PREFIX}HOME")
    return (Path(home).expanduser() if home else default_home()) / TOML_NAME


def toml_values() -> dict[str, Any]:
    path = toml_path()
    if not path.is_file():
        return {}
    here = path.parent == Path.cwd() and not _is_same(path, _home_toml())
    with path.open("rb") as file:
        if here:
            _check_owner(path, os.fstat(file.fileno()))
        values = tomllib.loads(file.read().decode("utf-8"))
    if "plugins" in values:
        raise UserError(
            "settings.not_in_a_file",
            f"{path} holds plugins, which stand in the environment only: they are code that is run.",
            hint=f"Set {PREFIX}PLUGINS instead.",
        )
    if here and (elsewhere := sorted(not_here() & values.keys())):
        raise UserError(
            "settings.not_here",
            f"{path} holds {elsewhere[0]}, which a gossamer.toml in a working folder may not set.",
            hint=f"Write it into {_home_toml()}, or set {PREFIX}{elsewhere[0].upper()}.",
        )
    return values


def _is_same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False


def _check_owner(path: Path, found: os.stat_result) -> None:
    """Refuse a file that others can write or own: its contents may not be the user's own wishes."""
    if not {path.lstat().st_uid, found.st_uid} <= {os.geteuid(), 0}:
        raise UserError(
            "settings.foreign",
            f"{path} is not read: it belongs to somebody else.",
            hint=f"Run gossamer in another folder, or keep what is wanted of it as {_home_toml()}.",
        )
    if stat.S_IMODE(found.st_mode) & (stat.S_IWGRP | stat.S_IWOTH):
        raise UserError(
            "settings.foreign",
            f"{path} is not read: it can be written by others.",
            hint=f"Look at what it says, then take that right away: chmod go-w {path}",
        )


def unreadable(error: OSError) -> UserError:
    """Return the error for unreadable settings; usually the data folder belongs to another user."""
    path = toml_path()
    try:
        path.stat()  # possible for all users who may read its folder, even if the file is not readable
    except PermissionError:
        return UserError(
            "home.forbidden",
            f"You may not look into the home {path.parent}.",
            hint=f"Point {PREFIX}HOME at a folder of your own, or run gossamer as its owner.",
        )
    except OSError:
        pass  # what was met first is what is said
    return UserError(
        "settings.unreadable", f"{path} cannot be read: {error.strerror}.", hint="Correct its permissions."
    )


def secret_path() -> Path | None:
    """The file of secrets, if one is named."""
    named = os.environ.get(f"{PREFIX}SECRETS_FILE") or toml_values().get("secrets_file")
    return Path(str(named)).expanduser().absolute() if named else None


def secret_values(names: Collection[str]) -> dict[str, Any]:
    """Return the contents of the secrets file, which may contain only `names`.

    Provider keys are not allowed in the general settings file.
    """
    misplaced = sorted((provider_keys() | {"secrets"}) & toml_values().keys())
    if misplaced:
        raise UserError(
            "settings.misplaced",
            f"{toml_path()} holds {misplaced[0]}: keys of providers stand in the environment or in a file of secrets.",
            hint=f"Move it to a file of its own that only you may read, and name that in {PREFIX}SECRETS_FILE.",
        )
    path = secret_path()
    if path is None:
        return {}
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        # Where it is wrong is left out: the line may be a secret.
        raise UserError("settings.unreadable", f"{path} is not valid TOML.") from None
    except OSError as error:
        raise UserError("settings.unreadable", f"{path} cannot be read: {error.strerror}.") from None
    unknown = sorted(values.keys() - set(names))
    if unknown:
        raise UserError(
            "settings.no_secret",
            f"{path} holds {unknown[0]}, which is not a secret.",
            hint=f"Other settings belong in the environment or in {TOML_NAME}.",
        )
    return values
