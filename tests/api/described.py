"""What the interface says of itself, and whether an answer keeps to it: every answer that a test gets is looked at."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import gettempdir
from types import SimpleNamespace
from typing import Any, cast

import httpx

from gossamer.api.app import make_app
from gossamer.settings import Settings
from tests.api.judging import DIALECTS

PROBLEM = "application/problem+json"


@dataclass(frozen=True, slots=True)
class Operation:
    """One verb of one path."""

    verb: str
    path: str
    said: Mapping[str, Any]

    def fits(self, verb: str, path: str) -> bool:
        pattern = re.sub(r"\\\{key\\\}", ".*", re.escape(self.path))
        return self.verb == verb and bool(re.fullmatch(re.sub(r"\\\{\w+\\\}", "[^/]+", pattern), path))

    def codes(self, status: int) -> list[str]:
        return list(self.said["responses"].get(str(status), {}).get("x-codes", ()))


@cache
def description() -> dict[str, Any]:
    parts = SimpleNamespace(app=SimpleNamespace(settings=Settings(home=Path(gettempdir()) / "nobody")))
    return make_app(cast("Any", parts)).openapi()


@cache
def operations() -> tuple[Operation, ...]:
    paths = description()["paths"]
    return tuple(Operation(verb.upper(), path, said) for path, verbs in paths.items() for verb, said in verbs.items())


def undeclared(verb: str, path: str, status: int, code: str) -> bool:
    """Whether an operation has answered with a code it does not name; what is no operation names none."""
    one = next((one for one in _literal_first() if one.fits(verb, path)), None)
    return one is not None and not one.path.startswith(DIALECTS) and code not in one.codes(status)


def _literal_first() -> Iterator[Operation]:
    yield from sorted(operations(), key=lambda one: one.path.count("{"))


def hold_against_it(response: httpx.Response) -> None:
    """For a client of tests: after each answer."""
    if response.headers.get("content-type") != PROBLEM:
        return
    response.read()
    code = response.json()["code"]
    asked = f"{response.request.method} {response.request.url.path}"
    wrong = undeclared(response.request.method, response.request.url.path, response.status_code, code)
    assert not wrong, f"{asked} has answered {response.status_code} {code}, which it does not declare"
