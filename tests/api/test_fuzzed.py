"""The whole interface as it describes itself, asked by schemathesis with data that is valid and data that is not.

Whoever asks, with a key, without one, or with somebody else's: no mistake of ours, no answer that was not announced,
nothing of another account. `FUZZ_EXAMPLES` in the environment is how many requests of each kind an endpoint gets.
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeAlias
from uuid import uuid4

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import CheckFunction
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.api.conftest import Server, new_job
from tests.api.described import undeclared
from tests.api.judging import DIALECTS, assert_no_mistake

pytestmark = pytest.mark.xdist_group("api")  # they share a server

# The library says of more things what they are than anybody here wants to know.
Operation: TypeAlias = Any
AnyCase: TypeAlias = Any

EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "4"))
SECRET = "a secret name"
CHECKS: list[CheckFunction] = [
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    response_headers_conformance,
]
TOO_LONG = "Invalid HTTP request received."  # said before anything of ours is reached, of an address over 64 KB
ENDLESS = ("/live", "/stream")  # they end with their job


@dataclass(frozen=True, slots=True)
class Owned:
    """Things of the first account, by the names that paths have for their ids."""

    ids: dict[str, str]

    def named_in(self, text: str) -> list[str]:
        return [one for one in (SECRET, *self.ids.values()) if one in text]


@pytest.fixture(scope="module")
def owned(api: Server) -> Owned:
    with api.client() as owner:
        job = owner.post("/v1/jobs", json=new_job(name=SECRET, start=False)).json()["id"]
        export = owner.post(f"/v1/jobs/{job}/exports", json={"format": "csv"}).json()["items"][0]["id"]
        key = owner.post("/v1/keys", json={"name": SECRET}).json()["id"]
        hook = owner.post("/v1/webhooks", json={"url": "http://93.184.216.34/hooks"}).json()["id"]
    return Owned({"job_id": job, "batch_id": job, "export_id": export, "key_id": key, "webhook_id": hook})


@pytest.fixture(scope="module")
def operations(api: Server) -> list[Operation]:
    with api.stranger() as client:
        schema = schemathesis.openapi.from_dict(client.get("/openapi.json").json())
    found: list[Any] = list(schema.get_all_operations())
    return [one.ok() for one in found]


@pytest.fixture
def session() -> Iterator[requests.Session]:
    with requests.Session() as one:
        yield one


SHORTEST = {"/v1/scrape": 0, "/firecrawl/v2/scrape": 1_000, "/api/v1/": 1_000}
"""Nobody works here, so nothing that is waited for would come: what these are told, in their own units."""


def _in_time(case: AnyCase) -> AnyCase:
    shortest = SHORTEST.get(case.operation.path)
    if isinstance(case.body, dict):
        if shortest is not None:
            case.body["timeout"] = shortest
        case.body.pop("sitemap_url", None)
    elif shortest is not None and case.method == "GET":
        case.query = {**(case.query or {}), "timeout": shortest}
    return case


def _with_real_ids(case: AnyCase, owned: Owned) -> AnyCase:
    """Half of the time an id is one that there is: otherwise nobody would ever get past it."""
    known = {name: owned.ids[name] for name in case.path_parameters or {} if name in owned.ids}
    if known and case.operation.path.endswith(ENDLESS):
        return case
    for name, value in known.items():
        if uuid4().int % 2:
            case.path_parameters[name] = value
    return case


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE], ids=["valid", "hostile"])
@pytest.mark.parametrize("who", ["default", "other", ""], ids=["owner", "other", "nobody"])
def test_every_answer_was_announced_and_is_for_whoever_asks(
    api: Server, operations: list[Operation], owned: Owned, session: requests.Session, who: str, mode: GenerationMode
) -> None:
    # Logins are counted by address: those of other tests are not ours to use up.
    headers = {"X-Forwarded-For": f"10.7.7.{uuid4().int % 250}"}
    if who:
        headers["Authorization"] = f"Bearer {api.keys[who]['submit' if who == 'default' else 'admin']}"
    asked: dict[str, int] = {}

    def ask(operation: Operation) -> None:
        @seed(7)
        @settings(
            max_examples=EXAMPLES,
            deadline=None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(case=operation.as_strategy(generation_mode=mode))
        def one(case: AnyCase) -> None:
            case = _with_real_ids(_in_time(case), owned)
            answer = case.call(base_url=api.url, session=session, headers=headers, timeout=600)
            asked[operation.label] = asked.get(operation.label, 0) + 1
            _judge(case, answer, who, owned)

        # Where nothing is taken, nothing can be wrong with it.
        with suppress(Unsatisfiable):
            one()

    for operation in operations:
        ask(operation)
    assert len(asked) > 30
    with api.client() as owner:
        if who == "default":  # who may give it another name, and then may give it this one
            assert owner.patch(f"/v1/jobs/{owned.ids['job_id']}", json={"name": SECRET}).status_code == 200
        job = owner.get(f"/v1/jobs/{owned.ids['job_id']}").json()
        assert job["name"] == SECRET
        keys = {one["id"]: one for one in owner.get("/v1/keys").json()["items"]}
        assert keys[owned.ids["key_id"]]["revoked_at"] is None


def _judge(case: AnyCase, answer: Any, who: str, owned: Owned) -> None:
    if answer.text == TOO_LONG:
        return
    if answer.status_code == 431:  # nor is of a head over 64 KB
        assert answer.json()["code"] == "request.head_too_large"
        return
    said = f"{case.method} {case.formatted_path}: {answer.status_code} {answer.text[:500]}"
    kind = answer.headers.get("content-type", [""])[0]
    if case.operation.path.startswith(DIALECTS) and kind == "application/problem+json":
        assert answer.status_code in (400, 413), said  # it never got as far as the dialect
        return
    assert_no_mistake(case.operation.path, answer, said)
    case.validate_response(answer, checks=CHECKS)
    if answer.status_code >= 400 and not case.operation.path.startswith(DIALECTS):
        problem = answer.json()
        assert problem["request_id"] == answer.headers["x-request-id"][0], said
        path = case.formatted_path
        assert not undeclared(case.method, path, answer.status_code, problem["code"]), said
    if who != "default":
        # What was sent comes back in some answers: that is no secret.
        sent = f"{case.formatted_path} {case.path_parameters}"
        assert [one for one in owned.named_in(answer.text) if one not in sent] == [], said
    if not who and case.operation.definition.raw.get("security"):
        assert answer.status_code in (400, 401, 404, 405, 413), said
