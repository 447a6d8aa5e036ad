"""What all tests share: both real databases, each test on a fresh one."""

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from shutil import copyfile
from tempfile import TemporaryDirectory
from typing import Any

import asyncpg
import pytest

from gossamer.clock import SystemClock
from gossamer.db import schema
from gossamer.db.database import PostgresDatabase, SqliteDatabase
from gossamer.db.schema import upgrade
from tests import later
from tests.brokers import rabbitmq, sqs
from tests.partitioned import watch
from tests.servers import RedisServer, object_storage, pgbouncer, postgres, redis
from tests.warden import take_along

AnyDatabase = SqliteDatabase | PostgresDatabase

_URLS = ("DATABASE_URL", "REDIS_URL", "CELERY_BROKER_URL", "FLARESOLVERR_URL")
_numbers = count(1)

# Whoever runs the tests may be logged in to a server. Also programs that tests start do not see that.
os.environ["XDG_CONFIG_HOME"] = "/nonexistent"


def pytest_configure() -> None:
    take_along()


@pytest.fixture(autouse=True)
def no_settings_of_this_machine(
    monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Tests do not see the settings, nor the home, of whoever runs them."""
    # A folder is made for those only that want one: most of some thousand tests do not.
    wanted = "tmp_path" in request.fixturenames
    own = request.getfixturevalue("tmp_path") if wanted else tmp_path_factory.getbasetemp() / f"of-{next(_numbers)}"
    for name in [name for name in os.environ if name.startswith(("GOSSAMER_", "S3_")) or name in _URLS]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("GOSSAMER_HOME", str(own / "home"))


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    # Not below pytest's own folder, which only its user may enter: the server may run as another.
    with TemporaryDirectory(prefix="gossamer-postgres-") as folder:
        Path(folder).chmod(0o755)
        with postgres(Path(folder) / "server") as url:
            yield url


@pytest.fixture(scope="session")
def pooler(postgres_server: str) -> Iterator[str]:
    """The same server behind PgBouncer in transaction mode."""
    with TemporaryDirectory(prefix="gossamer-pooler-") as folder:
        Path(folder).chmod(0o755)
        with pgbouncer(Path(folder) / "pooler", postgres_server) as url:
            yield url


@pytest.fixture(scope="session")
def storage_server() -> Iterator[str]:
    """The address of a server that speaks S3."""
    with TemporaryDirectory(prefix="gossamer-storage-") as folder, object_storage(Path(folder) / "server") as address:
        yield address


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """Shared by tests that keep it alive and use names of their own."""
    with redis(tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture(scope="session")
def rabbitmq_server() -> Iterator[str]:
    """The address of a broker of another kind."""
    with TemporaryDirectory(prefix="gossamer-rabbitmq-") as folder, rabbitmq(Path(folder) / "server") as address:
        yield address


@pytest.fixture(scope="session")
def sqs_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of something that speaks as Amazon's queues do."""
    with sqs(tmp_path_factory.mktemp("sqs") / "server") as address:
        yield address


def _apart(work: Coroutine[Any, Any, None]) -> None:
    """In a thread of its own: the test that asks may be running an event loop already."""
    with ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, work).result()


@pytest.fixture(scope="session")
def new_postgres(postgres_server: str) -> Callable[[], str]:
    """Makes a database at the present schema and returns its address."""

    async def command(sql: str) -> None:
        connection = await asyncpg.connect(postgres_server)  # type: ignore[no-untyped-call]
        try:
            await connection.execute(sql)
        finally:
            await connection.close()

    async def template() -> None:
        await command("CREATE DATABASE template_gossamer")
        database = PostgresDatabase(postgres_server.replace("/postgres", "/template_gossamer"), SystemClock())
        await database.write(upgrade)
        await database.close()

    _apart(template())

    def make() -> str:
        name = f"test_{next(_numbers)}"
        _apart(command(f"CREATE DATABASE {name} TEMPLATE template_gossamer"))
        return postgres_server.replace("/postgres", f"/{name}")

    return make


@pytest.fixture(scope="session")
def sqlite_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database at the present schema, made by all migrations, to be copied."""
    path = tmp_path_factory.mktemp("sqlite") / "template.db"

    async def make() -> None:
        database = SqliteDatabase(path, SystemClock())
        await database.write(upgrade)
        await database.close()

    _apart(make())
    return path


@pytest.fixture
def later_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make this process one of a later release, with one more revision; the folder of its migrations."""
    folder = later.make_migrations(tmp_path / "later")
    monkeypatch.setattr(schema, "SCRIPTS", folder)
    monkeypatch.setattr(schema, "HEAD", later.LATER)
    return folder


@pytest.fixture(params=["sqlite", "postgres"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/gossamer.db"
    make: Callable[[], str] = request.getfixturevalue("new_postgres")
    return make()


@pytest.fixture
async def database(database_url: str, sqlite_file: Path) -> AsyncIterator[AnyDatabase]:
    clock = SystemClock()
    opened: AnyDatabase
    if database_url.startswith("sqlite"):
        path = Path(database_url.removeprefix("sqlite:///"))
        copyfile(sqlite_file, path)
        opened = SqliteDatabase(path, clock)
    else:
        opened = PostgresDatabase(database_url, clock)
        watch(opened)
    yield opened
    await opened.close()


@pytest.fixture
def logging_as_it_was() -> Iterator[None]:
    """For tests that configure the log."""
    root, ours = logging.getLogger(), logging.getLogger("gossamer")
    before = root.level, ours.level, list(root.handlers)
    yield
    for handler in [handler for handler in root.handlers if handler not in before[2]]:
        root.removeHandler(handler)
        handler.close()
    root.setLevel(before[0])
    ours.setLevel(before[1])
