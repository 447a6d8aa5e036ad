"""The sentences that the requirements quote, as patterns: `quoted.txt` has them."""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

FILE = Path(__file__).with_name("quoted.txt")
_NUMBER = re.compile(r"\d[\d,.]*(?<![,.])")
_PARTS = re.compile(r"(\{\})")


@dataclass(frozen=True, slots=True)
class Quoted:
    """One sentence."""

    requirement: str
    sentence: str
    pattern: re.Pattern[str]  # what the program says
    test: str  # a file that shows it, or nothing


@cache
def quoted() -> tuple[Quoted, ...]:
    lines = FILE.read_text(encoding="utf-8").splitlines()
    return tuple(_read(line) for line in lines if line and not line.startswith("#"))


def _read(line: str) -> Quoted:
    requirement, sentence, template, test, *_ = [*line.split(" :: "), "", ""]
    template = template or _NUMBER.sub("{}", sentence)
    pattern = "".join(".*?" if part == "{}" else re.escape(part) for part in _PARTS.split(template))
    return Quoted(requirement, sentence, re.compile(pattern), test)
