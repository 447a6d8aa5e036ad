"""A few sites on one port, whose answers are known by heart."""

from collections.abc import Iterator
from contextlib import contextmanager
from gzip import compress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
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
    locations = "".join(f"<url><loc>http://map.town{path}</loc></url>" for path in paths)
    return f"<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>{locations}</urlset>"


_ANSWERS: dict[str, tuple[int, dict[str, str], str | bytes]] = {
    "/sitemap.xml": (200, _XML, _INDEX),
    "/first.xml": (200, _XML, _urlset("/lamp", "/chair")),
    "/second.xml.gz": (200, {"content-type": "application/x-gzip"}, compress(_urlset("/table", "/gone").encode())),
    "/empty.xml": (200, _XML, _urlset()),
    "/robots.txt": (200, {"content-type": "text/plain"}, "User-agent: *\nDisallow: /private"),
    "/here": (301, {"location": "/lamp"}, ""),
    "/gone": (404, {}, "<h1>Not found</h1>"),
    "/to-loopback": (302, {"location": "http://127.0.0.1:1/"}, ""),
    "/to-metadata": (302, {"location": "http://169.254.169.254/latest/meta-data/"}, ""),
}


class _Answers(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        if self.path == "/slow":
            sleep(3)
        status, headers, body = _ANSWERS.get(self.path) or (200, {}, _PAGE.format(title=f"Lamp {self.path[1:]}"))
        sent = body if isinstance(body, bytes) else body.encode()
        told = {"content-type": "text/html; charset=utf-8", "content-length": str(len(sent)), **headers}
        self.send_response(status)
        for name, value in told.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(sent)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
        """Nothing."""


@contextmanager
def town() -> Iterator[int]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Answers)
    server.daemon_threads = True
    thread = Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
