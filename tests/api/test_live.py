"""Following a job, and logging in to do so."""

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import timedelta
from typing import Any, Concatenate, ParamSpec, TypeVar
from uuid import UUID, uuid4

import orjson
import pytest
from sqlalchemy import select
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from gossamer.accounts import passwords
from gossamer.accounts import service as account_service
from gossamer.api.live import BEHIND, Follower, Live, TooSlow, Update
from gossamer.clock import SystemClock
from gossamer.crawl.remaining_work import RemainingWork
from gossamer.db import tables
from gossamer.db.database import open_database
from gossamer.db.schema import ready_database
from gossamer.db.transactions import Tx
from gossamer.model.account import Right
from gossamer.model.job import Job, Progress
from gossamer.model.page import Visit
from gossamer.model.states import JobState
from gossamer.settle.commit import commit
from gossamer.settle.step import HandBack, Step
from gossamer.store import events as event_rows
from gossamer.store import jobs, visits
from tests.api.conftest import Server, new_job
from tests.conftest import AnyDatabase
from tests.jobs import LEASE, done, make_job, tokens

P = ParamSpec("P")
T = TypeVar("T")

pytestmark = pytest.mark.xdist_group("api")  # they share a server

PASSWORD = "a sentence that only ann says"


@pytest.fixture(scope="module")
def ann(api: Server) -> str:
    """Somebody who may log in to the account `other`."""

    async def work() -> None:
        database = await ready_database(f"sqlite:///{api.home}/gossamer.db", SystemClock())
        account = await account_service.find_account(database, "other")
        await account_service.add_user(database, account, "Ann@acme.test", passwords.digest(PASSWORD), Right.SUBMIT)
        await database.close()

    asyncio.run(work())
    return "ann@acme.test"


def test_logging_in_renewing_and_logging_out(api: Server, ann: str) -> None:
    with api.stranger() as client:
        wrong = client.post("/v1/auth/login", json={"email": ann, "password": "something else entirely"})
        nobody = client.post("/v1/auth/login", json={"email": "nobody@acme.test", "password": PASSWORD})
        assert (wrong.status_code, wrong.json()["code"]) == (401, "auth.login")
        assert wrong.json()["detail"] == nobody.json()["detail"]
        pair = client.post("/v1/auth/login", json={"email": ann, "password": PASSWORD}).json()
        mine = {"Authorization": f"Bearer {pair['access_token']}"}
        assert client.get("/v1/account", headers=mine).json()["id"] == "other"
        assert client.get("/v1/keys", headers=mine).status_code == 403
        renewed = client.post("/v1/auth/refresh", json={"refresh_token": pair["refresh_token"]}).json()
        assert renewed["refresh_token"] != pair["refresh_token"]
        mine = {"Authorization": f"Bearer {renewed['access_token']}"}
        assert client.post("/v1/auth/logout", headers=mine).status_code == 204
        assert client.get("/v1/account", headers=mine).json()["code"] == "auth.login"
        assert client.post("/v1/auth/refresh", json={"refresh_token": renewed["refresh_token"]}).status_code == 401


def test_a_token_that_comes_twice_ends_the_login(api: Server, ann: str) -> None:
    with api.stranger() as client:
        pair = client.post("/v1/auth/login", json={"email": ann, "password": PASSWORD}).json()
        again = {"refresh_token": pair["refresh_token"]}
        fresh = client.post("/v1/auth/refresh", json=again).json()
        assert client.post("/v1/auth/refresh", json=again).status_code == 401
        mine = {"Authorization": f"Bearer {fresh['access_token']}"}
        assert client.get("/v1/account", headers=mine).status_code == 401


def test_passwords_cannot_be_tried_for_ever(api: Server) -> None:
    with api.stranger() as client:
        body = {"email": "x@acme.test", "password": "w"}
        away = {"X-Forwarded-For": "10.7.7.7"}
        answers = [client.post("/v1/auth/login", json=body, headers=away).status_code for _ in range(11)]
    assert answers[-1] == 429


def events(lines: Iterator[str]) -> Iterator[dict[str, Any]]:
    said: dict[str, Any] = {}
    for line in lines:
        name, _, value = line.partition(": ")
        if not line and "data" in said:
            yield {**said, "data": orjson.loads(said["data"])}
            said = {}
        elif name in ("id", "event", "data"):
            said[name] = value


