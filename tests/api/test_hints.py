"""The next step over HTTP is a request, and on the command line a command."""

from typing import Any

import pytest

from gossamer.client import BadKey, Client
from tests.api.conftest import Server, new_job

pytestmark = pytest.mark.xdist_group("api")  # they share a server


def test_hints_over_http_are_no_commands(api: Server) -> None:
    with api.client(right="submit", **{"Idempotency-Key": "hinted"}) as client:
        job = f"/v1/jobs/{client.post('/v1/jobs', json=new_job()).json()['id']}"
        taken = client.post("/v1/jobs", json=new_job(name="another"))
        assert f"belongs to job {job.rpartition('/')[2]}," in taken.json()["detail"]
        assert client.post(f"{job}/cancel").status_code == 202
        paused, made = client.post(f"{job}/pause"), client.post(f"{job}/exports", json={"format": "doc"})
    wanted = {"job.key_taken": "Idempotency-Key", "job.state": "/retry-failed", "export.format": "`format`"}
    for answer, (code, word) in zip((taken, paused, made), wanted.items(), strict=True):
        said = answer.json()
        assert (said["code"], word in said["hint"]) == (code, True), said
        assert "gossamer job" not in said["hint"]
        assert "--" not in said["hint"]
        assert "gossamer job" in said["command_hint"] or "--format" in said["command_hint"]


@pytest.mark.parametrize(
    ("path", "sent", "hint"),
    [
        ("/v1/scrape", {"content": b'{"url": "https://example.com/"}'}, "Content-Type: application/json"),
        ("/v1/jobs", {"content": b"{}", "headers": {"Content-Type": "text/plain"}}, "Content-Type: application/json"),
        ("/v1/jobs/abc/pause", {}, "the whole id"),
        ("/v1/jobs", {"json": {"recipe": 5}}, "See /docs"),
    ],
)
def test_what_is_wrong_with_a_request_has_its_next_step(
    api: Server, path: str, sent: dict[str, Any], hint: str
) -> None:
    with api.client(right="submit") as client:
        answer = client.post(path, **sent)
    assert (answer.status_code, answer.json()["code"]) == (400, "request.invalid")
    assert hint in answer.json()["hint"]


def test_a_bad_address_is_named_with_its_place(api: Server) -> None:
    with api.client(right="submit") as client:
        said = client.post("/v1/batch", json={"urls": ["https://a.test/", "not an address"]}).json()
    assert (said["code"], said["detail"].partition(": ")[0]) == ("urls.bad", "#/body/urls/1")


def test_another_method_is_named_with_what_to_send(api: Server) -> None:
    with api.client(right="submit") as client:
        scrape, batch = client.get("/v1/scrape"), client.get("/v1/batch")
    assert (scrape.status_code, scrape.json()["code"]) == (405, "method")
    assert scrape.json()["hint"] == 'Use POST with a JSON body: {"url": "https://example.com/"}.'
    assert batch.json()["hint"] == 'Use POST with a JSON body: {"urls": ["https://example.com/"]}.'


def test_a_wrong_key_is_told_whom_to_ask(api: Server) -> None:
    """`POST /v1/keys` needs a key: it is no way out for somebody who has none."""
    key, ask = "gsk_" + "x" * 43, "Ask whoever runs this server for one: 'gossamer system keys create NAME'."
    bearer = {"Authorization": f"Bearer {key}"}
    with api.stranger() as nobody:
        ours = nobody.get("/v1/jobs", headers=bearer).json()["hint"]
        bee = nobody.get("/api/v1", params={"api_key": key, "url": "http://a.test/"}).json()["message"]
        fire = nobody.post("/firecrawl/v2/scrape", headers=bearer, json={"url": "http://a.test/"}).json()["error"]
    with Client(api.url, key) as client, pytest.raises(BadKey) as refused:
        client.account()
    for said in (ours, bee, fire, str(refused.value)):
        assert ask in said
        assert "/v1/keys" not in said
