"""`gossamer login` and `logout`, and the client of the server that commands go to."""

import asyncio
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from gossamer import __version__
from gossamer.cli import prompts, servers
from gossamer.cli.group import lazy_module
from gossamer.cli.runtime import say
from gossamer.cli.servers import ServerLogin
from gossamer.client import AsyncClient, BadKey, ClientError, ProblemError, ServerError
from gossamer.client.answers import AccountStatus
from gossamer.client.transport import is_safe
from gossamer.errors import GossamerError, UserError
from gossamer.settings import Settings, read_settings

if TYPE_CHECKING:
    from gossamer.recipes import registry
else:
    registry = lazy_module("gossamer.recipes.registry")  # only an error needs it


def log_in(text: str, key_file: Path | None) -> None:
    settings, _ = read_settings()
    url = servers.server_url(text)
    if not is_safe(url):
        typer.echo(f"Warning: {url} is not encrypted: others on the network can read the key.", err=True)
    is_from_settings = key_file is None and settings.api_key is not None
    login = ServerLogin(url, _key(url, key_file, settings), is_from_settings)
    account, version = asyncio.run(_try(login, settings))
    servers.save_login(login)
    name = f" ({account.name})" if account.name != account.id else ""
    say(f"Logged in to {url}, account {account.id}{name}.")
    if version != __version__:
        say(f"The server has gossamer {version}, this is {__version__}: install the same version if commands fail.")
    say("Commands now apply to this server. For this machine: 'gossamer --local ...', or 'gossamer logout'.")


def log_out() -> None:
    try:
        kept = servers.stored_login()
    except UserError:
        kept = ServerLogin("a server", "")  # a file that cannot be read can still be removed
    servers.delete_login()
    said = f"Logged out of {kept.url}." if kept else "You were not logged in."
    say(f"{said} Commands are about this machine.")
    if os.environ.get("GOSSAMER_REMOTE", servers.LOCAL) != servers.LOCAL:
        say("GOSSAMER_REMOTE still names a server: unset it to use this machine.")


def _key(url: str, key_file: Path | None, settings: Settings) -> str:
    if key_file is not None:
        try:
            key = key_file.read_text(encoding="utf-8").strip()
        except FileNotFoundError as error:
            raise UserError(
                "remote.key_file", f"There is no file {key_file}.", hint="Give the file of the key."
            ) from error
        except (OSError, UnicodeDecodeError) as error:
            raise UserError(
                "remote.key_file", f"{key_file} cannot be read.", hint="Give the file of the key."
            ) from error
    elif settings.api_key:
        key = settings.api_key.get_secret_value()
    elif sys.stdin.isatty():
        key = prompts.secret(f"Key to {url}", f"Nothing was changed: {_standing()}.").strip()
    else:
        key = sys.stdin.readline().strip()
    if not key or not key.isascii() or not key.isprintable() or " " in key:
        raise UserError(
            "remote.no_key",
            "That does not look like an API key.",
            hint="Keys are made with 'gossamer system keys create NAME' on the server.",
        )
    return key


def _standing() -> str:
    try:
        kept = servers.stored_login()
    except UserError:
        kept = None
    return f"you are still logged in to {kept.url}" if kept else "you are not logged in"


async def _try(login: ServerLogin, settings: Settings) -> tuple[AccountStatus, str]:
    async with open_client(login, settings) as client:
        try:
            account = await client.account()
            return account, (await client.health()).version
        except ClientError as error:
            raise command_error(error, login) from error


class RefusedByServer(UserError):
    """A refusal by the server, under its own error code."""


def open_client(login: ServerLogin, settings: Settings) -> AsyncClient:
    return AsyncClient(login.url, login.key, ca_file=settings.ca_file)


_PARAMS = "#/body/params/"


def _of_an_option(error: ProblemError) -> RefusedByServer | None:
    """An invalid recipe parameter as an error about the option it was given with."""
    first = error.errors[0] if error.errors else {}
    pointer = str(first.get("pointer", ""))
    if not pointer.startswith(_PARAMS):
        return None
    option = registry.flag_of(pointer.removeprefix(_PARAMS).partition("/")[0])
    return RefusedByServer(error.code, f"{option}: {first['detail']}.", hint="See what it takes with --help.")


def command_error(error: ClientError, login: ServerLogin) -> GossamerError:
    """Convert an error of the client to one that commands print."""
    if isinstance(error, BadKey):
        hint = f"Log in again with 'gossamer login {login.url}'."
        if login.is_from_settings:
            hint = "It is the key in GOSSAMER_API_KEY: correct or unset that."
        return UserError("remote.key", f"{login.url} does not accept the key: {error.detail}", hint=hint)
    if isinstance(error, ProblemError) and not isinstance(error, ServerError):
        return _of_an_option(error) or RefusedByServer(error.code, error.detail, hint=error.command_hint)
    if isinstance(error, ProblemError):
        request = f" (request {error.request_id})" if error.request_id else ""
        return GossamerError(f"{login.url}: {error}{request}")
    if "TLS" in str(error):
        plain = login.url.replace("https://", "http://", 1)
        return GossamerError(f"{error} If it is a server without TLS, its address is {plain}.")
    return GossamerError(f"{error} Check the address and your connection, or use this machine with --local.")
