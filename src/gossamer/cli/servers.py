"""The server that commands go to: the login kept by `gossamer login`, and the settings that override it.

In this order: `--local` and `GOSSAMER_REMOTE=local` mean this machine, `GOSSAMER_REMOTE=URL` that server; without
either it is the server of the login, and without a login this machine.
"""

import os
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import orjson
import platformdirs
import typer

from gossamer.errors import UserError
from gossamer.settings import Settings, read_settings

LOCAL = "local"
_HINT = "Log in with 'gossamer login URL', or set GOSSAMER_API_KEY."


@dataclass(frozen=True, slots=True)
class ServerLogin:
    """A server's address and an API key for it."""

    url: str
    key: str
    is_from_settings: bool = False  # the key comes from a setting, not from the login

    def __repr__(self) -> str:
        return f"Login({self.url!r})"


def chosen_login(settings: Settings) -> ServerLogin | None:
    """The server commands go to; None for this machine."""
    if settings.remote == LOCAL:
        return None
    kept = stored_login()
    given = settings.api_key.get_secret_value() if settings.api_key else ""
    if settings.remote is None:
        return ServerLogin(kept.url, given or kept.key, bool(given)) if kept else None
    url = server_url(settings.remote)
    key = given or (kept.key if kept and kept.url == url else "")
    if not key:
        raise UserError("remote.no_key", f"There is no key for {url} (GOSSAMER_REMOTE).", hint=_HINT)
    return ServerLogin(url, key, bool(given))


def refuse_logged_in(command: str) -> None:
    """Refuse a command about this machine while logged in to a server, since the server may be meant."""
    try:
        login = chosen_login(read_settings()[0])
    except UserError:
        return  # the command itself reports the wrong setting, and the doctor more about it
    if login:
        raise UserError(
            "remote.local_only",
            f"'gossamer {command}' only works for this machine, but you are logged in to {login.url}.",
            hint=f"Run it on the server, or 'gossamer --local {command} ...' for this machine.",
        )


def server_url(text: str) -> str:
    """Validate and normalise a server's address; a bare name means HTTPS."""
    given = text.strip().rstrip("/")
    url = given if "://" in given else f"https://{given}"
    try:
        parts = urlsplit(url)
        known = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        known = False
    if not known or parts.username or parts.query or parts.fragment:
        raise UserError(
            "remote.url",
            f"{text!r} is not the address of a server.",
            hint="Give one such as https://crawl.example.com or http://127.0.0.1:8000.",
        )
    return url


def login_file() -> Path:
    return platformdirs.user_config_path("gossamer") / "login.json"


def stored_login() -> ServerLogin | None:
    """The kept login, if there is one. Refuses a file that others can read."""
    path = login_file()
    try:
        if path.stat().st_mode & 0o077:
            raise UserError(
                "remote.readable", f"Others can read the key in {path}.", hint=f"Make it yours: chmod 600 {path}."
            )
        said = orjson.loads(path.read_bytes())
        return ServerLogin(str(said["url"]), str(said["key"]))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        hint = "Log in again with 'gossamer login URL', or log out with 'gossamer logout'."
        raise UserError("remote.unreadable", f"{path} cannot be read.", hint=hint) from error


def save_login(login: ServerLogin) -> None:
    """Write the login to a file that only the user can read, whole or not at all."""
    path = login_file()
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    part = path.with_suffix(".part")
    with suppress(FileNotFoundError):
        part.unlink()
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(orjson.dumps({"url": login.url, "key": login.key}))
    part.replace(path)


def delete_login() -> None:
    with suppress(FileNotFoundError):
        login_file().unlink()


def print_server(login: ServerLogin) -> None:
    """Print the server's address on standard error, so that standard output is the same as for this machine."""
    if "--json" not in sys.argv:
        typer.echo(f"Server: {login.url}", err=True)
