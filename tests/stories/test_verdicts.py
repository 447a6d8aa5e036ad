"""What prospecting is for, through the program: who mentions the keywords and does not yet link to the client."""

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.stories.program import Terminal, sample_web

FAST = {"GOSSAMER_DOMAIN_RATE": "1000", "GOSSAMER_HTTP_TIMEOUT": "3s"}
CLIENT = "client-acme.test"
PARTIES = (
    *("--client-domain", f"https://www.{CLIENT}/"),
    *("--competitor-domain", "rival-north.test", "--competitor-domain", "rival-south.test"),
)
VERDICTS = {"linked", "nofollow", "links-elsewhere", "unlinked"}

pytestmark = [pytest.mark.story, pytest.mark.xdist_group("verdicts")]


@pytest.fixture(scope="module")
def prospected(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Terminal, str, list[dict[str, Any]]]]:
    """A finished job with a client, and one without that was only created."""
    folder = tmp_path_factory.mktemp("verdicts")
    with sample_web(folder / "web", "--sites", "40", "--seed", "3", "--pages-per-site", "12") as web:
        terminal = Terminal(folder / "home", web, FAST)
        limits = ("--max-pages-per-domain", "12", "--top-pages", "12")
        job = terminal.ask(*terminal.prospect(*PARTIES, *limits))["id"]
        yield terminal, job, terminal.ask("job", "results", job, "--limit", "10000")


def test_every_row_has_a_verdict_and_the_link_it_rests_on(
    prospected: tuple[Terminal, str, list[dict[str, Any]]],
) -> None:
    _, _, rows = prospected
    assert {row["verdict"] for row in rows} <= VERDICTS
    assert {"linked", "unlinked"} <= {row["verdict"] for row in rows}
    for row in rows:
        host = row["link_url"].lower().partition("://")[2].partition("/")[0].partition(":")[0]
        to_client = host == CLIENT or host.endswith(f".{CLIENT}")
        assert bool(row["link_url"]) is (row["verdict"] != "unlinked")
        assert to_client is (row["verdict"] in ("linked", "nofollow"))
    assert {row["position"] for row in rows} >= {"title", "heading", "body", "navigation"}
    assert all(("navigation-only" in row["flags"]) is (row["position"] == "navigation") for row in rows)
    assert all(0 < row["keyword_pages"] <= row["site_pages"] <= 12 for row in rows)


def test_only_unlinked_pages_can_be_asked_for(prospected: tuple[Terminal, str, list[dict[str, Any]]]) -> None:
    terminal, job, rows = prospected
    wanted = [row for row in rows if row["verdict"] == "unlinked"]
    assert terminal.ask("job", "results", job, "--limit", "10000", "--unlinked-only") == wanted
    exported = terminal.type("job", "export", job, "--unlinked-only", "--output", "-").stdout
    table = list(csv.DictReader(io.StringIO(exported)))
    # Not in the same order: on the screen rows with a flag come last.
    assert sorted((row["url"], row["keyword"]) for row in table) == sorted(
        (row["url"], row["keyword"]) for row in wanted
    )
    in_json = orjson.loads(
        terminal.type("job", "export", job, "--columns", "verdict", "--format", "json", "--output", "-").stdout
    )
    pages = [page for keywords in in_json["results"].values() for pages in keywords.values() for page in pages]
    assert sorted(page["verdict"] for page in pages) == sorted(row["verdict"] for row in rows)


def test_the_domains_of_a_job_are_listed_with_size_and_reason(
    prospected: tuple[Terminal, str, list[dict[str, Any]]],
) -> None:
    terminal, job, rows = prospected
    sites = terminal.ask("job", "sites", job, "--limit", "1000")
    assert len(sites) == 40
    assert {row["domain"] for row in rows} <= {site["domain"] for site in sites}
    read = {site["domain"]: site["pages_read"] for site in sites}
    assert all(read[row["domain"]] == row["site_pages"] for row in rows)
    failed = terminal.ask("job", "sites", job, "--state", "failed")
    assert failed == [site for site in sites if site["state"] == "failed"]
    assert all(site["reason"] for site in failed)
    assert terminal.type("job", "sites", job, "--limit", "3").stdout.endswith(
        "3 of 40 domains. More of them: --limit.\n"
    )
    refused = terminal.type("job", "sites", job, "--state", "broken", check=False)
    assert (refused.returncode, "done" in refused.stderr) == (2, True)


def test_a_job_without_a_client_cannot_say_who_links(prospected: tuple[Terminal, str, list[dict[str, Any]]]) -> None:
    terminal, _, _ = prospected
    job = terminal.ask(*terminal.prospect("--no-auto-start", name="no client"))["id"]
    for command in (("results",), ("export", "--output", "-")):
        refused = terminal.type("job", command[0], job, "--unlinked-only", *command[1:], check=False)
        assert refused.returncode == 2
        assert "--client-domain" in refused.stderr


def test_domains_of_a_suppression_list_are_left_out_aloud(
    prospected: tuple[Terminal, str, list[dict[str, Any]]], tmp_path: Path
) -> None:
    terminal, _, _ = prospected
    assert terminal.web
    listed = terminal.web.domains.read_text(encoding="utf-8").splitlines()
    suppressed = tmp_path / "suppress.csv"
    suppressed.write_text("domain,why\n" + "".join(f"{name},client\n" for name in listed[:7]), encoding="utf-8")
    command = terminal.prospect("--no-auto-start", "--exclude-domains", str(suppressed), name="suppressed")
    said = terminal.type(*command).stdout
    assert "Left out 7 domains of suppress.csv" in said
    assert "rocessing 33 " in said
    assert terminal.ask("job", "status", terminal.newest())["domains"]["total"] == 33


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--client-domain", "info@acme.com"), "is not a domain"),
        (("--competitor-domain", "rival.com"), "without a client"),
        (("--include", "blog/*"), "must begin with / or *"),
        (("--top-pages", "0"), "expected a whole number from 1 to 50,000"),
    ],
)
def test_what_cannot_be_used_is_refused_in_one_line(
    prospected: tuple[Terminal, str, list[dict[str, Any]]], options: tuple[str, ...], said: str
) -> None:
    terminal, _, _ = prospected
    refused = terminal.type(*terminal.prospect(*options), check=False)
    assert refused.returncode == 2
    assert said in refused.stderr
    assert len(refused.stderr.splitlines()) == 1