def test_a_job_is_followed_by_events_and_gone_on_with(api: Server) -> None:
    with api.client() as client:
        path = f"/v1/jobs/{client.post('/v1/jobs', json=new_job()).json()['id']}"
        with api.client() as reader, reader.stream("GET", f"{path}/live") as answer:
            assert answer.headers["content-type"].startswith("text/event-stream")
            stream = events(answer.iter_lines())
            first = next(stream)
            assert first["data"]["job"]["state"] == "running"
            assert first["data"]["progress"]["sites"]["total"] == 1
            client.post(f"{path}/pause")
            second = next(one for one in stream if one["data"]["job"]["state"] == "pausing")
            assert "job.pausing" in [one["kind"] for one in second["data"]["events"]]
        client.post(f"{path}/resume")
        client.post(f"{path}/cancel")
        since = {"Last-Event-ID": second["id"]}
        with client.stream("GET", f"{path}/live", headers=since) as answer:
            rest = list(events(answer.iter_lines()))
        assert rest[-1]["event"] == "end"
        kinds = [one["kind"] for said in rest for one in said["data"]["events"]]
        assert kinds == ["job.running", "job.cancelled"]


def test_whatever_happens_there_are_four_updates_a_second_at_most(api: Server) -> None:
    with api.client() as client, api.client() as reader:
        path = f"/v1/jobs/{client.post('/v1/jobs', json=new_job()).json()['id']}"
        began = time.monotonic()
        with reader.stream("GET", f"{path}/live") as answer:
            for _ in range(40):
                client.post(f"{path}/pause")
                client.post(f"{path}/resume")
            client.post(f"{path}/cancel")
            updates = list(events(answer.iter_lines()))
        took = time.monotonic() - began
        # The first comes at once; a slow machine only makes them fewer.
        assert 2 <= len(updates) <= took / 0.25 + 2
        changes = [one["kind"] for said in updates for one in said["data"]["events"]]
        assert changes.count("job.pausing") == 40  # and none of what happened is left out
        assert updates[-1]["event"] == "end"


def test_a_job_is_followed_over_a_websocket(api: Server, ann: str) -> None:
    with api.client() as client:
        job = client.post("/v1/jobs", json=new_job()).json()["id"]
        address = f"{api.url.replace('http', 'ws', 1)}/v1/jobs/{job}/live"
        with connect(address, additional_headers={"X-API-Key": api.keys["default"]["read"]}) as socket:
            assert orjson.loads(socket.recv(timeout=20))["job"]["state"] == "running"
            client.post(f"/v1/jobs/{job}/cancel")
            said = [orjson.loads(text) for text in socket]
        assert (said[-1]["type"], said[-1]["job"]["state"]) == ("end", "cancelled")
        for headers in ({}, {"X-API-Key": api.keys["other"]["admin"]}):
            with pytest.raises(InvalidStatus) as refused, connect(address, additional_headers=headers):
                pass
            assert refused.value.response.status_code == (404 if headers else 401)


