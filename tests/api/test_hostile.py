"""Whatever is sent, with a key or without: an answer that was announced, and never a mistake of ours."""

from collections.abc import Iterator
from random import Random
from typing import Any
from uuid import uuid4

import pytest

from tests.api.conftest import Server, new_job
from tests.api.judging import SHORTEST, assert_no_mistake

pytestmark = pytest.mark.xdist_group("api")  # they share a server

TEXTS: list[Any] = [
    "",
    "x" * 3_000,
    "..",
    "%2e%2e",
    "\u202e\u0085",
    "'; DROP TABLE jobs; --",
    "\U0001f578" * 50,
    "-1",
    "99999999999999999999",
    "null",
    "1e400",
    "0001-01-01",
    "9999-12-31",
    "AAAA",
    "gsk_" + "a" * 500,
]
VALUES: list[Any] = [None, True, -1, 2**63, 1e308, [], {}, [[]], {"": {}}, ["x"] * 300, *TEXTS]
BODIES = [b"", b"{", b"[]", b"null", b'"x"', b"\xff\xfe", b"[" * 5_000, b'{"a":' * 3_000, b"1" * 5_000, b"{}"]


def _bodies(operation: dict[str, Any], schemas: dict[str, Any], dice: Random) -> list[Any]:
    """Its example, spoilt in one field at a time."""
    content = operation.get("requestBody", {}).get("content", {}).get("application/json")
    if not content:
        return []
    schema = content["schema"]
    for one in (schema, *schema.get("anyOf", ())):
        if "$ref" in one:
            schema = schemas[one["$ref"].rpartition("/")[2]]
    good = schema.get("example", {})
    fields = list(schema.get("properties", {}))
    return [{**good, dice.choice(fields): dice.choice(VALUES)} for _ in range(25)] if fields else []


def _known(answer: Any, operation: dict[str, Any]) -> bool:
    announced = operation["responses"]
    return "default" in announced or str(answer.status_code) in announced or answer.status_code in (404, 405)


def _requests(operation: dict[str, Any], schemas: dict[str, Any], dice: Random) -> Iterator[dict[str, Any]]:
    names = [one["name"] for one in operation.get("parameters", ()) if one["in"] == "query"]
    yield from ({"params": {name: dice.choice(TEXTS)}} for name in names for _ in range(3))
    for body in _bodies(operation, schemas, dice):
        # Nobody works here: what is waited for would not come.
        yield {"json": {name: value for name, value in body.items() if name != "sitemap_url"} | _at_once(operation)}
    if "requestBody" in operation:
        yield from ({"content": body, "headers": {"Content-Type": "application/json"}} for body in BODIES)
    yield {}


def _at_once(operation: dict[str, Any]) -> dict[str, Any]:
    waits = {"post_v1_scrape": 0, "post_firecrawl_v2_scrape": SHORTEST}
    return {"timeout": waits[operation["operationId"]]} if operation["operationId"] in waits else {}


class _Ids(dict[str, Any]):
    """Of whatever is not named, one that nobody has."""

    def __missing__(self, name: str) -> str:
        return str(uuid4())


@pytest.mark.parametrize("with_key", [True, False])
def test_no_request_makes_a_mistake_of_ours(api: Server, with_key: bool) -> None:
    dice, sent = Random(7), 0
    with api.client() if with_key else api.stranger() as client, api.client() as owner:
        spec = owner.get("/openapi.json").json()
        job = owner.post("/v1/jobs", json=new_job(start=False)).json()["id"]
        operations = [(path, *one) for path, verbs in spec["paths"].items() for one in verbs.items()]
        for path, verb, operation in operations:
            for more in _requests(operation, spec["components"]["schemas"], dice):
                if path.endswith(("/live", "/stream")):
                    continue
                ids = {name: dice.choice([job, uuid4(), "x", "%00", "0" * 300]) for name in ("job_id", "batch_id")}
                where = path.format_map(_Ids(ids, key=dice.choice(TEXTS)))
                # Logins are counted by address: those of other tests are not ours to use up.
                more["headers"] = {**more.get("headers", {}), "X-Forwarded-For": "10.6.6.6"}
                answer = client.request(verb.upper(), where, **more)
                sent += 1
                said = f"{verb} {where} {more}: {answer.status_code} {answer.text}"
                assert_no_mistake(path, answer, said)
                assert _known(answer, operation), said
    assert sent > 300
