"""Example responses for the API description, by schema name or by operation.

The tests validate each example against its schema, and find every operation that has none.
"""

from collections.abc import Mapping
from typing import Any

from gossamer.model.rungs import DIRECT
from gossamer.recipes.prospect import PROSPECT
from gossamer.recipes.scrape import PAGE, SCRAPE

_ID = "0192f3a1-7b2c-7d4e-8f5a-6b7c8d9e0f1a"
_OTHER = "0192f3a1-9c3d-7e5f-9a6b-7c8d9e0f1a2b"
_AT, _LATER, _WEEK = "2026-11-16T21:04:11Z", "2026-11-16T21:09:42Z", "2026-11-23T21:09:42Z"
_PAGE = "https://shop.example/lamps"
_SHA = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
_JOB = {
    "id": _ID,
    "short_id": "8d9e0f1a",
    "name": "Acme Q1",
    "recipe": PROSPECT.name,
    "state": "running",
    "waiting": False,
    "reason": "",
    "created_at": _AT,
    "started_at": _AT,
    "finished_at": None,
    "links": {"self": f"/v1/jobs/{_ID}", "results": f"/v1/jobs/{_ID}/results", "live": f"/v1/jobs/{_ID}/live"},
}
_COUNTS = {
    "percent": 48,
    "sites": {"total": 250, "done": 112, "partial": 3, "failed": 5},
    "pages": {"done": 9120, "failed": 61, "skipped": 480, "open": 40},
    "records": 2103,
    "bytes_in": 301_842_911,
}
_SCRAPED_PAGE = {
    "url": _PAGE,
    "status": "done",
    "error": "",
    "code": "",
    "http_status": 200,
    "tries": 1,
    "data": {"url": _PAGE, "final_url": _PAGE, "title": "Lamps", "markdown": "# Lamps\n\nAll about lamps."},
}
_FAILURE = {
    "url": "https://slow.example/",
    "domain": "slow.example",
    "reason": "Timed out after 15 s",
    "code": "timeout",
    "http_status": None,
}
_EXPORT = {
    "id": _OTHER,
    "job_id": _ID,
    "type": "results",
    "format": "csv",
    "name": "results-8d9e0f1a.csv",
    "state": "done",
    "reason": "",
    "partial": False,
    "rows": 4102,
    "rows_total": 4102,
    "size_bytes": 918_224,
    "sha256": _SHA,
    "created_at": _AT,
    "finished_at": _LATER,
    "expires_at": _WEEK,
    "url": f"/v1/jobs/{_ID}/exports/{_OTHER}/file",
    "link": "https://crawl.example.com/v1/files/exports/8d9e0f1a/results-8d9e0f1a.csv?expires=1795468182&signature=5f2a",
}
_KEY = {
    "id": _OTHER,
    "name": "nightly",
    "start": "gsk_ayHCkGY7",
    "scope": "submit",
    "created_at": _AT,
    "used_at": _LATER,
    "revoked_at": None,
}
_HOOK = {
    "id": _OTHER,
    "url": "https://example.com/hooks",
    "events": ["job.completed", "job.failed"],
    "state": "active",
    "reason": "",
    "created_at": _AT,
    "failing_since": None,
    "failures": 0,
}
_DELIVERY = {
    "id": _ID,
    "message_id": "msg_0192f3a17b2c7d4e8f5a6b7c8d9e0f1a",
    "webhook_id": _OTHER,
    "type": "job.completed",
    "job_id": _ID,
    "state": "delivered",
    "created_at": _AT,
    "due_at": None,
    "delivered_at": _LATER,
    "attempts": [{"at": _LATER, "http_status": 204, "took_ms": 31, "error": ""}],
}
_SITEMAP_JOB = {
    "id": _ID,
    "domain": "shop.example",
    "status": "running",
    "created_at": _AT,
    "started_at": _AT,
    "finished_at": None,
    "total_urls": 840,
    "success_urls": 312,
    "failed_urls": 4,
    "traffic_mb_used": 18.4,
    "residential_mb_used": 0.0,
    "error_message": None,
}
_URL_STATUS = {"url": _PAGE, "status": "completed", "error": None, "metadata": {"title": "Lamps"}}
_DAY = {
    "day": "2026-11-16",
    "requests": 12,
    "urls": 480,
    "pages": 471,
    "failed": 9,
    "credits": 471,
    "provider_usd": 0.0,
}
_BATCH = {"batch_id": _ID, "status": "pending", "status_url": f"/scrapersky/batch/status/{_ID}"}
_DOCUMENT = {
    "markdown": "# Lamps\n\nAll about lamps.",
    "metadata": {"title": "Lamps", "sourceURL": _PAGE, "url": _PAGE, "statusCode": 200, "creditsUsed": 1},
}

