"""The floor of a crawl: fetching, parsing and matching in a bare loop, without anything that makes it a product.

Run as `python -m bench.floor TASK`, in a process of its own so that its CPU time is its own. No robots.txt, no spacing,
no judging, no database. There are two ways to read a page: with our parser, whose text is what a visitor sees, or with
the bare calls of the library below it, whose text is not (decision 0013).
"""

import asyncio
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from ipaddress import ip_address
from pathlib import Path
from typing import cast
from urllib.parse import urlsplit

import orjson
import uvloop
from ada_url import join_url
from turbohtml import Document, XPath, parse
from wreq import Client
from wreq.dns import DnsOptions
from wreq.redirect import Policy
from wreq.runtime import Runtime

from gossamer.analyze.keywords import KeywordMatcher
from gossamer.fetch.http import pick
from gossamer.model.document import Response
from gossamer.model.trouble import Trouble
from gossamer.parse import parse_document

LOOPBACK = ip_address("127.0.0.1")
HREFS = cast("Callable[[Document], list[str]]", XPath("//a/@href"))
HTML = {"content-type": "text/html"}

Reading = Callable[[bytes, str, KeywordMatcher], tuple[int, int]]
"""From a page to how many keywords and links it has."""


async def crawl(sites: list[list[str]], port: int, matcher: KeywordMatcher, read_page: Reading) -> tuple[int, int, int]:
    """How many pages were read, keywords found on them, and links. All sites at once, one page of each at a time."""
    runtime = Runtime(workers=1)
    totals = [0, 0, 0]

    async def read(number: int, urls: list[str]) -> None:
        clients: dict[str, Client] = {}
        for url in urls:
            host = urlsplit(url).netloc
            if host not in clients:
                clients[host] = _client(runtime, number, host)
            sent = url.replace(f"//{host}", f"//{host}:{port}", 1)
            async with clients[host].get(sent, headers={"Host": host}) as arrived:
                body = await arrived.bytes()
            found, links = read_page(bytes(body), url, matcher)
            totals[0] += 1
            totals[1] += found
            totals[2] += links

    await asyncio.gather(*(read(number, urls) for number, urls in enumerate(sites)))
    return totals[0], totals[1], totals[2]


def by_parser(body: bytes, url: str, matcher: KeywordMatcher) -> tuple[int, int]:
    """As a job reads a page."""
    read = parse_document(Response(url, url, 200, HTML, body, "direct", NOW))
    if isinstance(read, Trouble):
        return 0, 0
    return len(matcher.matches_in_tidy(read.title, read.text)), len(read.links)


def by_library(body: bytes, url: str, matcher: KeywordMatcher) -> tuple[int, int]:
    """As fast as the library can, right or wrong."""
    tree = parse(body)
    title = tree.find("title")
    return len(matcher.matches(title.text if title else "", tree.to_text())), len(_links(tree, url))


NOW = datetime.now(UTC)
READINGS: dict[str, Reading] = {"parser": by_parser, "library": by_library}


def _links(tree: Document, base: str) -> set[str]:
    """Absolute and each once, as anything that follows links needs them."""
    hrefs = {href.partition("#")[0] for href in HREFS(tree)}
    return {join_url(base, href) for href in hrefs if href}


def _client(runtime: Runtime, seed: int, host: str) -> Client:
    """The product's own client, with its browser's fingerprint, and nothing else of the product."""
    pins = DnsOptions()
    pins.add_resolve(host, [LOOPBACK])
    identity = pick(seed)
    return Client(
        runtime=runtime,
        emulation=identity.emulation,
        orig_headers=identity.spelling,
        dns_options=pins,
        no_proxy=True,
        redirect=Policy.none(),
        pool_max_idle_per_host=1,
        http1_only=True,
    )


def main() -> None:
    task = orjson.loads(Path(sys.argv[1]).read_bytes())
    matcher = KeywordMatcher(task["keywords"])
    began = time.perf_counter()
    reading = READINGS[task["reading"]]
    pages, matches, links = uvloop.run(crawl(task["sites"], task["port"], matcher, reading))
    told = {"pages": pages, "matches": matches, "links": links, "wall": time.perf_counter() - began}
    print(orjson.dumps(told).decode())


if __name__ == "__main__":
    main()
