"""Logging in: a key is tried at its server before it is kept."""

import asyncio
import os
import sys
from pathlib import Path

import typer

from gossamer import __version__
from gossamer.cli import prompts, servers
from gossamer.cli.servers import Login
from gossamer.cli.session import say
from gossamer.client import ClientError
from gossamer.client.answers import Account
from gossamer.client.transport import is_safe
from gossamer.errors import UserError
from gossamer.settings import Settings, read_settings


def log_in(text: str, key_file: Path | None) -> None:
    settings, _ = read_settings()
    url = servers.checked(text)
    if not is_safe(url):
        typer.echo(f"Warning: {url} is not encrypted, so that others on the way can read the key.", err=True)
    login = Login(url, _key(url, key_file, settings), is_from_settings=bool(key_file is None and settings.api_key))
    account, version = asyncio.run(_try(login, settings))
    servers.keep(login)
    name = f" ({account.name})" if account.name != account.id else ""
    say(f"Logged in to {url}, account {account.id}{name}.")
    if version != __version__:
        say(f"The server has gossamer {version}, this is {__version__}: use the same where they do not understand.")
    say("Commands are about it from now on. About this machine: 'gossamer --local ...', or 'gossamer logout'.")


def log_out() -> None:
    try:
        kept = servers.stored()
    except UserError:
        kept = Login("a server", "")  # what cannot be read can be removed all the same
    servers.forget()
    said = f"Logged out of {kept.url}." if kept else "You were not logged in."
    say(f"{said} Commands are about this machine.")
    if os.environ.get("GOSSAMER_REMOTE", servers.LOCAL) != servers.LOCAL:
        say("Only GOSSAMER_REMOTE still says otherwise: unset it.")


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
            "That is no key.",
            hint="Keys are made with 'gossamer system keys create NAME' on the server.",
        )
    return key


def _standing() -> str:
    try:
        kept = servers.stored()
    except UserError:
        kept = None
    return f"you are still logged in to {kept.url}" if kept else "you are not logged in"


async def _try(login: Login, settings: Settings) -> tuple[Account, str]:
    async with servers.open_client(login, settings) as client:
        try:
            account = await client.account()
            return account, (await client.health()).version
        except ClientError as error:
            raise servers.told(error, login) from error
