"""Pages that are waited for when there is little room, and when the process that reads them dies."""

import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import psutil
import pytest

from tests.api.conftest import Server, server
from tests.api.test_jobs import wait_for
from tests.api.town import SLOW, town
from tests.stories.program import until

pytestmark = pytest.mark.xdist_group("api")  # on one processor after the other


@pytest.fixture(scope="module")
def narrow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One process that walks one visit at a time."""
    with town() as port:
        settings = {
            "GOSSAMER_API_KEY_RATE": "0",
            "GOSSAMER_API_IP_RATE": "0",
            "GOSSAMER_CONNECT_TO": f"*.town=127.0.0.1:{port}",
            "GOSSAMER_MAX_CONCURRENCY": "1",
        }
        with server(tmp_path_factory.mktemp("narrow"), "--processes", "1", settings=settings) as one:
            with one.client() as client:
                assert client.post("/v1/scrape", json={"url": "http://first.town/lamp"}).status_code == 200
            yield one


def scrape(client: httpx.Client, url: str) -> httpx.Response:
    return client.post("/v1/scrape", json={"url": url, "formats": ["metadata"], "timeout": 60})


def test_who_finds_no_room_waits_for_a_turn(narrow: Server) -> None:
    with narrow.client() as client, ThreadPoolExecutor(4) as people:
        slow = people.submit(scrape, client, "http://slow.town/slow")
        until(lambda: "slow.town" in SLOW)
        others = [people.submit(scrape, client, f"http://other{number}.town/lamp") for number in range(3)]
        assert [one.result().status_code for one in (slow, *others)] == [200] * 4


def test_whose_process_dies_gets_the_page_all_the_same(narrow: Server) -> None:
    with narrow.client() as client, ThreadPoolExecutor(1) as people:
        waiting = people.submit(scrape, client, "http://dying.town/slow")
        until(lambda: "dying.town" in SLOW)  # it is being read
        (child,) = psutil.Process(narrow.process.pid).children()
        os.kill(child.pid, signal.SIGKILL)
        answer = waiting.result()
        assert (answer.status_code, answer.json()["data"]["title"]) == (200, "Lamp slow")
        assert wait_for(client, f"/v1/jobs/{answer.json()['job_id']}")["state"] == "completed"
        # And the next one finds the new process.
        assert scrape(client, "http://after.town/lamp").status_code == 200
