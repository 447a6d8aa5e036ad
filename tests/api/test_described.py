"""The interface describes itself whole: an example of everything sent and answered, and every error by its code."""

from typing import Any

import pytest
from jsonschema import Draft202012Validator

from gossamer.api.error_codes import CODES, status_of
from gossamer.api.examples import OPERATIONS, SHAPES
from tests.api.described import Operation, description, operations, undeclared
from tests.api.judging import DIALECTS

_BINARY = {"application/octet-stream", "text/csv"}
_BY_NAME = {one.said["operationId"]: one for one in operations()}


def resolved(schema: dict[str, Any]) -> dict[str, Any]:
    for one in (schema, *schema.get("anyOf", ())):
        if name := one.get("$ref", "").rpartition("/")[2]:
            found: dict[str, Any] = description()["components"]["schemas"][name]
            return found
    return schema


def example_of(content: dict[str, Any]) -> Any:
    """The one of this place, or of the shape that is there."""
    return content.get("example", resolved(content.get("schema", {})).get("example"))


def hold(schema: dict[str, Any], example: Any, where: str) -> None:
    whole = {**schema, "components": description()["components"]}
    wrong = [error.message for error in Draft202012Validator(whole).iter_errors(example)]
    assert wrong == [], where


@pytest.mark.parametrize("name", sorted(_BY_NAME))
def test_every_operation_has_examples_that_fit_their_shapes(name: str) -> None:
    one = _BY_NAME[name]
    for media, content in one.said.get("requestBody", {}).get("content", {}).items():
        assert example_of(content) is not None, f"{one.verb} {one.path} has no example of its body"
        hold(content["schema"], example_of(content), f"{one.verb} {one.path}: {media}")
    for status, answer in one.said["responses"].items():
        if status.startswith("2") and name != "get_api_jobs_job_id_exports":  # which never has one
            _look_at(one, status, answer)


def _look_at(one: Operation, status: str, answer: dict[str, Any]) -> None:
    contents = {media: content for media, content in answer.get("content", {}).items() if media not in _BINARY}
    examples = {media: example_of(content) for media, content in contents.items()}
    where = f"{one.verb} {one.path} {status}"
    assert not contents or any(example is not None for example in examples.values()), f"{where} has no example"
    for media, example in examples.items():
        if example is not None and media == "application/json":
            hold(contents[media].get("schema", {}), example, where)


@pytest.mark.parametrize("name", sorted(_BY_NAME))
def test_every_error_is_declared_with_an_example_of_each_code(name: str) -> None:
    one = _BY_NAME[name]
    if one.path.startswith(DIALECTS):
        return
    errors = {status: answer for status, answer in one.said["responses"].items() if status[0] in "45"}
    assert errors
    for status, answer in errors.items():
        examples = answer["content"]["application/problem+json"]["examples"]
        assert list(examples) == answer["x-codes"] != []
        for code, example in examples.items():
            hold({"$ref": "#/components/schemas/Problem"}, example["value"], f"{name} {code}")
            assert (example["value"]["code"], example["value"]["status"]) == (code, int(status))
            assert status_of(code) == int(status) or code == "address-forbidden"


def test_nothing_is_described_twice_or_for_nothing() -> None:
    schemas = description()["components"]["schemas"]
    assert [name for name in schemas if "__" in name] == []  # two shapes of one name
    assert set(SHAPES) <= set(schemas)
    assert set(OPERATIONS) <= set(_BY_NAME)
    named = {
        code for one in operations() for answer in one.said["responses"].values() for code in answer.get("x-codes", ())
    }
    # What only a mistake of ours, or a path that is none, is answered with.
    assert set(CODES) - named == {"failed"}


def test_a_code_that_is_not_declared_is_found_out() -> None:
    job = "/v1/jobs/0192f3a1-7b2c-7d4e-8f5a-6b7c8d9e0f1a"
    assert not undeclared("POST", "/v1/scrape", 422, "page-failed")
    assert undeclared("POST", "/v1/scrape", 410, "results.deleted")
    assert not undeclared("GET", job, 404, "job.not_found")
    assert undeclared("GET", job, 409, "job.not_found")
    assert undeclared("POST", f"{job}/pause", 404, "export.not_found")
    assert not undeclared("GET", "/v1/files/a/b/c", 410, "link.gone")
    assert not undeclared("GET", "/nowhere", 404, "not_found")
