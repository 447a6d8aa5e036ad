"""Every endpoint of the API, asked about the jobs that a home has, and of the mistakes that callers make most."""

import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from tests.api.conftest import server
from tests.api.described import operations
from tests.golden.normal import Normal
from tests.golden.takes import Take

_HEADERS = ("location", "retry-after", "idempotent-replayed", "www-authenticate", "content-disposition")
_OURS = ("x-gossamer-", "spb-")
_PAGE = "http://two.town/lamp"
_PASSWORD = "one of a few words nobody says"

# Spoken only between the two halves of this program.
_INTERNAL = {("POST", "/v1/questions")}


@dataclass(slots=True)
class Asker:
    """Asks, and keeps what was asked: at the end every operation must have been."""

    client: httpx.Client
    normal: Normal
    asked: set[tuple[str, str]] = field(default_factory=set)
    last: Any = None
    """The body of the last answer."""

    def __call__(self, verb: str, path: str, body: Any = None, **options: Any) -> Take:
        answer = self.client.request(verb, path, json=body, **options)
        self.asked |= {(one.verb, one.path) for one in operations() if one.fits(verb, answer.request.url.path)}
        kind = answer.headers.get("content-type", "nothing")
        self.last = answer.json() if "json" in kind else answer.text
        shown = f"{verb} {answer.request.url.raw_path.decode()}"
        shown += f" {json.dumps(body, ensure_ascii=False)}" if body is not None else ""
        said = "".join(f"{name}: {value}\n" for name, value in sorted(answer.headers.items()) if _is_kept(name))
        text = self.normal.text(said) + (self.normal.json(answer.text) if "json" in kind else self._plain(answer))
        return Take(self.normal.text(shown), f"{answer.status_code} {kind}", text)

    def _plain(self, answer: httpx.Response) -> str:
        if not answer.headers.get("content-type", "").startswith("text/"):
            return f"{len(answer.content)} bytes\n" if answer.content else ""
        return self.normal.text(answer.text)

    def until(self, path: str, **is_so: str) -> None:
        """Wait until the JSON there is as said."""
        end = time.monotonic() + 90
        while True:
            found = self.client.get(path).json()
            if all(found.get(name) == value for name, value in is_so.items()):
                return
            assert time.monotonic() < end, f"{path} is still {found}"
            time.sleep(0.1)

    def name(self, label: str, of: str = "id") -> str:
        """Give the id in the last answer a name; the id itself."""
        assert of in self.last, f"the last answer has no {of}: {self.last}"
        made = str(self.last[of])
        self.normal.job(made, label)
        return made


def _is_kept(name: str) -> bool:
    return name in _HEADERS or name.startswith(_OURS)


def answers(home: Path, settings: Mapping[str, str], normal: Normal) -> list[Take]:
    jobs = {label[1:-1]: job for job, label in normal.known.items() if label.endswith(" job>")}
    with server(home, "--processes", "1", settings=dict(settings)) as one, one.client() as client:
        normal.name(one.url, "<server>")
        ask = Asker(client, normal)
        takes = [
            *_read(ask, jobs["acme job"], jobs["scrape job"]),
            *_scraped(ask),
            *_steered(ask, jobs["acme job"]),
            *_dialects(ask),
            *_accounts(ask),
            *_webhooks(ask),
            *_refused(ask, one.stranger(), one.client("other", "read"), jobs["acme job"]),
        ]
        every = {(operation.verb, operation.path) for operation in operations()}
        assert every - _INTERNAL == ask.asked - _INTERNAL, "an endpoint without a golden answer"
        return takes


def _read(ask: Asker, acme: str, scrape: str) -> Iterator[Take]:
    """What there is to know of finished jobs."""
    job = f"/v1/jobs/{acme}"
    yield ask("GET", "/api/health")
    yield ask("GET", "/api/ready")
    yield ask("GET", "/v1/recipes")
    yield ask("GET", "/v1/account")
    yield ask("GET", "/v1/jobs")
    yield ask("GET", "/v1/jobs", params={"limit": 1, "recipe": "prospect"})
    yield ask("GET", job)
    yield ask("GET", f"{job}/results", params={"limit": 2})
    yield ask("GET", f"{job}/errors")
    yield ask("GET", f"{job}/errors", params={"of": "pages"})
    yield ask("GET", f"{job}/live")
    yield ask("GET", f"{job}/exports")
    yield ask("POST", f"{job}/exports", {"format": "csv"})
    made = ask.last["items"][0]["id"]
    ask.until(f"{job}/exports/{made}", state="done")
    yield ask("GET", f"{job}/exports/{made}")
    link = ask.last["link"]
    yield ask("GET", f"{job}/exports/{made}/file")
    yield ask("GET", link)
    yield ask("POST", f"{job}/exports/cancel")
    yield ask("GET", "/v1/estimate", params={"count": 500, "mode": "hybrid"})
    yield ask("POST", "/v1/estimate", _new_job())
    yield ask("GET", f"/v1/jobs/{scrape}")
    yield ask("GET", f"/v1/jobs/{scrape}/urls")
    yield ask("GET", f"/v1/jobs/{scrape}/results")


