"""The operator's limit on desk work, held by real processes: several of a home, and two instances of a cluster."""

import asyncio
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from gossamer.clock import SystemClock
from gossamer.db.database import open_database
from gossamer.db.schema import upgrade
from gossamer.model.export import ExportRequest, ExportState
from gossamer.store import exports
from tests.runtime.test_background_slots import FILES_AT_WORK, most_at_once, note_down
from tests.runtime.test_exporting import job_with_matches
from tests.servers import RedisServer
from tests.stories.cluster import instance
from tests.stories.program import Terminal

FILES, LIMIT = 12, 2


@contextmanager
def maker(terminal: Terminal) -> Iterator["subprocess.Popen[bytes]"]:
    """What a command starts that does not wait for its files."""
    process = subprocess.Popen([sys.executable, "-m", "gossamer.worker", "--exports"], env=terminal.environment())
    try:
        yield process
    finally:
        process.wait(60)


@pytest.mark.story
@pytest.mark.parametrize("form", ["home", "cluster"])
async def test_the_limit_on_files_holds_over_all_processes(
    form: str, tmp_path: Path, new_postgres: Callable[[], str], redis_server: RedisServer
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    url = new_postgres() if form == "cluster" else f"sqlite:///{home}/gossamer.db"
    settings = {"GOSSAMER_DATABASE_URL": url, "GOSSAMER_DESK_LIMITS": f"export={LIMIT}"}
    terminal = Terminal(home, settings={**settings, "GOSSAMER_REDIS_PREFIX": "desk-story"})
    database = open_database(url, SystemClock())
    await database.write(upgrade)
    job = await job_with_matches(database)
    await database.write(note_down, FILES_AT_WORK)
    wanted = [ExportRequest("results", "csv", f"{number}.csv", {}) for number in range(FILES)]
    await database.write(exports.add, job.id, wanted, "")
    with ExitStack() as stack:
        for number in range(2):
            if form == "home":
                stack.enter_context(maker(terminal))
            else:
                settings["GOSSAMER_REDIS_URL"] = redis_server.url
                member = Terminal(home, settings={**terminal.settings, **settings})
                lanes = ("--lanes", "http:1,desk:4", "--processes", "1")
                stack.enter_context(instance(member, tmp_path / f"{number}.log", *lanes))
        async with asyncio.timeout(60):
            while await database.read(exports.any_open, ""):
                await asyncio.sleep(0.2)
    made = await database.read(exports.of_job, job.id)
    assert [one.state for one in made] == [ExportState.DONE] * FILES
    assert 1 <= await database.read(most_at_once) <= LIMIT
    await database.close()
