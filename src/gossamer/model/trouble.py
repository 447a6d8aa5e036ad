"""Troubles of a page or a site, classified by their cure.

This is a single table for the error report, the docs, the terminal, and for which troubles are retried. How often and
after how long: `judge/next_step.py` and `Rung.retries` in `model/rungs.py`.
"""

from dataclasses import dataclass
from enum import Enum


class Cure(Enum):
    """Possible cures: none, the same request later, or a stronger rung."""

    NONE = "none"
    WAIT = "wait"
    CLIMB = "climb"


class Reason(Enum):
    """A sentence for people and its cure. `{detail}` is replaced by what was seen."""

    DNS = ("DNS resolution failed", Cure.NONE)
    NAME_SERVER = ("DNS resolution failed (no answer from the name server)", Cure.WAIT)
    UNREACHABLE = ("Could not connect", Cure.WAIT)
    PROXY = ("The proxy could not be used ({detail})", Cure.WAIT)
    TLS = ("TLS handshake failed", Cure.NONE)
    TIMEOUT = ("Timeout after {detail}", Cure.WAIT)
    CUT_OFF = ("Connection closed before the page was complete", Cure.WAIT)
    TOO_LARGE = ("Response too large ({detail})", Cure.NONE)
    BAD_ENCODING = ("Response could not be decompressed", Cure.NONE)
    NOT_HTTP = ("Not an HTTP answer ({detail})", Cure.NONE)
    FORBIDDEN_ADDRESS = ("Address not allowed ({detail})", Cure.NONE)
    BAD_URL = ("Not a web address ({detail})", Cure.NONE)
    NEVER_VISIT = ("On the operator's never-visit list ({detail})", Cure.NONE)

    PROVIDER_BUSY = ("The provider takes no more calls at the moment ({detail})", Cure.WAIT)
    PROVIDER_AWAY = ("The provider does not answer ({detail})", Cure.WAIT)
    PROVIDER_FAILED = ("The provider could not fetch the page ({detail})", Cure.WAIT)
    PROVIDER_UNREADABLE = ("The provider's answer makes no sense ({detail})", Cure.WAIT)
    PROVIDER_KEY = ("The provider does not accept the key ({detail})", Cure.CLIMB)
    PROVIDER_CREDITS = ("The provider's credits are used up ({detail})", Cure.CLIMB)
    PROVIDER_REFUSED = ("The provider refuses the request ({detail})", Cure.CLIMB)
    NEVER_SEND = ("On the operator's never-send list: no provider may be asked for it ({detail})", Cure.NONE)

    ROBOTS = ("robots.txt disallowed", Cure.NONE)
    ROBOTS_UNREACHABLE = ("robots.txt could not be read ({detail})", Cure.WAIT)

    LOGIN = ("Login required ({detail})", Cure.NONE)
    FORBIDDEN = ("HTTP 403 Forbidden", Cure.CLIMB)
    NOT_FOUND = ("HTTP 404 Not Found", Cure.NONE)
    GONE = ("HTTP 410 Gone", Cure.NONE)
    RATE_LIMITED = ("HTTP 429 Too Many Requests", Cure.WAIT)
    UNAVAILABLE = ("HTTP 503 Service Unavailable", Cure.WAIT)
    SERVER_ERROR = ("HTTP {detail} server error", Cure.WAIT)
    CLIENT_ERROR = ("HTTP {detail} error", Cure.NONE)
    SITE_DOWN = ("The site has stopped answering ({detail})", Cure.WAIT)
    ASKED_TO_WAIT = ("The site asked us to wait {detail}", Cure.NONE)
    REDIRECT_LOOP = ("Too many redirects", Cure.NONE)
    BAD_REDIRECT = ("Redirect without a usable address", Cure.NONE)

    NOT_HTML = ("Not a web page ({detail})", Cure.NONE)
    NOT_JSON = ("Not an answer in JSON ({detail})", Cure.WAIT)
    EMPTY = ("Empty page", Cure.CLIMB)
    HOLLOW = ("Page needs JavaScript", Cure.CLIMB)
    BLOCKED = ("Blocked by bot protection ({detail})", Cure.CLIMB)
    CAPTCHA = ("CAPTCHA required ({detail})", Cure.CLIMB)
    SOFT_404 = ("Page not found (answered with HTTP 200)", Cure.NONE)
    PARKED = ("Parked domain", Cure.NONE)
    FIELD_MISSING = ("Required field not found ({detail})", Cure.CLIMB)
    EXTRACTION = ("Extraction stopped ({detail})", Cure.NONE)
    PLACEHOLDER = ("Nothing there but a placeholder ({detail})", Cure.NONE)

    RUNG_SKIPPED = ("Not tried: {detail} failed twice in a row on this site", Cure.CLIMB)
    NOT_WORTH_PAYING = ("Not paid for: {detail}", Cure.NONE)
    NOT_CONFIGURED = ("Needs a method that is not configured here ({detail})", Cure.NONE)

    SAME_AS = ("Same page as {detail}", Cure.NONE)
    MOVED = ("Redirects to another site ({detail})", Cure.NONE)

    PARTIAL_PAGES = ("Partially crawled ({detail})", Cure.NONE)
    PARTIAL_FAILED = ("Partially crawled: {detail}", Cure.NONE)
    PARTIAL_TRAP = ("Partially crawled (endless addresses: {detail})", Cure.NONE)
    PARTIAL_TIME = ("Partially crawled (time limit: {detail})", Cure.NONE)
    CRASHED = ("Given up after crashing the worker {detail} times", Cure.NONE)
    INTERNAL = ("Internal error ({detail})", Cure.NONE)

    def __init__(self, sentence: str, cure: Cure) -> None:
        self.sentence = sentence
        self.cure = cure


