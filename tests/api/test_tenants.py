"""Nobody sees or touches what is another account's: not by any endpoint, and not by one that is written tomorrow."""

import ast
from pathlib import Path
from uuid import uuid4

import pytest

import gossamer.api
from tests.api.conftest import Server, new_job

pytestmark = pytest.mark.xdist_group("api")  # they share a server

SOURCE = Path(gossamer.api.__file__).parent

# Endpoints that take an id, and what they are sent. A new one must be added here.
WITH_ID = {
    "DELETE /v1/jobs/{job_id}": None,
    "DELETE /v1/keys/{key_id}": None,
    "GET /api/jobs/{job_id}": None,
    "GET /api/jobs/{job_id}/exports": None,
    "GET /api/jobs/{job_id}/stream": None,
    "POST /api/jobs/{job_id}/cancel": None,
    "GET /scrapersky/batch/status/{batch_id}": None,
    "GET /scrapersky/status/{job_id}": None,
    "GET /v1/jobs/{job_id}": None,
    "GET /v1/jobs/{job_id}/errors": None,
    "GET /v1/jobs/{job_id}/exports": None,
    "GET /v1/jobs/{job_id}/exports/{export_id}": None,
    "GET /v1/jobs/{job_id}/exports/{export_id}/file": None,
    "GET /v1/jobs/{job_id}/live": None,
    "GET /v1/jobs/{job_id}/results": None,
    "GET /v1/jobs/{job_id}/urls": None,
    "POST /scrapersky/batch/{batch_id}/retry-failed": None,
    "POST /v1/jobs/{job_id}/cancel": None,
    "POST /v1/jobs/{job_id}/exports": {"format": "csv"},
    "POST /v1/jobs/{job_id}/exports/cancel": None,
    "POST /v1/jobs/{job_id}/pause": None,
    "POST /v1/jobs/{job_id}/resume": {},
    "POST /v1/jobs/{job_id}/retry-failed": None,
}


def test_every_endpoint_that_takes_an_id_is_tried(api: Server) -> None:
    with api.stranger() as client:
        spec = client.get("/openapi.json").json()
    found = {f"{verb.upper()} {path}" for path, verbs in spec["paths"].items() for verb in verbs if "{" in path}
    assert found == set(WITH_ID)


@pytest.mark.parametrize("endpoint", sorted(WITH_ID))
def test_an_id_of_another_account_is_no_id(api: Server, endpoint: str) -> None:
    with api.client() as owner, api.client("other") as other:
        job = owner.post("/v1/jobs", json=new_job(name="a secret name")).json()["id"]
        export = owner.post(f"/v1/jobs/{job}/exports", json={"format": "csv"}).json()["items"][0]["id"]
        key = owner.post("/v1/keys", json={"name": "a secret name"}).json()["id"]
        verb, _, path = endpoint.partition(" ")
        ids = {"job_id": job, "batch_id": job, "export_id": export, "key_id": key}
        theirs = other.request(verb, path.format(**ids), json=WITH_ID[endpoint])
        nobodys = other.request(verb, path.format(**dict.fromkeys(ids, uuid4())), json=WITH_ID[endpoint])
        assert (theirs.status_code, nobodys.status_code) == (404, 404), theirs.text
        assert theirs.json()["code"] == nobodys.json()["code"]
        assert "a secret name" not in theirs.text
        now = owner.get(f"/v1/jobs/{job}").json()
        assert (now["state"], now["name"]) == ("running", "a secret name")
        assert owner.get(f"/v1/jobs/{job}/exports").json()["items"][0]["state"] == "pending"
        assert not next(one for one in owner.get("/v1/keys").json()["items"] if one["id"] == key)["revoked_at"]


def test_lists_have_what_is_ones_own(api: Server) -> None:
    with api.client() as owner, api.client("other") as other:
        job = owner.post("/v1/jobs", json=new_job(name="a secret name")).json()["id"]
        for path in ("/v1/jobs?limit=200", "/v1/usage?by=request&limit=1000", "/v1/keys"):
            assert job not in other.get(path).text
            assert "a secret name" not in other.get(path).text
        assert job in owner.get("/v1/usage?by=request&limit=1000").text
        assert other.get("/v1/account").json()["id"] == "other"
        owner.post(f"/v1/jobs/{job}/cancel")
        forgotten = other.delete("/v1/records", params={"domain": "a.test"}).json()
        assert forgotten["jobs"] == []


def test_every_question_of_a_tenant_names_the_account() -> None:
    tree = ast.parse((SOURCE / "tenant.py").read_text())
    asked = 0
    for node in ast.walk(tree):
        match node:
            case ast.Call(ast.Attribute(value, "read" | "write"), [_, *rest]):
                asked += 1
                whose = ast.unparse(value)
                if whose == "self._app.database":
                    assert rest, f"line {node.lineno}: it asks for nobody in particular"
                    assert ast.unparse(rest[0]) == "self.id", f"line {node.lineno}: it does not name the account"
                elif whose != "self._app.page_files()":  # which are kept by job
                    assert whose.startswith("self._of("), f"line {node.lineno}: what is it asked of?"
    assert asked > 20


@pytest.mark.parametrize("module", ["jobs", "results", "records", "account", "scrape", "scrapersky", "sitemap_jobs"])
def test_endpoints_have_no_database(module: str) -> None:
    text = (SOURCE / f"{module}.py").read_text()
    names = {node.attr for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Attribute)}
    assert not names & {"database", "read", "write"}
    assert "from gossamer.store" not in text
