"""While the queue is full: new jobs wait and say for what, a scrape that somebody waits for does not."""

import asyncio
import time
from pathlib import Path

from gossamer.clock import SystemClock
from gossamer.db.database import SqliteDatabase
from gossamer.model.alert import ALERTS, SYSTEM, AlertKind
from gossamer.store import alerts
from tests.api.conftest import new_job, server
from tests.api.test_jobs import wait_for
from tests.api.town import town
from tests.stories.program import Terminal

WHY = ALERTS[AlertKind.QUEUE_FULL].format(limit="50,000", tasks="61,234", minutes=10)


def _fill(home: Path) -> None:
    """As if it had been found full: what the queue really has is looked at once a minute."""

    async def work() -> None:
        database = SqliteDatabase(home / "gossamer.db", SystemClock())
        await database.write(alerts.fire, AlertKind.QUEUE_FULL, SYSTEM, WHY)
        await database.close()

    asyncio.run(work())


def test_jobs_stay_pending_with_the_sentence_and_scrapes_are_answered(tmp_path: Path) -> None:
    with town() as port:
        settings = {"GOSSAMER_CONNECT_TO": f"*.town=127.0.0.1:{port}"}
        with (
            server(tmp_path / "home", "--processes", "1", settings=settings) as here,
            here.client(right="submit") as client,
        ):
            first = client.post("/v1/scrape", json={"url": "http://one.town/lamp"})
            assert first.status_code == 200
            for _ in range(10):
                _fill(here.home)
                made = client.post("/v1/jobs", json=new_job(domains=["two.town"])).json()
                time.sleep(2)
                if client.get(f"/v1/jobs/{made['id']}").json()["state"] == "pending":
                    break  # else the runner has come up and looked for the first time: the next look is in a minute
            assert (made["state"], made["waiting"], made["reason"]) == ("pending", True, WHY)
            page = client.post("/v1/scrape", json={"url": "http://three.town/lamp"})
            assert (page.status_code, page.json()["status"]) == (200, "done")
            said = client.get(f"/v1/jobs/{made['id']}").json()
            assert (said["state"], said["waiting"], said["reason"]) == ("pending", True, WHY)
            done = wait_for(client, f"/v1/jobs/{made['id']}", longest=150)
            assert (done["state"], done["reason"]) == ("completed", "")
        terminal = Terminal(here.home)
        assert terminal.ask("system", "alerts") == []
        assert WHY in [one["sentence"] for one in terminal.ask("system", "alerts", "--all")]


def test_a_command_waits_and_goes_on_by_itself(tmp_path: Path) -> None:
    with town() as port:
        terminal = Terminal(tmp_path / "home", settings={"GOSSAMER_CONNECT_TO": f"*.town=127.0.0.1:{port}"})
        (tmp_path / "domains.txt").write_text("two.town\n")
        (tmp_path / "keywords.txt").write_text("lamp\n")
        lists = ("--domains", str(tmp_path / "domains.txt"), "--keywords", str(tmp_path / "keywords.txt"))
        terminal.type("job", "list")
        _fill(terminal.home)
        made = terminal.type("job", "run", "--name", "x", *lists, "--no-auto-start").stdout
        job = made.partition("short: ")[2][:8]
        # This command becomes the runner, finds the queue empty, and its job begins.
        said = terminal.type("job", "start", job).stdout
        assert "Completed: 1 succeeded, 0 failed." in said
        history = terminal.type("job", "history", job).stdout
        assert "queue" in history
