"""Recognising bot protection: by headers first, then by where a redirect ended, by title, and by marks in the bytes.

A wrong alarm climbs to a dearer rung for nothing; a missed block stores junk. So marks are believed only where a block
page could really be: the caller says whether weak ones count and which words stand on the page for everybody to read.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ahocorasick_rs import BytesAhoCorasick, Implementation

from gossamer.judge.marks import MARKS, PARKING, PLACES, STRONG_TITLES, WEAK_TITLES, WIDGETS, Mark, Verdict
from gossamer.model.trouble import Reason

PREFIX = 32_768  # block pages are small: their marks stand well within this, if no styles stand before them
LONG_PREFIX = 262_144  # of a page with hardly a word on it, which may begin with as many scripts
_LONGEST_STYLED = 1_000_000

TINY_PAGE = 10_000  # bytes; what a page that only asks or refuses needs, without its styles and scripts

_ALL_MARKS = MARKS + WIDGETS
# Everything that is looked for in the bytes of a page, in one automaton: they are read once, whoever asks.
_AUTOMATON = BytesAhoCorasick([*(mark.text for mark in _ALL_MARKS), *PARKING], implementation=Implementation.DFA)
# What is not markup for words: styles, scripts, drawings, comments, and pictures written into the page.
_STYLES = re.compile(rb"<style\b.*?(?:</style|\Z)|<svg\b.*?(?:</svg|\Z)|<!--.*?(?:-->|\Z)", re.IGNORECASE | re.DOTALL)
_SCRIPTS = re.compile(rb"<script\b.*?(?:</script|\Z)", re.IGNORECASE | re.DOTALL)
_NO_MARKUP = re.compile(rb"<script\b.*?(?:</script|\Z)|\bdata:[a-z/+.-]+[;,][^\s\"')>]*", re.IGNORECASE | re.DOTALL)
_SHAPE_HEADER = re.compile(r"x-[a-z0-9]{8}-[abcdfz]")
_CHALLENGE_HEADERS = (
    ("cf-mitigated", "challenge", Verdict("Cloudflare")),
    ("x-amzn-waf-action", "challenge", Verdict("AWS WAF")),
    ("x-amzn-waf-action", "captcha", Verdict("AWS WAF", Reason.CAPTCHA)),
    ("x-vercel-mitigated", "challenge", Verdict("Vercel")),
    ("x-vercel-mitigated", "deny", Verdict("Vercel")),
    ("sg-captcha", "challenge", Verdict("SiteGround", Reason.CAPTCHA)),
)
# Sent by the protection itself, but told from mere presence only by the status beside them.
_ERROR_HEADERS = (
    ("x-dd-b", "DataDome"),
    ("x-sucuri-block", "Sucuri"),
    ("x-kpsdk-ct", "Kasada"),
    ("x-kpsdk-r", "Kasada"),
    ("x-px-block", "HUMAN"),
)
# By the status with which they refuse; with any other they pass on what a site has sent.
_REFUSING_SERVERS = {
    ("akamaighost", 403): Verdict("Akamai"),
    ("datadome", 403): Verdict("DataDome"),
    ("imunify360-webshield", 403): Verdict("Imunify360"),
    ("imunify360-webshield", 415): Verdict("Imunify360"),
}


def named_by_headers(status: int, headers: Mapping[str, str]) -> Verdict | None:
    """What the headers alone prove."""
    for name, value, verdict in _CHALLENGE_HEADERS:
        if name in headers and headers[name].strip().lower() == value:
            return verdict
    return _named_beside_error(status, headers) if 400 <= status < 500 else None


def _named_beside_error(status: int, headers: Mapping[str, str]) -> Verdict | None:
    for name, vendor in _ERROR_HEADERS:
        if name in headers:
            return Verdict(vendor)
    if any(map(_SHAPE_HEADER.fullmatch, headers)):
        return Verdict("F5 Shape")
    server = headers.get("server", "").partition("/")[0]
    return _REFUSING_SERVERS.get((server.strip().lower(), status))


def named_by_place(requested: str, url: str) -> Verdict | None:
    """What the address proves to which a request was redirected."""
    if requested == url:
        return None
    return next((verdict for place, verdict in PLACES if place in url), None)


def named_by_title(title: str, *, weak: bool) -> Verdict | None:
    known = title.lower().replace("’", "'").replace("…", "...")
    return STRONG_TITLES.get(known) or (WEAK_TITLES.get(known) if weak else None)


def without_styles(body: bytes) -> bytes:
    """The page as far as marks could stand in it. Block pages may bring more styles than anything else."""
    return body if len(body) <= TINY_PAGE else _STYLES.sub(b"", body[:_LONGEST_STYLED])


def is_tiny(markup: bytes) -> bool:
    """Whether a page has no more markup than one needs that only asks or refuses, given what `without_styles` left."""
    if len(markup) < TINY_PAGE:
        return True
    # Where no picture is written into the page, its scripts are found in a quarter of the time.
    removed = _NO_MARKUP if b"data:" in markup.lower() else _SCRIPTS
    return len(removed.sub(b"", markup)) < TINY_PAGE


def traces_in(body: bytes, most: int = PREFIX) -> frozenset[int]:
    """What is found in the first bytes of a page, for the next two to say what it is."""
    found: list[tuple[int, Any, Any]] = _AUTOMATON.find_matches_as_indexes(body[:most], overlapping=True)
    return frozenset([index for index, _, _ in found])


def marks_among(traces: frozenset[int], headers: Mapping[str, str]) -> Iterator[Mark]:
    """The marks of bot protections, widgets last."""
    for index in sorted(traces):
        if index < len(_ALL_MARKS):
            mark = _ALL_MARKS[index]
            if not mark.header or _begins(headers.get(mark.header), mark.value):
                yield mark


def _begins(header: str | None, value: str) -> bool:
    return header is not None and header.lower().startswith(value)


def names_parking(traces: frozenset[int]) -> bool:
    """Whether a parking service is named."""
    return any(index >= len(_ALL_MARKS) for index in traces)
