"""Nobody sees or touches what is another account's: not by any endpoint, and not by one that is written tomorrow."""

import ast
import inspect
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any
from uuid import uuid4

import pytest

import gossamer.api
from gossamer.runtime import housekeeping
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
    "POST /v1/jobs/{job_id}/rerun": None,
    "PATCH /v1/jobs/{job_id}": {"name": "theirs"},
    "DELETE /firecrawl/v2/batch/scrape/{job_id}": None,
    "DELETE /firecrawl/v2/crawl/{job_id}": None,
    "GET /firecrawl/v2/batch/scrape/{job_id}": None,
    "GET /firecrawl/v2/batch/scrape/{job_id}/errors": None,
    "GET /firecrawl/v2/crawl/{job_id}": None,
    "GET /firecrawl/v2/crawl/{job_id}/errors": None,
    "DELETE /v1/webhooks/{webhook_id}": None,
    "GET /v1/webhooks/{webhook_id}": None,
    "GET /v1/webhooks/{webhook_id}/deliveries": None,
    "GET /v1/webhooks/{webhook_id}/deliveries/{delivery_id}": None,
    "PATCH /v1/webhooks/{webhook_id}": {"enabled": False},
    "POST /v1/webhooks/{webhook_id}/deliveries/{delivery_id}/replay": None,
    "POST /v1/webhooks/{webhook_id}/replay-failed": None,
    "POST /v1/webhooks/{webhook_id}/rotate": {},
    "POST /v1/webhooks/{webhook_id}/test": None,
}


def test_every_endpoint_that_takes_an_id_is_tried(api: Server) -> None:
    with api.stranger() as client:
        spec = client.get("/openapi.json").json()
    found = {f"{verb.upper()} {path}" for path, verbs in spec["paths"].items() for verb in verbs if "{" in path}
    assert found - {"GET /v1/files/{key}"} == set(WITH_ID)  # whose key is a signed link: test_links


@pytest.mark.parametrize("endpoint", sorted(WITH_ID))
def test_an_id_of_another_account_is_no_id(api: Server, endpoint: str) -> None:
    with api.client() as owner, api.client("other") as other:
        job = owner.post("/v1/jobs", json=new_job(name="a secret name")).json()["id"]
        export = owner.post(f"/v1/jobs/{job}/exports", json={"format": "csv"}).json()["items"][0]["id"]
        key = owner.post("/v1/keys", json={"name": "a secret name"}).json()["id"]
        hook = owner.post("/v1/webhooks", json={"url": "https://1.1.1.1/a-secret-name"}).json()["id"]
        message = owner.post(f"/v1/webhooks/{hook}/test").json()["id"]
        verb, _, path = endpoint.partition(" ")
        ids = {"job_id": job, "batch_id": job, "export_id": export, "key_id": key}
        ids |= {"webhook_id": hook, "delivery_id": message}
        theirs = other.request(verb, path.format(**ids), json=WITH_ID[endpoint])
        nobodys = other.request(verb, path.format(**dict.fromkeys(ids, uuid4())), json=WITH_ID[endpoint])
        assert (theirs.status_code, nobodys.status_code) == (404, 404), theirs.text
        assert theirs.json()["code"] == nobodys.json()["code"]
        assert "a secret name" not in theirs.text
        assert "a-secret-name" not in theirs.text
        now = owner.get(f"/v1/jobs/{job}").json()
        assert (now["state"], now["name"]) == ("running", "a secret name")
        assert owner.get(f"/v1/jobs/{job}/exports").json()["items"][0]["state"] != "cancelled"
        assert not next(one for one in owner.get("/v1/keys").json()["items"] if one["id"] == key)["revoked_at"]
        told = owner.get(f"/v1/webhooks/{hook}/deliveries").json()["items"]
        # Beside it may be those of files that the server has made.
        assert (message, "pending") in [(one["id"], one["state"]) for one in told]
        assert owner.get(f"/v1/webhooks/{hook}").json()["state"] == "active"
        owner.delete(f"/v1/webhooks/{hook}")