# Sentences that do not work without their detail.
_WITHOUT_DETAIL = {
    Reason.SERVER_ERROR: "HTTP server error",
    Reason.CLIENT_ERROR: "HTTP client error",
    Reason.TIMEOUT: "Timeout",
    Reason.SAME_AS: "Same page as another",
    Reason.RUNG_SKIPPED: "A provider failed twice in a row on the site",
}


def in_general(reason: Reason) -> str:
    """Return the part of the sentence that all troubles of a kind have in common."""
    return _WITHOUT_DETAIL.get(reason) or reason.sentence.partition(" (")[0].partition("{detail}")[0].rstrip(" :")


# Troubles of a provider as a whole: its stronger rungs do not help.
PROVIDERS_OWN = frozenset(
    {Reason.PROVIDER_AWAY, Reason.PROVIDER_UNREADABLE, Reason.PROVIDER_KEY, Reason.PROVIDER_CREDITS}
)

# Pages for a person to open: a program should not try.
FOR_PEOPLE = (Reason.LOGIN, Reason.CAPTCHA)

# Troubles of the connection to a host: another spelling of the URL may work.
NO_WAY_IN = frozenset({Reason.DNS, Reason.UNREACHABLE, Reason.TLS, Reason.TIMEOUT})

# The host was not reached, and may be later.
NOT_REACHED = frozenset({Reason.NAME_SERVER, Reason.UNREACHABLE, Reason.PROXY, Reason.TIMEOUT, Reason.CUT_OFF})

# The page does not exist at one spelling of its URL; other spellings may exist.
NOT_THERE = frozenset({Reason.NOT_FOUND, Reason.SOFT_404, Reason.CLIENT_ERROR})


@dataclass(frozen=True, slots=True)
class Trouble:
    """The problem of one attempt."""

    reason: Reason
    detail: str = ""
    http_status: int | None = None
    retry_after: float | None = None  # seconds the server asked for

    @property
    def sentence(self) -> str:
        return self.reason.sentence.replace("{detail}", self.detail or "unknown")
