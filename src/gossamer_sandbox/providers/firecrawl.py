"""Firecrawl's `/scrape`, versions 1 and 2: a page the site refuses is a success, and is charged."""

import asyncio
import re
import time
from collections import deque
from typing import Any

import orjson

from gossamer_sandbox.providers.shop import Sale, Shop
from gossamer_sandbox.providers.target import TooLarge, TooSlow, Unreachable, Visited
from gossamer_sandbox.providers.wire import Answer, Request, json_answer
from gossamer_sandbox.web.visitors import JS, PREMIUM, STEALTH

_VERSIONS = ("/v1", "/v2")
_WORDS = {
    400: "Bad Request",
    401: "Unauthorized: Invalid token",
    402: "Payment Required: Insufficient credits",
    408: "Request timeout",
    429: "Rate limit exceeded",
}
_FORMATS = frozenset({"markdown", "html", "rawHtml", "links", "json", "summary", "images", "screenshot"})
_HREF = re.compile(r"<a [^>]*href=[\"']([^\"']+)", re.IGNORECASE)
_TAG = re.compile(r"<[^>]*>")
_MINUTE = 60.0


def refuse(status: int, why: str = "", *headers: tuple[str, str]) -> Answer:
    told = {"success": False, "error": why or _WORDS.get(status, "Internal server error")}
    return json_answer(status, told, *headers)


def garble(answer: Answer) -> Answer:
    """A document whose numbers are none."""
    told = orjson.loads(answer.body)
    if "data" in told:
        told["data"]["metadata"] |= {"creditsUsed": "one", "statusCode": None}
    return Answer(answer.status, answer.headers, orjson.dumps(told))


class FirecrawlEmulator:
    """`POST /v2/scrape` and the two addresses that tell of the account; the same below `/v1`."""

    path = "/v2"

    def __init__(self, shop: Shop, *, per_minute: int | None = None) -> None:
        self.shop = shop
        self._per_minute = per_minute
        self._recent: deque[float] = deque()
        self._browsers = asyncio.Semaphore(shop.at_once)  # calls beyond them wait

    async def answer(self, request: Request) -> Answer:
        if request.header("authorization") != f"Bearer {self.shop.key}":
            return refuse(401)
        version, path = request.path[:3], request.path[3:]
        if version not in _VERSIONS:
            return refuse(404, "Not found")
        match request.method, path:
            case "POST", "/scrape":
                return await self._scrape(request, version)
            case "GET", "/team/credit-usage":
                name = "remaining_credits" if version == "/v1" else "remainingCredits"
                return json_answer(200, {"success": True, "data": {name: self.shop.left}})
            case "GET", "/team/queue-status":
                return json_answer(200, self._queue())
        return refuse(404, "Not found")

    def _queue(self) -> dict[str, Any]:
        return {
            "success": True,
            "jobsInQueue": self.shop.running,
            "activeJobsInQueue": self.shop.running,
            "waitingJobsInQueue": 0,
            "maxConcurrency": self.shop.at_once,
            "mostRecentSuccess": None,
        }

    async def _scrape(self, request: Request, version: str) -> Answer:
        now = time.monotonic()
        while self._recent and now - self._recent[0] > _MINUTE:
            self._recent.popleft()
        if self._per_minute is not None and len(self._recent) >= self._per_minute:
            rest = str(round(_MINUTE - (now - self._recent[0])) or 1)
            return refuse(429, "", ("Retry-After", rest))
        self._recent.append(now)
        return await self.shop.sell(lambda: self._sale(request, version), refuse, garble, seats=self._browsers)

    async def _sale(self, request: Request, version: str) -> Sale:
        try:
            asked = orjson.loads(request.body)
        except orjson.JSONDecodeError:
            return Sale(refuse(400, "Invalid JSON"))
        url = str(asked.get("url", ""))
        formats = [each["type"] if isinstance(each, dict) else each for each in asked.get("formats", ["markdown"])]
        if not url.startswith(("http://", "https://")) or not _FORMATS.issuperset(formats):
            return Sale(refuse(400, "Bad Request: Invalid URL or format"), url)
        price = 1 + (4 if "json" in formats else 0) + (1 if asked.get("zeroDataRetention") else 0)
        if self.shop.left < price:
            return Sale(refuse(402), url)
        proxy = asked.get("proxy", "auto" if version == "/v2" else "basic")
        visitor = frozenset((JS,)) if proxy == "basic" else frozenset((JS, PREMIUM, STEALTH))
        seconds = int(asked.get("timeout", 60_000 if version == "/v2" else 30_000)) / 1_000
        try:
            visited = await self.shop.target.visit(url, visitor, seconds=seconds)
        except TooSlow:
            return Sale(refuse(408), url)
        except (Unreachable, TooLarge):
            return Sale(refuse(500, "The page could not be loaded"), url)
        told = {"success": True, "data": _document(url, formats, visited, price, proxy)}
        return Sale(json_answer(200, told), url, price, ",".join(formats))


def _document(url: str, formats: list[str], visited: Visited, price: int, proxy: str) -> dict[str, Any]:
    text = visited.text
    found: dict[str, Any] = {
        "rawHtml": text,
        "html": text,
        "markdown": _TAG.sub("", text).strip(),
        "links": _HREF.findall(text),
    }
    about = {
        "sourceURL": url,
        "url": visited.url,
        "statusCode": visited.status,
        "contentType": visited.headers.get("content-type", "text/html"),
        "proxyUsed": "basic" if proxy == "basic" else "stealth",
        "cacheState": "miss",
        "creditsUsed": price,
    }
    return {name: found[name] for name in formats if name in found} | {"metadata": about}
