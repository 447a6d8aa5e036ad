"""Values that the shell completes: choices and jobs. Little is loaded for it, and nothing is ever said on errors."""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from gossamer.cli.completion import JOBS, known_values
from gossamer.db.newest_jobs import newest_jobs
from gossamer.model.ids import short
from tests.cli.test_command import commands
from tests.cli.test_startup import HEAVY
from tests.stories.program import Terminal

NASTY = r"x\"; touch pwned; # $(touch pwned) `touch pwned` [/b] *"


def completed(environment: Mapping[str, str], typed: str, shell: str = "bash") -> list[str]:
    """What the program answers a shell that completes the last word; nothing may be said beside it."""
    words = typed.split(" ")
    asked = {
        "bash": {"COMP_WORDS": "\n".join(["gossamer", *words]), "COMP_CWORD": str(len(words))},
        "zsh": {"_TYPER_COMPLETE_ARGS": f"gossamer {typed}"},
    }
    done = subprocess.run(
        [f"{sys.prefix}/bin/gossamer"],
        env={**environment, **asked[shell], "_GOSSAMER_COMPLETE": f"complete_{shell}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    return [line for line in done.stdout.splitlines() if line]


@pytest.fixture(scope="module")
def terminal(tmp_path_factory: pytest.TempPathFactory) -> Terminal:
    return Terminal(tmp_path_factory.mktemp("completion") / "home")


@pytest.fixture(scope="module")
def jobs(terminal: Terminal) -> list[str]:
    """The short ids of some jobs, the oldest first."""
    for name in ("Acme Q1", "Plain", "Twice", "Twice", NASTY):
        terminal.type("job", "run", "--name", name, "--domain", "a.example", "--keyword", "CRM", "--no-auto-start")
    return [short(job.id) for job in reversed(newest_jobs(terminal.home / "gossamer.db", 50))]


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("job run --mode ", ["free-only", "hybrid", "premium-only"]),
        ("scrape --mode f", ["free-only"]),
        ("job run --priority ", ["high", "normal", "low"]),
        ("job run --ladder direct,b", ["direct,browser"]),
        ("job list --state p", ["pending", "pausing", "paused"]),
        ("job sites last --state ", ["done", "partial", "failed", "open"]),
        ("job results last --verdict l", ["links-elsewhere", "linked"]),
        ("job export last --format ", ["csv", "json", "jsonl", "xlsx", "parquet"]),
        ("job export last --format csv,j", ["csv,json", "csv,jsonl"]),
        ("job export last --format json,json", ["json,jsonl"]),
        ("job errors last --format csv,", []),
        ("job export last --type p", ["prospects", "pages"]),
        ("scrape --format text,m", ["text,markdown", "text,metadata"]),
        ("webhook add https://a.example --events job.p", ["job.pages", "job.paused"]),
        ("system backlog --lane ", ["http", "browser", "stealth"]),
        ("completion ", ["bash", "zsh", "fish"]),
        ("job run --mode hybrid --mode p", ["premium-only"]),
        ("job run --mode", ["--mode"]),
        ("nonsense --loc", ["--local"]),
        ("job run --domains ", []),  # bash then completes files
    ],
)
def test_choices_are_offered(terminal: Terminal, typed: str, offered: list[str]) -> None:
    assert completed(terminal.environment(), typed) == offered


def test_every_choice_that_help_shows_is_offered() -> None:
    parameters = [
        param for command in commands().values() if not hasattr(command, "commands") for param in command.params
    ]
    for param in parameters:
        if "|" in (param.metavar or "") or param.metavar in ("MODE", "METHODS", "STATE", "LANE", "SHELL"):
            assert known_values(param.name, param.metavar), param.name
    assert {param.metavar for param in parameters if param.name in JOBS} == {"ID"}


def test_the_newest_jobs_are_offered_by_id_and_by_name(terminal: Terminal, jobs: list[str]) -> None:
    environment = terminal.environment()
    found = completed(environment, "job status ")
    assert found == ["last", *reversed(jobs), "Plain", "'Acme Q1'"], "each name once, and none that a shell may read"
    assert completed(environment, f"job pause {jobs[1][:4]}")[0] == jobs[1]
    assert completed(environment, "job export last --since-job Pl") == ["Plain"]
    assert completed(environment, "job forget --job la") == ["last"]
    assert completed(environment, "--local job status Ac") == ["'Acme Q1'"]
    assert completed(environment, 'job status "Ac') == ["Acme Q1"], "bash adds the other quote"
    assert completed(environment, "webhook test ") == []


