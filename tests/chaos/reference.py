"""What is left of a job when it is over: of one that was left alone, and of one that was not."""

import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from gossamer.recipes.prospect.tables import RESULTS
from gossamer_sandbox.web.proof import forbidden_requests, read_log, smallest_gaps
from tests.chaos.ground import PROCESSES, Ground
from tests.stories.program import Terminal, Web

_TIMES = frozenset({"timestamp", "last_attempt"})
_NEARLY = 0.95  # of the gap that is kept: moments are taken by another process than the one that keeps it


@dataclass(frozen=True, slots=True)
class Left:
    """A job's results and sites, as bytes without any time in them, and what its pages were asked for."""

    results: bytes
    sites: bytes
    requests: Counter[tuple[str, str]]  # host and path


@dataclass(frozen=True, slots=True)
class Reference:
    """What a job leaves that nobody disturbed."""

    left: Left
    pages: int
    seconds: float


def undisturbed(ground: Ground, folder: Path) -> Reference:
    """Run a job that is left alone."""
    with ground.web(folder / "web") as web:
        terminal = Terminal(folder / "home", web, ground.settings)
        since = time.monotonic()
        status = terminal.ask(*terminal.prospect(*PROCESSES))
        seconds = time.monotonic() - since
        assert status["state"] == "completed", status
        left = what_is_left(terminal, status["id"], web)
    assert not impolite(web, ground), "the reference itself is not polite"
    pages = status["pages"]
    return Reference(left, pages["done"] + pages["failed"] + pages["skipped"], seconds)


def what_is_left(terminal: Terminal, job: str, web: Web) -> Left:
    columns = ",".join(column.name for column in RESULTS.columns)
    command = ("job", "export", job, "--format", "json", "--columns", columns, "--output", "-")
    exported = orjson.loads(terminal.type(*command).stdout)
    listed = terminal.ask("job", "sites", job, "--limit", "50000")
    sites = sorted(listed, key=lambda site: str(site["domain"]))
    time.sleep(0.5)  # the access log is written a moment later
    requests = Counter((request.host, request.path) for request in read_log(web.log))
    return Left(_bytes(exported["results"]), _bytes(sites), requests)


def differences(found: Left, expected: Left) -> list[str]:
    """In words, with the first place where they part: enough to know where to look."""
    return [
        f"{name} differ from the undisturbed run: {_where(one, other)}"
        for name, one, other in (
            ("results", found.results, expected.results),
            ("sites", found.sites, expected.sites),
        )
        if one != other
    ]


def fetched_again(found: Left, expected: Left) -> int:
    """Requests that the undisturbed run did not need."""
    return (found.requests - expected.requests).total()


def impolite(web: Web, ground: Ground) -> list[str]:
    """Domains that were asked too soon after the last time, and addresses nobody may ask for."""
    found = []
    gaps = smallest_gaps(web.log)
    closest = min(gaps, key=lambda domain: gaps[domain])
    if gaps[closest] < _NEARLY / ground.rate:
        found.append(f"{closest} was asked again after {gaps[closest] * 1000:.1f} ms")
    if forbidden := forbidden_requests(web.log, web.truth):
        found.append(f"{len(forbidden)} forbidden addresses were asked for, first {forbidden[0]}")
    return found


def _bytes(value: Any) -> bytes:
    return orjson.dumps(_timeless(value), option=orjson.OPT_SORT_KEYS | orjson.OPT_INDENT_2)


def _timeless(value: Any) -> Any:
    match value:
        case Mapping():
            return {name: _timeless(part) for name, part in value.items() if name not in _TIMES}
        case list():
            return [_timeless(part) for part in value]
        case _:
            return value


def _where(found: bytes, expected: bytes) -> str:
    one, other = found.splitlines(), expected.splitlines()
    at = next((at for at, (here, there) in enumerate(zip(one, other, strict=False)) if here != there), None)
    if at is None:
        return f"{len(one)} lines, expected {len(other)}"
    return f"line {at + 1} is {one[at].decode()!r}, expected {other[at].decode()!r}"
