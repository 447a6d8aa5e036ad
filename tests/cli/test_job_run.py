"""What `job run` takes as lists: files, standard input, single options; and what becomes of invalid lines."""

import csv
import os
import re
from pathlib import Path

import pytest

from tests import warm
from tests.stories.program import LONGEST, Terminal


@pytest.fixture
def terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Terminal:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "words.txt").write_text("CRM\n")
    return Terminal(tmp_path / "home")


def run(*more: str) -> tuple[str, ...]:
    return ("job", "run", "--name", "x", "--no-auto-start", *more)


def hosts(terminal: Terminal) -> set[str]:
    return {site["domain"] for site in terminal.ask("job", "sites", terminal.newest())}


def test_single_domains_and_keywords_need_no_file(terminal: Terminal) -> None:
    lists = ("--domain", "a.example", "--domain", "b.example", "--keyword", "CRM", "--keyword", "sales pipeline")
    said = terminal.type(*run(*lists)).stdout
    assert said.startswith("Loaded 2 keywords\nWhole words only, in any case\n")
    assert "Processing 2 domains\n" in said
    assert hosts(terminal) == {"a.example", "b.example"}


def test_a_list_from_standard_input(terminal: Terminal, tmp_path: Path) -> None:
    (tmp_path / "piped").write_text("a.example\nb.example\na.example\n")
    with (tmp_path / "piped").open() as piped:
        command = run("--domains", "-", "--keywords", "words.txt")
        done = warm.run(command, terminal.environment(), LONGEST, stdin=piped.fileno())
    assert done.returncode == 0, done.stderr
    assert "Removed 1 duplicate, processing 2 unique domains" in done.stdout
    with (tmp_path / "piped").open() as piped:
        command = run("--domain", "a.example", "--keywords", "-")
        done = warm.run(command, terminal.environment(), LONGEST, stdin=piped.fileno())
    assert "Loaded 2 keywords from standard input\n" in done.stdout


def test_an_empty_or_second_standard_input_is_refused(terminal: Terminal) -> None:
    refused = terminal.type(*run("--domains", "-", "--keywords", "words.txt"), check=False)
    assert (refused.returncode, refused.stderr.startswith("Error: standard input is empty.")) == (2, True)
    refused = terminal.type(*run("--domains", "-", "--keywords", "-"), check=False)
    assert refused.stderr == "Error: Only one list can come from standard input. Put the other in a file.\n"


def test_skipped_lines_are_said_written_down_and_counted(terminal: Terminal, tmp_path: Path) -> None:
    (tmp_path / "list.csv").write_text('domain,name\na.example,A\n"=HYPERLINK(1)",B\nhttps//oops.example,C\n')
    (tmp_path / "words.txt").write_text("CRM\n" + "x" * 201 + "\n")
    lists = ("--domains", "list.csv", "--keywords", "words.txt")
    assert "list.csv, line 3" in terminal.type(*run(*lists), check=False).stderr
    said = terminal.type(*run(*lists, "--skip-invalid")).stdout
    assert "Skipped 2 invalid lines of list.csv (see list-skipped.csv)\n" in said
    assert "Skipped 1 invalid line of words.txt (see words-skipped.csv)\n" in said
    with (tmp_path / "list-skipped.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["line", "text", "reason"]
    assert rows[1][:2] == ["3", "'=HYPERLINK(1)"]
    assert rows[2] == ["4", "https//oops.example", "it has no colon after https"]
    job = terminal.newest()
    assert hosts(terminal) == {"a.example"}
    assert "3 invalid lines of the lists skipped" in " ".join(terminal.type("job", "summary", job).stdout.split())
    assert terminal.ask("job", "summary", job)["lines_skipped"] == 3
    assert re.search(
        r"^ok +lists +3 lines skipped as invalid$", terminal.type("job", "audit", job).stdout, re.MULTILINE
    )
    terminal.type(*run(*lists, "--skip-invalid"))
    assert (tmp_path / "list-skipped-2.csv").exists()  # never over another file


def test_skipped_lines_that_cannot_be_written_down_stop_the_job(
    terminal: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "list.txt").write_text("a.example\nnonsense\n")
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone" / "list-skipped.csv").symlink_to(tmp_path / "nowhere" / "file.csv")
    command = run("--domains", os.fspath(tmp_path / "list.txt"), "--keyword", "CRM", "--skip-invalid")
    done = terminal.type(*command, check=False)
    # A link that leads nowhere is a file that is there: the next name is taken.
    assert done.returncode == 0
    assert (tmp_path / "gone" / "list-skipped-2.csv").exists()


def test_an_estimate_takes_the_same_lists(terminal: Terminal, tmp_path: Path) -> None:
    (tmp_path / "list.txt").write_text("a.example\nnonsense\n")
    said = terminal.type("job", "estimate", "--domains", "list.txt", "--domain", "b.example", "--skip-invalid").stdout
    assert "Skipped 1 invalid line of list.txt" in said
    assert "Processing 2 domains" in said
