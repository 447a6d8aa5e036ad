"""A recipe from outside in real processes: everything the engine offers one, undisturbed, steered and killed."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

import psutil
import pytest
from sqlalchemy import select

from gossamer.app import open_app
from gossamer.clock import SystemClock
from gossamer.crawl.audit import audit
from gossamer.db import tables
from gossamer.db.database import open_database
from gossamer.intake.control import find_job, retry_failed
from gossamer.intake.submit import submit
from gossamer.model.job import JobRequest
from gossamer.model.states import JobState, Phase
from gossamer.recipes.base import Recipe
from gossamer.settings import Settings
from gossamer.store import conclusions, counters, exports, jobs
from tests.api.conftest import server
from tests.conftest import AnyDatabase
from tests.servers import RedisServer
from tests.stories.cluster import instance
from tests.stories.program import Terminal
from tests.toy_recipe import TOY
from tests.toy_recipe.world import ToyWorld, serve

ROOT = Path(__file__).parents[2]
Wanted = Callable[[JobState, conclusions.Conclusion | None], bool]
RECIPES: dict[str, Recipe] = {"toy": TOY}


@dataclass
class Place:
    """A home with the plug-in, and looks into its rows."""

    home: Path
    world: ToyWorld
    url: str
    settings: dict[str, str] = field(default_factory=dict)

    def environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("GOSSAMER_")}
        return {**kept, **self.own()}

    def own(self) -> dict[str, str]:
        """The settings of its programs."""
        return {
            "GOSSAMER_HOME": str(self.home),
            "GOSSAMER_DATABASE_URL": self.url,
            "GOSSAMER_PLUGINS": "tests.toy_recipe:TOY",
            "GOSSAMER_CONNECT_TO": f"*.test=127.0.0.1:{self.world.port}",
            "GOSSAMER_DOMAIN_RATE": "500",
            "GOSSAMER_SECRETS": "source=s3cret-of-the-source",
            "GOSSAMER_LEASE": "6s",
            "PYTHONPATH": str(ROOT),
            **self.settings,
        }

    @contextmanager
    def runner(self, processes: int = 2) -> Iterator[psutil.Process]:
        """The runner of the home; what it started ends with it."""
        log = (self.home / "runner.log").open("ab")
        command = [sys.executable, "-P", "-m", "gossamer.worker", "--runner", "--processes", str(processes)]
        process = subprocess.Popen(command, env=self.environment(), stdout=log, stderr=log, start_new_session=True)
        try:
            yield psutil.Process(process.pid)
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.wait(40) in (0, -9)
            log.close()

    def do(self, work: Callable[[AnyDatabase], Any]) -> Any:
        async def once() -> Any:
            database = open_database(self.url, SystemClock())
            try:
                return await work(database)
            finally:
                await database.close()

        return asyncio.run(once())

    def submit(self, *areas: str, **more: Any) -> UUID:
        params = {"source": "http://source.test/find", "areas": list(areas), "credential": "source", **more}

        async def send(database: AnyDatabase) -> UUID:
            return (await submit(database, RECIPES, JobRequest("toy", "toy", params, ()))).id

        found: UUID = self.do(send)
        return found

    def look(self, job_id: UUID) -> tuple[JobState, conclusions.Conclusion | None]:
        async def read(database: AnyDatabase) -> Any:
            job = await database.read(jobs.get, job_id)
            assert job
            return job.state, await database.read(conclusions.of_job, job_id)

        found: tuple[JobState, conclusions.Conclusion | None] = self.do(read)
        return found

    def until(
        self, job_id: UUID, wanted: Callable[[JobState, conclusions.Conclusion | None], bool], seconds: float = 120
    ) -> None:
        end = time.monotonic() + seconds
        while not wanted(*(seen := self.look(job_id))):
            assert time.monotonic() < end, f"still {seen}\n{self.log()}"
            assert seen[0] is not JobState.FAILED, self.log()
            time.sleep(0.02)

    def completed(self, job_id: UUID, seconds: float = 240) -> None:
        self.until(job_id, lambda state, _: state is JobState.COMPLETED, seconds)

    def shops(self, job_id: UUID) -> list[tuple[bytes, dict[str, Any]]]:
        kind = (tables.records.c.job_id == job_id) & (tables.records.c.kind == "shop")
        query = select(tables.records.c.key, tables.records.c.data).where(kind).order_by(tables.records.c.key)
        found = self.do(lambda database: database.read(lambda tx: [tuple(row) for row in tx.rows(query, {})]))
        return [(bytes(key), data) for key, data in found]

    def by_name(self, job_id: UUID) -> dict[str, dict[str, Any]]:
        return {data["name"]: data for _, data in self.shops(job_id)}

    def assert_clean(self, job_id: UUID) -> None:
        report = self.do(lambda database: audit(database, job_id, RECIPES))
        assert report.clean, report.sentence

    def files(self, job_id: UUID) -> list[Any]:
        found: list[Any] = self.do(lambda database: database.read(exports.of_job, job_id))
        return found

    def log(self) -> str:
        path = self.home / "logs" / "gossamer.log"
        return (
            "\n".join(path.read_text().splitlines()[-60:]) if path.exists() else (self.home / "runner.log").read_text()
        )


def conclusions_of(runner: psutil.Process) -> list[psutil.Process]:
    found = []
    for child in runner.children(recursive=True):
        with suppress(psutil.NoSuchProcess):  # it may end while it is looked at
            if "--conclude" in child.cmdline():
                found.append(child)
    return found


def kill_conclusions(runner: psutil.Process) -> None:
    for child in conclusions_of(runner):
        with suppress(psutil.NoSuchProcess):
            child.kill()


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    home = tmp_path / "home"
    home.mkdir()
    make: Callable[[], str] | None = request.getfixturevalue("new_postgres") if request.param == "postgres" else None
    url = make() if make else f"sqlite:///{home}/gossamer.db"

    async def set_up() -> None:
        async with open_app(Settings(home=home, database_url=url)):
            return

    asyncio.run(set_up())
    with serve(ToyWorld(secret="s3cret-of-the-source")) as world:
        yield Place(home, world, url)


def fill(world: ToyWorld, shops: int) -> None:
    """Half of the shops in each of two areas, and every tenth also in the other one, on another site."""
    hosts = [f"shop-{number}.test" for number in range(shops)]
    world.areas = {"north": hosts[: shops // 2], "south": hosts[shops // 2 :]}
    for number in range(0, shops // 2, 10):
        twin = f"twin-{number}.test"
        world.areas["south"].append(twin)
        world.names[twin] = f"shop-{number}"
    world.prices = {host: 5 + number % 7 for number, host in enumerate(hosts)}


@pytest.mark.story
def test_a_job_asks_opens_carries_compares_and_merges(place: Place) -> None:
    world = place.world
    fill(world, 40)
    world.part = 15
    with place.runner():
        first = place.submit("north", "south")
        place.completed(first)
        assert sorted(set(world.sent)) == [("north", 0), ("north", 1), ("south", 0), ("south", 1)]
        shops = place.by_name(first)
        assert len(shops) == 40
        assert shops["shop-10"] == {
            **{"name": "shop-10", "areas": "north+south", "price": 10, "pages": 2},
            **{"change": "new", "price_before": None},
        }
        # The world changes: one shop is dearer, one is new, one is gone, and one is only not named any more.
        world.prices["shop-3.test"] = 99
        world.areas["north"].append("shop-40.test")
        world.gone.add("shop-5.test")
        world.areas["north"] = [host for host in world.areas["north"] if host not in ("shop-5.test", "shop-6.test")]
        before = world.asked["shop-6.test/"]
        second = place.submit("north", "south")
        place.completed(second)
    now = place.by_name(second)
    assert {name: shop["change"] for name, shop in now.items() if shop["change"] != "same"} == {
        **{"shop-3": "changed", "shop-40": "new", "shop-5": "gone"},
    }
    assert (now["shop-3"]["price_before"], now["shop-3"]["price"]) == (5 + 3, 99)
    assert world.asked["shop-6.test/"] == before + 1, "it was asked for last, once"
    for job_id in (first, second):
        place.assert_clean(job_id)
        (made,) = place.files(job_id)
        assert made.is_there
        content = Path(place.home / "files" / made.blob_key) if made.home else None
        assert made.rows_done == len(place.shops(job_id))
        assert content is None or not content.exists() or content.stat().st_size == made.size


@pytest.mark.story
def test_two_thousand_sites(place: Place) -> None:
    fill(place.world, 2_000)
    with place.runner():
        job_id = place.submit("north", "south", compare_with="none")
        place.completed(job_id, 500)
    progress = place.do(lambda database: database.read(counters.progress, job_id))
    assert progress.sites_total == progress.sites_done == 2_000 + 100 + 1
    assert len(place.shops(job_id)) == 2_000
    place.assert_clean(job_id)


@pytest.mark.story
def test_killed_in_the_last_call_and_in_the_conclusion_it_says_the_same(place: Place) -> None:
    world = place.world
    fill(world, 60)
    with place.runner():
        before = place.submit("north", "south", compare_with="none")
        place.completed(before)
        for host in [f"shop-{number}.test" for number in range(20)]:
            world.areas["north"].remove(host)  # no longer named, still there: the last call asks for them
        world.gone.update({"shop-2.test", "shop-30.test"})
        calm = place.submit("north", "south", compare_with=str(before))
        place.completed(calm)
    wanted = place.shops(calm)
    assert {data["change"] for _, data in wanted} == {"same", "gone"}
    rough = place.submit("north", "south", compare_with=str(before), batch=5, pause=0.3)
    world.delay = 0.3
    with place.runner() as runner:
        place.until(rough, lambda _, seen: in_phase(seen, Phase.CALLING) and bool(conclusions_of(runner)))
        kill_conclusions(runner)
        place.until(rough, lambda _, seen: in_phase(seen, Phase.LAST_CALL))
        runner.kill()
    world.delay = 0
    with place.runner() as runner:
        cursor = ""
        for _ in range(2):
            cursor = further(place, rough, cursor)
            kill_conclusions(runner)
        further(place, rough, cursor)
        runner.kill()
    with place.runner():
        place.completed(rough)
    assert place.shops(rough) == wanted
    place.assert_clean(rough)


def in_phase(seen: conclusions.Conclusion | None, phase: Phase) -> bool:
    return seen is not None and seen.phase is phase


def further(place: Place, job_id: UUID, cursor: str) -> str:
    """Wait until the conclusion is further than this; how far it is then."""
    place.until(job_id, lambda _, seen: seen is not None and in_phase(seen, Phase.CONCLUDING) and seen.cursor > cursor)
    seen = place.look(job_id)[1]
    assert seen
    return seen.cursor


@pytest.mark.story
def test_what_no_longer_arises_after_another_try_is_gone(place: Place) -> None:
    world = place.world
    fill(world, 30)
    world.broken.update({"twin-0.test", "shop-7.test"})
    with place.runner():
        job_id = place.submit("north", "south", compare_with="none")
        place.completed(job_id)
        first = {(data["name"], data["areas"]) for _, data in place.shops(job_id)}
        assert ("shop-0", "north") in first
        assert len(first) == 29
        (old,) = place.files(job_id)
        world.broken.clear()

    async def again(database: AnyDatabase) -> None:
        # What answered with an error of the client's is for people to try again, as if it had been the weather.
        await database.write(
            lambda tx: tx.run(
                tables.pages.update().where(tables.pages.c.reason == "CLIENT_ERROR").values(reason="TIMEOUT")
            )
        )
        await retry_failed(database, await find_job(database, str(job_id)))

    # A runner ends when nothing is left to do: another one is started, as the command would.
    place.do(again)
    with place.runner():
        place.completed(job_id)
    then = {(data["name"], data["areas"]) for _, data in place.shops(job_id)}
    assert ("shop-0", "north") not in then
    assert {("shop-0", "north+south"), ("shop-7", "north")} <= then
    assert len(then) == 30
    place.assert_clean(job_id)
    files = place.files(job_id)
    assert [one.is_there for one in files if one.id != old.id] == [True]


@pytest.mark.story
@pytest.mark.parametrize("how", ["pause", "cancel", "shutdown"])
def test_it_stops_between_two_steps_and_goes_on_there(place: Place, how: str) -> None:
    fill(place.world, 40)
    with place.runner() as runner:
        job_id = place.submit("north", "south", compare_with="none", batch=4, pause=0.4)
        place.until(job_id, lambda _, seen: seen is not None and seen.phase is Phase.CONCLUDING and bool(seen.cursor))
        if how != "shutdown":
            target = JobState.PAUSING if how == "pause" else JobState.CANCELLED
            place.do(lambda database: database.write(jobs.move, job_id, target))
            end = JobState.PAUSED if how == "pause" else JobState.CANCELLED
            place.until(job_id, lambda state, _: state is end)
            deadline = time.monotonic() + 60
            while conclusions_of(runner):
                assert time.monotonic() < deadline
                time.sleep(0.05)
    _, stopped = place.look(job_id)
    assert stopped
    assert stopped.phase is Phase.CONCLUDING
    assert stopped.cursor
    written = len(place.shops(job_id))
    assert 0 < written < 40
    if how != "shutdown":
        place.do(lambda database: database.write(jobs.move, job_id, JobState.RUNNING))
    with place.runner():
        place.completed(job_id)
    assert len(place.shops(job_id)) == 40
    place.assert_clean(job_id)


@pytest.mark.story
def test_a_server_takes_such_a_job_and_works_it(place: Place) -> None:
    fill(place.world, 30)
    params = {"source": "http://source.test/find", "areas": ["north", "south"], "credential": "source"}
    with server(place.home, settings=place.own()) as one, one.client() as client:
        asked = client.post("/v1/jobs", json={"recipe": "toy", "name": "By the server", "params": params})
        assert asked.status_code == 201, asked.text
        job_id = UUID(asked.json()["id"])
        doing = set()
        while (status := client.get(f"/v1/jobs/{job_id}").json())["state"] == "running":
            doing.add(status["reason"])
            time.sleep(0.05)
        assert status["state"] == "completed", status
        assert "" in doing
        (made,) = client.get(f"/v1/jobs/{job_id}/exports").json()["items"]
        content = client.get(made["url"])
        assert len(content.content) == made["size_bytes"]
        assert content.text.count("\n") == 30 + 1
    assert len(place.shops(job_id)) == 30
    place.assert_clean(job_id)


@pytest.mark.story
def test_workers_of_a_cluster_work_such_a_job(
    tmp_path: Path, new_postgres: Callable[[], str], redis_server: RedisServer
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    with serve(ToyWorld(secret="s3cret-of-the-source")) as world:
        settings = {"GOSSAMER_REDIS_URL": redis_server.url, "GOSSAMER_REDIS_PREFIX": "toy-recipe"}
        place = Place(home, world, new_postgres(), settings)
        fill(world, 60)
        terminal, log = Terminal(home, settings=place.own()), tmp_path / "instance.log"
        with instance(terminal, log, "--lanes", "http:8,desk:2", "--processes", "2") as running:
            calm = place.submit("north", "south", compare_with="none")
            place.completed(calm)
            rough = place.submit("north", "south", compare_with="none", batch=5, pause=0.3)
            cursor = further(place, rough, "")
            kill_conclusions(psutil.Process(running.pid))
            further(place, rough, cursor)
            place.completed(rough)
        assert len(place.shops(calm)) == 60
        assert place.shops(rough) == place.shops(calm)
        for job_id in (calm, rough):
            place.assert_clean(job_id)
            (made,) = place.files(job_id)
            assert made.is_there
