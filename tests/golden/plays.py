"""The plays behind the transcripts: what is run, in which home, and which file each transcript goes to."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gossamer import __version__
from tests.api.described import description
from tests.stories.program import Terminal

TRANSCRIPTS = Path(__file__).parent / "transcripts"
WIDTH = "100"

Files = dict[str, str]  # name of a file in `transcripts` -> its text


@dataclass(frozen=True, slots=True)
class Take:
    """One command and all it said, normalised."""

    shown: str
    code: int
    out: str
    err: str = ""

    def __str__(self) -> str:
        said = "".join(text if text.endswith("\n") else f"{text}\n" for text in (self.out,) if text)
        if self.err:
            said += f"[stderr]\n{self.err}" + ("" if self.err.endswith("\n") else "\n")
        return f"$ gossamer {self.shown}\n{said}[exit {self.code}]\n"


def transcript(takes: Iterator[Take]) -> str:
    return "\n".join(map(str, takes))


# --- help: every command's, found by what the help of its group lists ---


def help_texts(folder: Path) -> Files:
    terminal = Terminal(folder / "home", settings={"COLUMNS": WIDTH})
    return {"help.txt": transcript(_helps(terminal, ()))}


def _helps(terminal: Terminal, path: tuple[str, ...]) -> Iterator[Take]:
    done = terminal.type(*path, "--help")
    yield Take(" ".join([*path, "--help"]), done.returncode, done.stdout, done.stderr)
    listed = done.stdout.partition("\nCommands:\n")[2]
    for line in listed.splitlines():
        if line.startswith("  ") and not line.startswith("   "):
            yield from _helps(terminal, (*path, line.split()[0]))


# --- the interface's description of itself ---


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


PLAYS: Mapping[str, Callable[[Path], Files]] = {"help": help_texts, "openapi": openapi}
