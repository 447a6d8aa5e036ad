"""Answers of real providers, measured or documented: the emulators must give them, and the clients read them.

Each names what a site did, what the provider was asked, what it answered, and what that means: a page with the site's
status, or a reason; and what was charged. `None` is what the provider does not say.
"""

from dataclasses import dataclass, field
from typing import Any

from gossamer.model.trouble import Reason
from tests.fetch.loopback import Site, answer

KEY = "secret-key-of-a-test"
HOST = "site.test"
JPEG = b"\xff\xd8\xff\xe0\x00\x10JFIF\x00\x01\xfe\x80\x81\xff\xd9"
PAGE = b"<html><head><title>Home</title></head><body><p>CRM software for everyone</p></body></html>"
NO_HOST = "http://nobody.example/"


def fill(site: Site) -> None:
    """The site that the recordings are of."""
    html = b"Content-Type: text/html; charset=utf-8"
    site.pages |= {
        "/": answer(PAGE, html),
        "/photo.jpg": answer(JPEG, b"Content-Type: image/jpeg"),
        "/photo": answer(JPEG, b"Content-Type: image/jpeg"),
        "/missing": answer(b"<p>no", html, status=b"404 Not Found"),
        "/busy": answer(b"<p>later", html, b"Retry-After: 120", status=b"429 Too Many Requests"),
        "/away": answer(b"<p>away", html, status=b"503 Service Unavailable"),
        "/closed": answer(b"<p>no entry", html, status=b"403 Forbidden"),
        "/old": answer(b"", b"Location: /", status=b"301 Moved Permanently"),
    }


@dataclass(frozen=True)
class Recorded:
    """One call and its answer."""

    name: str
    asked: dict[str, Any]  # parameters beside the address; all of them for FlareSolverr
    status: int
    url: str = f"http://{HOST}/"
    headers: dict[str, str | None] = field(default_factory=dict)  # None: it must not be there
    body: bytes | None = None  # None: whatever
    credits: int | None = 0
    page: int | None = None  # the site's status, if there is a page
    reason: Reason | None = None  # if there is none
    key: str = KEY
    state: dict[str, Any] = field(default_factory=dict)  # of the emulated provider
    storm: int = 0  # the status of a failure that only the provider can make


def bee(name: str, status: int, initial: int | None, cost: int | None, **more: Any) -> Recorded:
    asked = {"render_js": "false", "transparent_status_code": "true"} | more.pop("asked", {})
    said = {"spb-initial-status-code": initial, "spb-cost": cost}
    headers = {each: None if value is None else str(value) for each, value in said.items()}
    headers |= more.pop("headers", {})
    return Recorded(name, asked, status, headers=headers, credits=more.pop("credits", cost or 0), **more)


_MESSAGE = {"content-type": "application/json"}

SCRAPINGBEE = (
    bee("html", 200, 200, 1, body=PAGE, page=200, headers={"spb-resolved-url": f"http://{HOST}/"}),
    bee("html with a browser", 200, 200, 5, asked={"render_js": "true"}, body=PAGE, page=200),
    bee("a browser is the default", 200, 200, 5, asked={"render_js": "TRUE"}, body=PAGE, page=200),
    bee("premium", 200, 200, 10, asked={"premium_proxy": "true"}, page=200),
    bee("premium with a browser", 200, 200, 25, asked={"premium_proxy": "true", "render_js": "true"}, page=200),
    bee("stealth", 200, 200, 75, asked={"stealth_proxy": "true", "render_js": "true"}, page=200),
    bee(
        "jpeg", 200, 200, 1, url=f"http://{HOST}/photo.jpg", body=JPEG, page=200, headers={"content-type": "image/jpeg"}
    ),
    bee("redirect", 200, 301, 1, url=f"http://{HOST}/old", body=PAGE, page=200),
    bee("404", 404, 404, 1, url=f"http://{HOST}/missing", page=404),
    bee("429 of the site", 429, 429, 1, url=f"http://{HOST}/busy", page=429, headers={"spb-retry-after": "120"}),
    bee("503 of the site", 503, 503, 0, url=f"http://{HOST}/away", page=503),
    bee("no such host", 503, 503, 0, url=NO_HOST, body=b"Proxy connection error", reason=Reason.UNREACHABLE),
    bee("parameters that exclude each other", 400, None, None, asked={"mode": "auto"}, reason=Reason.PROVIDER_REFUSED),
    bee("stealth without a browser", 400, None, None, asked={"stealth_proxy": "true"}, reason=Reason.PROVIDER_REFUSED),
    bee("bad key", 401, None, None, key="another-key", headers=_MESSAGE, reason=Reason.PROVIDER_KEY),
    bee("no credits", 402, None, None, state={"credits": 0}, reason=Reason.PROVIDER_CREDITS),
    bee("account", 403, None, None, storm=403, reason=Reason.PROVIDER_KEY),
    bee("too many at once", 429, None, None, state={"at_once": 0}, reason=Reason.PROVIDER_BUSY),
    bee("could not fetch", 500, None, None, storm=500, reason=Reason.PROVIDER_FAILED),
    bee("out of order", 503, None, None, storm=503, reason=Reason.PROVIDER_AWAY),
    bee(
        "an error of the site that is not passed on",
        500,
        None,
        None,
        url=f"http://{HOST}/away",
        asked={"transparent_status_code": "false"},
        reason=Reason.PROVIDER_FAILED,
    ),
)

