"""Bot protections: the table of marks of their block and challenge pages, and how a response is held against it.

A strong mark alone proves the protection. A weak one is seen on normal pages too, or rests on hearsay: it counts
only with an error status or on a tiny page. What merely says that a protection is present (cookies, `cf-ray`, detection
scripts on normal pages) is not here at all.

A wrong alarm climbs to a dearer rung for nothing; a missed block stores junk. So marks are believed only where a block
page could really be: the caller says whether weak ones count and which words stand on the page for everybody to read.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ahocorasick_rs import BytesAhoCorasick, Implementation

from gossamer.model.trouble import Reason


@dataclass(frozen=True, slots=True)
class Protection:
    """The vendor of a block, and its reason."""

    vendor: str
    reason: Reason = Reason.BLOCKED


@dataclass(frozen=True, slots=True)
class Mark:
    """A string in the bytes of a page."""

    text: bytes
    verdict: Protection
    weak: bool = False
    spoken: bool = False  # words for the visitor, which an article may quote; the others are code
    header: str = ""  # counts only if the answer has this header,
    value: str = ""  # and it begins so
    named: bool = False  # policies, hints and style sheets of normal pages name it, too: counts where it acts


_AKAMAI = Protection("Akamai")
_ALIBABA = Protection("Alibaba")
_AMAZON = Protection("Amazon", Reason.CAPTCHA)
_ANUBIS = Protection("Anubis")
_AWS = Protection("AWS WAF")
_CLOUDFLARE = Protection("Cloudflare")
_CLOUDFRONT = Protection("CloudFront")
_DATADOME = Protection("DataDome")
_DISTIL = Protection("Distil")
_F5 = Protection("F5")
_GOOGLE = Protection("Google", Reason.CAPTCHA)
_HUMAN = Protection("HUMAN")
_HUMAN_CAPTCHA = Protection("HUMAN", Reason.CAPTCHA)
_IMPERVA = Protection("Imperva")
_IMUNIFY = Protection("Imunify360")
_KASADA = Protection("Kasada")
_RADWARE = Protection("Radware")
_QUEUE = Protection("waiting room")
_SITEGROUND = Protection("SiteGround", Reason.CAPTCHA)
_SUCURI = Protection("Sucuri")
UNNAMED = Protection("unrecognised")

MARKS = (
    Mark(b"_cf_chl_opt", _CLOUDFLARE),
    Mark(b"__cf_chl_f_tk", _CLOUDFLARE),
    Mark(b"__cf_chl_rt_tk", _CLOUDFLARE, weak=True),
    Mark(b"cf-error-details", _CLOUDFLARE),
    Mark(b"Sorry, you have been blocked", _CLOUDFLARE, spoken=True),
    Mark(b"Checking your browser before accessing", _CLOUDFLARE, weak=True, spoken=True),
    Mark(b'"challenge-running"', _CLOUDFLARE, weak=True),
    Mark(b'"challenge-form"', _CLOUDFLARE, weak=True),
    Mark(b'"cf-challenge-running"', _CLOUDFLARE, weak=True),
    Mark(b'"cf-please-wait"', _CLOUDFLARE, weak=True),
    Mark(b'"challenge-spinner"', _CLOUDFLARE, weak=True),
    Mark(b"trk_jschal_js", _CLOUDFLARE, weak=True),
    Mark(b'"turnstile-wrapper"', _CLOUDFLARE, weak=True),
    Mark(b"errors.edgesuite.net", _AKAMAI),
    Mark(b"errors&#46;edgesuite&#46;net", _AKAMAI),
    Mark(b"sec-cp-challenge", _AKAMAI),
    Mark(b"/_sec/cp_challenge/", _AKAMAI),
    Mark(b"geo.captcha-delivery.com", _DATADOME, named=True),
    Mark(b"ct.captcha-delivery.com", _DATADOME, named=True),
    Mark(b"var dd={'rt'", _DATADOME),
    Mark(b"dd_cookie_test_", _DATADOME, weak=True),
    Mark(b"Please enable JS and disable any ad blocker", _DATADOME, weak=True, spoken=True),
    Mark(b"px-captcha", _HUMAN_CAPTCHA, named=True),
    Mark(b"captcha.px-cdn.net", _HUMAN_CAPTCHA, named=True),
    Mark(b"captcha.perimeterx.net", _HUMAN_CAPTCHA, weak=True, named=True),
    Mark(b'"jsClientSrc"', _HUMAN),
    Mark(b"_pxAppId", _HUMAN, weak=True),
    Mark(b"Press & Hold", _HUMAN_CAPTCHA, weak=True, spoken=True),
    Mark(b"Press &amp; Hold", _HUMAN_CAPTCHA, weak=True, spoken=True),
    Mark(b"Access to this page has been denied", _HUMAN, weak=True, spoken=True),
    Mark(b"KPSDK.scriptStart", _KASADA, weak=True),
    Mark(b"window.KPSDK={}", _KASADA, weak=True),
    Mark(b"/149e9513-01fa-4fb0-aad4-566afd725d1b/2d206a39-8ed7-437e-a3be-862e0f06eea3/", _KASADA, weak=True),
    Mark(b"_Incapsula_Resource", _IMPERVA, weak=True),
    Mark(b"Incapsula incident ID", _IMPERVA, spoken=True),
    Mark(b"Request unsuccessful. Incapsula", _IMPERVA, spoken=True),
    Mark(b"window.gokuProps", _AWS, weak=True),
    Mark(b"token.awswaf.com", _AWS, weak=True),
    Mark(b"ERROR: The request could not be satisfied", _CLOUDFRONT, weak=True, spoken=True),
    Mark(b"sucuri-firewall-block.css", _SUCURI),
    Mark(b"cloudproxy@sucuri.net", _SUCURI),
    Mark(b"sucuri_cloudproxy_js", _SUCURI, weak=True),
    Mark(b"/.well-known/ddos-guard/", Protection("DDoS-Guard"), weak=True),
    Mark(b"The requested URL was rejected. Please consult with your administrator.", _F5, spoken=True),
    Mark(b'id="anubis_challenge"', _ANUBIS),
    Mark(b'id="anubis_version"', _ANUBIS),
    Mark(b"/.within.website/x/cmd/anubis/", _ANUBIS),
    Mark(b"validate.perfdrive.com", _RADWARE, weak=True),
    Mark(b"captcha.perfdrive.com", _RADWARE, weak=True),
    Mark(b"made us think that you are a bot", _RADWARE, spoken=True),
    Mark(b"made us think you were a bot", Protection("Akamai or Imperva"), spoken=True),
    Mark(b"/c99a4269-161c-4242-a3f0-28d44fa6ce24", _RADWARE, weak=True),
    Mark(b"window.rbzns", Protection("Reblaze"), weak=True),
    Mark(b"Generated by Wordfence", Protection("Wordfence"), spoken=True),
    Mark(b"imunify360-webshield", _IMUNIFY),
    Mark(b"Imunify360 bot-protection", _IMUNIFY, spoken=True),
    Mark(b"wsidchk-form", _IMUNIFY),
    Mark(b"wsidchk", _IMUNIFY, weak=True),
    Mark(b"Please wait while your request is being verified", _IMUNIFY, weak=True, spoken=True),
    Mark(b"One moment, please...", _IMUNIFY, weak=True, spoken=True, header="server", value="imunify360-webshield"),
    Mark(b"/.well-known/sgcaptcha/", _SITEGROUND, weak=True),
    Mark(b"x5secdata", _ALIBABA, weak=True),
    Mark(b"/_____tmd_____/punish", _ALIBABA, weak=True),
    Mark(b"distil_r_blocked", _DISTIL, weak=True),
    Mark(b"distil_identification_block", _DISTIL, weak=True),
    Mark(b"The request is blocked.", Protection("Azure"), weak=True, spoken=True, header="x-azure-ref"),
    Mark(b"Our systems have detected unusual traffic", _GOOGLE, spoken=True),
    Mark(b"csm-captcha-instrumentation", _AMAZON),
    Mark(b"/errors/validateCaptcha", _AMAZON, weak=True),
    Mark(b"opfcaptcha", _AMAZON, weak=True),
    Mark(b"blocked by network security", Protection("Reddit"), weak=True, spoken=True),
)

# Whole titles, lower case. On a page that is not tiny a title alone proves nothing, except for the strong ones.
STRONG_TITLES = {
    "attention required! | cloudflare": _CLOUDFLARE,
    "vercel security checkpoint": Protection("Vercel"),
    "sucuri website firewall - access denied": _SUCURI,
    "ddos-guard": Protection("DDoS-Guard"),
    "shieldsquare captcha": Protection("Radware", Reason.CAPTCHA),
    "radware captcha page": Protection("Radware", Reason.CAPTCHA),
    "radware bot manager captcha": Protection("Radware", Reason.CAPTCHA),
}
WEAK_TITLES = {
    "just a moment...": _CLOUDFLARE,
    "pardon our interruption": Protection("Akamai or Imperva"),
    "pardon our interruption...": Protection("Akamai or Imperva"),
    "access to this page has been denied": _HUMAN,
    "access to this page has been denied.": _HUMAN,
    "making sure you're not a bot!": _ANUBIS,
}
# Titles, parts of them next to the name of the site, or main headings.
UNNAMED_TITLES = frozenset({
    "access denied", "access blocked", "access to this page has been blocked", "are you a human", "are you a robot",
    "are you human", "attention required", "bot detection", "bot verification", "blocked request", "captcha challenge",
    "checking your browser", "client challenge", "error blocked", "human check", "human verification",
    "please verify you are a human", "please verify you are human", "prove you are human", "prove you're human",
    "prove your humanity", "request blocked", "robot or human", "security challenge", "security check",
    "verify you are a human", "verify you are human", "verify you're human", "verify your humanity",
    "verifying you are human", "you are blocked", "you have been blocked", "you've been blocked",
    "your request has been blocked",
})  # fmt: skip
# As whole titles only: other things are called so, too.
UNNAMED_WHOLE_TITLES = frozenset({"blocked", "bot check", "captcha", "robot check", "error blocked"})
QUEUE_TITLES = frozenset({
    "online queue", "queue", "queue-it", "virtual queue", "virtual waiting room", "waiting room", "warteraum",
    "virtueller warteraum", "warteschlange", "you are in line", "you are now in line", "you're in line",
    "you are in the queue", "you are in the waiting room",
})  # fmt: skip

# What pages of the site's own making say, in lower case: that they want a proof, refuse, or let people wait.
_ASKS_FOR_PROOF = re.compile(
    r"\b(?:prove|verify(?:ing)?|confirm|make sure|check(?:ing)?|ensure|show)(?: to us)?(?: that| if| whether)?"
    r" (?:you|we)(?:'re| are)(?: a| an| really a| really)? (?:human|real person|not a (?:ro)?bot)\b"
    r"|\bprove your humanity\b|\bare you (?:a )?(?:human|robot|bot)\b|\bi(?:'m| am) not a robot\b"
    r"|\bcomplete (?:the|this) (?:challenge|captcha|security check)\b"
    r"|\bsolve (?:the|this) (?:captcha|challenge|puzzle)\b"
    r"|\benter the characters (?:you see|shown)|\bunusual (?:traffic|activity) from your\b"
)
_REFUSES = re.compile(
    r"(?<!\bif )(?<!\bwhether )(?<!\bwhen )(?<!\bwhy )\b(?:"
    r"(?:your (?:request|access|ip(?: address)?|connection|session)|this request) (?:has been|was|is)"
    r" (?:temporarily |automatically )?blocked\b"
    r"|the request has been blocked\b"
    r"|(?:you have|you've) been blocked\b|you are (?:temporarily )?blocked\b"
    r"|access to (?:this|the) (?:page|site|website|resource) (?:has been|is|was) (?:blocked|denied)\b)"
)
_QUEUES = re.compile(
    r"\byou(?:'re| are) (?:now )?(?:in|on) (?:the |a |our )?(?:virtual |online )?(?:line|queue|waiting (?:room|line))\b"
    r"|\byour (?:estimated )?(?:wait(?:ing)? time|(?:number|place|position) in (?:the )?(?:line|queue))\b"
    r"|\bwhen it(?:'s| is) your turn,? you(?:'ll| will)? (?:have|be|get)\b"
    r"|\bsie (?:sind|befinden sich) (?:jetzt |nun )?(?:in der warteschlange|im (?:virtuellen )?warteraum)\b"
)
SPEECHES = (
    (_ASKS_FOR_PROOF, Protection("unrecognised", Reason.CAPTCHA)),
    (_REFUSES, UNNAMED),
    (_QUEUES, _QUEUE),
)

# Widgets that ask a visitor to prove being human. Forms have them too, so they count only where nothing else is.
WIDGETS = (
    Mark(b"g-recaptcha", Protection("reCAPTCHA", Reason.CAPTCHA), weak=True, named=True),
    Mark(b"h-captcha", Protection("hCaptcha", Reason.CAPTCHA), weak=True, named=True),
    Mark(b"cf-turnstile", Protection("Turnstile", Reason.CAPTCHA), weak=True, named=True),
    Mark(b"frc-captcha", Protection("Friendly Captcha", Reason.CAPTCHA), weak=True, named=True),
    Mark(b".arkoselabs.com/", Protection("Arkose", Reason.CAPTCHA), weak=True, named=True),
    Mark(b"gcaptcha4.geetest.com", Protection("GeeTest", Reason.CAPTCHA), weak=True, named=True),
)

# Where block pages live, for answers that were redirected there.
PLACES = (
    ("/sorry/index", _GOOGLE),
    ("/errors/validateCaptcha", _AMAZON),
    ("captcha-delivery.com", _DATADOME),
    ("validate.perfdrive.com", _RADWARE),
    ("/.well-known/sgcaptcha", _SITEGROUND),
    ("/_____tmd_____/punish", _ALIBABA),
    ("/blocked?url=", _HUMAN),
)

# Servers that deliver only pages of unused domains.
PARKING = (
    b"sedoparking.com",
    b"parkingcrew.net",
    b"parklogic.com",
    b"d38psrni17bvxu.cloudfront.net",
    b"img1.wsimg.com/parking-lander",
    b"/parking-lander/",
    b'window.location.href="/lander"',
    b'window.location.replace("/lander")',
    b"cdn.bodis.com",
    b"cdnpark.com",
    b"parkingpage.namecheap.com",
)


PREFIX = 32_768  # block pages are small: their marks stand well within this, if no styles stand before them
LONG_PREFIX = 262_144  # of a page with hardly a word on it, which may begin with as many scripts
_LONGEST_STYLED = 1_000_000

TINY_PAGE = 10_000  # bytes; what a page that only asks or refuses needs, without its styles and scripts

_ALL_MARKS = MARKS + WIDGETS
# Everything that is looked for in the bytes of a page, in one automaton: they are read once for all checks.
_AUTOMATON = BytesAhoCorasick([*(mark.text for mark in _ALL_MARKS), *PARKING], implementation=Implementation.DFA)
# What is not markup for words: styles, scripts, drawings, comments, and pictures written into the page.
_STYLES = re.compile(rb"<style\b.*?(?:</style|\Z)|<svg\b.*?(?:</svg|\Z)|<!--.*?(?:-->|\Z)", re.IGNORECASE | re.DOTALL)
_SCRIPTS = re.compile(rb"<script\b.*?(?:</script|\Z)", re.IGNORECASE | re.DOTALL)
_NO_MARKUP = re.compile(rb"<script\b.*?(?:</script|\Z)|\bdata:[a-z/+.-]+[;,][^\s\"')>]*", re.IGNORECASE | re.DOTALL)
_SHAPE_HEADER = re.compile(r"x-[a-z0-9]{8}-[abcdfz]")
_CHALLENGE_HEADERS = (
    ("cf-mitigated", "challenge", Protection("Cloudflare")),
    ("x-amzn-waf-action", "challenge", Protection("AWS WAF")),
    ("x-amzn-waf-action", "captcha", Protection("AWS WAF", Reason.CAPTCHA)),
    ("x-vercel-mitigated", "challenge", Protection("Vercel")),
    ("x-vercel-mitigated", "deny", Protection("Vercel")),
    ("sg-captcha", "challenge", Protection("SiteGround", Reason.CAPTCHA)),
)
# Sent by the protection itself; only together with the status do they prove a block.
_ERROR_HEADERS = (
    ("x-dd-b", "DataDome"),
    ("x-sucuri-block", "Sucuri"),
    ("x-kpsdk-ct", "Kasada"),
    ("x-kpsdk-r", "Kasada"),
    ("x-px-block", "HUMAN"),
)
# By the status with which they refuse; with any other they pass on what a site has sent.
_REFUSING_SERVERS = {
    ("akamaighost", 403): Protection("Akamai"),
    ("datadome", 403): Protection("DataDome"),
    ("imunify360-webshield", 403): Protection("Imunify360"),
    ("imunify360-webshield", 415): Protection("Imunify360"),
}


def named_by_headers(status: int, headers: Mapping[str, str]) -> Protection | None:
    """Return the block that the headers alone prove."""
    for name, value, verdict in _CHALLENGE_HEADERS:
        if name in headers and headers[name].strip().lower() == value:
            return verdict
    return _named_beside_error(status, headers) if 400 <= status < 500 else None


def _named_beside_error(status: int, headers: Mapping[str, str]) -> Protection | None:
    for name, vendor in _ERROR_HEADERS:
        if name in headers:
            return Protection(vendor)
    if any(map(_SHAPE_HEADER.fullmatch, headers)):
        return Protection("F5 Shape")
    server = headers.get("server", "").partition("/")[0]
    return _REFUSING_SERVERS.get((server.strip().lower(), status))


def named_by_place(requested: str, url: str) -> Protection | None:
    """Return the block proven by the URL that a request was redirected to."""
    if requested == url:
        return None
    return next((verdict for place, verdict in PLACES if place in url), None)


def named_by_title(title: str, *, weak: bool) -> Protection | None:
    known = title.lower().replace("’", "'").replace("…", "...")
    return STRONG_TITLES.get(known) or (WEAK_TITLES.get(known) if weak else None)


def without_styles(body: bytes) -> bytes:
    """Return the part of the page that may contain marks; block pages can consist mostly of styles."""
    return body if len(body) <= TINY_PAGE else _STYLES.sub(b"", body[:_LONGEST_STYLED])


def is_tiny(markup: bytes) -> bool:
    """Return True if the output of `without_styles` has no more markup than a challenge or refusal needs."""
    if len(markup) < TINY_PAGE:
        return True
    # Where no picture is written into the page, its scripts are found in a quarter of the time.
    removed = _NO_MARKUP if b"data:" in markup.lower() else _SCRIPTS
    return len(removed.sub(b"", markup)) < TINY_PAGE


def traces_in(body: bytes, most: int = PREFIX) -> frozenset[int]:
    """Return the marks in the first bytes of a page, from which the next two functions identify it."""
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
    """Return True if a parking service is named."""
    return any(index >= len(_ALL_MARKS) for index in traces)
