"""The interface as `/openapi.json` describes it: what the library writes, put right and with examples."""

from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI

from gossamer.api.examples import OPERATIONS, SHAPES
from gossamer.api.problems import Problem

_THEIRS = "HTTPValidationError"  # what the library promises for a body that cannot be read; here that is a 400

_KEYLESS = ("post_v1_auth_login", "post_v1_auth_refresh")  # a 401 is what they say of a wrong password
# Written here and not by the library, which would look for both in every request.
_KEYS = {
    "HTTPBearer": {
        "type": "http",
        "scheme": "bearer",
        "description": "An API key, or the access token of a login.",
    },
    "APIKeyHeader": {"type": "apiKey", "in": "header", "name": "X-API-Key", "description": "An API key."},
}


def describe(api: FastAPI) -> None:
    """Have the application describe itself so."""
    written = api.openapi

    def openapi() -> dict[str, Any]:
        if api.openapi_schema is None:
            api.openapi_schema = _finished(written())
        return api.openapi_schema

    api.openapi = openapi  # type: ignore[method-assign]


def _finished(spec: dict[str, Any]) -> dict[str, Any]:
    schemas = spec["components"]["schemas"]
    for name in (_THEIRS, "ValidationError"):
        schemas.pop(name, None)
    schema = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
    schemas |= schema.pop("$defs", {}) | {"Problem": schema}
    for name, example in SHAPES.items():
        schemas[name]["example"] = example
    spec["components"]["securitySchemes"] = _KEYS
    for verbs in spec["paths"].values():
        for operation in verbs.values():
            _put_right(operation)
            if "401" in operation["responses"] and operation["operationId"] not in _KEYLESS:
                operation["security"] = [{name: []} for name in _KEYS]
    return spec


def _put_right(operation: Mapping[str, Any]) -> None:
    responses = operation["responses"]
    if _promises_422(responses):
        del responses["422"]
    if named := OPERATIONS.get(operation["operationId"]):
        media, example = named
        good = next(answer for status, answer in responses.items() if status.startswith("2"))
        good["content"].setdefault(media, {})["example"] = example


def _promises_422(responses: Mapping[str, Any]) -> bool:
    """The library's own, which is never sent; where we have one it says something else."""
    content = responses.get("422", {}).get("content", {})
    return any(one.get("schema", {}).get("$ref", "").endswith(_THEIRS) for one in content.values())
