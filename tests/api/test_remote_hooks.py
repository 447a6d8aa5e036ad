"""A laptop without a database looks after the webhooks of its account, and has homepages looked at before it pays."""

import re
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from tests.api.conftest import Server, server
from tests.api.test_remote import Laptop, there
from tests.api.test_webhooks import read
from tests.api.town import LETTERS, town

pytestmark = pytest.mark.xdist_group("api")  # they share a server


def asking(one: Server, home: Path, key: str) -> Laptop:
    return Laptop(home, settings={"GOSSAMER_REMOTE": one.url, "GOSSAMER_API_KEY": key})


def test_webhooks_are_looked_after_from_elsewhere(working: Server, tmp_path: Path) -> None:
    laptop, path = Laptop(tmp_path), f"/{uuid4().hex}"
    laptop.log_in(working)
    made = laptop.ask("webhook", "add", f"http://hooks.town{path}", "--events", "job.completed")
    short = made["id"].replace("-", "")[-8:]
    assert made["secret"].startswith("whsec_")
    for look in (("webhook", "list"), ("webhook", "deliveries"), ("webhook", "list", "--json")):
        assert laptop.type(*look).stdout == there(working).type(*look).stdout, look
    assert short in laptop.type("webhook", "list").stdout
    tried = laptop.type("webhook", "test", short).stdout
    found = re.fullmatch(r"Delivered: HTTP 204 in .*\. Message (\w{8})\.\n", tried)
    assert found, tried
    (first,) = LETTERS.at(path)
    assert read(made["secret"], first)["type"] == "webhook.test"
    assert laptop.type("webhook", "replay", found[1]).stdout.startswith("Delivered: HTTP 204")
    assert LETTERS.at(path)[1][0]["webhook-id"] == first[0]["webhook-id"]
    renewed = laptop.ask("webhook", "rotate", short, "--overlap", "0s")["secret"]
    laptop.type("webhook", "test", short)
    assert read(renewed, LETTERS.at(path)[2])["type"] == "webhook.test"
    assert laptop.type("webhook", "disable", short).stdout == f"Webhook {short} is switched off.\n"
    assert "is switched off: nothing is sent there" in laptop.refused("webhook", "test", short)
    assert "is switched on" in laptop.type("webhook", "enable", short).stdout
    assert laptop.ask("webhook", "replay", "--failed", short) == {"replayed": 0}
    assert set(laptop.ask("webhook", "send")) == {"tried", "waiting"}
    assert [one["type"] for one in laptop.ask("webhook", "deliveries", short)] == ["webhook.test"] * 2

    other = asking(working, tmp_path, working.keys["other"]["admin"])
    assert other.ask("webhook", "list") == []
    for order in (("test", short), ("remove", short), ("rotate", short), ("replay", found[1]), ("deliveries", short)):
        assert other.refused("webhook", *order).startswith("Error: There is no "), order
    assert "takes an admin key of the account 'default'" in other.refused("webhook", "send")
    reader = asking(working, tmp_path, working.keys["default"]["read"])
    assert short in reader.type("webhook", "list").stdout
    for order in (("test", short), ("remove", short), ("add", "http://hooks.town/")):
        assert "takes one that may submit" in reader.refused("webhook", *order), order
    submitter = asking(working, tmp_path, working.keys["default"]["submit"])
    for asker in (reader, submitter):
        assert "takes one that may admin" in asker.refused("webhook", "rotate", short)
    assert "cannot be a webhook's address" in laptop.refused("webhook", "add", "ftp://hooks.town/")
    assert "removed, with the log" in laptop.type("webhook", "remove", short).stdout
    assert laptop.ask("webhook", "list") == []


@pytest.fixture(scope="module")
def paying(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Where a provider could be asked, so that jobs may cost something."""
    with town() as port:
        settings = {
            "GOSSAMER_CONNECT_TO": f"*.town=127.0.0.1:{port}",
            "GOSSAMER_SCRAPINGBEE_KEY": "nobody-is-ever-asked",
            "GOSSAMER_SCRAPINGBEE_URL": "http://127.0.0.1:1/",
        }
        with server(tmp_path_factory.mktemp("paying"), "--processes", "1", settings=settings) as one:
            yield one


def test_homepages_are_looked_at_by_whoever_will_run_the_job(paying: Server, tmp_path: Path) -> None:
    laptop = Laptop(tmp_path)
    laptop.log_in(paying, right="submit")
    (tmp_path / "domains.txt").write_text("open.town\nalso.town\nshut.town\ngone.town.invalid\n")
    estimate = ("job", "estimate", "--domains", str(tmp_path / "domains.txt"), "--mode", "hybrid", "--probe", "4")
    said = laptop.type(*estimate).stdout
    counts = "2 can be read with a plain request, 1 need more than that, 1 cannot be read at all"
    assert f"Looking at 4 homepages...\nLooked at 4 homepages: {counts}" in said
    asked = laptop.ask(*estimate)
    assert asked["probe"] == {"asked": 4, "climbing": 1, "gone": 1}
    assert said.count("4 homepages") == 3  # the estimate goes by them
    # Nothing is left of the look but what it took.
    assert laptop.ask("job", "list") == []
    with paying.client() as client:
        looks = client.get("/v1/usage", params={"by": "request"}).json()["items"]
        assert [(one["recipe"], one["pages"], one["provider_usd"]) for one in looks] == [("scrape", 2, 0.0)] * 2
    reader = asking(paying, tmp_path, paying.keys["default"]["read"])
    assert "takes one that may submit" in reader.refused(*estimate, "--json")
