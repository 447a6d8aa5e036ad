"""The plays behind the transcripts: each runs something and says what goes into which file."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from gossamer import __version__
from tests.api.described import description
from tests.golden.demo import demo
from tests.golden.story import story
from tests.golden.takes import Take, transcript
from tests.stories.program import Terminal

Files = dict[str, str]  # name of a file in `transcripts` -> its text


def help_texts(folder: Path) -> Files:
    """The help of every command, found by what the help of its group lists."""
    terminal = Terminal(folder / "home", settings={"COLUMNS": "100"})
    return {"help.txt": transcript(_helps(terminal, ()))}


def _helps(terminal: Terminal, path: tuple[str, ...]) -> Iterator[Take]:
    done = terminal.type(*path, "--help")
    yield Take(" ".join(["gossamer", *path, "--help"]), f"exit {done.returncode}", done.stdout, done.stderr)
    listed = done.stdout.partition("Show this message and exit.\n")[2]  # sections of commands follow the options
    for line in listed.splitlines():
        if line.startswith("  ") and not line.startswith("   "):
            yield from _helps(terminal, (*path, line.split()[0]))


def openapi(_: Path) -> Files:
    """The whole schema, one line for each parameter list, body, answer and model."""
    lines = [f"{where} {json.dumps(part, ensure_ascii=False)}" for where, part in _parts(description(), "#")]
    return {"openapi.txt": "\n".join(lines).replace(f'"{__version__}"', '"<version>"') + "\n"}


def _parts(value: Any, where: str) -> Iterator[tuple[str, Any]]:
    deeper = re.fullmatch(r"#|#/paths(/[^ ]+)?( \w+)?( responses)?|#/components(/\w+)?", where)
    if not deeper or not isinstance(value, dict):
        yield where, value
        return
    for name, inner in value.items():
        yield from _parts(inner, f"{where} {name}" if where.startswith("#/paths/") else f"{where}/{name.lstrip('/')}")


PLAYS: Mapping[str, Callable[[Path], Files]] = {"help": help_texts, "openapi": openapi, "demo": demo, "story": story}
