"""Help that a newcomer can read, and completion in shells."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import typer

from gossamer.cli.command import StrictCommand
from gossamer.cli.main import app
from tests.stories.program import Terminal


def commands() -> dict[str, Any]:
    return dict(walk("gossamer", typer.main.get_command(app)))


def walk(path: str, command: Any) -> Iterator[tuple[str, Any]]:
    if not command.hidden:
        yield path, command
        for name, inner in getattr(command, "commands", {}).items():
            yield from walk(f"{path} {name}", inner)


def help_of(path: str, columns: int = 80) -> str:
    command = [f"{sys.prefix}/bin/gossamer", *path.split()[1:], "--help"]
    environment = {**os.environ, "COLUMNS": str(columns), "NO_COLOR": "1"}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("path", ["gossamer", "gossamer job", "gossamer system", "gossamer webhook"])
def test_no_line_of_a_group_is_cut(path: str) -> None:
    said = help_of(path)
    assert "..." not in said.replace("COMMAND [ARGS]...", "")
    words = " ".join(said.split())
    for command in commands()[path].commands.values():
        first = re.split(r"\.\s", " ".join(command.help.split("\n\n")[0].split()))[0]
        assert first.rstrip(".") in words


def test_what_an_option_takes_is_said_in_words() -> None:
    for path, command in commands().items():
        if getattr(command, "commands", None):
            continue
        assert isinstance(command, StrictCommand), path
        with typer.main.get_command(app).make_context("gossamer", ["--help"], resilient_parsing=True) as context:
            said = command.get_help(context)
        options = said.partition("\nOptions:\n")[2]
        assert not re.search(r"<(str|int|float|path|bool)|<list\[|\b(INTEGER|FLOAT|PATH)\b|<=|>=", options), (
            path,
            options,
        )


def test_examples_stand_on_a_line_of_their_own_however_narrow_the_terminal_is() -> None:
    said = help_of("gossamer scrape", 40).splitlines()
    assert "      gossamer scrape https://example.com/a https://example.com/b --format markdown,metadata" in said
    assert "Usage: gossamer scrape [OPTIONS] [URL]..." in " ".join(line.strip() for line in said)


def test_a_mistyped_command_or_option_is_recognised(tmp_path: Any) -> None:
    terminal = Terminal(tmp_path)
    assert "Did you mean 'status'" in terminal.type("job", "statsu", check=False).stderr
    assert "Did you mean --client-domain" in terminal.type("job", "run", "--client-domian", "x", check=False).stderr


def complete(typed: str, program: str = "gossamer") -> list[str]:
    """What bash offers after `typed`, with the script that the program prints."""
    bash = shutil.which("bash")
    assert bash
    words = typed.split(" ")
    script = f"""
        source <({program} completion bash)
        COMP_WORDS=({program} {typed}); COMP_CWORD={len(words)}
        _{program.replace("-", "_")}_completion {program}
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    environment = {**os.environ, "PATH": f"{sys.prefix}/bin:{os.environ['PATH']}"}
    done = subprocess.run([bash, "-c", script], env=environment, capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_bash_completes_commands_and_options_under_both_names() -> None:
    assert {"resume", "results", "retry-failed"} <= set(complete("job re"))
    assert all(name.startswith("re") for name in complete("job re"))
    assert "--client-domain" in complete("job run --cl", "backlink-prospector")


@pytest.mark.parametrize(("shell", "sign"), [("zsh", "#compdef gossamer"), ("fish", "complete --command gossamer")])
def test_other_shells_have_a_script_too(tmp_path: Any, shell: str, sign: str) -> None:
    assert sign in Terminal(tmp_path).type("completion", shell).stdout


def test_an_unknown_shell_is_refused(tmp_path: Any) -> None:
    refused = Terminal(tmp_path).type("completion", "tcsh", check=False)
    assert (refused.returncode, refused.stderr) == (
        2,
        "Error: There is no completion for 'tcsh'. Choose bash, zsh, fish.\n",
    )
