"""Every service runs in the places it declares, and nowhere else."""

import asyncio
import re
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from gossamer.runtime.services import SERVICES, Service, Where, run_services, services_of
from tests.api.conftest import server
from tests.conftest import AnyDatabase
from tests.servers import RedisServer
from tests.stories.cluster import instance
from tests.stories.program import Terminal

LOUD = {"GOSSAMER_LOG_LEVEL": "debug"}


def started(log: str) -> dict[Where, list[str]]:
    """What each place has started, by the log."""
    found = {}
    for line in log.splitlines():
        if "services.started" in line:
            where = re.search(r"where=\"?(\w+)", line)
            names = re.search(r"services=\"?\[(.*?)\]", line)
            assert where, line
            assert names, line
            found[Where[where[1]]] = [name.strip(" '\"") for name in names[1].split(",")]
    return found


def declared(where: Where, without: Iterable[str] = ()) -> list[str]:
    return [one.name for one in services_of(where) if one.name not in without]


def until_all(log: Callable[[], str], *places: Where) -> dict[Where, list[str]]:
    end = time.monotonic() + 90
    while not {*places} <= {*(found := started(log()))}:
        assert time.monotonic() < end, f"only {found}\n{log()}"
        time.sleep(0.2)
    return found


def test_the_runner_of_a_home_and_its_first_worker(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path / "home", settings=LOUD)
    with terminal.begin("job", "run", "--name", "x", "--domain", "a.test", "--keyword", "CRM", "--yes") as running:
        log = terminal.home / "logs" / "gossamer.log"
        found = until_all(lambda: log.read_text() if log.exists() else "", Where.RUNNER, Where.FIRST_WORKER)
        running.terminate()
        running.communicate(timeout=60)
    # There is no object storage here, and the database is a file.
    assert found == {
        Where.RUNNER: declared(Where.RUNNER, ("storage", "database")),
        Where.FIRST_WORKER: declared(Where.FIRST_WORKER),
    }


def test_a_server(tmp_path: Path) -> None:
    with server(tmp_path / "home", "--api-only", settings=LOUD) as one:
        said = one.home / "said.txt"
        found = until_all(lambda: said.read_text() + _log(one.home), Where.SERVER)
    assert found == {Where.SERVER: declared(Where.SERVER)}


def _log(home: Path) -> str:
    log = home / "logs" / "gossamer.log"
    return log.read_text() if log.exists() else ""


@pytest.mark.story
@pytest.mark.parametrize("lanes", ["http:2,desk:2", "http:2"])
def test_the_leader_and_the_instances_of_a_cluster(
    tmp_path: Path, new_postgres: Callable[[], str], redis_server: RedisServer, lanes: str
) -> None:
    settings = {
        **LOUD,
        "GOSSAMER_DATABASE_URL": new_postgres(),
        "GOSSAMER_REDIS_URL": redis_server.url,
        "GOSSAMER_REDIS_PREFIX": f"services-{len(lanes)}",
    }
    terminal, log = Terminal(tmp_path / "home", settings=settings), tmp_path / "instance.log"
    with instance(terminal, log, "--lanes", lanes, "--processes", "1"):
        found = until_all(lambda: log.read_text() + _log(terminal.home), Where.LEADER, Where.INSTANCE)
    absent = {"storage"} | (set() if "desk" in lanes else {"conclusions", "exports", "webhooks"})
    assert found == {
        Where.LEADER: declared(Where.LEADER),
        Where.INSTANCE: declared(Where.INSTANCE, absent),
    }


def test_a_guard_is_listed_once_and_every_place_has_services() -> None:
    names = [one.name for one in SERVICES]
    assert len(names) == len(set(names))
    assert all(services_of(where) for where in Where)
    # What a home watches and a cluster does not, and the other way round: each of them on purpose.
    alone = {one.name for one in SERVICES if (Where.RUNNER in one.where) is not bool(one.where & _OF_CLUSTERS)}
    assert alone == {"disk", "lost machines", "job ends"}


_OF_CLUSTERS = Where.LEADER | Where.INSTANCE


class Failing:
    async def run(self) -> None:
        raise OSError("on purpose")


async def test_objects_have_to_fit_the_list(database: AnyDatabase) -> None:
    with pytest.raises(ValueError, match=r"missing \['FileMaker', 'Housekeeper'\], without a service \['Failing'\]"):
        await run_services(Where.SERVER, [Failing()])


async def test_one_that_fails_ends_all_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = asyncio.Event()

    class Lasting:
        async def run(self) -> None:
            try:
                await asyncio.Event().wait()
            finally:
                ended.set()

    services: list[Service[Any]] = [
        Service("lasting", Where.SERVER, Lasting, Lasting.run),
        Service("failing", Where.SERVER, Failing, Failing.run, every=1.0),
    ]
    monkeypatch.setattr("gossamer.runtime.services.SERVICES", services)
    async with asyncio.timeout(10):
        with pytest.raises(OSError, match="on purpose"):
            await run_services(Where.SERVER, [Lasting(), Failing()])
    assert ended.is_set()
