"""What every request gets, and how much of it anybody may have."""

import os
import re
import signal
import subprocess
import sys
import time
from base64 import b64encode
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest

from gossamer.accounts.service import first_key
from gossamer.api.docs_page import KEYLESS, docs_page
from gossamer.api.serve import listen
from gossamer.clock import SystemClock
from gossamer.db.schema import ready_database
from gossamer.errors import UserError
from tests.api.conftest import Server, new_job, server
from tests.api.described import description

pytestmark = pytest.mark.xdist_group("api-wire")

BODY = {"name": "n", "scope": "read"}


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    settings = {
        "GOSSAMER_API_KEY_RATE": "12",
        "GOSSAMER_API_IP_RATE": "40",
        "GOSSAMER_API_TRUSTED_PROXIES": "127.0.0.0/8",
        "GOSSAMER_API_CORS": "https://app.example.com",
        "GOSSAMER_API_MAX_BODY": "20KB",
        "GOSSAMER_QUOTA_CREDITS": "3",
        "GOSSAMER_ACCOUNT_JOBS": "1",
        "GOSSAMER_ACCOUNT_QUEUE": "1",
    }
    with server(tmp_path_factory.mktemp("strict"), "--api-only", settings=settings) as one:
        yield one


def _fresh(server: Server, account: str, right: str, ip: str) -> httpx.Client:
    """With a key of its own, so that nobody else's requests count."""
    with server.client(account, **{"X-Forwarded-For": ip}) as admin:
        key = admin.post("/v1/keys", json={"name": ip, "scope": right}).json()["key"]
    return httpx.Client(base_url=server.url, headers={"X-API-Key": key, "X-Forwarded-For": ip}, timeout=60)


def test_headers_of_every_answer(strict: Server) -> None:
    with strict.stranger() as client:
        for path in ("/api/health", "/docs", "/v1/jobs", "/nowhere"):
            answer = client.get(path)
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert answer.headers["x-frame-options"] == "DENY"
            assert "default-src 'none'" in answer.headers["content-security-policy"]
            assert "server" not in answer.headers
            assert len(answer.headers["x-request-id"]) >= 8
        named = client.get("/api/health", headers={"X-Request-Id": "my-request-1", "X-Forwarded-Proto": "https"})
        assert named.headers["x-request-id"] == "my-request-1"
        assert named.headers["strict-transport-security"] == "max-age=31536000"
        forged = client.get("/api/health", headers={"X-Request-Id": "x\ty"})
        assert "\t" not in forged.headers["x-request-id"]
        assert (client.get("/nowhere").json()["code"], client.put("/v1/jobs").json()["code"]) == ("not_found", "method")


def test_pages_of_listed_origins_may_ask(strict: Server) -> None:
    with strict.stranger() as client:
        ours, theirs = ({"Origin": origin} for origin in ("https://app.example.com", "https://evil.example"))
        assert client.get("/api/health", headers=ours).headers["access-control-allow-origin"] == ours["Origin"]
        assert "access-control-allow-origin" not in client.get("/api/health", headers=theirs).headers
        wanted = {
            "Access-Control-Request-Method": "DELETE",
            "Access-Control-Request-Headers": "authorization,idempotency-key",
        }
        asked = client.options("/v1/jobs", headers={**ours, **wanted})
        assert asked.status_code == 200
        assert "DELETE" in asked.headers["access-control-allow-methods"]
        assert "Idempotency-Key" in asked.headers["access-control-allow-headers"]
        assert client.options("/v1/jobs", headers={**theirs, **wanted}).status_code == 400
        shown = client.get("/v1/jobs", headers=ours).headers["access-control-expose-headers"]
        assert {"X-Gossamer-Credits", "Retry-After", "X-Request-Id"} <= set(shown.split(", "))