def at_database(api: Server, work: Callable[Concatenate[Tx, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
    """As some other process of that home does it."""

    async def done_there() -> T:
        database = open_database(f"sqlite:///{api.home}/gossamer.db", SystemClock())
        try:
            return await database.write(work, *args, **kwargs)
        finally:
            await database.close()

    return asyncio.run(done_there())


def take_visit(tx: Tx, job: str, lease: timedelta = LEASE) -> Visit:
    mine = tx.run(select(tables.visits.c.id).where(tables.visits.c.job_id == UUID(job))).scalars()
    (visit,) = visits.claim(tx, tokens(mine), "home/0-1", lease)
    return visit


def read_and_hand_back(tx: Tx, visit: Visit) -> None:
    page, back = done(visit, f"http://{visit.host}/"), Step(visit, ending=HandBack(tx.now))
    assert not commit(tx, [page, back], 0).lost


def test_the_end_comes_after_what_was_in_flight_and_nothing_after_it(api: Server) -> None:
    with api.client() as client, api.client() as reader:
        job = client.post("/v1/jobs", json=new_job()).json()["id"]
        visit = at_database(api, take_visit, job)
        address = f"{api.url.replace('http', 'ws', 1)}/v1/jobs/{job}/live"
        mine = {"X-API-Key": api.keys["default"]["read"]}
        with (
            reader.stream("GET", f"/v1/jobs/{job}/live") as answer,
            connect(address, additional_headers=mine) as socket,
        ):
            stream = events(answer.iter_lines())
            client.post(f"/v1/jobs/{job}/cancel")
            cancelled = next(one for one in stream if one["data"]["job"]["state"] == "cancelled")
            assert (cancelled["event"], cancelled["data"]["progress"]["pages"]["done"]) == ("update", 0)
            at_database(api, read_and_hand_back, visit)
            rest = list(stream)
            said = [orjson.loads(text) for text in socket]
        last = client.get(f"/v1/jobs/{job}").json()["progress"]
        assert last["pages"]["done"] == 1
        for updates in ([one["data"] for one in rest], said):
            assert [one["type"] for one in updates].index("end") == len(updates) - 1
            assert updates[-1]["progress"] == last


def test_whoever_died_with_pages_in_flight_is_not_waited_for_longer_than_the_lease(api: Server) -> None:
    with api.client() as client:
        job = client.post("/v1/jobs", json=new_job()).json()["id"]
        at_database(api, take_visit, job, timedelta(seconds=1))
        client.post(f"/v1/jobs/{job}/cancel")
        with client.stream("GET", f"/v1/jobs/{job}/live") as answer:
            assert [one["event"] for one in events(answer.iter_lines())][-1] == "end"


def many_events(tx: Tx, job: str) -> None:
    for number in range(450):
        event_rows.add(tx, UUID(job), "site.done", f"number {number}")
    assert jobs.move(tx, UUID(job), JobState.CANCELLED)


def test_what_does_not_fit_into_one_update_comes_before_the_end(api: Server) -> None:
    with api.client() as client, api.client() as reader:
        job = client.post("/v1/jobs", json=new_job()).json()["id"]
        with reader.stream("GET", f"/v1/jobs/{job}/live") as answer:
            stream = events(answer.iter_lines())
            next(stream)
            at_database(api, many_events, job)
            rest = list(stream)
        kinds = [one["kind"] for said in rest for one in said["data"]["events"]]
        assert (kinds.count("site.done"), kinds[-1], rest[-1]["event"]) == (450, "job.cancelled", "end")


def _update(number: int, state: JobState = JobState.RUNNING) -> Update:
    now = SystemClock().now()
    job = Job(uuid4(), "x", "prospect", {}, state, "", now, None, None)
    return Update(job, Progress(pages_done=number), (), None)


async def test_whoever_has_missed_thousands_gets_each_of_them_once(database: AnyDatabase) -> None:
    job = await database.write(make_job, "a.test")
    (first, *_) = await database.read(event_rows.happened, job.id, None, 1)
    await database.write(_add_events, job.id, 5_200)
    await database.write(jobs.move, job.id, JobState.CANCELLED)
    seen = []
    live = Live(database, RemainingWork(lambda _: timedelta(seconds=1)))
    async with live.follow("default", job.id, first.id) as follower, asyncio.timeout(30):
        while update := await follower.next():
            seen += [one.id for one in update.events]
            if update.is_last:
                break
    assert len(seen) == len(set(seen)) == await database.read(_events_after, job.id, first.id)
    assert seen == sorted(seen)


async def test_a_job_in_which_nothing_happens_sends_few_updates(database: AnyDatabase) -> None:
    job = await database.write(make_job, "a.test")
    live, told = Live(database, RemainingWork(lambda _: timedelta(seconds=1))), []
    async with live.follow("default", job.id, None) as follower:
        with suppress(TimeoutError):
            async with asyncio.timeout(4):
                while update := await follower.next():
                    told.append(update)
        assert 1 <= len(told) <= 3, "how it stood, and once or twice since"
        await database.write(_add_events, job.id, 1)
        async with asyncio.timeout(30):
            while update := await follower.next():
                if update.events:
                    break


def _add_events(tx: Tx, job_id: UUID, count: int) -> None:
    for number in range(count):
        event_rows.add(tx, job_id, "site.done", f"{number}")


def _events_after(tx: Tx, job_id: UUID, after: UUID) -> int:
    return len(event_rows.happened(tx, job_id, after, 10_000))


async def test_a_slow_reader_is_dropped() -> None:
    follower = Follower(_update(0))
    assert await follower.next() is not None
    for number in range(BEHIND + 1):
        follower.tell(_update(number))
    with pytest.raises(TooSlow):
        await follower.next()


def test_a_token_may_come_with_the_address_but_no_key(api: Server) -> None:
    with api.client() as client, api.stranger() as nobody:
        job = client.post("/v1/jobs", json=new_job()).json()["id"]
        client.post(f"/v1/jobs/{job}/cancel")
        key = {"access_token": api.keys["default"]["read"]}
        assert nobody.get(f"/v1/jobs/{job}/live", params=key).status_code == 401