def test_a_name_is_never_run_by_a_shell(terminal: Terminal, jobs: list[str], tmp_path: Path) -> None:
    said = "\n".join(completed(terminal.environment(), "job status ", "zsh"))
    assert f'"{jobs[0]}":"Acme Q1 (pending)"' in said
    assert f'"{jobs[4]}":"x touch pwned touch pwned touch pwned b (pending)"' in said
    bash = shutil.which("bash")
    assert bash
    script = f"_arguments() {{ :; }}; eval $(cat <<'END'\n{said}\nEND\n)"
    subprocess.run([bash, "-c", script], cwd=tmp_path, capture_output=True, check=True)
    assert not (tmp_path / "pwned").exists()


def test_jobs_of_this_machine_are_not_offered_for_a_server(terminal: Terminal, jobs: list[str]) -> None:
    there = {**terminal.environment(), "GOSSAMER_REMOTE": "https://crawl.example", "GOSSAMER_API_KEY": "gsk_key"}
    assert completed(there, "job status ") == ["last"]
    assert jobs[0] in completed(there, "--local job status ")
    elsewhere = {**terminal.environment(), "GOSSAMER_DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none"}
    assert completed(elsewhere, "job status ") == ["last"]


def test_where_something_is_wrong_nothing_is_offered_and_nothing_said(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path / "home")
    environment = terminal.environment()
    assert completed(environment, "job status ") == []
    assert not terminal.home.exists()
    assert completed({**environment, "GOSSAMER_LEASE": "soon"}, "job status ") == []
    assert completed({**environment, "GOSSAMER_REMOTE": "https://crawl.example"}, "job status ") == []
    terminal.home.mkdir()
    (terminal.home / "gossamer.db").write_bytes(b"no database" * 100)
    assert completed(environment, "job status ") == []
    (terminal.home / "gossamer.db").write_bytes(b"")
    assert completed(environment, "job status ") == []


def test_a_command_with_another_programs_variable_still_says_what_is_wrong(terminal: Terminal) -> None:
    environment = {**terminal.environment(), "OTHER_COMPLETE": "1"}
    done = subprocess.run(
        [f"{sys.prefix}/bin/gossamer", "job", "nonsense"], env=environment, capture_output=True, text=True, check=False
    )
    assert "Error: " in done.stderr


def test_completing_jobs_loads_nothing_heavy(terminal: Terminal, jobs: list[str]) -> None:
    code = (
        "import sys\n"
        "from gossamer.cli import main\n"
        "sys.argv = ['gossamer']\n"
        "try:\n    main.main()\nexcept SystemExit:\n    pass\n"
        "print('LOADED', *sorted({name.partition('.')[0] for name in sys.modules}))"
    )
    asked = {
        **terminal.environment(),
        "_GOSSAMER_COMPLETE": "complete_bash",
        "COMP_WORDS": "gossamer\njob\nstatus\n",
        "COMP_CWORD": "3",
    }
    done = subprocess.run([sys.executable, "-c", code], env=asked, capture_output=True, text=True, check=True)
    offered, _, loaded = done.stdout.rpartition("LOADED")
    assert jobs[0] in offered
    assert not set(loaded.split()) & (HEAVY | {"rich", "asyncpg"})


def test_bash_completes_values(terminal: Terminal, jobs: list[str]) -> None:
    bash = shutil.which("bash")
    assert bash
    script = """
        source <(gossamer completion bash)
        COMP_WORDS=(gossamer job status Ac); COMP_CWORD=3
        _gossamer_completion gossamer
        printf '%s\\n' "${COMPREPLY[@]}"
    """
    environment = {**terminal.environment(), "PATH": f"{sys.prefix}/bin:{os.environ['PATH']}"}
    done = subprocess.run([bash, "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("'Acme Q1'\n", "")