def test_the_description_is_whole_and_needs_nobody_else(strict: Server) -> None:
    with strict.stranger() as client:
        answer, spec = client.get("/docs"), client.get("/openapi.json").json()
    page, policy = answer.text, answer.headers["content-security-policy"]
    (script,) = re.findall(r"<script>(.*)</script>", page, re.DOTALL)
    digest = b64encode(sha256(script.encode()).digest()).decode()
    assert policy == (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    assert not re.search(r"""(?:src|href)=["']?(?:https?:)?//""", page)  # nothing is loaded from anywhere
    assert "http://" not in page.replace(strict.url, "")
    tags = re.findall(r'<h2 id="tag-([^"]+)">', page)
    assert (tags[0], tags[-2:]) == ("scrape", ["as-ScrapingBee", "as-Firecrawl"])
    assert page.index("First steps") < page.index('id="key"') < page.index(f"curl -s {strict.url}/v1/scrape")
    assert page.index(f"curl -s {strict.url}/v1/scrape") < page.index('id="tag-scrape"')
    for path, verbs in spec["paths"].items():
        assert path in page
        for verb, operation in verbs.items():
            assert operation["summary"], f"{verb} {path}"
            assert "422" not in operation["responses"] or path == "/v1/scrape"
            for status, answer in operation["responses"].items():
                if "4" <= status < "6" and not path.startswith("/firecrawl/"):
                    assert list(answer["content"]) == ["application/problem+json"], f"{verb} {path} {status}"
    assert spec["components"]["schemas"]["NewJob"]["example"]


def test_the_page_names_what_needs_no_key_and_both_times_the_same(strict: Server) -> None:
    with strict.stranger() as client:
        page, spec = client.get("/docs").text, client.get("/openapi.json").json()
        named = re.findall(r"Only (.*?) need none", page)
        assert named == [KEYLESS] * 2
        paths = re.findall(r"/[\w./]*", KEYLESS)
        assert {"/", "/docs", "/openapi.json", "/api/health", "/api/ready"} <= set(paths)
        for path in paths:
            verb = "POST" if "post" in spec["paths"].get(path, {}) else "GET"
            assert client.request(verb, path, json={}).status_code != 401, path


def test_the_page_has_every_field_of_every_shape_once() -> None:
    spec = description()
    page = docs_page(spec)
    linked = set(re.findall(r'href="#([^"]+)"', page))
    places = re.findall(r' id="([^"]+)"', page)
    assert len(places) == len(set(places))
    assert linked <= set(places)
    for name in ("Limits", "Options", "DayView", "UseView", "Problem"):
        shape = page.partition(f'<h3 id="shape-{name}">')[2].partition("<h3")[0]
        assert all(f"<td>{field}</td>" in shape for field in spec["components"]["schemas"][name]["properties"]), name
    assert {"shape-Limits", "shape-Options", "shape-DayView"} <= linked
    resume = page.partition("/resume</code>")[2].partition("</details>")[0]
    assert "may be left out" in resume
    assert "<td>max_credits</td>" in resume


def test_a_body_that_is_too_large_is_refused(strict: Server) -> None:
    with _fresh(strict, "default", "admin", "10.1.0.1") as client:
        large = client.post("/v1/keys", json={**BODY, "name": "n" * 30_000})
        assert (large.status_code, large.json()["code"]) == (413, "request.too_large")
        unannounced = client.post("/v1/keys", content=(b"x" * 1_000 for _ in range(30)))
        assert unannounced.status_code == 413
        for name in (b"\\u0000", b"\\ud800", b"\\udc00x"):
            answer = client.post("/v1/keys", content=b'{"name": "' + name + b'"}')
            assert (answer.status_code, answer.json()["code"]) == (400, "request.invalid")
        assert client.get("/v1/jobs?recipe=%00").status_code == 400
        assert client.post("/v1/keys", json={"name": "\U0001f578"}).status_code == 201
        assert client.post("/v1/keys", content=b"{", headers={"Content-Type": "application/json"}).status_code == 400


def test_a_key_may_ask_so_often_in_a_minute(strict: Server) -> None:
    with _fresh(strict, "default", "read", "10.1.0.2") as client:
        first = client.get("/v1/account")
        assert first.headers["ratelimit-policy"] == '"key";q=12;w=60'
        assert first.headers["ratelimit"].startswith('"key";r=11;t=')
        table = client.get("/v1/usage", params={"format": "csv"})  # whatever is answered
        assert table.headers["ratelimit"].startswith('"key";r=10;t=')
        answers = [client.get("/v1/account") for _ in range(11)]
        assert [one.status_code for one in answers] == [200] * 10 + [429]
        refused = answers[-1]
        assert refused.json()["code"] == "rate.exceeded"
        assert 0 < int(refused.headers["retry-after"]) <= 60
        # Who has no key is told so first, and what is wrong with a request comes last.
        assert client.post("/v1/keys", content=b"{").status_code in (403, 429)


def test_an_address_may_ask_so_often_in_a_minute(strict: Server) -> None:
    clients = [_fresh(strict, "other", "read", f"10.1.1.{number}") for number in range(4)]
    seen = [client.get("/v1/account", headers={"X-Forwarded-For": "10.9.9.9"}) for client in clients for _ in range(11)]
    assert [one.status_code for one in seen] == [200] * 40 + [429] * 4
    assert "this address" in seen[-1].json()["detail"]
    for client in clients:
        client.close()


def test_room_and_credits_are_the_accounts(strict: Server) -> None:
    with _fresh(strict, "other", "submit", "10.1.0.4") as client:
        first, second = (client.post("/v1/jobs", json=new_job(name=name)).json() for name in ("one", "two"))
        assert client.get(f"/v1/jobs/{first['id']}").json()["state"] == "running"
        waiting = client.get(f"/v1/jobs/{second['id']}").json()
        assert (waiting["state"], waiting["waiting"]) == ("pending", True)
        for sent in ({"content": b"no JSON at all"}, {"json": new_job(name="three")}):
            full = client.post("/v1/jobs", **sent)
            assert (full.status_code, full.json()["code"]) == (429, "account.queue")
        assert full.headers["retry-after"]
        client.post(f"/v1/jobs/{second['id']}/cancel")
        dear = client.post("/v1/jobs", json=new_job(domains=["b.test", "c.test", "d.test"]))
        assert (dear.status_code, dear.json()["code"]) == (402, "account.credits")
        assert "2 of 3 are left" in dear.json()["detail"]
        account = client.get("/v1/account").json()
        assert (account["credits"], account["running_jobs"]) == (3, 1)


def _logged(one: Server, request: str) -> dict[str, Any]:
    """The line of the access log about a request."""
    end, said = time.monotonic() + 20, ""
    while request not in said:  # written after the answer has gone out
        assert time.monotonic() < end, said
        said = (one.home / "said.txt").read_text()
        time.sleep(0.05)
    assert "do-not-log-me" not in said
    lines = [orjson.loads(text) for text in said.splitlines() if text.startswith("{")]
    (line,) = (found for found in lines if found["request"] == request)
    return dict(line)


def test_the_access_log_is_json_without_secrets(strict: Server) -> None:
    with strict.stranger() as client:
        client.get("/api/health?access_token=do-not-log-me", headers={"X-Request-Id": "find-me-again"})
    line = _logged(strict, "find-me-again")
    assert (line["method"], line["path"], line["status"], line["ip"]) == ("GET", "/api/health", 200, "127.0.0.1")


FORGED = {"X-Forwarded-For": "6.6.6.6, 10.1.0.7", "X-Forwarded-Proto": "https", "X-Request-Id": "who-is-it"}


def test_a_trusted_proxy_says_who_asks_and_no_more_than_that(strict: Server) -> None:
    with strict.stranger() as client:
        answer = client.get("/api/health", headers=FORGED)
    assert _logged(strict, "who-is-it")["ip"] == "10.1.0.7"  # what it has not written itself anybody may have
    assert "strict-transport-security" in answer.headers


def test_a_server_that_is_stopped_finishes_and_says_so(tmp_path: Path) -> None:
    with (
        server(tmp_path / "home", "--api-only", settings={"GOSSAMER_API_DRAIN": "5s"}) as one,
        one.client() as client,
    ):
        job = client.post("/v1/jobs", json=new_job()).json()["id"]
        with client.stream("GET", f"/v1/jobs/{job}/live") as live:
            lines = live.iter_lines()
            assert next(lines) == "retry: 2000"
            one.process.send_signal(signal.SIGTERM)
            assert "event: bye" in list(lines)
        assert one.process.wait(timeout=300) == 0
        with pytest.raises(httpx.ConnectError):
            client.get("/api/health")


def test_while_it_is_stopped_new_requests_are_sent_elsewhere(tmp_path: Path) -> None:
    with (
        server(tmp_path / "home", "--api-only", settings={"GOSSAMER_API_DRAIN": "60s"}) as one,
        one.client() as client,
        one.client() as waiter,
        one.stranger() as balancer,
        ThreadPoolExecutor(1) as beside,
    ):
        ready = balancer.get("/api/ready", headers=FORGED)
        assert ready.json() == {"status": "ready"}
        assert "strict-transport-security" not in ready.headers  # nobody is trusted here
        assert _logged(one, "who-is-it")["ip"] == "127.0.0.1"
        client.get("/v1/jobs")  # its connection is there
        # Nobody works here: it is waited for, and answered though the server was told to stop meanwhile.
        slow = beside.submit(waiter.post, "/v1/scrape", json={"url": "http://a.test/", "timeout": 6})
        while not client.get("/v1/jobs").json()["items"]:
            time.sleep(0.05)
        one.process.send_signal(signal.SIGTERM)
        refused = balancer.get("/api/ready")
        while refused.status_code == 200:
            refused = balancer.get("/api/ready")
        assert (refused.status_code, refused.json()["code"]) == (503, "server.stopping")
        assert int(refused.headers["retry-after"]) > 0
        submitted = client.post("/v1/jobs", json=new_job())
        assert (submitted.status_code, submitted.json()["code"]) == (503, "server.stopping")
        assert int(submitted.headers["retry-after"]) > 0
        answer = slow.result(timeout=300)
        assert answer.status_code == 202, answer.text
        assert one.process.wait(timeout=300) == 0


async def test_the_first_key_is_printed_once(tmp_path: Path) -> None:
    env = {**os.environ, "GOSSAMER_HOME": str(tmp_path)}
    command = [sys.executable, "-m", "gossamer", "serve", "--port", "0", "--api-only"]
    said = ""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env) as process:
        assert process.stdout is not None
        for line in process.stdout:
            said += line
            if "Listening" in line:
                break
        process.send_signal(signal.SIGTERM)
    assert said.count("gsk_") == 1
    database = await ready_database(f"sqlite:///{tmp_path}/gossamer.db", SystemClock())
    assert await first_key(database) is None
    await database.close()


def test_an_address_that_cannot_be_listened_on_has_its_own_next_step() -> None:
    with closing(listen("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(UserError, match="stop the program that uses this one"):
            listen("127.0.0.1", port)
    with pytest.raises(UserError, match="an address of this machine"):
        listen("192.0.2.1", port)  # kept for documents: nobody's


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_a_port_of_the_system_is_not_said_to_be_taken() -> None:
    allowed = int(Path("/proc/sys/net/ipv4/ip_unprivileged_port_start").read_text())
    if allowed <= 80:
        pytest.skip("everybody may listen on any port here")
    os.seteuid(65534)
    try:
        with pytest.raises(UserError, match="Ports below 1024 are for the system"):
            listen("127.0.0.1", 80)
    finally:
        os.seteuid(0)