PROSE = b"Request failed. You will not be charged"


def api(name: str, status: int, sites: int | None, cost: int | None, **more: Any) -> Recorded:
    said = {"sa-statuscode": sites, "sa-credit-cost": cost}
    headers = {each: None if value is None else str(value) for each, value in said.items()}
    headers |= more.pop("headers", {})
    asked = more.pop("asked", {})
    return Recorded(name, asked, status, headers=headers, credits=more.pop("credits", cost or 0), **more)


SCRAPERAPI = (
    api("html", 200, 200, 1, body=PAGE, page=200, headers={"sa-final-url": f"http://{HOST}/"}),
    api("html with a browser", 200, 200, 10, asked={"render": "true"}, page=200),
    api("premium", 200, 200, 10, asked={"premium": "true"}, page=200),
    api("premium with a browser", 200, 200, 25, asked={"premium": "true", "render": "true"}, page=200),
    api("ultra", 200, 200, 30, asked={"ultra_premium": "true"}, page=200),
    api("ultra with a browser", 200, 200, 75, asked={"ultra_premium": "true", "render": "true"}, page=200),
    api(
        "jpeg as text",
        200,
        200,
        1,
        url=f"http://{HOST}/photo",
        body=JPEG.decode("utf-8", "replace").encode(),
        headers={"content-type": "image/jpeg; charset=utf-8"},
        page=200,
    ),
    api("jpeg", 200, 200, 1, url=f"http://{HOST}/photo", asked={"binary_target": "true"}, body=JPEG, page=200),
    api("404", 404, 404, 1, url=f"http://{HOST}/missing", page=404),
    api("429 of the site", 500, 429, None, url=f"http://{HOST}/busy", page=429),
    api("503 of the site", 500, 503, None, url=f"http://{HOST}/away", page=503, headers={"sa-final-url": None}),
    api("no such host", 500, 504, None, url=NO_HOST, page=504),
    api("403 of the site", 403, 403, None, url=f"http://{HOST}/closed", page=403),
    api("malformed", 400, None, None, url="site.test", reason=Reason.PROVIDER_REFUSED),
    api("bad key", 401, None, None, key="another-key", reason=Reason.PROVIDER_KEY),
    api("no credits", 403, None, None, state={"credits": 0}, reason=Reason.PROVIDER_CREDITS),
    api(
        "dearer than allowed",
        403,
        None,
        None,
        asked={"render": "true", "max_cost": "5"},
        reason=Reason.PROVIDER_CREDITS,
    ),
    api("too many at once", 429, None, None, state={"at_once": 0}, reason=Reason.PROVIDER_BUSY),
    api("failed after retries", 500, None, None, storm=500, reason=Reason.PROVIDER_FAILED),
    api("out of order", 502, None, None, storm=502, reason=Reason.PROVIDER_AWAY),
)


