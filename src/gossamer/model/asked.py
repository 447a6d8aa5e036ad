"""From what a recipe asks for to a page: checked, since plug-ins may ask for anything."""

import re

import orjson

from gossamer.model.job import CrawlPolicy
from gossamer.model.page import SECRET, Page, PageRequest
from gossamer.model.record import Follow
from gossamer.model.rungs import RUNGS, Rung
from gossamer.model.url import as_told, normalise, url_key

MOST_CARRIED = 4_096  # bytes of a page's facts
_MOST_SENT = 65_536  # bytes of a body
_METHODS = ("GET", "HEAD", "POST", "PUT")
_NAME = re.compile(r"[a-z][a-z0-9-]{0,23}")
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
_OURS = frozenset({"host", "content-length", "transfer-encoding", "connection", "cookie"})
_SECRET_HEADERS = frozenset({"authorization", "proxy-authorization"})


def asked_page(follow: Follow, policy: CrawlPolicy, found_on: str, depth: int, *, last: bool = False) -> Page:
    """Return the page that a follow requests. Raises ValueError if it cannot be requested."""
    _check(follow)
    said = PageRequest(
        follow.method,
        tuple((name, value) for name, value in follow.headers),
        follow.body,
        follow.credential,
        follow.identity,
        only=bool(follow.rung),
        last=last,
    )
    # An address that is more than one is told exactly: its parameters are part of a request.
    url = normalise(follow.url) if said.is_plain else as_told(follow.url, follow.url)
    if url is None:
        raise ValueError(f"{follow.url[:100]!r} is not a web address")
    return Page(
        url=url,
        key=url_key(url, follow.identity),
        depth=depth,
        rung=follow.rung or policy.ladder.first.name,
        found_on=found_on,
        step=follow.step,
        request=said,
        carry=follow.carry,
    )


def lane_of(page: Page, policy: CrawlPolicy) -> str:
    """Whose visit reads the page."""
    return rung_named(page.rung, policy).lane


def rung_named(name: str, policy: CrawlPolicy) -> Rung:
    return next((rung for rung in policy.ladder.rungs if rung.name == name), None) or RUNGS[name]


def _check(follow: Follow) -> None:
    if _NAME.fullmatch(follow.step) is None:
        raise ValueError(f"{follow.step!r} is not the name of a step")
    if follow.rung and follow.rung not in RUNGS:
        raise ValueError(f"{follow.rung!r} is not a way to fetch")
    if follow.method not in _METHODS:
        raise ValueError(f"{follow.method!r} is not one of {', '.join(_METHODS)}")
    if len(follow.body) > _MOST_SENT:
        raise ValueError(f"a body of {len(follow.body):,} bytes, at most {_MOST_SENT:,}")
    for name, value in follow.headers:
        if _HEADER.fullmatch(name) is None or name.lower() in _OURS or not value.isprintable():
            raise ValueError(f"{name!r} is not a header that may be sent")
        if name.lower() in _SECRET_HEADERS and SECRET not in value:
            raise ValueError(f"a secret in {name!r}: name it as credential, and write {SECRET} in its place")
    if follow.carry and (size := len(orjson.dumps(dict(follow.carry)))) > MOST_CARRIED:
        raise ValueError(f"{size:,} bytes are carried, at most {MOST_CARRIED:,}")
