"""One address of a sample site: its response, its text and its links.

The server renders this value, and the truth derives its expectations from it.
"""

from dataclasses import dataclass
from enum import Enum

from gossamer.model.trouble import Reason


class Manner(Enum):
    """Kinds of responses: a name, the status, and the reasons a crawler may give when the page yields nothing."""

    PAGE = ("page", 200)
    SLOW = ("slow", 200)
    REDIRECT = ("redirect", 302)

    UNAUTHORISED = ("unauthorised", 401, Reason.LOGIN, Reason.CLIENT_ERROR)
    FORBIDDEN = ("forbidden", 403, Reason.FORBIDDEN, Reason.BLOCKED)
    NOT_FOUND = ("not-found", 404, Reason.NOT_FOUND)
    GONE = ("gone", 410, Reason.GONE)
    BUSY_FOR_HOURS = ("busy-for-hours", 429, Reason.ASKED_TO_WAIT, Reason.RATE_LIMITED)
    BROKEN = ("broken", 500, Reason.SERVER_ERROR)

    DRIP = ("drip", 200, Reason.TIMEOUT)
    CUT_OFF = ("cut-off", 200, Reason.CUT_OFF)
    CUT_CHUNK = ("cut-chunk", 200, Reason.CUT_OFF)
    BOMB = ("bomb", 200, Reason.TOO_LARGE, Reason.BAD_ENCODING)
    HUGE = ("huge", 200, Reason.TOO_LARGE)
    PDF = ("pdf", 200, Reason.NOT_HTML)

    EMPTY = ("empty", 200, Reason.EMPTY, Reason.HOLLOW)
    SHELL = ("shell", 200, Reason.HOLLOW, Reason.EMPTY)
    SOFT_404 = ("soft-404", 200, Reason.SOFT_404)
    NOT_THERE = ("not-there", 200, Reason.SOFT_404)
    MENDED = ("maintenance", 200, Reason.PLACEHOLDER)
    FRAMED = ("framed", 200, Reason.EMPTY, Reason.HOLLOW)
    PARKED = ("parked", 200, Reason.PARKED)
    LOGIN_WALL = ("login-wall", 200, Reason.LOGIN)

    CLOUDFLARE = ("cloudflare", 403, Reason.BLOCKED, Reason.CAPTCHA)
    CLOUDFLARE_200 = ("cloudflare-200", 200, Reason.BLOCKED, Reason.CAPTCHA)
    CLOUDFLARE_1020 = ("cloudflare-1020", 403, Reason.BLOCKED, Reason.CAPTCHA)
    AKAMAI = ("akamai", 403, Reason.BLOCKED, Reason.CAPTCHA)
    DATADOME = ("datadome", 403, Reason.BLOCKED, Reason.CAPTCHA)
    PERIMETERX = ("perimeterx", 403, Reason.BLOCKED, Reason.CAPTCHA)
    IMPERVA = ("imperva", 200, Reason.BLOCKED, Reason.CAPTCHA)
    KASADA = ("kasada", 429, Reason.BLOCKED, Reason.CAPTCHA)
    AWS_WAF = ("aws-waf", 202, Reason.BLOCKED, Reason.CAPTCHA)
    AWS_WAF_CAPTCHA = ("aws-waf-captcha", 405, Reason.BLOCKED, Reason.CAPTCHA)
    SUCURI = ("sucuri", 403, Reason.BLOCKED, Reason.CAPTCHA)
    VERCEL = ("vercel", 429, Reason.BLOCKED, Reason.CAPTCHA)
    ANUBIS = ("anubis", 200, Reason.BLOCKED, Reason.CAPTCHA)
    ANUBIS_401 = ("anubis-401", 401, Reason.BLOCKED, Reason.CAPTCHA)
    STYLED = ("captcha-styled", 200, Reason.CAPTCHA, Reason.BLOCKED)
    SHIELD = ("captcha-shield", 200, Reason.CAPTCHA, Reason.BLOCKED)
    REFUSED = ("request-blocked", 200, Reason.BLOCKED, Reason.CAPTCHA)
    QUEUE = ("waiting-room", 200, Reason.BLOCKED)
    WIDGET = ("captcha-widget", 200, Reason.BLOCKED, Reason.CAPTCHA)

    def __init__(self, label: str, status: int, *reasons: Reason) -> None:
        self.label = label
        self.status = status
        self.reasons = reasons


@dataclass(frozen=True, slots=True)
class Plant:
    """A phrase written into a page in some form: counted when a visitor can read it, a decoy otherwise."""

    phrase: str
    form: str
    place: str = ""


_UNVOUCHED = frozenset(("nofollow", "ugc", "sponsored"))


@dataclass(frozen=True, slots=True)
class Anchor:
    """A link as the page writes it. `place` is where on the page: nav, crumb, list, text or map."""

    href: str
    place: str = "list"
    rel: str = ""
    plant: Plant | None = None  # a phrase in its text

    @property
    def nofollow(self) -> bool:
        """True if the link carries `nofollow`, `ugc` or `sponsored`."""
        return self.rel != "" and not _UNVOUCHED.isdisjoint(self.rel.lower().split())


@dataclass(frozen=True, slots=True)
class Refusal:
    """The refusal that the first request for an address gets."""

    status: int
    seconds: float = 0.0  # how long it asks to wait; 0: it does not ask
    dated: bool = False  # Retry-After as a date instead of seconds


@dataclass(frozen=True, slots=True)
class PagePlan:
    """One address. `path` holds the query too and is spelled as the normalised address spells it."""

    path: str
    look: str = "article"
    manner: Manner = Manner.PAGE
    refusal: Refusal | None = None
    moved: int = 0  # the status of a redirect
    location: str | None = None  # its Location; None: the header is missing
    anchors: tuple[Anchor, ...] = ()
    plants: tuple[Plant, ...] = ()
    decoys: tuple[Plant, ...] = ()
    names_client: bool = False  # in words, without a link
    canonical: str = ""
    base: str = ""
    refresh: str = ""
    meta_robots: str = ""
    x_robots: str = ""
    misdeclared: str = ""  # a charset the header claims although the bytes are another
    paragraphs: int = 6
    nesting: int = 0  # divs around the text

    @property
    def status(self) -> int:
        return self.moved or self.manner.status
