"""Some of the store is tried on a third database: Postgres behind PgBouncer, which lends a connection per transaction.

What has no locks, no time limits and no reads side by side would say nothing new there.
"""

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from shutil import copyfile
from urllib.parse import urlsplit

import pytest

from gossamer.clock import SystemClock
from gossamer.db.database import PostgresDatabase, open_database
from tests.conftest import AnyDatabase
from tests.partitioned import watch

_POOLED = ("test_checkpoints", "test_schema", "test_together", "test_visits")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "database" in metafunc.fixturenames:
        pooled = ("pgbouncer",) if metafunc.module.__name__.endswith(_POOLED) else ()
        metafunc.parametrize("database", ("sqlite", "postgres", *pooled), indirect=True)


@pytest.fixture
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[AnyDatabase]:
    url, pooled = f"sqlite:///{tmp_path}/gossamer.db", request.param == "pgbouncer"
    if request.param == "sqlite":
        copyfile(request.getfixturevalue("sqlite_file"), tmp_path / "gossamer.db")
    else:
        make: Callable[[], str] = request.getfixturevalue("new_postgres")
        url = make()
    if pooled:
        before: str = request.getfixturevalue("pooler")
        url = before.replace("/postgres", urlsplit(url).path)
    opened = open_database(url, SystemClock(), pooled=pooled)
    if isinstance(opened, PostgresDatabase):
        watch(opened)
    yield opened
    await opened.close()
