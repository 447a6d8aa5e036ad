"""Emulator of ScraperAPI, as documented and measured: one text for all failures, told apart by one header."""

from collections.abc import Mapping
from urllib.parse import urlsplit

from gossamer_sandbox.providers.shop import Sale, Shop
from gossamer_sandbox.providers.target import TooLarge, TooSlow, Unreachable, Visited
from gossamer_sandbox.providers.wire import Answer, Request, json_answer
from gossamer_sandbox.web.visitors import JS, PREMIUM, STEALTH, Visitor

LONGEST = 70.0  # seconds they try by themselves
_PROSE = b"Request failed. You will not be charged for this request. Please make sure your url is valid and try again."
_WORDS = {
    400: b"Malformed request",
    401: b"Unauthorized request, please make sure your API key is valid.",
    403: b"You have used up all your API credits, or the plan does not allow this.",
    429: b"You are sending requests too fast: the concurrency limit of the plan is reached.",
}
# (premium, ultra_premium, render) to credits.
_PRICES = {
    (False, False, False): 1,
    (False, False, True): 10,
    (True, False, False): 10,
    (True, False, True): 25,
    (False, True, False): 30,
    (False, True, True): 75,
}


class _Refused(Exception):
    """A call that is wrong in itself."""


def refuse(status: int) -> Answer:
    return Answer(status, (("Content-Type", "text/plain; charset=utf-8"),), _WORDS.get(status, _PROSE))


def garble(answer: Answer) -> Answer:
    """Numbers that are none."""
    spoiled = {"sa-credit-cost": "-1.5", "sa-statuscode": "ok"}
    headers = tuple((name, spoiled.get(name.lower(), value)) for name, value in answer.headers)
    return Answer(answer.status, headers, answer.body)


class ScraperApiEmulator:
    """`GET /?url=...`, `GET /account` and `GET /account/urlcost`."""

    path = ""

    def __init__(self, shop: Shop, *, longest: float = LONGEST, dearer: Mapping[str, int] | None = None) -> None:
        """`dearer`: hosts whose class and protections cost so many credits more."""
        self.shop = shop
        self._longest = longest
        self._dearer = dearer or {}

    async def answer(self, request: Request) -> Answer:
        in_address = request.query.get("api_key", "")
        # The header is known to work for pages; the account asks for the key in the address.
        given = in_address or (request.header("x-sapi-api_key") if request.path == "/" else "")
        if given != self.shop.key:
            return refuse(401)
        match request.path:
            case "/account":
                return self._account()
            case "/account/urlcost":
                return self._cost(request)
            case "/":
                return await self.shop.sell(lambda: self._sale(request), refuse, garble)
        return refuse(404)

    def _account(self) -> Answer:
        shop = self.shop
        told = {
            "concurrentRequests": shop.running,
            "requestCount": shop.bill.total,
            "failedRequestCount": sum(1 for entry in shop.bill.entries if not entry.charged),
            "requestLimit": shop.credits,
            "concurrencyLimit": shop.at_once,
            "subscriptionDate": "2026-11-01T00:00:00.000Z",
        }
        return json_answer(200, told)

    def _cost(self, request: Request) -> Answer:
        try:
            return json_answer(200, {"credits": self._price(request)[0]})
        except _Refused:
            return refuse(400)

    def _price(self, request: Request) -> tuple[int, Visitor]:
        price, visitor = _price(request)
        return price + self._dearer.get(urlsplit(request.query["url"]).hostname or "", 0), visitor

    async def _sale(self, request: Request) -> Sale:
        url = request.query.get("url", "")
        try:
            price, visitor = self._price(request)
        except _Refused:
            return Sale(refuse(400), url)
        way = ",".join(sorted(visitor)) or "plain"
        most = request.query.get("max_cost", "")
        if self.shop.left < price or (most.isdigit() and price > int(most)):
            return Sale(refuse(403), url, way=way)
        return await self._fetched(request, price, visitor, way)

    async def _fetched(self, request: Request, price: int, visitor: Visitor, way: str) -> Sale:
        url = request.query["url"]
        follow = request.query.get("follow_redirect", "true") == "true"
        try:
            visited = await self.shop.target.visit(url, visitor, seconds=self._longest, follow=follow)
        except (Unreachable, TooSlow):
            return Sale(_failed(504), url, way=way)
        except TooLarge:
            return Sale(refuse(500), url, way=way)
        if visited.status >= 400 and visited.status != 404:
            return Sale(_failed(visited.status), url, way=way)
        return Sale(_page(request, visited, price), url, price, way)


def _failed(status: int) -> Answer:
    """Free. The site's block keeps its status, all else becomes one."""
    told = (("Content-Type", "text/plain"), ("sa-statuscode", str(status)))
    return Answer(403 if status == 403 else 500, told, _PROSE)


def _page(request: Request, visited: Visited, price: int) -> Answer:
    kind = visited.headers.get("content-type", "text/html")
    body = visited.body
    if request.query.get("binary_target", "false") != "true":
        # Everything is text to them, files too.
        kind = f"{kind.partition(';')[0]}; charset=utf-8"
        body = visited.text.encode("utf-8", "replace")
    own = (
        ("sa-statuscode", str(visited.status)),
        ("sa-credit-cost", str(price)),
        ("sa-final-url", visited.url),
        ("sa-proxy-hash", "00000000"),
    )
    status = 404 if visited.status == 404 else 200
    return Answer(status, (("Content-Type", kind), *own), body)


def _price(request: Request) -> tuple[int, Visitor]:
    query = request.query
    if not query.get("url", "").startswith(("http://", "https://")):
        raise _Refused
    js, premium, ultra = (query.get(name, "false") == "true" for name in ("render", "premium", "ultra_premium"))
    js = js or query.get("screenshot", "false") == "true"
    price = _PRICES.get((premium, ultra, js))
    if price is None or ("session_number" in query and (premium or ultra)):
        raise _Refused
    names = {JS: js, PREMIUM: premium or ultra, STEALTH: ultra}
    return price, frozenset(name for name, is_there in names.items() if is_there)
