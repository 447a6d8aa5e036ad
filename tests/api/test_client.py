"""The Python client against the real server: every method, both kinds, and every way in which it is told no."""

import inspect
import json
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import MappingProxyType
from typing import Any
from uuid import uuid4

import pytest

from gossamer.client import (
    AsyncClient,
    BadKey,
    Client,
    Conflict,
    Gone,
    InvalidRequest,
    NotAllowed,
    NotFound,
    PageFailed,
    ServerError,
    StillRunning,
    TooManyRequests,
    Unreachable,
    answers,
)
from tests.api.conftest import Server

pytestmark = pytest.mark.xdist_group("api")  # they share a server

# Answers of the server, by the names its description has for them.
SHAPES: dict[str, type[answers.Answer]] = {
    "AccountView": answers.AccountStatus,
    "Accepted": answers.Accepted,
    "AccountCredits": answers.AccountCredits,
    "AttemptView": answers.DeliveryAttempt,
    "Counts": answers.JobCounts,
    "DayView": answers.Day,
    "Deleted": answers.Deleted,
    "DeliveryPage": answers.DeliveryPage,
    "DeliveryView": answers.Delivery,
    "EstimateView": answers.Estimate,
    "ExportView": answers.Export,
    "Exports": answers.Exports,
    "FailurePage": answers.FailurePage,
    "FailureView": answers.Failure,
    "Forgotten": answers.Forgotten,
    "ForgottenIn": answers.ForgottenIn,
    "Health": answers.Health,
    "JobPage": answers.JobPage,
    "JobStatus": answers.JobStatus,
    "JobView": answers.Job,
    "KeyView": answers.Key,
    "LimitsView": answers.JobLimits,
    "Keys": answers.Keys,
    "NewKeyView": answers.CreatedKey,
    "NewWebhookView": answers.NewWebhook,
    "PageCounts": answers.PageCounts,
    "PageList": answers.PageList,
    "PageView": answers.PageResult,
    "RecipeView": answers.Recipe,
    "Recipes": answers.Recipes,
    "Replayed": answers.Replayed,
    "ResultPage": answers.ResultPage,
    "ResultView": answers.Result,
    "Resumed": answers.Resumed,
    "RetriedView": answers.Retried,
    "Scraped": answers.Scraped,
    "SiteCounts": answers.SiteCounts,
    "Steered": answers.Steered,
    "Usage": answers.Usage,
    "UseView": answers.Use,
    "WebhookView": answers.Webhook,
    "Webhooks": answers.Webhooks,
}
OWN = {"JobView": {"replayed"}, "JobStatus": {"replayed"}}  # what the client says itself


def a_client(server: Server, account: str = "default", right: str = "admin", **more: Any) -> Client:
    return Client(server.url, server.keys[account][right], **more)


def test_both_clients_have_the_same_methods() -> None:
    def methods(kind: type) -> set[str]:
        return {name for name, _ in inspect.getmembers(kind, inspect.isfunction) if not name.startswith("_")}

    assert methods(AsyncClient) - {"ask"} == methods(Client)


def test_answers_have_the_fields_that_the_server_describes(api: Server) -> None:
    with api.stranger() as anybody:
        described = anybody.get("/openapi.json").json()["components"]["schemas"]
    for name, shape in SHAPES.items():
        fields = {field: one.is_required() for field, one in shape.model_fields.items()}
        assert set(fields) - OWN.get(name, set()) == set(described[name]["properties"]), name
        # What may be missing in an answer must be able to be missing here.
        required = {field for field, is_required in fields.items() if is_required}
        assert required <= set(described[name].get("required", [])), name


