"""The seam of providers: how a call is written, and what an answer means. Pure, both ways.

A provider is a row of `model/rungs.py` and a file with one class and the function that makes it, which the row names as
its `opener`. The session does the talking, so that limits, money and names that must not be sent are checked in one
place.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Protocol, TypeAlias, runtime_checkable

from gossamer.fetch.forward import Way


@dataclass(frozen=True, slots=True)
class Call:
    """A request to the provider's own server. It holds the key, so that it says nothing of itself."""

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
    """What the provider says of the page."""

    status: int  # the site's, not the provider's
    headers: Mapping[str, str]  # the site's, as far as they are told
    credits: int | None = None  # charged; None: it does not say
    url: str = ""  # where the page was in the end; empty: it does not say
    body: bytes | None = None  # None: what the provider sent is the page


@dataclass(frozen=True, slots=True)
class Account:
    """What the provider's own books say at the moment; None for what they do not say."""

    used: int | None = None  # credits of this period
    limit: int | None = None
    remaining: int | None = None
    at_once: int | None = None  # calls that may run beside each other
    running: int | None = None
    renews: str = ""


class ProviderApi(Protocol):
    """One provider on one rung, for one visit."""

    name: str
    """In settings, bills and breakers."""

    title: str
    """As its makers write it: what people read."""

    wraps: bool
    """Whether the page comes inside a document, of which nothing is known before all of it is read."""

    def ask(self, url: str, timeout: timedelta) -> Call:
        """The call for one page, which is given up after `timeout`: what the provider is told must be shorter."""
        ...

    def peek(self, head: Head) -> Told | None:
        """What is said of the page before its body comes; None if the body has to be read first."""
        ...

    def read(self, head: Head, body: bytes) -> Told:
        """What is said in all. Raises FetchError without a page, ProviderTrouble where that is not the page's fault."""
        ...


@dataclass(frozen=True, slots=True)
class Wish:
    """What the class of a provider is made for: one visit on one of its rungs."""

    rung: str
    key: str = field(default="", repr=False)
    url: str = ""  # empty: the provider's own
    session: int | None = None  # calls with the same number come from one address, as far as the provider can
    worst: int | None = None  # credits that are reserved for a call
    way: Way | None = None  # out through our forward proxy, for one that is a browser


Opener: TypeAlias = Callable[[Wish], ProviderApi]


@runtime_checkable
class Checked(Protocol):
    """A server that says quickly whether it is there: worth asking, where a call for a page takes a minute."""

    def ask_health(self) -> Call: ...


@runtime_checkable
class Books(Protocol):
    """A provider that says how much is left, and how many calls may run at once."""

    most: int | None
    """Credits at which it is told to stop. It refuses what is dearer in the words in which it refuses everything."""

    def ask_account(self) -> tuple[Call, ...]: ...

    def read_account(self, answers: tuple[bytes, ...]) -> Account:
        """From the answers to all those calls. Raises ValueError where they are no answers."""
        ...
