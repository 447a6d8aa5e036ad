"""Persistent data of this installation: rows, files, its log and its secret."""

from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from gossamer.accounts.sealing import Sealer
from gossamer.blobs.atomic_files import make_secret
from gossamer.blobs.folder import FolderBlobs
from gossamer.blobs.page_files import PageFiles
from gossamer.clock import SteadyClock
from gossamer.db.database import PostgresDatabase, SqliteDatabase
from gossamer.db.health import database_time
from gossamer.errors import UserError
from gossamer.logging import configure
from gossamer.settings import Settings
from gossamer.webhooks.signing import KeySeals

if TYPE_CHECKING:
    from gossamer.blobs.objects import ObjectBlobs


def database_url(settings: Settings) -> str:
    if settings.database_url:
        return settings.database_url.get_secret_value()
    return f"sqlite:///{settings.home / 'gossamer.db'}"


async def agree(clock: SteadyClock, database: SqliteDatabase | PostgresDatabase) -> None:
    """Set the clock to that of the database server, if there is one: all workers compare due times with it."""
    if database.dialect.own_clock:
        clock.go_by(await database.read(database_time))


def object_storage(settings: Settings) -> "ObjectBlobs | None":
    """Return the object storage that the settings name; None without one."""
    if not settings.storage_url:
        return None
    # An optional library.
    from gossamer.blobs.objects import StorageAccess, open_objects

    keys = (settings.storage_access_key, settings.storage_secret_key)
    access, secret = (key.get_secret_value() if key else "" for key in keys)
    return open_objects(
        StorageAccess(settings.storage_url, settings.storage_endpoint or "", settings.storage_region, access, secret)
    )


def page_files(settings: Settings, clock: SteadyClock) -> PageFiles:
    """Return the store of page files, next to the exported files, where all workers find it."""
    remote = object_storage(settings)
    return PageFiles(remote or FolderBlobs(settings.home / "files", make_secret(settings.home / "secret"), clock))


def sealer(settings: Settings) -> Sealer:
    """Return the encryption of users' secrets."""
    return Sealer(installation_secret(settings))


def key_seals(settings: Settings) -> KeySeals:
    """Return the encryption of webhook secrets.

    The data folder's own secret can still decrypt if the operator sets another one later.
    """
    former = Sealer(make_secret(settings.home / "secret")) if settings.api_secret else None
    return KeySeals(sealer(settings), former, is_known_to_all=not lacks_shared_secret(settings))


def lacks_shared_secret(settings: Settings) -> bool:
    """Return True if other workers may have to decrypt data sealed here, but could not.

    A database server, Redis or a broker is shared: another data folder or machine may work on its jobs,
    and needs the same secret.
    """
    url = settings.database_url.get_secret_value() if settings.database_url else ""
    is_shared = bool(settings.redis_url or settings.broker_url) or url.startswith("postgres")
    return is_shared and not settings.api_secret


def installation_secret(settings: Settings) -> bytes:
    """Return the secret from which all signing and encryption keys of this installation are derived."""
    given = settings.api_secret
    return given.get_secret_value().encode() if given else make_secret(settings.home / "secret")


def log_path(settings: Settings) -> Path:
    return settings.log_file or settings.home / "logs" / "gossamer.log"


def start_log(settings: Settings, *, stream: TextIO | None = None) -> None:
    """Start the log, to a stream or to the file in the data folder; values of secret settings are left out of it."""
    secrets = settings.hidden_values()
    if stream is not None:
        configure(settings.log_format, settings.log_level, stream=stream, secrets=secrets)
        return
    path = log_path(settings)
    if settings.home.exists() and not settings.home.is_dir():
        raise UserError(
            "home.unwritable",
            f"The data folder {settings.home} is not a folder.",
            hint="Point GOSSAMER_HOME at a folder of your own.",
        )
    try:
        for folder in (settings.home, path.parent):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        configure(settings.log_format, settings.log_level, file=path, secrets=secrets)
    except OSError as error:
        if not settings.home.exists():
            raise UserError(
                "home.unwritable",
                f"The data folder {settings.home} does not exist and cannot be created: {error.strerror or error}.",
                hint="Point GOSSAMER_HOME at a folder of your own.",
            ) from error
        raise UserError(
            "home.unwritable",
            f"Cannot write to {path}: {error.strerror or error}.",
            hint="Point GOSSAMER_HOME at a folder of your own.",
        ) from error
