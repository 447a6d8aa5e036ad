"""Which line of a robots.txt decides about an address, said by the same reading that obeyed it.

Nothing is compared here: lines are given to the rules one at a time, and what they answer tells what each line does.
"""

import re
from typing import NamedTuple

from gossamer.frontier.robots import read_rules

_LINE_END = re.compile(r"\r\n|\r|\n")
_FOR_ALL = "User-agent: *"
_FORBIDS_NOTHING = "Disallow:"
_FORBIDS_ALL = "Disallow: /"


class RuleLine(NamedTuple):
    """A line of the file as it stands there; the first has number 1."""

    number: int
    text: str


def deciding_line(body: str, url: str) -> RuleLine | None:
    """The line that allows or disallows an address; None where no line speaks of it, which allows it."""
    allowed = _allows(body, url)
    lines = _LINE_END.split(body)
    fitting = [at for at, line in enumerate(lines) if _fits(line, url, allowed)]
    if not fitting:
        return None
    # Without their meaning but in their places, the other rules still say where one robot's lines end.
    silent = [_FORBIDS_NOTHING if _is_rule(line) else line for line in lines]
    # The longest pattern is the most specific, and of two alike the first. The first one that counts for us decides,
    # so hardly ever are all of them tried.
    for at in sorted(fitting, key=lambda at: (-_length(lines[at]), at)):
        if not _allows("\n".join([*silent[:at], _FORBIDS_ALL, *silent[at + 1 :]]), url):
            return RuleLine(at + 1, lines[at].strip())
    return None


def _fits(line: str, url: str, allowed: bool) -> bool:
    """Whether the line alone would decide as the whole file did."""
    if allowed:
        return _is_rule(line) and _allows(f"{_FOR_ALL}\n{_FORBIDS_ALL}\n{line}", url)
    return not _allows(f"{_FOR_ALL}\n{line}", url)


def _is_rule(line: str) -> bool:
    return read_rules(200, f"{_FOR_ALL}\n{line}").parsed is not None


def _allows(body: str, url: str) -> bool:
    return read_rules(200, body).allow(url)


def _length(line: str) -> int:
    return len(line.partition("#")[0].partition(":")[2].strip())
