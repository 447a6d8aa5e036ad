"""Emulator of ScrapingBee, as documented and measured.

Prices depend on the parameters, a header says whose failure it was, and failures are free.
"""

from itertools import count

from gossamer_sandbox.providers.shop import Sale, Shop
from gossamer_sandbox.providers.target import TooLarge, TooSlow, Unreachable, Visited
from gossamer_sandbox.providers.wire import Answer, Request, json_answer
from gossamer_sandbox.web.visitors import JS, NOBODY, PREMIUM, STEALTH, Visitor

_PREFIX = "/api/v1"
_BOOLEANS = frozenset(
    {"render_js", "premium_proxy", "stealth_proxy", "transparent_status_code", "json_response", "block_resources"}
)
_WORDS = {
    400: "Bad request",
    401: "Invalid api key: it is not known",
    402: "Credits exhausted",
    403: "Account not permitted",
    413: "Response too large",
    429: "Too many concurrent requests",
    500: "Could not fetch the page, try again",
}
# (premium, stealth, js) to credits; stealth is not sold without a browser.
_PRICES = {
    (False, False, False): 1,
    (False, False, True): 5,
    (True, False, False): 10,
    (True, False, True): 25,
    (False, True, True): 75,
}
_TIERS = ((1, NOBODY), (5, frozenset((JS,))), (25, frozenset((JS, PREMIUM))), (75, frozenset((JS, PREMIUM, STEALTH))))


class _Refused(Exception):
    """A call that is wrong in itself."""


def refuse(status: int, why: str = "") -> Answer:
    return json_answer(status, {"message": why or _WORDS.get(status, "Service unavailable")})


def garble(answer: Answer) -> Answer:
    """Numbers that are none."""
    spoiled = {"spb-cost": "five or so", "spb-initial-status-code": "\xff??"}
    headers = tuple((name, spoiled.get(name.lower(), value)) for name, value in answer.headers)
    return Answer(answer.status, headers, answer.body)


class ScrapingBeeEmulator:
    """`GET /api/v1/?url=...` and `GET /api/v1/usage`."""

    path = _PREFIX

    def __init__(self, shop: Shop) -> None:
        self.shop = shop
        self._ids = count(1)

    async def answer(self, request: Request) -> Answer:
        path = request.path.rstrip("/")
        given = request.header("authorization").removeprefix("Bearer ") or request.query.get("api_key", "")
        if given != self.shop.key:
            return refuse(401)
        if path == f"{_PREFIX}/usage":
            return self._usage()
        if path != _PREFIX:
            return refuse(404, "Not found")
        return await self.shop.sell(lambda: self._sale(request), refuse, garble)

    def _usage(self) -> Answer:
        shop = self.shop
        return json_answer(
            200,
            {
                "max_api_credit": shop.credits,
                "used_api_credit": shop.bill.total,
                "max_concurrency": shop.at_once,
                "current_concurrency": shop.running,
                "renewal_subscription_date": "2026-12-01T00:00:00.000000",
            },
        )

    async def _sale(self, request: Request) -> Sale:
        url = request.query.get("url", "")
        try:
            _check(request)
            if request.query.get("mode") == "auto":
                return await self._auto(request, url)
            price, visitor = _price(request)
        except _Refused as refused:
            return Sale(refuse(400, str(refused)), url)
        return await self._priced(request, url, price, visitor)

    async def _auto(self, request: Request, url: str) -> Sale:
        """From cheap to dear, until the site gives a page."""
        if {"render_js", "premium_proxy", "stealth_proxy"} & request.query.keys():
            raise _Refused("mode=auto cannot be combined with render_js, premium_proxy or stealth_proxy")
        sale = Sale(refuse(500), url)
        for price, visitor in _TIERS:
            if price > int(request.query.get("max_cost", "75")):
                break
            sale = await self._priced(request, url, price, visitor)
            if sale.answer.status < 400:
                headers = (*sale.answer.headers, ("Spb-auto-cost", str(price)))
                return Sale(Answer(sale.answer.status, headers, sale.answer.body), url, price, sale.way)
        return Sale(refuse(500), url)

    async def _priced(self, request: Request, url: str, price: int, visitor: Visitor) -> Sale:
        way = ",".join(sorted(visitor)) or "plain"
        if self.shop.left < price:
            return Sale(refuse(402), url, way=way)
        seconds = int(request.query.get("timeout", "140000")) / 1_000
        try:
            visited = await self.shop.target.visit(url, visitor, seconds=seconds)
        except Unreachable:
            visited = Visited(503, 503, {"content-type": "text/html"}, b"Proxy connection error", url)
        except TooSlow:
            return Sale(refuse(500), url, way=way)
        except TooLarge:
            return Sale(refuse(413), url, way=way)
        if request.query.get("transparent_status_code", "false").lower() != "true" and _is_bad(visited.status):
            # Tried again, in vain, and said in words of their own.
            return Sale(refuse(500, f"The server answered with {visited.status}"), url, way=way)
        cost = 0 if visited.status >= 500 else price
        return Sale(self._page(request, visited, cost), url, cost, way)

    def _page(self, request: Request, visited: Visited, cost: int) -> Answer:
        own = (
            ("Spb-cost", str(cost)),
            ("Spb-initial-status-code", str(visited.first)),
            ("Spb-resolved-url", visited.url),
            ("Spb-request-id", f"{next(self._ids):08x}"),
        )
        kind = visited.headers.get("content-type", "text/html")
        if request.query.get("json_response", "false").lower() == "true":
            wrapped = {
                "body": visited.text,
                "headers": visited.headers,
                "cost": cost,
                "initial-status-code": visited.first,
                "resolved-url": visited.url,
                "type": "html",
                "cookies": [],
            }
            return json_answer(visited.status, wrapped, *own)
        copied = tuple((f"Spb-{name}", value) for name, value in visited.headers.items())
        return Answer(visited.status, (("Content-Type", kind), *own, *copied), visited.body)


def _is_bad(status: int) -> bool:
    return status >= 400 and status != 404


def _check(request: Request) -> None:
    query = request.query
    if not query.get("url", "").startswith(("http://", "https://")):
        raise _Refused("url: Missing or not an address with its scheme; was it encoded?")
    for name in _BOOLEANS & query.keys():
        if query[name].lower() not in ("true", "false"):
            raise _Refused(f"{name}: Not a boolean")
    _check_number(query.get("timeout", "140000"), "timeout", 1_000, 140_000)
    _check_number(query.get("session_id", "0"), "session_id", 0, 10_000_000)
    _check_number(query.get("wait", "0"), "wait", 0, 35_000)


def _check_number(text: str, name: str, least: int, most: int) -> None:
    if not text.isdigit() or not least <= int(text) <= most:
        raise _Refused(f"{name}: Must be between {least} and {most}")


def _price(request: Request) -> tuple[int, Visitor]:
    query = request.query

    def is_on(name: str, otherwise: bool = False) -> bool:
        return query.get(name, str(otherwise)).lower() == "true"

    js, premium, stealth = is_on("render_js", True), is_on("premium_proxy"), is_on("stealth_proxy")
    if stealth and ("timeout" in query or "cookies" in query or is_on("forward_headers")):
        raise _Refused("stealth_proxy takes no timeout, cookies or headers")
    price = _PRICES.get((premium, stealth, js))
    if price is None:
        raise _Refused("These parameters cannot be combined")
    names = {JS: js, PREMIUM: premium or stealth, STEALTH: stealth}
    return price, frozenset(name for name, is_there in names.items() if is_there)
