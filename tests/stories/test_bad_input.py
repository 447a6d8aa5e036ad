"""Bad input: one line with the next step, exit code 2, nothing created."""

from pathlib import Path

import orjson
import pytest

from tests.stories.program import Terminal


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    contents = {
        "good": b"example.com\nexample.org\n",
        "words": b"CRM\nsales pipeline\n",
        "empty": b"",
        "binary": b"\x00\x01\x02\xff" * 100,
        "many": b"".join(b"d%d.example\n" % number for number in range(50_001)),
        "too_many_words": b"".join(b"word%d\n" % number for number in range(501)),
        "blank_word": b"CRM\n   \n",
        "spaced": b"example.com\nexa mple\n",
        "bracket": b"http://[::1\n",
        "localhost": b"localhost\n",
    }
    found = {}
    for name, content in contents.items():
        found[name] = tmp_path / f"{name}.txt"
        found[name].write_bytes(content)
    found["missing"] = tmp_path / "missing.txt"
    return found


@pytest.mark.parametrize(
    ("domains", "keywords", "expected"),
    [
        ("missing", "words", "missing.txt"),
        ("good", "missing", "missing.txt"),
        ("empty", "words", "empty.txt"),
        ("good", "empty", "empty.txt"),
        ("binary", "words", "binary.txt"),
        ("many", "words", "50,000"),
        ("good", "too_many_words", "500"),
        ("good", "blank_word", "line 2"),
        ("spaced", "words", "line 2"),
        ("bracket", "words", "http://[::1"),
        ("localhost", "words", "localhost"),
    ],
)
def test_a_bad_list_is_refused_in_one_line(
    tmp_path: Path, files: dict[str, Path], domains: str, keywords: str, expected: str
) -> None:
    terminal = Terminal(tmp_path / "home")
    arguments = ("job", "run", "--name", "x", "--domains", str(files[domains]), "--keywords", str(files[keywords]))
    refused = terminal.type(*arguments, check=False)
    assert refused.returncode == 2
    assert refused.stderr.startswith("Error: ")
    assert refused.stderr.count("\n") == 1
    assert expected in refused.stderr
    assert terminal.ask("job", "list") == []


def test_a_flag_given_twice_is_refused(tmp_path: Path, files: dict[str, Path]) -> None:
    terminal = Terminal(tmp_path / "home")
    lists = ("--domains", str(files["good"]), "--keywords", str(files["words"]))
    refused = terminal.type("job", "run", "--name", "a", "--name", "b", *lists, check=False)
    assert refused.returncode == 2
    assert refused.stderr == "Error: --name was given more than once. Give it once.\n"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("job", "status", "ffffffff"), "There is no job 'ffffffff' here."),
        (("job", "status", "xyz"), "'xyz' is not a job id, and no job has that name."),
        (("job", "pause", "abc"), "'abc' is not a job id, and no job has that name."),
        (("job", "run"), "--name"),
        (("job", "dance"), "dance"),
        (("job", "resume"), "Give one job id, or --all."),
        (("job", "list", "--limit", "0"), "--limit"),
    ],
)
def test_a_command_that_cannot_work_says_what_would(tmp_path: Path, arguments: tuple[str, ...], expected: str) -> None:
    refused = Terminal(tmp_path / "home").type(*arguments, check=False)
    assert refused.returncode == 2
    assert expected in refused.stderr
    assert refused.stderr.count("\n") == 1


def test_an_ambiguous_id_lists_what_it_may_mean(tmp_path: Path, files: dict[str, Path]) -> None:
    terminal = Terminal(tmp_path / "home")
    lists = ("--domains", str(files["good"]), "--keywords", str(files["words"]))
    ids = [terminal.ask("job", "run", "--name", "x", *lists, "--no-auto-start")["id"] for _ in range(2)]
    refused = terminal.type("job", "status", ids[0][:6], check=False)
    assert refused.returncode == 2
    assert all(identifier[-8:] in refused.stderr for identifier in ids)
    assert terminal.ask("job", "status", ids[0])["id"] == ids[0]


def test_errors_are_json_for_scripts(tmp_path: Path) -> None:
    refused = Terminal(tmp_path / "home").type("job", "status", "ffffffff", "--json", check=False)
    assert refused.returncode == 2
    assert orjson.loads(refused.stderr)["error"]["code"] == "job.not_found"


def test_a_wrong_setting_is_named(tmp_path: Path) -> None:
    refused = Terminal(tmp_path / "home", settings={"GOSSAMER_DOMAIN_RATE": "fast"}).type("job", "list", check=False)
    assert refused.returncode == 2
    assert "GOSSAMER_DOMAIN_RATE is 'fast'" in refused.stderr
