"""A take: one command or request and all it said, normalised, as a transcript shows it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from subprocess import CompletedProcess

from tests.golden.normal import Normal, squeeze, without_progress
from tests.stories.program import Terminal

WIDTH = "120"


@dataclass(frozen=True, slots=True)
class Take:
    shown: str
    ended: str  # "exit 0", "404 application/json"
    out: str
    err: str = ""

    def __str__(self) -> str:
        said = _lines(self.out) + (f"[stderr]\n{_lines(self.err)}" if self.err else "")
        return f"$ {self.shown}\n{said}[{self.ended}]\n"


def _lines(text: str) -> str:
    return text if not text or text.endswith("\n") else f"{text}\n"


def transcript(takes: Iterable[Take]) -> str:
    return "\n".join(map(str, takes))


@dataclass(frozen=True, slots=True)
class Stage:
    """A terminal whose commands become takes."""

    terminal: Terminal
    normal: Normal

    def command(self, *arguments: str, ragged: bool = False) -> Take:
        """Run a command. `ragged`: its columns are as wide as something that was measured."""
        return self.taken(arguments, self.terminal.type(*arguments, check=False), ragged=ragged)

    def taken(self, arguments: Sequence[str], done: "CompletedProcess[str]", *, ragged: bool = False) -> Take:
        """What a command has said, as a take."""
        as_json = "--json" in arguments
        out, err = (
            self.normal.json(text) if as_json else self.normal.text(without_progress(text))
            for text in (done.stdout, done.stderr)
        )
        if ragged:
            out = squeeze(out)
        shown = self.normal.text(" ".join(f'"{one}"' if " " in one else one for one in arguments))
        return Take(f"gossamer {shown}", f"exit {done.returncode}", out, err)

    def commands(self, *lines: str) -> list[Take]:
        """Run commands that need no quotes, one after the other."""
        return [self.command(*line.split()) for line in lines]