def test_lists_have_what_is_ones_own(api: Server) -> None:
    with api.client() as owner, api.client("other") as other:
        job = owner.post("/v1/jobs", json=new_job(name="a secret name")).json()["id"]
        for path in ("/v1/jobs?limit=200", "/v1/usage?by=request&limit=1000", "/v1/keys", "/v1/webhooks"):
            assert job not in other.get(path).text
            assert "a secret name" not in other.get(path).text
        assert job in owner.get("/v1/usage?by=request&limit=1000").text
        assert other.get("/v1/account").json()["id"] == "other"
        owner.post(f"/v1/jobs/{job}/cancel")
        forgotten = other.delete("/v1/records", params={"domain": "a.test"}).json()
        assert forgotten["jobs"] == []


# The only module that asks the database for an account, and what it hands it to that is not told whose it is:
# what is submitted holds its account, files are swept by what no row names any more.
ASKING = {"tenant": {"submit_once", "FileSweeper"}}
TALKING = {"read", "read_inline", "read_together", "write", "write_one", "write_nosync"}
# What stands before an account is known, or beside all of them. Whoever adds to it should know why.
BESIDE = {
    "caller": {"account_queries.key_holder", "account_queries.note_key_use", "account_queries.get_login"},
    "account": {f"account_queries.{name}" for name in ("user_by_email", "begin_login", "renew_login", "end_login")},
    "live": {"events.last_event", "_look"},
    "streams": {"accounts.job"},
    "vitals": {"database_time", "labour"},
    "housekeeping": {
        *("usage.ended", "usage.close", "usage.waiting", "let_in", "_forget_old", "usage.set_month_anew"),
        "exports.any_unmade",  # whoever asked for it
    },
    "serve": {"working_home"},  # who works the jobs, which is said at the start
}


@pytest.mark.parametrize("name", sorted(ASKING))
def test_every_question_of_a_tenant_names_the_account(name: str) -> None:
    module = import_module(f"gossamer.api.{name}")
    asked = 0
    for call in _calls(SOURCE / f"{name}.py"):
        given = [ast.unparse(one) for one in [*call.args, *(word.value for word in call.keywords)]]
        what = ast.unparse(call.func)
        if what == "self._app.database.flush":
            continue  # asks for nothing
        if what.startswith("self._app.database."):
            work, whose = given[0], given[1] if len(given) > 1 else "nobody in particular"
            assert whose == "self.id", f"{name}.py, line {call.lineno}: {work} is asked for {whose}"
            _goes_by_account(_thing(module, work))
            asked += 1
        elif "self._app.database" in given and what not in ASKING[name]:
            assert "self.id" in given or "account=self.id" in " ".join(given), f"{name}.py, line {call.lineno}: whose?"
            asked += 1
        elif isinstance(call.func, ast.Attribute) and call.func.attr in TALKING:
            # Files of pages are kept by job, and the job was asked for before.
            assert what.startswith(("self._of(", "self._app.page_files()")), f"{name}.py, line {call.lineno}: {what}?"
            asked += 1
    assert asked > 10


def _calls(path: Path) -> list[ast.Call]:
    return [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]


def _thing(module: ModuleType, written: str) -> Any:
    found: Any = module
    for part in written.split("."):
        found = getattr(found, part)
    return found


def _goes_by_account(work: Callable[..., Any]) -> None:
    """Its second parameter is the account, and it does something with it."""
    (function,) = ast.parse(inspect.getsource(work)).body
    assert isinstance(function, ast.FunctionDef)
    assert [one.arg for one in function.args.args[:2]] == ["tx", "account"], work
    used = [node for node in ast.walk(function) if isinstance(node, ast.Name) and node.id == "account"]
    assert used, f"{work.__qualname__} is told the account, and asks for everybody's"


# What a server runs next to its endpoints stands with the other services.
SERVED = [*sorted(SOURCE.rglob("*.py")), Path(housekeeping.__file__)]


@pytest.mark.parametrize("path", SERVED, ids=lambda path: path.stem)
def test_endpoints_have_no_database(path: Path) -> None:
    if path.stem in ASKING:
        return
    asked = {
        ast.unparse(call.args[0])
        for call in _calls(path)
        if ast.unparse(call.func).rpartition(".")[2] in TALKING
        and call.args
        and not ast.unparse(call.func).startswith("self._log.")
    }
    assert asked == BESIDE.get(path.stem, set())
    if path.stem not in BESIDE:
        names = {node.attr for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Attribute)}
        assert "database" not in names
