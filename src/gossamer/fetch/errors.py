"""The one exception that leaves this folder, and the one table that turns the client's exceptions into it.

wreq's exception classes overlap (a failed certificate and a refused port are both a ConnectionError, a broken gzip and
a cut connection both a DecodingError), so each row names a class and what its text must contain. The first row that
fits decides; the last row of every class has no text and fits always.
"""

import re
from datetime import timedelta

import wreq.exceptions as client

from gossamer.model.trouble import Reason, Trouble

_HUNG_UP = "SYSCALL (5), cause: None"  # connected, and closed at the TLS handshake: the port does not speak TLS

_TABLE: tuple[tuple[type[Exception], str, Reason], ...] = (
    (client.ProxyConnectionError, "", Reason.PROXY),
    (client.TimeoutError, "", Reason.TIMEOUT),
    (client.TlsError, "", Reason.TLS),
    (client.ConnectionError, "TimedOut", Reason.TIMEOUT),
    (client.ConnectionError, "ErrorStack", Reason.TLS),
    (client.ConnectionError, _HUNG_UP, Reason.TLS),
    (client.ConnectionError, "dns error", Reason.DNS),
    (client.ConnectionError, "", Reason.UNREACHABLE),
    (client.ConnectionResetError, "SendRequest", Reason.UNREACHABLE),
    (client.ConnectionResetError, "", Reason.CUT_OFF),
    (client.RequestError, "Parse(TooLarge)", Reason.TOO_LARGE),
    (client.RequestError, "Parse(", Reason.NOT_HTTP),
    (client.RequestError, "", Reason.CUT_OFF),
    (client.BodyError, "TimedOut", Reason.TIMEOUT),
    (client.BodyError, "", Reason.CUT_OFF),
    (client.DecodingError, "TimedOut", Reason.TIMEOUT),
    (client.DecodingError, "UnexpectedEof", Reason.CUT_OFF),
    (client.DecodingError, "netty::Error", Reason.CUT_OFF),
    (client.DecodingError, "", Reason.BAD_ENCODING),
    (client.BuilderError, "", Reason.BAD_URL),
    (client.StatusError, "", Reason.NOT_HTTP),
    (client.RedirectError, "", Reason.BAD_REDIRECT),
    (client.UpgradeError, "", Reason.NOT_HTTP),
    (client.WebSocketError, "", Reason.NOT_HTTP),
)

# Fixed words only: what the client says about a proxy may show its address.
REFUSED_CREDENTIALS = "it asks for other credentials"
_PROXY_TABLE: tuple[tuple[str, str], ...] = (
    ("ProxyAuthRequired", REFUSED_CREDENTIALS),
    ("TunnelUnsuccessful", "it would not connect to the site"),
    ("dns error", "its name has no address"),
    ("ConnectionRefused", "no server answers there"),
    ("", "no connection through it"),
)

# What else a proxy says may be about the site.
_AWAY = frozenset({REFUSED_CREDENTIALS, "its name has no address", "no server answers there"})

CLIENT_ERRORS = tuple({kind for kind, _, _ in _TABLE})

_TLS_REASON = re.compile(r'reason: "([A-Z0-9_]+)"')
_PARSE_REASON = re.compile(r"Parse\((\w+)")


class FetchError(Exception):
    """No usable answer arrived. The Trouble says why, and what may help.

    `credits` is what a provider charged for it all the same; None where that is not known.
    """

    def __init__(self, trouble: Trouble, credits: int | None = None) -> None:
        super().__init__(trouble.sentence)
        self.trouble = trouble
        self.credits = credits


class ProxyAway(FetchError):
    """The operator's own proxy cannot be used for any site; this site is not at fault."""


class ProviderTrouble(FetchError):
    """A provider failed, not the page: its key, its credits, its servers. `provider` is its name in settings."""

    def __init__(self, provider: str, trouble: Trouble, credits: int | None = None) -> None:
        super().__init__(trouble, credits)
        self.provider = provider


class ProviderBusy(ProviderTrouble):
    """All concurrent calls of the plan are in use. Nothing was fetched or charged.

    It does not count as a try of the page, only as a wait.
    """


class ProviderUnusable(ProviderTrouble):
    """The provider as a whole seems to be in trouble. This is not a try of the page, which waits for `wait`.

    `heard`: this call's own answer says so, not only earlier calls. Then `credits` may be non-zero.
    """

    def __init__(self, provider: str, trouble: Trouble, credits: int | None, wait: timedelta, *, heard: bool) -> None:
        super().__init__(provider, trouble, credits)
        self.wait = wait
        self.heard = heard


def translate(error: Exception, *, connect_timeout: timedelta, timeout: timedelta) -> FetchError:
    """Return the FetchError for an exception of CLIENT_ERRORS and the limits that held; raise it `from` that."""
    # The text begins with the address, where a site could write anything; what happened comes after.
    what = str(error).partition(", source: ")[2] or str(error).partition("source: ")[2]
    reason = next(reason for kind, text, reason in _TABLE if isinstance(error, kind) and text in what)
    if reason is Reason.TIMEOUT:
        passed = connect_timeout if isinstance(error, client.ConnectionError) else timeout
        return FetchError(Trouble(reason, spell_seconds(passed)))
    trouble = Trouble(reason, _detail(reason, what))
    return ProxyAway(trouble) if trouble.detail in _AWAY and reason is Reason.PROXY else FetchError(trouble)


def is_from_there(told: FetchError) -> bool:
    """Return True if the site itself failed: it accepted the connection, then sent no valid HTTP or ended TLS."""
    return told.trouble.reason in (Reason.TLS, Reason.NOT_HTTP)


def _detail(reason: Reason, what: str) -> str:
    match reason:
        case Reason.PROXY:
            return next(said for text, said in _PROXY_TABLE if text in what)
        case Reason.TOO_LARGE:
            return "headers"
        case Reason.TLS if found := _TLS_REASON.search(what):
            return found[1].replace("_", " ").lower()
        case Reason.NOT_HTTP if found := _PARSE_REASON.search(what):
            return f"bad {found[1].lower()}"
        case Reason.BAD_URL:
            return "the client refused it"
        case _:
            return ""


def spell_seconds(duration: timedelta) -> str:
    """Spell 15 seconds as `15s`, half a second as `0.5s`."""
    return f"{duration.total_seconds():.12g}s"


def spell_size(number: int) -> str:
    """Spell 10,000,000 bytes as `10 MB`."""
    for unit, size in (("MB", 1_000_000), ("KB", 1_000)):
        if number >= size:
            return f"{number / size:g} {unit}"
    return f"{number} bytes"
