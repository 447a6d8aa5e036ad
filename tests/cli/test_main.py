"""What is said of a command that was typed wrongly: the value, what was expected, the next step."""

from pathlib import Path

import pytest

from gossamer.cli.history import _records
from gossamer.errors import UserError
from gossamer.intake.ladders import choose_ladder
from gossamer.recipes.scrape.request import check_formats
from tests.stories.program import Terminal

RUN = ("job", "run", "--name", "x", "--domain", "a.test", "--keyword", "CRM", "--no-auto-start")


@pytest.fixture
def terminal(tmp_path: Path) -> Terminal:
    return Terminal(tmp_path / "home")


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (
            (*RUN, "--max-pages-per-domain", "abc"),
            "--max-pages-per-domain is 'abc', expected a whole number from 1 to 50,000. See 'gossamer job run --help'.",
        ),
        ((*RUN, "--max-pages-per-domain", "0"), "--max-pages-per-domain is '0', expected a whole number from 1 to"),
        ((*RUN, "--max-concurrency", "0"), "--max-concurrency is '0', expected a whole number of 1 or more."),
        ((*RUN, "--priority", "urgent"), "--priority: 'urgent' is not one of 'high', 'normal', 'low'."),
        (
            ("job", "run", "--domain", "a.test"),
            "The job needs a name, so that you find it again. Add one, such as --name",
        ),
        (("job", "status"), "Which job is meant? Give its id, or 'gossamer job status last' for the newest"),
        (("login",), "Which server is meant? Give its address: 'gossamer login https://crawl.example.com'."),
        (("job", "export", "last", "--output"), "Option '--output' needs a value. See 'gossamer job export --help'."),
        ((*RUN, "--competitor-domain", "rival.test"), "--competitor-domain: without a client's domain"),
        ((*RUN, "--client-domain", "no domain"), "--client-domain: "),
    ],
)
def test_a_wrong_command_says_what_was_expected(terminal: Terminal, command: tuple[str, ...], said: str) -> None:
    refused = terminal.type(*command, check=False)
    assert refused.returncode == 2
    assert f"Error: {said}" in refused.stderr.replace("python -m gossamer", "gossamer")


def test_a_mistyped_setting_is_recognised(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path / "home", None, {"GOSSAMER_HTTP_TIMOUT": "3s"})
    said = terminal.type("job", "list").stderr
    assert "GOSSAMER_HTTP_TIMOUT is not a setting of gossamer. Did you mean GOSSAMER_HTTP_TIMEOUT?" in said


def test_a_mistyped_format_or_mode_is_recognised() -> None:
    with pytest.raises(UserError, match=r"Did you mean markdown\?"):
        check_formats(["markdwn"], ["direct"])
    with pytest.raises(UserError, match=r"Did you mean free-only\?"):
        choose_ladder("free-onyl", None, ["direct"])


def test_a_folder_that_is_not_there_is_named(terminal: Terminal, tmp_path: Path) -> None:
    terminal.type(*RUN)
    refused = terminal.type("job", "export", "last", "--output", f"{tmp_path}/no/x.csv", check=False)
    assert f"Error: The folder {tmp_path}/no does not exist. Make it with 'mkdir -p {tmp_path}/no'" in refused.stderr
    (tmp_path / "there").mkdir()
    refused = terminal.type("job", "export", "last", "--output", f"{tmp_path}/there", check=False)
    assert f"Error: {tmp_path}/there is a folder. Give the name of a file in it" in refused.stderr
    nowhere = Terminal(Path("/proc/foo")).type("job", "list", check=False)
    assert "Error: The data folder /proc/foo does not exist and cannot be created: No such file" in nowhere.stderr


def test_explain_finds_the_job(terminal: Terminal) -> None:
    first = terminal.ask(*RUN)["short_id"]
    other = terminal.ask("job", "run", "--name", "y", "--domain", "b.test", "--keyword", "CRM", "--no-auto-start")
    told = terminal.type("explain", "a.test/about").stdout
    assert told.startswith(f"Job {first} is shown, the newest that knows the address. --job chooses another.\n")
    told = terminal.type("explain", "c.test/about").stdout
    assert told.startswith(f"Job {other['short_id']} is shown, the newest; none knows the address.")
    assert "is shown" not in terminal.type("explain", "a.test/about", "--job", "x").stdout


def test_what_was_read_of_a_scraped_page_is_no_match() -> None:
    assert list(_records("scrape", ({"url": "https://a.test/", "title": "A"},))) == []
    assert list(_records("prospect", ())) == [("Matches", "none")]


def test_a_command_about_a_server_names_it_once(tmp_path: Path) -> None:
    server = "http://127.0.0.1:9"
    terminal = Terminal(tmp_path / "home", settings={"GOSSAMER_REMOTE": server, "GOSSAMER_API_KEY": "gsk_key"})
    done = terminal.type("job", "list", check=False)
    assert done.returncode == 1
    assert done.stderr.startswith(f"Server: {server}\nError: {server} does not answer")