def test_a_job_from_its_submission_to_its_deletion(working: Server, tmp_path: Path) -> None:
    web = working.web
    assert web
    domains = web.domains.read_text().split()[:3]
    with a_client(working) as client:
        assert (client.health().status, client.url) == ("ok", working.url)
        assert {"prospect", "scrape"} <= {recipe.name for recipe in client.recipes()}
        job = client.submit("prospect", "By a client", params={"keywords": ["CRM"], "top_pages": 5}, domains=domains)
        updates = list(client.live(job.id))
        assert updates[-1].is_last
        assert updates[-1].job.state == "completed"
        done = client.wait(job.id, patience=60)
        assert (done.is_over, done.progress.sites.total, done.params["keywords"]) == (True, 3, ["CRM"])
        records = list(client.results(job.id))
        assert len(records) == done.progress.records > 0
        assert len(list(client.errors(job.id))) == done.progress.sites.failed
        assert len(list(client.errors(job.id, of="pages"))) == done.progress.pages.failed
        (ordered,) = client.export(job.id, columns=["domain", "url"], bom=True)
        made = client.wait_for_export(job.id, ordered.id)
        assert (made.state, made.rows, client.export_status(job.id, made.id).state) == ("done", len(records), "done")
        kept = client.download(made, tmp_path / "results.csv").read_bytes()
        assert kept == b"".join(client.read(made))
        assert (kept.count(b"\n"), len(kept)) == (len(records) + 1, made.size_bytes)
        assert [path.name for path in tmp_path.iterdir()] == ["results.csv"]
        assert made.id in [one.id for one in client.exports(job.id)]
        assert all(not one.is_open for one in client.cancel_exports(job.id))
        assert client.account().id == "default"
        assert [day.day for day in client.usage(datetime.now(UTC).date() - timedelta(days=1))]
        assert job.id in [use.job_id for use in client.requests()]
        assert job.id in [one.id for one in client.jobs(states=["completed"], recipe="prospect")]
        named = client.forget(domain=domains[1], job=job.id, dry_run=True)
        assert ([one.job_id for one in named.jobs], named.forgotten) == ([job.id], False)
        assert client.forget(url=f"http://{domains[1]}/", job=job.id).forgotten
        assert client.delete(job.id).rows > 0
        with pytest.raises(Gone) as gone:
            next(client.results(job.id))
        assert (gone.value.status, gone.value.code, bool(gone.value.request_id)) == (410, "results.deleted", True)


def test_single_pages_and_many(working: Server) -> None:
    with a_client(working) as client:
        page = client.scrape("http://shop.town/lamp", formats=["metadata"], extract={"price": ".price"})
        assert (page.status, page.method, page.http_status) == ("done", "direct", 200)
        assert page.data["extract"] == {"price": "12.50"}
        batch = client.batch(["http://shop.town/a", "http://shop.town/b", "http://shop.town/b"], formats=["text"])
        assert (batch.urls, batch.duplicates) == (2, 1)
        assert client.wait(batch.id).state == "completed"
        assert {(one.url, one.status) for one in client.urls(batch.id)} == {
            ("http://shop.town/a", "done"),
            ("http://shop.town/b", "done"),
        }
        with pytest.raises(PageFailed, match="Not Found") as failed:
            client.scrape("http://shop.town/gone")
        assert (failed.value.status, failed.value.code, failed.value.reason) == (422, "page-failed", "not_found")
        assert not isinstance(failed.value, InvalidRequest)  # the request was right
        with pytest.raises(NotAllowed) as refused:
            client.scrape("http://shop.town/private")
        assert refused.value.code == "robots-disallowed"
        later = client.scrape_later("http://shop.town/lamp", formats=["text"])
        assert later.urls == 1
        assert client.wait(later.id).result is not None
        with pytest.raises(StillRunning) as slow:
            client.scrape("http://slow.town/slow", patience=0.3)
        assert client.wait(slow.value.job_id).state == "completed"


async def test_a_job_is_steered(api: Server) -> None:
    async with AsyncClient(api.url, api.keys["default"]["admin"]) as client:
        wanted: dict[str, Any] = {"params": {"keywords": ["CRM"]}, "domains": ["a.test"]}
        key = uuid4().hex
        job = await client.submit("prospect", "Steered", start=False, idempotency_key=key, **wanted)
        again = await client.submit("prospect", "Steered", start=False, idempotency_key=key, **wanted)
        assert (again.id, job.replayed, again.replayed) == (job.id, False, True)
        with pytest.raises(Conflict, match="belongs to job"):
            await client.submit("prospect", "Another", start=False, idempotency_key=key, **wanted)
        assert (await client.job(job.id)).state == "pending"
        assert (await client.resume(job.id, limits={"max_credits": 5})).state == "running"
        with pytest.raises(StillRunning):
            await client.wait(job.id, patience=0.3)
        (ordered,) = await client.export(job.id, type="prospects", since_job=job.id, exclude_domains=["b.test"])
        with pytest.raises(StillRunning, match="is not made"):
            await client.wait_for_export(job.id, ordered.id, patience=0)
        with pytest.raises(Conflict):
            await client.read(ordered).__anext__()
        assert [one.state for one in await client.cancel_exports(job.id)] == ["cancelled"]
        assert (await client.pause(job.id)).state == "pausing"
        assert (await client.cancel(job.id)).state == "cancelled"
        retried = await client.retry_failed(job.id)
        assert (retried.state, retried.sites, retried.pages) == ("cancelled", 0, 0)
        made = await client.create_key("a test's own", "read")
        assert made.id in [one.id for one in await client.keys()]
        async with AsyncClient(api.url, made.key) as reader:
            assert (await reader.account()).id == "default"
            with pytest.raises(NotAllowed) as refused:
                await reader.cancel(job.id)
            assert refused.value.hint
        assert (await client.revoke_key(made.id)).revoked_at
        async with AsyncClient(api.url, made.key) as nobody:
            with pytest.raises(BadKey, match="revoked"):
                await nobody.account()
        with pytest.raises(NotFound):
            await client.job(uuid4())
        with pytest.raises(InvalidRequest) as wrong:
            await client.submit("prospect", "x", params={"keywords": "CRM"}, domains=["a.test"])
        assert [one["pointer"] for one in wrong.value.errors] == ["#/body/params/keywords"]
        listed = [one.id async for one in client.jobs(states=["cancelled"])]
        assert job.id in listed


