"""What autoscalers are told to ask for is what the command says."""

import re
from collections.abc import Callable
from pathlib import Path

from sqlalchemy import text

from gossamer.clock import SystemClock
from gossamer.store import queue
from gossamer.store.database import PostgresDatabase
from tests.jobs import claim_all, make_job

DEPLOY = Path(__file__).parent.parent / "deploy"


def query() -> str:
    """The folded scalar behind `query:`, as a YAML reader gives it."""
    found = re.search(r"query: >-\n((?: {10}.*\n)+)", (DEPLOY / "keda.yaml").read_text())
    assert found
    return " ".join(line.strip() for line in found[1].splitlines())


async def test_the_query_of_keda_gives_the_backlog(new_postgres: Callable[[], str]) -> None:
    database = PostgresDatabase(new_postgres(), SystemClock())
    await database.write(make_job, "a.test", "b.test")
    await database.write(claim_all)
    await database.write(make_job, "c.test")
    await database.write(make_job, "d.test", start=False)
    assert await database.read(lambda tx: tx.run(text(query())).scalar_one()) == 3
    assert await database.read(queue.backlog, "http") == 3
    await database.close()