SHAPES: Mapping[str, Any] = {
    "Accepted": {
        "id": _ID,
        "state": "running",
        "urls": 2,
        "duplicates": 0,
        "links": {"self": f"/v1/jobs/{_ID}", "urls": f"/v1/jobs/{_ID}/urls"},
    },
    "AccountView": {
        "id": "acme",
        "name": "Acme Inc.",
        "month": "2026-11",
        "credits": 10_000,
        "credits_used": 471,
        "credits_left": 9_529,
        "running_jobs": 2,
        "running_jobs_limit": 20,
        "queued_jobs": 0,
        "queued_jobs_limit": 1_000,
    },
    "BatchAccepted": _BATCH,
    "BatchStatus": {
        "batch_id": _ID,
        "status": "running",
        "total": 2,
        "completed": 1,
        "failed": 0,
        "pending": 1,
        "results": [_URL_STATUS, {**_URL_STATUS, "url": "https://shop.example/", "status": "pending"}],
    },
    "BeeUsage": {
        "max_api_credit": 10_000,
        "used_api_credit": 471,
        "max_concurrency": 20,
        "current_concurrency": 2,
        "renewal_subscription_date": "2026-12-01T00:00:00+00:00",
    },
    "Cancelled": {"success": True, "status": "cancelled"},
    "Deleted": {"id": _ID, "state": "archived", "rows": 13_822},
    "DeliveryPage": {"items": [_DELIVERY], "has_more": False, "next_cursor": None},
    "DeliveryView": _DELIVERY,
    "Errors": {
        "errors": [{"id": _OTHER, "timestamp": _AT, "url": _PAGE, "error": "Timed out after 15 s", "code": "timeout"}],
        "robotsBlocked": ["https://shop.example/cart"],
    },
    "EstimateView": {
        "low_credits": 2_000,
        "high_credits": 8_000,
        "low_usd": 20.0,
        "high_usd": 80.0,
        "sites": 500,
        "met_before": 120,
        "similar_jobs": 3,
        "similar_low_credits": 1_800,
        "similar_high_credits": 6_400,
        "max_credits": 5_000,
        "account_credits": {"at_least": 500, "at_most": 2_500_000, "left": 9_529},
    },
    "ExportView": _EXPORT,
    "Exports": {"items": [_EXPORT]},
    "FailurePage": {"items": [_FAILURE], "has_more": False, "next_cursor": None},
    "Forgotten": {
        "forgotten": True,
        "jobs": [{"job_id": _ID, "name": "Acme Q1", "recipe": "prospect", "pages": 12, "records": 31, "mentions": 4}],
    },
    "Health": {
        "status": "ok",
        "live": True,
        "ready": True,
        "database": "ok",
        "workers": "ok",
        "version": "0.1.0",
    },
    "JobAccepted": {"job_id": _ID, "status": "pending", "status_url": f"/scrapersky/status/{_ID}"},
    "JobAnswer": {
        "success": True,
        "status": "completed",
        "total": 1,
        "completed": 1,
        "creditsUsed": 1,
        "createdAt": _AT,
        "completedAt": _LATER,
        "duration": 331.0,
        "expiresAt": "2026-11-17T21:04:11Z",
        "next": None,
        "data": [_DOCUMENT],
    },
    "JobPage": {"items": [_JOB], "has_more": False, "next_cursor": None},
    "JobStatus": {
        **_JOB,
        "progress": _COUNTS,
        "params": {"keywords": ["CRM"], "client_domains": ["acme.com"]},
        "priority": "normal",
        "max_concurrency": None,
        "limits": {"max_credits": 5_000, "max_usd": None, "max_mb": None, "max_residential_mb": None},
        "spent_credits": 310,
        "spent_usd": 3.1,
        "result": None,
        "as_of": None,
    },
    "JobView": _JOB,
    "KeyView": _KEY,
    "Keys": {"items": [_KEY]},
    "Limits": {"max_credits": 5_000, "max_usd": 50.0},
    "NewKeyView": {**_KEY, "used_at": None, "key": "gsk_..."},
    "NewWebhookView": {**_HOOK, "secret": "whsec_..."},
    "Ok": {"ok": True},
    "PageList": {"items": [_SCRAPED_PAGE], "has_more": False, "next_cursor": None},
    "Recipes": {
        "items": [
            {
                "name": SCRAPE.name,
                "description": "What a scrape job needs to know besides its addresses.",
                "records": [PAGE.name],
                "params": {"type": "object", "properties": {"formats": {"type": "array"}}},
            }
        ]
    },
    "Refresh": {"refresh_token": "0192f3a19c3d7e5f9a6b7c8d9e0f1a2b.d2h5Li4u"},
    "FirecrawlError": {
        "success": False,
        "error": "This needs an API key. Send it as 'Authorization: Bearer KEY'.",
        "code": "auth.missing",
    },
    "Replayed": {"replayed": 3},
    "MapAnswer": {"success": True, "links": [{"url": _PAGE, "title": "Lamps", "description": None}]},
    "ResultPage": {
        "items": [{"domain": "shop.example", "url": _PAGE, "keyword": "CRM", "snippet": "... a CRM for lamps ..."}],
        "has_more": True,
        "next_cursor": "0a1b2c3d",
        "complete": False,
    },
    "RetriedBatch": {**_BATCH, "retried": 1, "message": "Tried again: 1 of the 1 that failed."},
    "Resumed": {"id": _ID, "state": "running", "waiting": False},
    "RetriedView": {"id": _ID, "state": "running", "sites": 5, "pages": 61},
    "ScrapeAnswer": {"success": True, "data": _DOCUMENT},
    "Scraped": {**_SCRAPED_PAGE, "job_id": _ID, "final_url": _PAGE, "method": DIRECT.name, "credits": 1},
    "SingleStatus": {**_URL_STATUS, "job_id": _ID},
    "SitemapJob": _SITEMAP_JOB,
    "Started": {"success": True, "id": _ID, "url": f"https://crawl.example.com/firecrawl/v2/crawl/{_ID}"},
    "Steered": {"id": _ID, "state": "pausing"},
    "Tokens": {
        "access_token": "eyJhbGciOi...",
        "refresh_token": "0192f3a19c3d7e5f9a6b7c8d9e0f1a2b.d2h5Li4u",
        "token_type": "bearer",
        "expires_in": 900,
    },
    "Usage": {"days": [_DAY], "items": [], "has_more": False, "next_cursor": None},
    "WebhookView": _HOOK,
    "Webhooks": {"items": [_HOOK]},
}
"""By the name of the schema."""

