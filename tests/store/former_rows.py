"""An unfinished job as each earlier revision kept it, written by plain SQL into every table there was."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import orjson

from gossamer.db.transactions import Tx
from gossamer.model.url import url_key

Rows = dict[str, list[dict[str, Any]]]

JOB = UUID("019a0000-0000-7000-8000-00000000000a")
HOME = "home-0ld"  # whose worker had a visit in hand when its machine was switched off
BEGAN = datetime(2026, 1, 1, 12, tzinfo=UTC)

_FIRST_SITE, _SECOND_SITE = (UUID(f"019a0000-0000-7000-8000-0000000000b{number}") for number in (1, 2))
_FIRST_VISIT, _SECOND_VISIT = (UUID(f"019a0000-0000-7000-8000-0000000000c{number}") for number in (1, 2))


def rows_of(revision: str, first: str = "a.test", second: str = "b.test") -> Rows:
    """`first` has its homepage read and two pages to go, `second` was not begun."""
    rows = _of_0001(first, second)
    if revision >= "0002":
        _add(rows["sites"], size_source="links", errands=[[1_767_268_800_000, f"http://{first}/robots.txt", 404]])
        _add(rows["pages"], links=None)
        rows["pages"][0]["links"] = b""
        _add(rows["pages"], attempts=[])
        # As the revision's own program wrote them, and as its migration left those of 0001: as text.
        rows["sites"][0]["notes"], rows["sites"][1]["notes"] = b"", ""
    if revision >= "0003":
        _add(rows["jobs"], ran_ms=0, submit_key=None, submit_digest=None, hidden_at=None)
        rows["sites"][1]["notes"] = b""
        rows |= _of_0003()
    if revision >= "0004":
        rows["exports"] = [_export()]
        _add(rows["visits"], slices=3)
    if revision >= "0005":
        _add(rows["jobs"], priority="high")
        rows["workers"] = [_worker()]
    if revision >= "0007":
        rows |= _of_0007(first)
    if revision >= "0008":
        rows["memory"] = [{"domain": first, "rung": "direct", "tries": 7, "wins": 2, "tried_at": BEGAN}]
    if revision >= "0009":
        rows["estimates"] = [_estimate()]
    if revision >= "0010":
        _add(rows["jobs"], account_id="default")
        rows |= _of_0010()
    _add_since_0017(rows, revision)
    return rows | _since_0011(revision)


def _add_since_0017(rows: Rows, revision: str) -> None:
    if revision >= "0017":
        _add(rows["jobs"], at_once=2)
    if revision >= "0018":
        _add(rows["minutes"], requests=3, failed=1, writes=2, write_ms=40)
    if revision >= "0019":
        rows["cluster_settings"] = [{"name": "domain_rate", "value": "1.0", "host": "one", "at": BEGAN}]
    if revision >= "0020":
        _add(rows["jobs"], names_pages=False, in_pages=False, whole_up_to=500, top_pages=50)


FILLED = tuple(f"{number:04}" for number in range(1, 21))
"""The revisions `rows_of` knows. A new revision makes the one before it a former one: add what it keeps above."""


def _add(rows: list[dict[str, Any]], **columns: Any) -> None:
    for row in rows:
        row.update(columns)


def _of_0001(first: str, second: str) -> Rows:
    later = BEGAN + timedelta(minutes=1)
    homepage = f"http://{first}/"
    return {
        "jobs": [
            {
                "id": JOB,
                "name": "Kept over an upgrade",
                "recipe": "prospect",
                "params": {"keywords": ["CRM"]},
                "state": "running",
                "reason": "",
                "sites_total": 2,
                "created_at": BEGAN,
                "started_at": BEGAN,
                "finished_at": None,
            }
        ],
        "sites": [
            _site(_FIRST_SITE, first, open_pages=2, pages_done=1, size=3, last_attempt_at=later),
            _site(_SECOND_SITE, second, open_pages=1),
        ],
        "visits": [
            _visit(_FIRST_VISIT, _FIRST_SITE, first, 2, state="running", lease=UUID(int=7), lease_until=later)
            | {"worker": f"{HOME}/0-4711"},
            _visit(_SECOND_VISIT, _SECOND_SITE, second, 1),
        ],
        "pages": [
            _page(_FIRST_SITE, _FIRST_VISIT, homepage, state="done", http_status=200, settled_at=later)
            | {"bytes_in": 900, "identity": url_key(homepage), "attempts": [["direct", 200, "", "2026-01-01", 31]]},
            _page(_FIRST_SITE, _FIRST_VISIT, f"{homepage}about", depth=1, rank=1, found_on=homepage),
            _page(_FIRST_SITE, _FIRST_VISIT, f"{homepage}blog", depth=1, rank=2, found_on=homepage),
            _page(_SECOND_SITE, _SECOND_VISIT, f"http://{second}/"),
        ],
        "records": [
            {
                "job_id": JOB,
                "kind": "match",
                "key": url_key(homepage) + b"crm0",
                "site_id": _FIRST_SITE,
                "page_key": url_key(homepage),
                "data": {"domain": first, "url": homepage, "keyword": "CRM", "frequency": 3},
                "created_at": later,
            }
        ],
        "counters": [_counter(shard, later) for shard in range(16)],
        "minutes": [{"job_id": JOB, "minute": BEGAN, "sites": 0, "pages": 1, "records": 1}],
        "events": [
            {
                "job_id": JOB,
                "id": UUID("019a0000-0000-7000-8000-0000000000e1"),
                "site_id": None,
                "visit_id": None,
                "at": BEGAN,
                "kind": "job.created",
                "who": "",
                "why": "2 sites",
            }
        ],
        "robots": [{"origin": f"http://{first}", "status": 404, "body": "", "fetched_at": BEGAN}],
        "places": [{"place": "runner", "holder": HOME, "until": later}],
    }


def _estimate() -> dict[str, Any]:
    whole = ("pages_per_site", "top_pages", "sites", "known", "similar", "probed")
    credits = ("expected", "low", "high", "low_micros", "high_micros")
    plain = {"job_id": JOB, "recipe": "prospect", "ladder": "direct scrapingbee-js", "at": BEGAN}
    return plain | dict.fromkeys((*whole, *credits), 2)


def _of_0010() -> Rows:
    user = UUID("019a0000-0000-7000-8000-0000000000f1")
    key = UUID("019a0000-0000-7000-8000-0000000000f2")
    return {
        "accounts": [
            {
                **{"id": "default", "name": "Default", "credits": 1_000, "running_jobs": 2, "queued_jobs": 5},
                **{"created_at": BEGAN, "closed_at": None},
            }
        ],
        "users": [
            {
                **{"id": user, "account_id": "default", "email": "ann@a.test", "password": "$argon2id$..."},
                **{"scope": "admin", "created_at": BEGAN, "closed_at": None},
            }
        ],
        "api_keys": [
            {
                **{"id": key, "account_id": "default", "name": "first", "start": "gsk_0123", "digest": b"d" * 32},
                **{"scope": "admin", "created_at": BEGAN, "used_at": BEGAN, "revoked_at": None},
            }
        ],
        "sessions": [
            {
                **{"id": UUID("019a0000-0000-7000-8000-0000000000f3"), "user_id": user, "digest": b"s" * 32},
                **{"turns": 1, "created_at": BEGAN, "expires_at": BEGAN, "revoked_at": None},
            }
        ],
        "usage": [
            {
                **{"account_id": "default", "id": JOB, "month": "2026-01", "day": "2026-01-01", "key_id": key},
                **{"door": "jobs", "recipe": "prospect", "urls": 2, "credits": 1, "micros": 10_000, "pages": 1},
                **{"failed": 0, "ms": None, "outcome": "running", "is_open": 1, "at": BEGAN},
            }
        ],
    }


def _since_0011(revision: str) -> Rows:
    rows = _of_0011() if revision >= "0011" else {}
    if revision >= "0014":
        rows |= _of_0014()
    if revision >= "0015":
        _add(rows["webhook_keys"], is_sealed=False)
    if revision >= "0016":
        rows["month_credits"] = [{"account_id": "default", "month": "2026-01", "credits": 1}]
    return rows


def _of_0011() -> Rows:
    endpoint, key, delivery = (UUID(f"019a0000-0000-7000-8000-0000000000e{number}") for number in (1, 2, 3))
    return {
        "webhook_endpoints": [
            {
                **{"id": endpoint, "account": "default", "url": "https://hooks.a.test/", "events": [], "pages": True},
                **{"state": "off", "reason": "", "created_at": BEGAN, "failing_since": None, "failures": 0},
                **{"not_before": None, "lease": None, "lease_until": None, "worker": None},
            }
        ],
        "webhook_keys": [{"id": key, "endpoint_id": endpoint, "key": b"k" * 32, "until": None}],
        "webhook_deliveries": [
            {
                **{"id": delivery, "endpoint_id": endpoint, "type": "job.created", "job_id": JOB, "body": "{}"},
                **{"state": "delivered", "created_at": BEGAN, "queued_at": BEGAN, "due_at": BEGAN},
                **{"tries": 1, "attempts": [], "delivered_at": BEGAN},
            }
        ],
        "webhook_pages": [{"endpoint_id": endpoint, "job_id": JOB, "pages": 1, "at": BEGAN}],
    }


def _of_0014() -> Rows:
    return {"job_keys": [{"job_id": JOB, "provider": "firecrawl", "sealed": b"s" * 40}]}


def _site(identifier: UUID, host: str, **more: Any) -> dict[str, Any]:
    return {
        "id": identifier,
        "job_id": JOB,
        "host": host,
        "domain": host,
        "given": host,
        "entries": [f"http://{host}/"],
        "listed": True,
        "whole": True,
        "state": "open",
        "reason": "",
        "detail": "",
        "http_status": None,
        "open_pages": 0,
        "pages_done": 0,
        "size": 0,
        "retries": 0,
        "not_before": None,
        "robots": {},
        "notes": b"in a form of its own",
        "last_attempt_at": None,
        "finished_at": None,
        **more,
    }


def _visit(identifier: UUID, site: UUID, host: str, open_pages: int, **more: Any) -> dict[str, Any]:
    return {
        "id": identifier,
        "job_id": JOB,
        "site_id": site,
        "lane": "http",
        "domain": host,
        "shard": 5,
        "state": "ready",
        "lease": None,
        "lease_until": None,
        "worker": None,
        "due_at": BEGAN,
        "deaths": 0,
        "open_pages": open_pages,
        "walked_ms": 0,
        "last_error": "",
        **more,
    }


def _of_0003() -> Rows:
    counted = {"sites_done": 0, "sites_failed": 0, "sites_partial": 0, "pages_done": 1, "pages_failed": 0}
    checkpoint = {
        "job_id": JOB,
        "id": UUID("019a0000-0000-7000-8000-0000000000d1"),
        "at": BEGAN,
        "cause": "shutdown",
        "state": "running",
        "sites_total": 2,
        **counted,
        "pages_skipped": 0,
        "records": 1,
        "last_at": BEGAN,
    }
    alert = {
        "id": UUID("019a0000-0000-7000-8000-0000000000e1"),
        "kind": "workers",
        "subject": HOME,
        "job_id": None,
        "sentence": "No worker comes up.",
        "fired_at": BEGAN,
        "cleared_at": BEGAN,
        "delivered_at": BEGAN,
        "holds": None,
    }
    return {"checkpoints": [checkpoint], "alerts": [alert]}


def _of_0007(host: str) -> Rows:
    """One request that was paid for, and one under way; no budget has a cap."""
    paid = {
        "job_id": JOB,
        "site_id": _FIRST_SITE,
        "page_key": url_key(f"http://{host}/"),
        "rung": "scrapingbee-js",
        "provider": "scrapingbee",
        **_money(5),
        "day": "2026-01-01",
        "at": BEGAN,
    }
    held = {"id": UUID("019a0000-0000-7000-8000-0000000000f1"), "visit_id": _FIRST_VISIT, "lease": UUID(int=7)}
    budget = {
        **{f"cap_{part}": None for part in _PARTS},
        "cap_traffic": None,
        **_money(5, "reserved_"),
        **_money(5, "spent_"),
        **_money(0, "excess_"),
        "told": 0,
    }
    owned = {"scope": "job", "subject": JOB.hex, "period": "", "job_id": JOB}
    expense = {name: paid[name] for name in ("job_id", "day", "rung", "provider")}
    return {
        "budgets": [
            {**owned, **budget},
            {"scope": "system", "subject": "", "period": "2026-01-01", "job_id": None, **budget},
            {"scope": "account", "subject": "default", "period": "2026-01", "job_id": None, **budget},
        ],
        "reservations": [{**paid, **held}],
        "charges": [{**paid, "id": UUID("019a0000-0000-7000-8000-0000000000f2"), "assumed": False}],
        "expenses": [{**expense, "requests": 1, **_money(5), "assumed": 0}],
        "closed_rungs": [{"rung": "scraperapi-ultra", "charged": 200, "at": BEGAN}],
    }


_PARTS = ("credits", "micros", "bytes")


def _money(number: int, of: str = "") -> dict[str, int]:
    return dict(zip((f"{of}{part}" for part in _PARTS), (number, number * 196, 0), strict=True))


def _page(site: UUID, visit: UUID, url: str, **more: Any) -> dict[str, Any]:
    return {
        "job_id": JOB,
        "key": url_key(url),
        "site_id": site,
        "visit_id": visit,
        "url": url,
        "depth": 0,
        "rank": 0,
        "handed": 0,
        "state": "pending",
        "rung": "direct",
        "due_at": None,
        "reason": "",
        "detail": "",
        "http_status": None,
        "attempts": [],
        "found_on": "",
        "identity": None,
        "bytes_in": 0,
        "settled_at": None,
        **more,
    }


def _export() -> dict[str, Any]:
    return {
        "id": UUID(int=JOB.int + 99),
        "job_id": JOB,
        "type": "results",
        "format": "csv",
        "options": {},
        "name": "results.csv",
        "partial": True,
        "state": "done",
        "reason": "",
        "home": HOME,
        "spooled": False,
        "lease": None,
        "lease_until": None,
        "worker": None,
        "tries": 0,
        "rows_done": 1,
        "rows_total": 1,
        "blob_key": "exports/results.csv",
        "size": 10,
        "sha256": "0" * 64,
        "created_at": BEGAN,
        "finished_at": BEGAN,
        "expires_at": None,
    }


def _worker() -> dict[str, Any]:
    return {
        "id": "box/0-4711",
        "host": "box",
        "pid": 4711,
        "lanes": {"http": 24},
        "version": "0.1",
        "started_at": BEGAN,
        "beat_at": BEGAN,
    }


def _counter(shard: int, at: datetime) -> dict[str, Any]:
    names = ("sites_done", "sites_failed", "sites_partial", "pages_done", "pages_failed", "pages_skipped")
    row: dict[str, Any] = {"job_id": JOB, "shard": shard, **dict.fromkeys(names, 0)}
    row |= {"pages_open": 0, "records": 0, "bytes_in": 0, "last_at": None}
    if shard == 0:
        row |= {"pages_done": 1, "pages_open": 3, "records": 1, "bytes_in": 900, "last_at": at}
    return row


def fill(tx: Tx, rows: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
    on_server = tx.dialect.row_locks
    for table, some in rows.items():
        for row in some:
            values = ", ".join(_literal(value, on_server) for value in row.values())
            names = ", ".join(f'"{name}"' for name in row)
            tx.conn.exec_driver_sql(f"INSERT INTO {table} ({names}) VALUES ({values})")  # noqa: S608


def _literal(value: Any, on_server: bool) -> str:
    """A value as the database's own SQL writes it."""
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).lower() if on_server else str(int(value))
        case int():
            return str(value)
        case datetime():
            return f"'{value.isoformat()}'" if on_server else str(int(value.timestamp() * 1000))
        case UUID() | bytes():
            digits = value.hex if isinstance(value, UUID) else value.hex()
            prefix = "\\x" if isinstance(value, bytes) else ""
            return f"'{prefix}{digits}'" if on_server else f"x'{digits}'"
    text = value if isinstance(value, str) else orjson.dumps(value).decode()
    return "'" + text.replace("'", "''") + "'"