def _new_job(**more: Any) -> dict[str, Any]:
    return {"recipe": "prospect", "name": "A job", "domains": ["a.test"], "params": {"keywords": ["CRM"]}, **more}


def _scraped(ask: Asker) -> Iterator[Take]:
    """Single pages, batches and sitemaps, in the forms of the documents."""
    # From here on workers work; the first scrape may come before they do.
    first = ask.client.post("/v1/scrape", json={"url": "http://two.town/first", "ladder": "direct"}).json()
    ask.until(f"/v1/jobs/{first.get('job_id') or first['id']}", state="completed")
    yield ask("POST", "/v1/scrape", {"url": _PAGE, "formats": ["markdown", "metadata"], "ladder": "direct"})
    yield ask("POST", "/v1/scrape", {"url": _PAGE, "options": {"formats": ["text"], "ladder": "direct"}})
    yield from _used(ask)
    yield ask("POST", "/v1/scrape", {"url": "http://two.town/gone", "ladder": "direct"})
    yield ask("POST", "/v1/scrape", {"url": "http://two.town/private/x", "ladder": "direct"})
    yield ask("POST", "/v1/scrape", {"url": "ftp://two.town/"})
    yield ask("POST", "/v1/batch", {"urls": [_PAGE, "http://two.town/gone"], "formats": ["text"], "ladder": "direct"})
    batch = ask.name("batch job")
    ask.until(f"/v1/jobs/{batch}", state="completed")
    yield ask("GET", f"/v1/jobs/{batch}")
    yield ask("GET", f"/v1/jobs/{batch}/urls")
    yield ask("POST", "/scrapersky", {"url": _PAGE})
    sky = ask.name("sky job", "job_id")
    ask.until(f"/v1/jobs/{sky}", state="completed")
    yield ask("GET", f"/scrapersky/status/{sky}")
    yield ask("POST", "/scrapersky/batch", {"urls": [_PAGE, "http://three.town/chair"]})
    many = ask.name("sky batch", "batch_id")
    ask.until(f"/v1/jobs/{many}", state="completed")
    yield ask("GET", f"/scrapersky/batch/status/{many}")
    yield ask("POST", f"/scrapersky/batch/{many}/retry-failed")
    yield ask("POST", "/api/jobs", {"sitemap_url": "http://map.town/sitemap.xml"})
    sitemap = ask.name("sitemap job")
    ask.until(f"/v1/jobs/{sitemap}", state="completed")
    yield ask("GET", f"/api/jobs/{sitemap}")
    yield ask("GET", f"/api/jobs/{sitemap}/exports")
    yield ask("GET", f"/api/jobs/{sitemap}/stream")
    yield ask("GET", "/api/jobs", params={"domain": "map.town"})
    yield ask("POST", f"/api/jobs/{sitemap}/cancel")
    yield ask("POST", "/api/jobs", {})


def _used(ask: Asker) -> Iterator[Take]:
    """Usage, once all bills are made up; those of jobs that are just over may not be yet."""
    end = time.monotonic() + 90
    while any(bill["open"] for bill in ask.client.get("/v1/usage", params={"by": "request"}).json()["items"]):
        assert time.monotonic() < end, "a bill is still open"
        time.sleep(0.1)
    yield ask("GET", "/v1/usage")
    yield ask("GET", "/v1/usage", params={"by": "request", "limit": 2})
    yield ask("GET", "/v1/usage", params={"format": "csv"})
    yield ask("GET", "/api/v1/usage", params={"api_key": ask.client.headers["Authorization"].removeprefix("Bearer ")})


def _steered(ask: Asker, acme: str) -> Iterator[Take]:
    """A job that is never worked, and what may be done with it."""
    yield ask("POST", "/v1/jobs", _new_job(start=False), headers={"Idempotency-Key": "once"})
    job = f"/v1/jobs/{ask.name('new job')}"
    yield ask("POST", "/v1/jobs", _new_job(start=False), headers={"Idempotency-Key": "once"})
    yield ask("PATCH", job, {"name": "Another name"})
    yield ask("POST", f"{job}/pause")
    yield ask("POST", f"{job}/cancel")
    yield ask("POST", f"{job}/rerun", {"start": False})
    ask.name("other job")
    yield ask("DELETE", job)
    yield ask("GET", job)
    yield ask("POST", f"/v1/jobs/{acme}/resume")
    yield ask("POST", f"/v1/jobs/{acme}/retry-failed")
    yield ask("DELETE", "/v1/records", params={"domain": "site-0001.test", "dry_run": True})