_FOLLOWED = 'id: {id}\nevent: progress\ndata: {{"type":"progress","job":{{"state":"running"}}}}\n\n'
OPERATIONS: Mapping[str, tuple[str, Any]] = {
    "get_api_jobs": ("application/json", [_SITEMAP_JOB]),
    "get_api_jobs_job_id_stream": (
        "text/event-stream",
        f'data: {{"type":"progress","data":{{"job_id":"{_ID}","message":"12/40 pages","progress":30}}}}\n\n',
    ),
    "get_api_ready": ("application/json", {"status": "ready"}),
    "get_api_v1": ("*/*", "<html><head><title>Lamps</title></head>...</html>"),
    "get_firecrawl_v2_concurrency_check": (
        "application/json",
        {"success": True, "concurrency": 2, "maxConcurrency": 20},
    ),
    "get_firecrawl_v2_crawl_active": (
        "application/json",
        {"success": True, "crawls": [{"id": _ID, "teamId": "acme", "url": "https://docs.example/"}]},
    ),
    "get_firecrawl_v2_team_credit_usage": (
        "application/json",
        {"success": True, "data": {"remainingCredits": 9_529, "planCredits": 10_000}},
    ),
    "get_firecrawl_v2_team_queue_status": (
        "application/json",
        {
            "success": True,
            "jobsInQueue": 2,
            "activeJobsInQueue": 2,
            "waitingJobsInQueue": 0,
            "maxConcurrency": 20,
            "mostRecentSuccess": None,
        },
    ),
    "get_v1_jobs_job_id_live": ("text/event-stream", _FOLLOWED.format(id=_OTHER)),
    "post_v1_questions": ("application/json", {"jobs": [], "more": False}),
}
"""Of answers whose shape has no name: what kind of text, and the text. By the name of the operation."""
