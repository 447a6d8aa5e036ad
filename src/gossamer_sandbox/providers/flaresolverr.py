"""FlareSolverr 3.5 as its source reads: always status 200, never a header, challenges sat out, errors in words."""

import asyncio
import re
import time
import uuid
from typing import Any

import orjson
from wreq import Client

from gossamer_sandbox.providers.shop import Sale, Shop
from gossamer_sandbox.providers.target import (
    NoProxy,
    NoTunnel,
    TooLarge,
    TooSlow,
    Unreachable,
    Visited,
    client_through,
)
from gossamer_sandbox.providers.wire import Answer, Request, json_answer
from gossamer_sandbox.web.visitors import JS, PREMIUM

VERSION = "3.5.0"
_AGENT = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36"
_TITLE = re.compile(r"<title[^>]*>([^<]*)</title>", re.IGNORECASE)
_CHALLENGES = frozenset({"just a moment...", "ddos-guard"})
_BLOCKS = ("Access denied", "Attention Required! | Cloudflare")
_BROWSER = frozenset((JS,))
_SOLVED = frozenset((JS, PREMIUM))
_NOBODY = object()
_UNSOLVED = "Error solving the challenge. "
_BANNED = "Cloudflare has blocked this request. Probably your IP is banned for this site, check in your web browser."


class _Failed(Exception):
    """Error message of an answer with status 500."""


def refuse(status: int) -> Answer:
    return json_answer(status, {"error": "Internal Server Error", "status_code": status})


def garble(answer: Answer) -> Answer:
    return Answer(answer.status, answer.headers, answer.body[: len(answer.body) // 2])


class FlareSolverrEmulator:
    """`POST /v1`, and two addresses that say it is there."""

    path = ""

    def __init__(self, shop: Shop) -> None:
        self.shop = shop
        self.sessions: dict[str, Any] = {}  # browsers that are kept, and the proxy each was made with
        # Calls beyond its threads wait; none is refused for being one too many.
        self._threads = asyncio.Semaphore(shop.at_once)

    async def answer(self, request: Request) -> Answer:
        match request.method, request.path:
            case "GET", "/":
                return json_answer(200, {"msg": "FlareSolverr is ready!", "version": VERSION, "userAgent": _AGENT})
            case "GET", "/health":
                return json_answer(200, {"status": "ok"})
            case "POST", "/v1":
                return await self.shop.sell(lambda: self._sale(request), refuse, garble, seats=self._threads)
        return json_answer(404, {"error": f"Not found: {request.path!r}", "status_code": 404})

    async def _sale(self, request: Request) -> Sale:
        started = round(time.time() * 1000)
        asked: dict[str, Any] = {}
        try:
            asked = orjson.loads(request.body)
            told = {"status": "ok"} | await self._command(asked)
            status = 200
        except _Failed as failed:
            told, status = {"status": "error", "message": f"Error: {failed}"}, 500
        except orjson.JSONDecodeError:
            return Sale(refuse(500))
        told |= {"startTimestamp": started, "endTimestamp": round(time.time() * 1000), "version": VERSION}
        return Sale(json_answer(status, told), str(asked.get("url", "")), way=str(asked.get("cmd", "")))

    async def _command(self, asked: dict[str, Any]) -> dict[str, Any]:
        match asked.get("cmd"):
            case None:
                raise _Failed("Request parameter 'cmd' is mandatory.")
            case "sessions.create":
                return self._create(str(asked.get("session") or uuid.uuid1()), asked.get("proxy"))
            case "sessions.list":
                return {"message": "", "sessions": list(self.sessions)}
            case "sessions.destroy":
                if self.sessions.pop(str(asked.get("session")), _NOBODY) is _NOBODY:
                    raise _Failed("The session doesn't exist.")
                return {"message": "The session has been removed."}
            case "request.get" | "request.post":
                _check(asked)
                return await self._solve(asked)
            case other:
                raise _Failed(f"Request parameter 'cmd' = '{other}' is invalid.")

    def _create(self, session: str, proxy: Any = None) -> dict[str, Any]:
        known = session in self.sessions
        self.sessions.setdefault(session, proxy)
        said = "Session already exists." if known else "Session created successfully."
        return {"message": said, "session": session}

    def _browser_for(self, asked: dict[str, Any]) -> Client | None:
        proxy = asked.get("proxy")
        if session := asked.get("session"):
            self._create(str(session))  # one that is not known is made
            proxy = self.sessions[str(session)]  # and no other proxy is taken
        return _browser(proxy) if proxy else None

    async def _solve(self, asked: dict[str, Any]) -> dict[str, Any]:
        through = self._browser_for(asked)
        limit = int(asked.get("maxTimeout") or 60_000)
        seconds = (limit if limit >= 1 else 60_000) / 1_000
        url = str(asked.get("url", ""))
        try:
            visited = await self.shop.target.visit(url, _BROWSER, seconds=seconds, through=through)
            challenged = _title(visited).lower() in _CHALLENGES
            if challenged:
                visited = await self.shop.target.visit(url, _SOLVED, seconds=seconds, through=through)
            if through is not None:
                await self.shop.target.pull(visited, seconds, through)
        except TooSlow:
            raise _Failed(f"{_UNSOLVED}Timeout after {seconds:g} seconds.") from None
        except NoProxy:
            raise _Failed(f"{_UNSOLVED}Message: unknown error: net::ERR_PROXY_CONNECTION_FAILED") from None
        except NoTunnel:
            raise _Failed(f"{_UNSOLVED}Message: unknown error: net::ERR_TUNNEL_CONNECTION_FAILED") from None
        except Unreachable:
            raise _Failed(f"{_UNSOLVED}Message: unknown error: net::ERR_NAME_NOT_RESOLVED") from None
        except TooLarge:
            raise _Failed(f"{_UNSOLVED}Message: tab crashed") from None
        title = _title(visited)
        if title.startswith(_BLOCKS):
            raise _Failed(_UNSOLVED + _BANNED)
        if title.lower() in _CHALLENGES:
            raise _Failed(f"{_UNSOLVED}Timeout after {seconds:g} seconds.")
        message = "Challenge solved!" if challenged else "Challenge not detected!"
        return {"message": message, "solution": _solution(asked, visited)}


def _browser(proxy: Any) -> Client:
    known = {name: str(value) for name, value in proxy.items()} if isinstance(proxy, dict) else {}
    if not known.get("url", "").startswith(("http://", "socks4://", "socks5://")):
        raise _Failed("Invalid proxy URL. Must start with 'http://', 'socks4://' or 'socks5://'.")
    return client_through(known["url"], known.get("username", ""), known.get("password", ""), _AGENT)


def _check(asked: dict[str, Any]) -> None:
    if asked["cmd"] == "request.post":
        if not asked.get("postData"):
            raise _Failed("Request parameter 'postData' is mandatory in 'request.post' command.")
    elif not asked.get("url"):
        raise _Failed("Request parameter 'url' is mandatory in 'request.get' command.")
    elif asked.get("postData"):
        raise _Failed("Cannot use 'postBody' when sending a GET request.")


def _title(visited: Visited) -> str:
    found = _TITLE.search(visited.text[:100_000])
    return found[1].strip() if found else ""


def _solution(asked: dict[str, Any], visited: Visited) -> dict[str, Any]:
    """The browser cannot see statuses and headers, so that these two never change."""
    only_cookies = bool(asked.get("returnOnlyCookies"))
    return {
        "url": visited.url,
        "status": 200,
        "headers": {},
        "response": None if only_cookies else visited.text,
        "cookies": [],
        "userAgent": _AGENT,
    }