def _dialects(ask: Asker) -> Iterator[Take]:
    """Programs written for other products."""
    fire = "/firecrawl/v2"
    yield ask("POST", f"{fire}/scrape", {"url": _PAGE, "formats": ["markdown"]})
    yield ask("POST", f"{fire}/map", {"url": "http://map.town/"})
    yield ask("POST", f"{fire}/batch/scrape", {"urls": [_PAGE], "formats": ["markdown"]})
    batch = ask.name("fire batch")
    ask.until(f"{fire}/batch/scrape/{batch}", status="completed")
    yield ask("GET", f"{fire}/batch/scrape/{batch}")
    yield ask("GET", f"{fire}/batch/scrape/{batch}/errors")
    yield ask("DELETE", f"{fire}/batch/scrape/{batch}")
    yield ask("POST", f"{fire}/crawl", {"url": "http://guide.town/guide/", "limit": 3})
    crawl = ask.name("fire crawl")
    ask.until(f"{fire}/crawl/{crawl}", status="completed")
    yield ask("GET", f"{fire}/crawl/{crawl}")
    yield ask("GET", f"{fire}/crawl/{crawl}/errors")
    yield ask("DELETE", f"{fire}/crawl/{crawl}")
    yield ask("GET", f"{fire}/crawl/active")
    yield ask("GET", f"{fire}/team/credit-usage")
    yield ask("GET", f"{fire}/concurrency-check")
    yield ask("GET", f"{fire}/team/queue-status")
    key = ask.client.headers["Authorization"].removeprefix("Bearer ")
    yield ask("GET", "/api/v1/", params={"api_key": key, "url": _PAGE, "render_js": "false"})
    yield ask("GET", "/api/v1/", params={"api_key": key, "url": _PAGE, "json_response": "true"})


def _accounts(ask: Asker) -> Iterator[Take]:
    yield ask("POST", "/v1/keys", {"name": "nightly", "scope": "read"})
    made = ask.name("new key")
    yield ask("GET", "/v1/keys")
    yield ask("DELETE", f"/v1/keys/{made}")
    yield ask("POST", "/v1/auth/login", {"email": "ann@acme.test", "password": _PASSWORD})
    yield ask("POST", "/v1/auth/refresh", {"refresh_token": "no token at all"})
    yield ask("POST", "/v1/auth/logout")


def _webhooks(ask: Asker) -> Iterator[Take]:
    yield ask("POST", "/v1/webhooks", {"url": "http://hooks.town/golden", "events": ["job.completed"]})
    made = ask.name("webhook")
    hook = f"/v1/webhooks/{made}"
    yield ask("GET", "/v1/webhooks")
    yield ask("GET", hook)
    yield ask("PATCH", hook, {"events": ["job.completed", "job.failed"]})
    yield ask("POST", f"{hook}/test")
    letter = f"{hook}/deliveries/{ask.name('delivery')}"
    ask.until(letter, state="delivered")
    yield ask("GET", letter)
    yield ask("GET", f"{hook}/deliveries")
    yield ask("POST", f"{letter}/replay")
    yield ask("POST", f"{hook}/replay-failed")
    yield ask("POST", f"{hook}/rotate")
    yield ask("DELETE", hook)
    yield ask("GET", hook)


def _refused(ask: Asker, stranger: httpx.Client, other: httpx.Client, acme: str) -> Iterator[Take]:
    missing = "/v1/jobs/00000000-0000-7000-8000-000000000000"
    with stranger, other:
        for client, label in ((stranger, "without a key"), (other, "with a key of another account")):
            elsewhere = Asker(client, ask.normal)
            for verb, path in (("GET", f"/v1/jobs/{acme}"), ("POST", f"/v1/jobs/{acme}/cancel")):
                take = elsewhere(verb, path)
                yield Take(f"{take.shown} ({label})", take.ended, take.out)
    yield ask("GET", missing)
    yield ask("GET", "/api/jobs/no-such-job")
    yield ask("POST", "/v1/jobs", _new_job(mode="sideways"))
    yield ask("POST", "/v1/jobs", {"recipe": "prospect"})
    yield ask("POST", "/v1/jobs", _new_job(recipe="prospekt"))
    yield ask("GET", "/v1/nothing")
    yield ask("PUT", "/v1/jobs")
