"""A few sites on one port, whose answers are known by heart."""

from collections.abc import Iterator
from contextlib import contextmanager
from gzip import compress
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ssl import SSLContext
from threading import Lock, Thread
from time import sleep

WORDS = " ".join(["Readable sentences about lamps, chairs and tables, as people write them."] * 12)
_PAGE = (
    "<html lang=en><head><title>{title}</title><meta name=description content='All about lamps'></head><body><main>"
    f"<h1>{{title}}</h1><p class=price>12.50</p><p>{WORDS}</p></main></body></html>"
)
_XML = {"content-type": "application/xml"}
_INDEX = (
    "<sitemapindex xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>"
    "<sitemap><loc>http://map.town/first.xml</loc></sitemap><sitemap><loc>http://map.town/second.xml.gz</loc></sitemap>"
    "<sitemap><loc>http://elsewhere.village/third.xml</loc></sitemap></sitemapindex>"
)


def _urlset(*paths: str) -> str:
    return _listing([f"http://map.town{path}" for path in paths])


def _listing(urls: list[str]) -> str:
    locations = "".join(f"<url><loc>{escape(url)}</loc></url>" for url in urls)
    return f"<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>{locations}</urlset>"


def _linking(*paths: str) -> str:
    links = "".join(f"<a href='{path}'>See {path}</a> " for path in paths)
    return _PAGE.format(title="Guide").replace("</main>", f"<p>{links}</p></main>")


LISTED: dict[str, list[str]] = {}
"""Sitemaps that a test has put there, by name."""

_ANSWERS: dict[str, tuple[int, dict[str, str], str | bytes]] = {
    "/sitemap.xml": (200, _XML, _INDEX),
    "/first.xml": (200, _XML, _urlset("/lamp", "/chair")),
    "/second.xml.gz": (200, {"content-type": "application/x-gzip"}, compress(_urlset("/table", "/gone").encode())),
    "/empty.xml": (200, _XML, _urlset()),
    "/robots.txt": (200, {"content-type": "text/plain"}, "User-agent: *\nDisallow: /private"),
    "/guide/": (200, {}, _linking("/guide/one", "/guide/two", "/guide/private-one", "/elsewhere")),
    "/guide/one": (200, {}, _linking("/guide/", "/guide/gone")),
    "/guide/gone": (404, {}, "<h1>Not found</h1>"),
    "/picture.png": (200, {"content-type": "image/png"}, b"\x89PNG\r\n\x1a\n" + bytes(64)),
    "/broken": (503, {}, "<h1>Later</h1>"),
    "/here": (301, {"location": "/lamp"}, ""),
    "/gone": (404, {}, "<h1>Not found</h1>"),
    "/large": (200, {}, _PAGE.format(title="Large").replace("</main>", f"<p>{WORDS * 100}</p></main>")),
    "/whole": (200, {}, _PAGE.format(title="Whole").replace("<main>", "<nav><a href=/x>Elsewhere</a></nav><main>")),
    "/to-loopback": (302, {"location": "http://127.0.0.1:1/"}, ""),
    "/to-metadata": (302, {"location": "http://169.254.169.254/latest/meta-data/"}, ""),
}


class Letters:
    """What was posted to the town, by address: headers and body of each. What is in `refusing` is answered with 500."""

    def __init__(self) -> None:
        self._all: dict[str, list[tuple[dict[str, str], bytes]]] = {}
        self._lock = Lock()
        self.refusing: set[str] = set()

    def keep(self, path: str, headers: dict[str, str], body: bytes) -> None:
        with self._lock:
            self._all.setdefault(path, []).append((headers, body))

    def at(self, path: str) -> list[tuple[dict[str, str], bytes]]:
        with self._lock:
            return list(self._all.get(path, ()))


LETTERS = Letters()
SLOW: list[str] = []
"""The hosts whose slow page was asked for."""


class _Answers(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        LETTERS.keep(self.path, {name.lower(): value for name, value in self.headers.items()}, body)
        self.send_response(500 if self.path in LETTERS.refusing else 204)
        self.send_header("content-length", "0")
        self.end_headers()

    def do_GET(self) -> None:
        if self.headers.get("host", "").startswith("shut"):
            self._say(404 if self.path == "/robots.txt" else 403, {}, b"<h1>Forbidden</h1>")
            return
        if self.path == "/slow":
            SLOW.append(self.headers.get("host", ""))
            sleep(3)
        if self.path.startswith("/to/"):
            # Where to is what follows, in hexadecimal: a path cannot hold every address there is.
            self._say(302, {"location": bytes.fromhex(self.path[4:]).decode()}, b"")
            return
        if self.path.startswith("/shell") and "js" not in self.headers.get("x-sample-visitor", ""):
            self._say(403, {}, b"<h1>Forbidden</h1>")  # but to a provider's browser
            return
        if self.path.startswith("/lists/"):
            self._say(200, _XML, _listing(LISTED[self.path[7:-4]]).encode())
            return
        status, headers, body = _ANSWERS.get(self.path) or (200, {}, _PAGE.format(title=f"Lamp {self.path[1:]}"))
        self._say(status, headers, body if isinstance(body, bytes) else body.encode())

    def _say(self, status: int, headers: dict[str, str], sent: bytes) -> None:
        told = {"content-type": "text/html; charset=utf-8", "content-length": str(len(sent)), **headers}
        self.send_response(status)
        for name, value in told.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(sent)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
        """Nothing."""


@contextmanager
def town(tls: SSLContext | None = None) -> Iterator[int]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Answers)
    if tls:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    server.daemon_threads = True
    thread = Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