async def test_webhooks_are_looked_after(api: Server) -> None:
    async with AsyncClient(api.url, api.keys["other"]["submit"]) as client:
        made = await client.add_webhook("https://1.1.1.1/hooks", events=["job.completed"])
        assert (made.events, made.secret[:6]) == (["job.completed"], "whsec_")
        message = await client.test_webhook(made.id)
        assert [one.id async for one in client.deliveries(made.id, state="pending")] == [message.id]
        assert (await client.delivery(made.id, message.id)).attempts == []
        assert (await client.replay(made.id, message.id)).message_id == message.message_id
        assert await client.replay_failed(made.id, since=datetime.now(UTC)) == 0
        async with AsyncClient(api.url, api.keys["other"]["admin"]) as admin:
            assert (await admin.rotate_webhook(made.id, overlap_hours=1)).secret != made.secret
        assert (await client.change_webhook(made.id, enabled=False)).state == "off"
        assert (await client.webhook(made.id)).events == ["job.completed"]
        assert made.id in [one.id for one in await client.webhooks()]
        await client.remove_webhook(made.id)
        with pytest.raises(NotFound) as gone:
            await client.webhook(made.id)
        assert gone.value.code == "webhook.not_found"
        cost = await client.estimate("prospect", params={"keywords": ["CRM"]}, domains=["a.test", "b.test"])
        assert (cost.low_credits <= cost.high_credits, cost.sites, cost.account_credits.at_least) == (True, 2, 2)


