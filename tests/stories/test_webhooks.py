"""Another program is told what happens to a job, whatever happens to ours."""

import asyncio
import threading
from base64 import b64decode
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from uuid import UUID

import pytest

from gossamer.clock import SystemClock
from gossamer.db.database import open_database
from gossamer.model.money import ACCOUNT
from gossamer.webhooks import service as webhook_service
from tests.servers import RedisServer
from tests.stories.cluster import Rows, instance
from tests.stories.program import Terminal, Web, finish, kill, quick_web
from tests.webhooks.listener import Listener

ARGUMENTS = ("--sites", "3", "--seed", "3", "--nasty", "0", "--size-min", "4", "--size-max", "6")


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    with quick_web(tmp_path_factory.mktemp("web"), *ARGUMENTS) as running:
        yield running


def terminal(home: Path, web: Web, listener: Listener) -> Terminal:
    connect = f"{listener.rule},*.test=127.0.0.1:{web.port}"
    return Terminal(home, web, {"GOSSAMER_DOMAIN_RATE": "100", "GOSSAMER_CONNECT_TO": connect})


@pytest.mark.story
def test_a_job_is_told_to_a_receiver_that_checks_every_message(tmp_path: Path, web: Web) -> None:
    with Listener() as listener:
        shell = terminal(tmp_path / "home", web, listener)
        refused = shell.type("webhook", "add", "http://169.254.169.254/latest", check=False)
        assert refused.returncode == 2
        assert "is a link-local address" in refused.stderr
        added = shell.ask("webhook", "add", listener.url())
        identifier, secret = added["id"], added["secret"]
        assert "HTTP 204" in shell.type("webhook", "test", identifier[-8:]).stdout
        job = shell.ask(*shell.prospect("--processes", "1"))["id"]
        assert listener.types(secret)[:2] == ["webhook.test", "job.started"]
        told = [one.verified(secret) for one in listener.received[2:]]
        assert sorted(one["type"] for one in told) == ["export.ready"] * (len(told) - 1) + ["job.completed"]
        assert {one["data"]["job_id"] for one in told} == {job}
        (completed,) = (one["data"] for one in told if one["type"] == "job.completed")
        assert completed["sites"]["total"] == completed["sites"]["done"]
        assert completed["records"] == len(shell.rows(job)) > 0
        # The secret was shown once. Nobody finds it in what is shown, written down or exported later.
        shown = shell.type("webhook", "list").stdout + shell.type("webhook", "deliveries", "--json").stdout
        assert secret not in shown + shell.log()
        message = shell.ask("webhook", "deliveries")[0]
        assert message["attempts"][0]["http_status"] == 204
        shell.type("webhook", "replay", message["message_id"])
        assert listener.received[-1].id == message["message_id"]
        newer = shell.ask("webhook", "rotate", identifier)["secret"]
        listener.answers = [(500, {})]
        assert shell.type("webhook", "test", identifier, check=False).returncode == 1
        for both in (secret, newer):
            assert listener.received[-1].verified(both)["type"] == "webhook.test"
        assert sum(shell.ask("webhook", "send").values()) == 1  # it rests, or has just been sent
        assert shell.type("webhook", "remove", identifier).returncode == 0
        assert shell.ask("webhook", "list") == []


def test_a_copy_of_a_home_holds_no_secret_and_signs_where_its_own_secret_is(tmp_path: Path) -> None:
    with Listener() as listener:
        first, second = (
            Terminal(tmp_path / name, None, {"GOSSAMER_CONNECT_TO": listener.rule}) for name in ("home", "moved")
        )
        added = first.ask("webhook", "add", listener.url())
        copy = tmp_path / "copy.db"
        first.type("db", "backup", str(copy))
        key = b64decode(added["secret"].removeprefix("whsec_"))
        assert [path.name for path in tmp_path.rglob("*") if path.is_file() and key in path.read_bytes()] == []

        second.type("db", "restore", str(copy), "--yes")
        refused = second.type("webhook", "test", added["id"], check=False)
        assert (refused.returncode, "its secret cannot be read" in refused.stdout) == (1, True), refused.stdout
        assert listener.received == []
        (second.home / "secret").write_bytes((first.home / "secret").read_bytes())
        assert "HTTP 204" in second.type("webhook", "replay", second.ask("webhook", "deliveries")[0]["id"]).stdout
        assert listener.types(added["secret"]) == ["webhook.test"]


@pytest.mark.story
def test_a_message_that_was_under_way_at_kill_9_comes_again_under_the_same_id(tmp_path: Path, web: Web) -> None:
    dead = threading.Event()

    def never(_: BaseHTTPRequestHandler) -> None:
        dead.wait(60)

    with Listener(never) as listener:
        shell = terminal(tmp_path / "home", web, listener)
        secret = shell.ask("webhook", "add", listener.url(), "--events", "job.started,job.completed")["secret"]
        running = shell.begin(*shell.prospect("--processes", "1"))
        (first,) = listener.until(1)
        kill(running)
        dead.set()
        code, said = finish(shell.begin("job", "resume", shell.newest(), "--processes", "1"))
        assert code == 0, said
        again, *rest = listener.received[1:]
        assert (again.id, again.body) == (first.id, first.body)
        assert [one.verified(secret)["type"] for one in (first, again, *rest)] == [
            "job.started",
            "job.started",
            "job.completed",
        ]


@pytest.mark.story
def test_of_two_instances_one_sends_each_message(
    tmp_path: Path, new_postgres: Callable[[], str], redis_server: RedisServer
) -> None:
    url = new_postgres()
    rows = Rows(url)

    async def ask_for(messages: int, endpoint: UUID) -> set[str]:
        database = open_database(url, SystemClock())
        sent = [await webhook_service.send_test(database, ACCOUNT, endpoint) for _ in range(messages)]
        await database.close()
        return {one.message_id for one in sent}

    with Listener() as listener, ExitStack() as stack:
        servers = {"GOSSAMER_DATABASE_URL": url, "GOSSAMER_REDIS_URL": redis_server.url}
        names = {"GOSSAMER_REDIS_PREFIX": "story-webhooks", "GOSSAMER_CONNECT_TO": listener.rule}
        alone = Terminal(tmp_path / "home", None, {**servers, **names})
        refused = alone.type("webhook", "add", listener.url(), check=False)
        assert (refused.returncode, "Set GOSSAMER_API_SECRET" in refused.stderr) == (2, True)
        names["GOSSAMER_API_SECRET"] = "the same on all machines, and long enough"
        shell = Terminal(tmp_path / "home", None, {**servers, **names})
        added = shell.ask("webhook", "add", listener.url())
        for number in range(2):
            log = tmp_path / f"instance-{number}.log"
            stack.enter_context(instance(shell, log, "--lanes", "http:1,desk:1", "--processes", "1"))
        rows.until("SELECT count(*) FROM workers", lambda count: count == 2)
        asked = asyncio.run(ask_for(40, UUID(added["id"])))
        rows.until("SELECT count(*) FROM webhook_deliveries WHERE state = 'delivered'", lambda count: count == 40)
        assert Counter(one.id for one in listener.received) == Counter(asked)
        assert set(listener.types(added["secret"])) == {"webhook.test"}
