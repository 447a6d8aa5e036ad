"""A pooler before the server: one that nobody has named is said, and a machine cut off behind it blocks nobody.

The settings of PgBouncer are those of docs/howto/use-postgres.md.
"""

import asyncio
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit

import asyncpg
import pytest
from sqlalchemy import text

from gossamer.clock import SystemClock
from gossamer.db.database import PostgresDatabase
from gossamer.db.transactions import Tx
from gossamer.errors import UserError
from tests.chaos.machines import DATABASE, Machine, no_namespaces, open_machines
from tests.chaos.postgres import postgres_server as own_server
from tests.servers import pgbouncer

DOCS = Path(__file__).parents[2] / "docs" / "howto" / "use-postgres.md"
LONGEST = timedelta(seconds=60)


def documented() -> tuple[str, ...]:
    (block,) = re.findall(r"```ini\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    return tuple(line for line in block.splitlines() if line.startswith("tcp_"))


@contextmanager
def pooled(server: str, *more: str, host: str = "127.0.0.1") -> Iterator[str]:
    with TemporaryDirectory(prefix="gossamer-pooler-") as folder:
        Path(folder).chmod(0o755)
        with pgbouncer(Path(folder) / "pooler", server, *more, host=host) as url:
            yield url


def one(tx: Tx) -> object:
    return tx.run(text("SELECT 1")).scalar()


async def test_a_pooler_that_nobody_has_named_is_said(pooler: str) -> None:
    database = PostgresDatabase(pooler, SystemClock(), longest=LONGEST)
    with pytest.raises(UserError, match="is reached through a pooler") as caught:
        await database.read(one)
    assert caught.value.code == "database.pooler"
    assert caught.value.hint == "Set GOSSAMER_DATABASE_POOLING=transaction."
    await database.close()


async def test_one_that_swallows_what_it_does_not_know_is_said_too(postgres_server: str) -> None:
    swallowed = "statement_timeout,idle_in_transaction_session_timeout,tcp_keepalives_idle,tcp_keepalives_interval"
    line = f"ignore_startup_parameters = {swallowed},tcp_keepalives_count,tcp_user_timeout,extra_float_digits"
    with pooled(postgres_server, line) as url:
        database = PostgresDatabase(url, SystemClock(), longest=LONGEST)
        with pytest.raises(UserError, match="is reached through a pooler"):
            await database.refuse_pooler()
        await database.close()
        named = PostgresDatabase(url, SystemClock(), longest=LONGEST, pooled=True)
        await named.refuse_pooler()
        assert await named.read(one) == 1
        await named.close()


@pytest.mark.parametrize("pooling", ["session", "transaction"])
async def test_a_connection_says_whose_it_is(postgres_server: str, pooler: str, pooling: str) -> None:
    url = pooler if pooling == "transaction" else postgres_server
    database = PostgresDatabase(url, SystemClock(), longest=LONGEST, pooled=pooling == "transaction")
    await database.refuse_pooler()
    name = await database.read(lambda tx: tx.run(text("SELECT current_setting('application_name')")).scalar())
    assert re.fullmatch(r"gossamer \S+/\d+", str(name))
    assert len(str(name)) < 64
    await database.close()


_HOLDS = """
import asyncio, sys, time
from datetime import timedelta
from sqlalchemy import text
from gossamer.clock import SystemClock
from gossamer.db.database import PostgresDatabase

url, how = sys.argv[1:]

def hold(tx):
    tx.run(text(f"LOCK TABLE {how}"))
    print("holds", flush=True)
    time.sleep(900)

async def main():
    database = PostgresDatabase(url, SystemClock(), longest=timedelta(seconds=900), pooled=how == "pooled")
    await database.write(hold)

asyncio.run(main())
"""


@pytest.fixture
def machine() -> Iterator[Machine]:
    if reason := no_namespaces():
        pytest.skip(reason)
    with open_machines(namespaces=True) as machines:
        yield machines[0]


@pytest.mark.story
@pytest.mark.xdist_group("chaos-cluster")  # which has machines too
def test_a_machine_cut_off_in_the_middle_of_a_transaction_blocks_nobody_for_long(machine: Machine) -> None:
    """Directly and through PgBouncer. The transaction may be idle for 15 minutes: nothing else ends it."""
    gateway = machine.gateways[DATABASE]
    with own_server(gateway) as server, pooled(server.url("postgres"), *documented(), host=gateway) as through:
        local = server.create("cut")
        asyncio.run(run(local, "CREATE TABLE direct (); CREATE TABLE pooled ()"))
        addresses = {"direct": f"{gateway}:{server.port}", "pooled": urlsplit(through).netloc.rpartition("@")[2]}
        with ExitStack() as stack:
            for how, address in addresses.items():
                command = [*machine.prefix, sys.executable, "-c", _HOLDS, server.url("cut", address), how]
                process = stack.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
                stack.callback(process.kill)
                assert process.stdout is not None
                assert process.stdout.readline() == "holds\n"
            machine.cut_off()
            stack.callback(machine.bring_back)
            cut = time.monotonic()
            for how in addresses:
                asyncio.run(free(local, how))
            assert time.monotonic() - cut < 120


async def run(url: str, statement: str) -> None:
    connection = await asyncpg.connect(url)  # type: ignore[no-untyped-call]
    try:
        await connection.execute(statement)
    finally:
        await connection.close()


async def free(url: str, table: str, seconds: float = 180) -> None:
    """Until nobody holds it."""
    async with asyncio.timeout(seconds):
        while True:
            try:
                await run(url, f"BEGIN; LOCK TABLE {table} NOWAIT; COMMIT")
            except asyncpg.exceptions.LockNotAvailableError:
                await asyncio.sleep(0.2)
            else:
                return
