"""The interface of a provider: how a call is written, what an answer means, and helpers to read one. Pure, both ways.

A provider is a row of `model/rungs.py` and a file with one class and the function that makes it, which the row names as
its `opener`. The session does the talking, so that limits, money and names that must not be sent are checked in one
place.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Protocol, TypeAlias, runtime_checkable

import orjson

from gossamer.fetch.errors import ProviderBusy, ProviderTrouble
from gossamer.fetch.forward_proxy import Permit
from gossamer.model.trouble import Reason, Trouble


@dataclass(frozen=True, slots=True)
class Call:
    """A request to the provider's own server. It holds the key, so its repr shows nothing."""

    url: str = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    body: bytes = field(default=b"", repr=False)  # POST where there is one


@dataclass(frozen=True, slots=True)
class Head:
    """The beginning of the provider's answer; names in lower case."""

    status: int
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Told:
    """The provider's metadata of the page."""

    status: int  # the site's, not the provider's
    headers: Mapping[str, str]  # the site's, as far as they are told
    credits: int | None = None  # charged; None: it does not say
    url: str = ""  # where the page was in the end; empty: it does not say
    body: bytes | None = None  # None: what the provider sent is the page


@dataclass(frozen=True, slots=True)
class ProviderAccount:
    """Usage of the provider account at the moment; None for figures it does not report."""

    used: int | None = None  # credits of this period
    limit: int | None = None
    remaining: int | None = None
    at_once: int | None = None  # calls that may run concurrently
    running: int | None = None
    renews: str = ""


class ProviderApi(Protocol):
    """One provider on one rung, for one visit."""

    name: str
    """The provider's name in settings, bills and circuit breakers."""

    title: str
    """The provider's name as its makers write it, for people."""

    wraps: bool
    """True if the page comes inside a document that has to be read whole before anything is known of it."""

    def ask(self, url: str, timeout: timedelta) -> Call:
        """Return the call for one page, which is given up after `timeout`.

        The timeout sent to the provider must be shorter.
        """
        ...

    def peek(self, head: Head) -> Told | None:
        """Return the page's metadata before its body arrives; None if the body has to be read first."""
        ...

    def read(self, head: Head, body: bytes) -> Told:
        """Return the page's metadata from head and body.

        Raises FetchError if there is no page, ProviderTrouble if the page is not the cause.
        """
        ...


@dataclass(frozen=True, slots=True)
class Wish:
    """Arguments of a provider's class: one visit on one of its rungs."""

    rung: str
    key: str = field(default="", repr=False)
    url: str = ""  # empty: the provider's own
    session: int | None = None  # calls with the same number come from one address, as far as the provider can
    worst: int | None = None  # credits that are reserved for a call
    way: Permit | None = None  # out through our forward proxy, for one that is a browser


Opener: TypeAlias = Callable[[Wish], ProviderApi]


@runtime_checkable
class Checked(Protocol):
    """A server with a quick health check: worth asking, where a call for a page takes a minute."""

    def ask_health(self) -> Call: ...


@runtime_checkable
class Books(Protocol):
    """A provider that reports its remaining credits, and how many calls may run concurrently."""

    most: int | None
    """Credits per call at which the provider is told to stop. It refuses dearer calls as it refuses all others."""

    def ask_account(self) -> tuple[Call, ...]: ...

    def read_account(self, answers: tuple[bytes, ...]) -> ProviderAccount:
        """Parse the responses to all account calls. Raises ValueError if they are invalid."""
        ...


_MOST_CREDITS = 1_000_000  # no call costs that: a number beyond it is none
_LONGEST_REST = 3_600.0

# Headers that speak of the way the answer came and not of the page.
_OF_THE_WAY = frozenset(
    {"connection", "content-encoding", "content-length", "date", "keep-alive", "transfer-encoding", "vary"}
)


def number_in(headers: Mapping[str, str], name: str) -> int | None:
    """Return a count of credits; None if the header is missing or invalid."""
    text = headers.get(name, "").strip()
    if not (text.isascii() and text.isdigit() and len(text) <= 9):
        return None
    number = int(text)
    return number if number <= _MOST_CREDITS else None


def whole(value: object) -> int | None:
    """Return a count of credits from a JSON value; None if it is not one, including `true`."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST_CREDITS else None


def count_of(value: object) -> int | None:
    """Return the credits of a whole plan, which go into the millions."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def status_in(headers: Mapping[str, str], name: str, otherwise: int) -> int:
    """Return a status that the provider passes on, or `otherwise` if it is garbled."""
    text = headers.get(name, "").strip()
    return int(text) if text.isascii() and text.isdigit() and 100 <= int(text[:4]) <= 999 else otherwise


def of_the_page(headers: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in headers.items() if name not in _OF_THE_WAY}


def document_in(body: bytes) -> dict[str, Any] | None:
    """Return a JSON object, or None if it is not one."""
    try:
        found = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    return found if isinstance(found, dict) else None


def failed(
    name: str, title: str, reason: Reason, head: Head | None = None, credits: int | None = 0, why: str = ""
) -> ProviderTrouble:
    """Return the error of a failed provider. The provider's words are left out: they may repeat what we sent."""
    said = why or (f"HTTP {head.status}" if head else "")
    trouble = Trouble(
        reason,
        f"{title}: {said}" if said else title,
        head.status if head else None,
        _asked_to_wait(head) if head else None,
    )
    kind = ProviderBusy if reason is Reason.PROVIDER_BUSY else ProviderTrouble
    return kind(name, trouble, credits)


def _asked_to_wait(head: Head) -> float | None:
    text = head.headers.get("retry-after", "").strip()
    return min(float(text), _LONGEST_REST) if text.isascii() and text.isdigit() else None