def solver(name: str, status: int, said: str, asked: dict[str, Any], **more: Any) -> Recorded:
    return Recorded(name, asked, status, body=said.encode(), **more)


_GET = {"cmd": "request.get", "maxTimeout": 2000}
FLARESOLVERR = (
    solver("page", 200, "Challenge not detected!", {**_GET, "url": f"http://{HOST}/"}, page=200),
    solver("a page that is not there", 200, '"status":200', {**_GET, "url": f"http://{HOST}/missing"}, page=200),
    solver("no command", 500, "Error: Request parameter 'cmd' is mandatory.", {}, reason=Reason.PROVIDER_REFUSED),
    solver(
        "unknown command",
        500,
        "Error: Request parameter 'cmd' = 'x' is invalid.",
        {"cmd": "x"},
        reason=Reason.PROVIDER_REFUSED,
    ),
    solver(
        "no address",
        500,
        "Error: Request parameter 'url' is mandatory in 'request.get' command.",
        _GET,
        reason=Reason.PROVIDER_REFUSED,
    ),
    solver(
        "form on a get",
        500,
        "Error: Cannot use 'postBody' when sending a GET request.",
        {**_GET, "url": f"http://{HOST}/", "postData": "a=b"},
        reason=Reason.PROVIDER_FAILED,
    ),
    solver(
        "form without data",
        500,
        "Error: Request parameter 'postData' is mandatory in 'request.post' command.",
        {"cmd": "request.post", "url": f"http://{HOST}/"},
        reason=Reason.PROVIDER_REFUSED,
    ),
    solver(
        "no such session",
        500,
        "Error: The session doesn't exist.",
        {"cmd": "sessions.destroy", "session": "x"},
        reason=Reason.PROVIDER_FAILED,
    ),
    solver(
        "no such host",
        500,
        "Error: Error solving the challenge. Message: unknown error: net::ERR_NAME_NOT_RESOLVED",
        {**_GET, "url": NO_HOST},
        reason=Reason.UNREACHABLE,
    ),
    solver("session made", 200, "Session created successfully.", {"cmd": "sessions.create"}),
    solver("sessions", 200, '"sessions":[]', {"cmd": "sessions.list"}),
)


def crawl(name: str, status: int, said: str, **more: Any) -> Recorded:
    return Recorded(
        name, {"formats": ["rawHtml"], "proxy": "basic"} | more.pop("asked", {}), status, body=said.encode(), **more
    )


FIRECRAWL = (
    crawl("page", 200, '"creditsUsed":1', credits=1, page=200),
    crawl("404 of the site is charged", 200, '"statusCode":404', url=f"http://{HOST}/missing", credits=1, page=404),
    crawl("403 of the site is charged", 200, '"statusCode":403', url=f"http://{HOST}/closed", credits=1, page=403),
    crawl("not an address", 400, '"success":false', url="site.test", reason=Reason.PROVIDER_REFUSED),
    crawl("bad key", 401, "Unauthorized: Invalid token", key="another-key", reason=Reason.PROVIDER_KEY),
    crawl(
        "no credits",
        402,
        "Payment Required: Insufficient credits",
        state={"credits": 0},
        reason=Reason.PROVIDER_CREDITS,
    ),
    crawl("too many in a minute", 429, "Rate limit exceeded", storm=429, reason=Reason.PROVIDER_BUSY),
    crawl("no answer in time", 408, "Request timeout", storm=408, credits=None, reason=Reason.PROVIDER_FAILED),
    crawl("failed", 500, '"success":false', storm=500, credits=None, reason=Reason.PROVIDER_FAILED),
    crawl("out of order", 503, '"success":false', storm=503, credits=None, reason=Reason.PROVIDER_AWAY),
)

RECORDED = {
    "scrapingbee": SCRAPINGBEE,
    "scraperapi": SCRAPERAPI,
    "flaresolverr": FLARESOLVERR,
    "firecrawl": FIRECRAWL,
}
ALL = [(provider, recorded) for provider, listed in RECORDED.items() for recorded in listed]
IDS = [f"{provider}: {recorded.name}" for provider, recorded in ALL]