class Script(BaseHTTPRequestHandler):
    """A server that says what it is told to, and writes down what it was asked."""

    protocol_version = "HTTP/1.1"
    said: list[tuple[int, dict[str, str], bytes]]
    heard: list[tuple[str, dict[str, str], bytes]]

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        self.heard.append((f"{self.command} {self.path}", {k.lower(): v for k, v in self.headers.items()}, body))
        status, headers, text = self.said.pop(0) if len(self.said) > 1 else self.said[0]
        self.send_response(status)
        for name, value in {"content-length": str(len(text)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = _answer  # noqa: N815 - the library's names

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
        """Nothing."""


@contextmanager
def scripted(*said: tuple[int, dict[str, str], bytes]) -> Iterator[tuple[str, list[tuple[str, dict[str, str], bytes]]]]:
    handler = type("Scripted", (Script,), {"said": list(said), "heard": []})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", handler.heard  # type: ignore[attr-defined]
        server.shutdown()


def problem(status: int, code: str, retry_after: str = "5") -> tuple[int, dict[str, str], bytes]:
    body = {"status": status, "code": code, "detail": "No.", "hint": "Wait.", "request_id": "r1"}
    return status, {"retry-after": retry_after}, json.dumps(body).encode()


MADE = json.dumps(
    {"id": "j", "short_id": "j", "name": "n", "recipe": "r", "state": "running", "created_at": "2026-01-01T00:00:00Z"}
).encode()


def test_a_busy_server_is_waited_for_and_a_repeated_submit_is_the_same() -> None:
    busy = [problem(429, "rate.exceeded", "0"), problem(503, "database.away", "1")]
    with scripted(*busy, (201, {}, MADE)) as (url, heard), Client(url, "k") as client:
        assert client.submit("prospect", "n").id == "j"
        assert len(heard) == 3
        assert len({headers["idempotency-key"] for _, headers, _ in heard}) == 1
        assert {headers["authorization"] for _, headers, _ in heard} == {"Bearer k"}


def test_no_server_is_waited_for_longer_than_one_is_willing_to() -> None:
    with scripted(problem(429, "account.queue", "30")) as (url, heard):
        with Client(url, "k", patience=timedelta(seconds=1)) as client, pytest.raises(TooManyRequests) as busy:
            client.account()
        assert (busy.value.retry_after, busy.value.request_id, len(heard)) == (30, "r1", 1)


def test_a_stream_that_breaks_off_is_taken_up_where_it_was() -> None:
    def event(kind: str, identifier: str) -> bytes:
        sites = dict.fromkeys(("total", "done", "partial", "failed"), 1)
        pages = dict.fromkeys(("done", "failed", "skipped", "open"), 1)
        counts = {"percent": 0, "records": 0, "bytes_in": 0, "sites": sites, "pages": pages}
        said = {"type": kind, "job": json.loads(MADE), "progress": counts, "events": []}
        return f": hello\r\n\nid: {identifier}\nevent: {kind}\ndata: {json.dumps(said)}\n\n".encode()

    bye = b'event: bye\ndata: {"type":"bye"}\n\n'
    with (
        scripted(
            (200, {}, event("update", "1") + bye),
            (200, {"content-length": "9999", "connection": "close"}, event("update", "2")),
            problem(503, "server.stopping"),
            (200, {}, event("end", "3")),
        ) as (url, heard),
        Client(url, "k") as client,
    ):
        assert [update.event_id for update in client.live("j")] == ["1", "2", "3"]
    assert [headers.get("last-event-id") for _, headers, _ in heard] == [None, "1", "2", "2"]


def test_who_is_no_gossamer_server_is_said_to_be_none() -> None:
    for status, said in ((200, "not as a Gossamer server"), (404, "HTTP 404, and not one of a Gossamer server")):
        with (
            scripted((status, {}, b"<html>")) as (url, _),
            Client(url, "k") as client,
            pytest.raises(ServerError, match=said),
        ):
            client.account()
    with Client("http://127.0.0.1:1", "k") as client, pytest.raises(Unreachable, match="no server is listening there"):
        client.account()


def an_export(**more: Any) -> answers.Export:
    said = {"id": "e", "job_id": "j", "type": "results", "format": "csv", "name": "r.csv", "state": "done"}
    counted = {"partial": False, "rows": 1, "rows_total": 1, "created_at": "2026-01-01T00:00:00Z"}
    return answers.Export.model_validate({**said, **counted, **more})


def test_a_file_that_did_not_arrive_whole_is_no_file(tmp_path: Path) -> None:
    with scripted((200, {}, b"half")) as (url, _), Client(url, "k") as client:
        damaged = an_export(sha256="0" * 64)
        with pytest.raises(ServerError, match="did not arrive whole"):
            client.download(damaged, tmp_path / "r.csv")
    assert list(tmp_path.iterdir()) == []


def test_the_key_is_not_sent_to_whoever_keeps_the_files(tmp_path: Path) -> None:
    with scripted((200, {}, b"rows")) as (elsewhere, heard):
        moved = (307, {"location": f"{elsewhere}/bucket/r.csv?signature=1"}, b"")
        with scripted(moved) as (url, _), Client(url, "k") as client:
            assert client.download(an_export(), tmp_path / "r.csv").read_bytes() == b"rows"
        assert [(asked, "authorization" in headers) for asked, headers, _ in heard] == [
            ("GET /bucket/r.csv?signature=1", False)
        ]


def test_options_are_checked_before_anything_is_sent_and_any_iterable_is_a_list() -> None:
    with scripted((201, {}, MADE)) as (url, heard), Client(url, "k") as client:
        with pytest.raises(TypeError, match=r"unexpected option 'format'; there are formats, "):
            client.scrape("http://a.test/", format=["text"])  # type: ignore[call-arg]
        with pytest.raises(TypeError, match="unexpected option 'name'"):
            client.estimate("prospect", name="x")  # type: ignore[call-arg]
        client.submit("prospect", "One", params=MappingProxyType({"depth": 1}), domains=deque(["a.test"]))
    ((_, _, body),) = heard
    assert {"params": {"depth": 1}, "domains": ["a.test"]}.items() <= json.loads(body).items()
